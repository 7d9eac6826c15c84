//! The listeners of the management server, with what tells who may call.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use causeway_file::FileError;
use rustix::fs::{Gid, chown};
use thiserror::Error;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use tokio_rustls::rustls::{self, RootCertStore, ServerConfig};

use crate::config::{Config, ManagementAccess, ManagementSocket, ManagementTls};
use crate::error::{StartError, Transport};
use crate::management::{Access, InvalidToken, Listener, Socket, Token};

/// Maximum size of a file of certificates, a key or a token, in octets.
const FILE: u64 = 1 << 20;

/// The groups of the system.
const GROUPS: &str = "/etc/group";

/// A failure to open access to the management API.
#[derive(Debug, Error)]
pub enum AccessError {
    /// A file cannot be read.
    #[error("{}: {source}", file.display())]
    File {
        /// Its path.
        file: PathBuf,
        /// The cause.
        source: FileError,
    },
    /// A file is not in PEM.
    #[error("{}: {source}; expected {expected} in PEM", file.display())]
    Pem {
        /// Its path.
        file: PathBuf,
        /// What should be there.
        expected: &'static str,
        /// The cause.
        source: pem::Error,
    },
    /// The certificate and the key do not fit, or are not supported.
    #[error("{0}; is the key that of the certificate?")]
    Tls(#[from] rustls::Error),
    /// The authorities of clients are not usable.
    #[error("no usable authority of client certificates: {0}")]
    Authorities(#[from] VerifierBuilderError),
    /// The token is not usable.
    #[error("{}: {source}", file.display())]
    Token {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: InvalidToken,
    },
    /// The Unix socket cannot be opened.
    #[error("cannot listen on {}: {}", path.display(), socket_advice(source))]
    Socket {
        /// Its path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Something else has the name of the socket.
    #[error("{} is there and is no socket: remove it, or give another path", path.display())]
    NoSocket {
        /// The path.
        path: PathBuf,
    },
    /// The group of the socket does not exist.
    #[error("{GROUPS} has no group `{0}`: add it with `groupadd`, or give a number")]
    NoGroup(String),
    /// The socket cannot be given to the group.
    #[error("cannot give the socket to the group: {0}: run as root, or as a member of the group")]
    Group(io::Error),
}

fn socket_advice(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => "another process listens there".into(),
        io::ErrorKind::NotFound => "the folder does not exist: create it".into(),
        _ => error.to_string(),
    }
}

/// Opens the listeners of the management server.
///
/// # Errors
/// The first that cannot be opened, with its key and the remedy.
pub(crate) fn management_listeners(config: &Config) -> Result<Vec<Listener>, StartError> {
    let (metrics, access) = (&config.upf.metrics.server, &config.upf.management);
    let token = token(access).map_err(at("upf.management.token_file"))?;
    let tls = server_config(&access.tls).map_err(at("upf.management.tls"))?;
    let mut listeners = Vec::new();
    for (n, server) in metrics.iter().enumerate() {
        let key = format!("upf.metrics.server[{n}]");
        listeners.push(tcp(key, server.socket(), Access::of_metrics(server.address, token.clone()))?);
    }
    for (n, server) in access.server.iter().enumerate() {
        let key = format!("upf.management.server[{n}]");
        listeners.push(tcp(key, server.socket(), Access::of_management(tls.clone(), token.clone()))?);
    }
    if let Some(path) = &access.socket.path {
        listeners.push(unix(path, &access.socket).map_err(at("upf.management.socket"))?);
    }
    Ok(listeners)
}

fn at(key: &'static str) -> impl Fn(AccessError) -> StartError {
    move |source| StartError::Access { key, source: Box::new(source) }
}

fn tcp(key: String, address: SocketAddr, access: Access) -> Result<Listener, StartError> {
    let opened = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    let failed = |source| StartError::Socket { key, address, transport: Transport::Tcp, source };
    Ok(Listener { socket: Socket::Tcp(opened.map_err(failed)?), access })
}

/// A socket of a process that has ended is replaced.
fn unix(path: &Path, options: &ManagementSocket) -> Result<Listener, AccessError> {
    let failed = |source| AccessError::Socket { path: path.to_owned(), source };
    if let Ok(found) = fs::symlink_metadata(path) {
        if !found.file_type().is_socket() {
            return Err(AccessError::NoSocket { path: path.to_owned() });
        }
        if UnixStream::connect(path).is_ok() {
            return Err(failed(io::ErrorKind::AddrInUse.into()));
        }
        fs::remove_file(path).map_err(failed)?;
    }
    let group = options.group.as_deref().map(gid).transpose()?;
    let listener = UnixListener::bind(path).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    // The group first: nobody gets more than he should have in between.
    if let Some(group) = group {
        chown(path, None, Some(group)).map_err(|errno| AccessError::Group(errno.into()))?;
    }
    fs::set_permissions(path, fs::Permissions::from_mode(options.mode)).map_err(failed)?;
    Ok(Listener { socket: Socket::Unix(listener, path.to_owned()), access: Access::of_socket() })
}

/// The number of a group. Groups of a directory service have to be given by number.
fn gid(name: &str) -> Result<Gid, AccessError> {
    if let Ok(number) = name.parse() {
        return Ok(Gid::from_raw(number));
    }
    let groups = fs::read_to_string(GROUPS).unwrap_or_default();
    let of_line = |line: &str| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then(|| fields.nth(1)?.parse().ok())?
    };
    let number = groups.lines().find_map(of_line);
    number.map(Gid::from_raw).ok_or_else(|| AccessError::NoGroup(name.to_owned()))
}

fn token(access: &ManagementAccess) -> Result<Option<Arc<Token>>, AccessError> {
    let Some(file) = &access.token_file else { return Ok(None) };
    let token = Token::new(&read(file)?);
    let token = token.map_err(|source| AccessError::Token { file: file.clone(), source })?;
    Ok(Some(Arc::new(token)))
}

/// `None` without a certificate; the configuration was checked for a key.
fn server_config(tls: &ManagementTls) -> Result<Option<Arc<ServerConfig>>, AccessError> {
    let (Some(certificate), Some(key)) = (&tls.certificate, &tls.key) else { return Ok(None) };
    let provider = Arc::new(ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let builder = match &tls.client_ca {
        Some(file) => {
            let mut roots = RootCertStore::empty();
            for authority in certificates(file)? {
                roots.add(authority)?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build()?;
            builder.with_client_cert_verifier(verifier)
        }
        None => builder.with_no_client_auth(),
    };
    let key = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|source| AccessError::Pem {
        file: key.clone(),
        expected: "a private key",
        source,
    })?;
    Ok(Some(Arc::new(builder.with_single_cert(certificates(certificate)?, key)?)))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, AccessError> {
    let failed = |source| AccessError::Pem { file: file.to_owned(), expected: "certificates", source };
    let all: Vec<_> =
        CertificateDer::pem_slice_iter(&read(file)?).collect::<Result<_, _>>().map_err(failed)?;
    if all.is_empty() { Err(failed(pem::Error::NoItemsFound)) } else { Ok(all) }
}

fn read(file: &Path) -> Result<Vec<u8>, AccessError> {
    causeway_file::read(file, FILE).map_err(|source| AccessError::File { file: file.to_owned(), source })
}

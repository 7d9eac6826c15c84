//! The listeners of the management server, with what tells who may call.

use std::fmt;
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
use tokio::sync::watch;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use tokio_rustls::rustls::{self, RootCertStore, ServerConfig};

use crate::config::{Config, ManagementAccess, ManagementSocket, ManagementTls};
use crate::error::{StartError, Transport};
use crate::management::{Access, CallerChecks, InvalidToken, Listener, ListenerKind, Socket, Token};

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
pub(crate) fn management_listeners(
    config: &Config,
) -> Result<(Vec<Listener>, ManagementControl), StartError> {
    let (metrics, access) = (&config.upf.metrics.server, &config.upf.management);
    let refused = |(key, source)| StartError::Access { key, source: Box::new(source) };
    let files = AccessFiles::read(access).map_err(refused)?;
    let checks = files.checks(access).map_err(refused)?;
    let mut control = ManagementControl { listeners: Vec::new(), files, tls: checks.tls.clone() };
    let mut listeners = Vec::new();
    for (n, server) in metrics.iter().enumerate() {
        let socket = tcp(format!("upf.metrics.server[{n}]"), server.socket())?;
        listeners.push(control.listener(socket, ListenerKind::Metrics(server.address), &checks));
    }
    for (n, server) in access.server.iter().enumerate() {
        let socket = tcp(format!("upf.management.server[{n}]"), server.socket())?;
        listeners.push(control.listener(socket, ListenerKind::Management, &checks));
    }
    if let Some(path) = &access.socket.path {
        let socket = unix(path, &access.socket).map_err(at("upf.management.socket"))?;
        listeners.push(control.listener(socket, ListenerKind::Socket, &checks));
    }
    Ok((listeners, control))
}

/// The access to the listeners, which a reload changes.
#[derive(Debug)]
pub(crate) struct ManagementControl {
    listeners: Vec<(ListenerKind, watch::Sender<Access>)>,
    files: AccessFiles,
    tls: Option<Arc<ServerConfig>>,
}

impl ManagementControl {
    fn listener(&mut self, socket: Socket, kind: ListenerKind, checks: &CallerChecks) -> Listener {
        let (sender, access) = watch::channel(Access::new(kind, checks));
        self.listeners.push((kind, sender));
        Listener { socket, access }
    }

    /// Reads the files of another configuration, without an effect.
    ///
    /// # Errors
    /// A file is not usable, with the key that names it.
    pub(crate) fn prepare(access: &ManagementAccess) -> Result<PreparedAccess, (&'static str, AccessError)> {
        let files = AccessFiles::read(access)?;
        let checks = files.checks(access)?;
        Ok(PreparedAccess { files, checks })
    }

    /// Puts what was prepared into force for new connections. Returns the keys of the files with other contents.
    pub(crate) fn apply(&mut self, prepared: PreparedAccess) -> Vec<&'static str> {
        let PreparedAccess { files, mut checks } = prepared;
        // Connections that are open already are under it.
        if files.has_same_tls(&self.files) {
            checks.tls.clone_from(&self.tls);
        }
        self.tls.clone_from(&checks.tls);
        for (kind, access) in &self.listeners {
            access.send_replace(Access::new(*kind, &checks));
        }
        let before = std::mem::replace(&mut self.files, files);
        let both = before.named().into_iter().zip(self.files.named());
        both.filter(|((_, old), (_, new))| old != new).map(|((key, _), _)| key).collect()
    }
}

/// Access that is ready, from files that were read.
pub(crate) struct PreparedAccess {
    files: AccessFiles,
    checks: CallerChecks,
}

/// The contents of the files of access, which are secret.
#[derive(Clone, PartialEq, Eq, Default)]
struct AccessFiles {
    token: Option<Vec<u8>>,
    certificate: Option<Vec<u8>>,
    key: Option<Vec<u8>>,
    client_ca: Option<Vec<u8>>,
}

impl fmt::Debug for AccessFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessFiles")
    }
}

/// The keys of the files.
const TOKEN_FILE: &str = "upf.management.token_file";
const CERTIFICATE: &str = "upf.management.tls.certificate";
const KEY: &str = "upf.management.tls.key";
const CLIENT_CA: &str = "upf.management.tls.client_ca";

impl AccessFiles {
    fn read(access: &ManagementAccess) -> Result<Self, (&'static str, AccessError)> {
        let of = |key: &'static str, file: &Option<PathBuf>| {
            file.as_deref().map(read).transpose().map_err(|error| (key, error))
        };
        Ok(Self {
            token: of(TOKEN_FILE, &access.token_file)?,
            certificate: of(CERTIFICATE, &access.tls.certificate)?,
            key: of(KEY, &access.tls.key)?,
            client_ca: of(CLIENT_CA, &access.tls.client_ca)?,
        })
    }

    fn has_same_tls(&self, other: &Self) -> bool {
        let of_tls = |files: &Self| (files.certificate.clone(), files.key.clone(), files.client_ca.clone());
        of_tls(self) == of_tls(other)
    }

    fn named(&self) -> [(&'static str, Option<&[u8]>); 4] {
        let Self { token, certificate, key, client_ca } = self;
        let files = [(TOKEN_FILE, token), (CERTIFICATE, certificate), (KEY, key), (CLIENT_CA, client_ca)];
        files.map(|(name, octets)| (name, octets.as_deref()))
    }

    /// What they say.
    fn checks(&self, access: &ManagementAccess) -> Result<CallerChecks, (&'static str, AccessError)> {
        let (tls, has_client_ca) = (self.server_config(&access.tls)?, self.client_ca.is_some());
        let token = self.token.as_deref().map(Token::new).transpose().map_err(|source| {
            let file = access.token_file.clone().unwrap_or_default();
            (TOKEN_FILE, AccessError::Token { file, source })
        })?;
        Ok(CallerChecks { tls, has_client_ca, token: token.map(Arc::new), capture: access.capture })
    }

    /// `None` without a certificate; the configuration was checked for a key.
    fn server_config(
        &self,
        names: &ManagementTls,
    ) -> Result<Option<Arc<ServerConfig>>, (&'static str, AccessError)> {
        let (Some(certificate), Some(key)) = (&self.certificate, &self.key) else { return Ok(None) };
        let named = |file: &Option<PathBuf>| file.clone().unwrap_or_default();
        let provider = Arc::new(ring::default_provider());
        let unusable = |error: rustls::Error| (KEY, AccessError::Tls(error));
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(unusable)?;
        let builder = match &self.client_ca {
            Some(octets) => {
                let mut roots = RootCertStore::empty();
                let of_ca = |error| (CLIENT_CA, error);
                for authority in certificates(octets, named(&names.client_ca)).map_err(of_ca)? {
                    roots.add(authority).map_err(|error| (CLIENT_CA, AccessError::Tls(error)))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build();
                builder.with_client_cert_verifier(
                    verifier.map_err(|error| (CLIENT_CA, AccessError::Authorities(error)))?,
                )
            }
            None => builder.with_no_client_auth(),
        };
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|source| {
            (KEY, AccessError::Pem { file: named(&names.key), expected: "a private key", source })
        })?;
        let chain =
            certificates(certificate, named(&names.certificate)).map_err(|error| (CERTIFICATE, error))?;
        Ok(Some(Arc::new(builder.with_single_cert(chain, key).map_err(unusable)?)))
    }
}

fn at(key: &'static str) -> impl Fn(AccessError) -> StartError {
    move |source| StartError::Access { key, source: Box::new(source) }
}

fn tcp(key: String, address: SocketAddr) -> Result<Socket, StartError> {
    let opened = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    let failed = |source| StartError::Socket { key, address, transport: Transport::Tcp, source };
    Ok(Socket::Tcp(opened.map_err(failed)?))
}

/// Whether a socket can be at a path, without an effect.
///
/// # Errors
/// Another process listens there, the folder is missing, something else has the name, or the group does not exist.
pub(crate) fn check_unix(path: &Path, options: &ManagementSocket) -> Result<(), AccessError> {
    options.group.as_deref().map(gid).transpose()?;
    is_left_over(path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let found = folder.map_or(Ok(()), |folder| fs::metadata(folder).map(drop));
    found.map_err(|source| AccessError::Socket { path: path.to_owned(), source })
}

/// There is a socket of a process that has ended.
fn is_left_over(path: &Path) -> Result<bool, AccessError> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(false) };
    if !found.file_type().is_socket() {
        return Err(AccessError::NoSocket { path: path.to_owned() });
    }
    if UnixStream::connect(path).is_ok() {
        let source = io::ErrorKind::AddrInUse.into();
        return Err(AccessError::Socket { path: path.to_owned(), source });
    }
    Ok(true)
}

/// A socket of a process that has ended is replaced.
fn unix(path: &Path, options: &ManagementSocket) -> Result<Socket, AccessError> {
    let failed = |source| AccessError::Socket { path: path.to_owned(), source };
    if is_left_over(path)? {
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
    Ok(Socket::Unix(listener, path.to_owned()))
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

fn certificates(octets: &[u8], file: PathBuf) -> Result<Vec<CertificateDer<'static>>, AccessError> {
    let failed = |source| AccessError::Pem { file: file.clone(), expected: "certificates", source };
    let all: Vec<_> = CertificateDer::pem_slice_iter(octets).collect::<Result<_, _>>().map_err(failed)?;
    if all.is_empty() { Err(failed(pem::Error::NoItemsFound)) } else { Ok(all) }
}

fn read(file: &Path) -> Result<Vec<u8>, AccessError> {
    causeway_file::read(file, FILE).map_err(|source| AccessError::File { file: file.to_owned(), source })
}

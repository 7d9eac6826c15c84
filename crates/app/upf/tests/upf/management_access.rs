//! Who may call the management API: tokens, certificates, a Unix socket.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use causeway_upf::config::{Config, ManagementServer, ManagementTls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::common::{PATIENCE, Running, config, loopback, run};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// An authority that certifies servers and clients.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate with this name, and its key.
    fn certify(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}

/// Files with certificates, a key and a token, and a configuration with them.
struct Setup {
    folder: TempDir,
    upf: Ipv4Addr,
    config: Config,
    authority: Authority,
}

impl Setup {
    fn new() -> Self {
        let (upf, authority) = (loopback(), Authority::new());
        Self { folder: tempfile::tempdir().unwrap(), upf, config: config(upf), authority }
    }

    fn file(&self, name: &str, content: &str) -> std::path::PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// An address with TLS.
    fn with_tls(mut self) -> Self {
        let (certificate, key) = self.authority.certify("upf.example");
        let tls = ManagementTls {
            certificate: Some(self.file("upf.crt", &certificate)),
            key: Some(self.file("upf.key", &key)),
            client_ca: None,
        };
        let address = self.upf.into();
        self.config.upf.management.server = vec![ManagementServer { address, port: 0 }];
        self.config.upf.management.tls = tls;
        self
    }

    fn with_token(mut self) -> Self {
        self.config.upf.management.token_file = Some(self.file("token", &format!("{TOKEN}\n")));
        self
    }

    fn run(&self) -> Running {
        run(&self.config, self.upf).unwrap()
    }

    /// Why the daemon does not start.
    fn error(&self) -> String {
        run(&self.config, self.upf).map(|_| ()).unwrap_err().to_string()
    }
}

/// The response to a request.
fn ask(mut stream: impl Read + Write, request: &str, headers: &str) -> std::io::Result<String> {
    write!(stream, "{request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn connect(running: &Running, nth: usize) -> TcpStream {
    let stream = TcpStream::connect(running.daemon.management_addresses()[nth]).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// A connection with TLS to the second address, as a client that trusts the authority and may have a certificate.
fn secured(
    running: &Running,
    authority: &Authority,
    client: Option<(String, String)>,
) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match client {
        Some((certificate, key)) => {
            let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
        None => builder.with_no_client_auth(),
    };
    let name = ServerName::try_from("upf.example").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    StreamOwned::new(connection, connect(running, 1))
}

// Input:  an address with TLS and a token; calls with the token, without, with another, and in clear text. The loopback address of
//         metrics without and with the token.
// Output: 200 only with the token; 401 that names the scheme for the others, for metrics over TLS, too; no answer in clear text. At the
//         loopback address metrics are open, the API is not.
#[test]
fn calls_need_the_token() {
    let setup = Setup::new().with_tls().with_token();
    let running = setup.run();
    let token = format!("Authorization: Bearer {TOKEN}\r\n");
    let wrong = format!("Authorization: Bearer {}\r\n", TOKEN.replace('0', "1"));
    let tls = |request: &str, headers: &str| {
        ask(secured(&running, &setup.authority, None), request, headers).unwrap()
    };
    for (path, headers, status) in [
        ("/api/v1/status", token.as_str(), 200),
        ("/metrics", &token, 200),
        ("/api/v1/status", "", 401),
        ("/api/v1/status", &wrong, 401),
        ("/api/v1/status", "Authorization: Basic dXNlcjpwYXNz\r\n", 401),
        ("/metrics", "", 401),
        ("/nothing", "", 401),
        ("/nothing", &token, 404),
    ] {
        let answer = tls(&format!("GET {path}"), headers);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path} {headers}: {answer}");
        assert_eq!(answer.contains("www-authenticate: Bearer"), status == 401, "{answer}");
    }
    let changed = tls("POST /api/v1/associations/192.0.2.1/release", &token);
    assert!(changed.starts_with("HTTP/1.1 404 "), "{changed}");
    let clear = ask(connect(&running, 1), "GET /api/v1/status", &token).unwrap_or_default();
    assert!(!clear.contains("HTTP/1.1 200"), "{clear}");
    for (path, headers, status) in
        [("/metrics", "", 200), ("/api/v1/status", "", 401), ("/api/v1/status", &token, 200)]
    {
        let answer = ask(connect(&running, 0), &format!("GET {path}"), headers).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
    }
}

// Input:  an address that asks for client certificates; clients with one of its authority, without one, and with one of another authority.
// Output: the first is served; the others get no response.
#[test]
fn calls_need_a_client_certificate() {
    let mut setup = Setup::new().with_tls();
    let operators = Authority::new();
    setup.config.upf.management.tls.client_ca = Some(setup.file("operators.crt", &operators.pem()));
    let running = setup.run();
    let ask = |client| ask(secured(&running, &setup.authority, client), "GET /api/v1/status", "");
    let answer = ask(Some(operators.certify("operator"))).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(ask(None).is_err());
    assert!(ask(Some(setup.authority.certify("operator"))).is_err());
    assert_eq!(running.fetch("/healthz").1, "ok\n");
}

// Input:  a client that opens a connection with TLS and says nothing, and one that sends a handshake of a letter each 50 ms.
// Output: both are cut off.
#[test]
fn a_handshake_has_to_come_in_time() {
    let running = Setup::new().with_tls().with_token().run();
    let (mut silent, mut slow) = (connect(&running, 1), connect(&running, 1));
    // A TLS record of type handshake with 16,384 octets, which never come.
    slow.write_all(&[0x16, 3, 1, 0x40, 0]).unwrap();
    let start = Instant::now();
    while slow.write_all(b"x").is_ok() {
        assert!(start.elapsed() < PATIENCE, "it is never cut off");
        std::thread::sleep(Duration::from_millis(50));
    }
    let ended = silent.read(&mut [0; 16]);
    assert!(ended.is_ok_and(|octets| octets == 0));
}

// Input:  metrics at an address that other hosts reach.
// Output: metrics and health are there, the API is not, and the refusal says where it may be.
#[test]
fn beyond_loopback_there_are_metrics_only() {
    let mut setup = Setup::new();
    setup.config.upf.metrics.server[0].address = Ipv4Addr::UNSPECIFIED.into();
    let running = setup.run();
    let port = running.daemon.management_addresses()[0].port();
    for (path, status) in [("/metrics", 200), ("/healthz", 200), ("/api/v1/status", 403), ("/api/v1", 403)] {
        let stream = TcpStream::connect((setup.upf, port)).unwrap();
        let answer = ask(stream, &format!("GET {path}"), "").unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
        assert!(status == 200 || answer.contains("`upf.management.server` with TLS"), "{answer}");
    }
}

// Input:  a Unix socket, with a mode; a socket of a daemon that has ended; one of a daemon that runs; a file; an unknown group.
// Output: the socket has the mode and serves the API without a token; the dead one is replaced; the others are errors that name the path
//         or group; the socket is gone at the end.
#[test]
fn a_unix_socket_serves_whom_its_permissions_admit() {
    let mut setup = Setup::new().with_token();
    let path = setup.folder.path().join("management.sock");
    setup.config.upf.management.socket.path = Some(path.clone());
    setup.config.upf.management.socket.mode = 0o600;
    drop(UnixListener::bind(&path).unwrap());
    let running = setup.run();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let answer = ask(UnixStream::connect(&path).unwrap(), "GET /api/v1/status", "").unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");

    let shown = |path: &Path| path.display().to_string();
    let mut other = Setup::new();
    other.config.upf.management.socket.path = Some(path.clone());
    let error = other.error();
    assert!(error.starts_with("upf.management.socket: ") && error.contains(&shown(&path)), "{error}");
    assert!(error.ends_with("another process listens there"), "{error}");
    let file = other.file("file", "content");
    other.config.upf.management.socket.path = Some(file.clone());
    assert!(other.error().contains("is no socket"), "{}", other.error());
    assert_eq!(fs::read_to_string(file).unwrap(), "content");
    other.config.upf.management.socket.path = Some("/nowhere/socket".into());
    assert!(other.error().contains("the folder does not exist"), "{}", other.error());
    other.config.upf.management.socket.path = Some(other.folder.path().join("other.sock"));
    other.config.upf.management.socket.group = Some("no-such-group".into());
    assert!(other.error().contains("has no group `no-such-group`"), "{}", other.error());

    running.daemon.stop();
    running.daemon.wait().unwrap();
    assert_eq!(fs::metadata(&path).unwrap_err().kind(), ErrorKind::NotFound);
}

// Input:  files that are not there, no PEM, a key of another certificate, a short token.
// Output: the daemon does not start; the error has the key, the file and what is expected.
#[test]
fn wrong_files_are_named() {
    let with = |change: &dyn Fn(&mut Setup)| {
        let mut setup = Setup::new().with_tls().with_token();
        change(&mut setup);
        setup.error()
    };
    let missing =
        with(&|setup| setup.config.upf.management.tls.certificate = Some("/nowhere/upf.crt".into()));
    assert!(missing.starts_with("upf.management.tls.certificate: /nowhere/upf.crt: "), "{missing}");
    let no_pem = with(&|setup| drop(setup.file("upf.crt", "no certificate")));
    assert!(no_pem.contains("upf.crt: ") && no_pem.ends_with("expected certificates in PEM"), "{no_pem}");
    let no_key = with(&|setup| drop(setup.file("upf.key", "no key")));
    assert!(no_key.ends_with("expected a private key in PEM"), "{no_key}");
    let other = with(&|setup| drop(setup.file("upf.key", &setup.authority.certify("upf.example").1)));
    assert!(other.contains("is the key that of the certificate?"), "{other}");
    let short = with(&|setup| drop(setup.file("token", "secret")));
    assert!(short.starts_with("upf.management.token_file: ") && short.contains("openssl rand"), "{short}");
    assert!(!short.contains("secret"), "{short}");
}

// Input:  an address with TLS; its certificate and key are replaced by those of another authority, under the same names;
//         then by a key that is none.
// Output: after a reload, new connections have the new certificate, which clients of the old authority refuse. The wrong
//         key is an error with its key, and the certificate in force stays.
#[test]
fn a_reload_reads_the_certificate_again() {
    let setup = Setup::new().with_tls().with_token();
    let running = setup.run();
    let headers = format!("Authorization: Bearer {TOKEN}\r\n");
    let accepts = |authority: &Authority| {
        let answer = ask(secured(&running, authority, None), "GET /api/v1/status", &headers);
        answer.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
    };
    let reload = || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(running.daemon.reload(setup.config.upf.clone()))
    };
    let other = Authority::new();
    assert!(accepts(&setup.authority) && !accepts(&other));
    let (certificate, key) = other.certify("upf.example");
    setup.file("upf.crt", &certificate);
    setup.file("upf.key", &key);
    assert!(accepts(&setup.authority), "nothing changes without a reload");
    let applied = reload().unwrap().applied;
    assert_eq!(applied, ["upf.management.tls.certificate", "upf.management.tls.key"]);
    assert!(accepts(&other) && !accepts(&setup.authority));
    setup.file("upf.key", "no key");
    let error = reload().unwrap_err().to_string();
    assert!(error.starts_with("upf.management.tls.key: ") && error.contains("upf.key: "), "{error}");
    assert!(accepts(&other));
}

// Input:  an address with TLS and a token, and connections of clients without a certificate that have sent no request yet; a reload that
//         changes nothing of TLS, then one after which clients have a certificate and no token.
// Output: after the first a request with the token is answered. After the second, that of an open connection is refused with 421, and a
//         new one needs a certificate.
#[test]
fn a_connection_of_before_a_reload_is_not_admitted_by_rules_of_after() {
    let mut setup = Setup::new().with_tls().with_token();
    let running = setup.run();
    let opened = || {
        let mut stream = secured(&running, &setup.authority, None);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).unwrap();
        }
        stream
    };
    let (first, waiting) = (opened(), opened());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(running.daemon.reload(setup.config.upf.clone())).unwrap();
    let answer = ask(first, "GET /api/v1/status", &format!("Authorization: Bearer {TOKEN}\r\n")).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let operators = Authority::new();
    setup.config.upf.management.tls.client_ca = Some(setup.file("operators.crt", &operators.pem()));
    setup.config.upf.management.token_file = None;
    runtime.block_on(running.daemon.reload(setup.config.upf.clone())).unwrap();
    let answer = ask(waiting, "GET /api/v1/status", "").unwrap();
    assert!(answer.starts_with("HTTP/1.1 421 ") && answer.contains("connect again"), "{answer}");
    let ask = |client| ask(secured(&running, &setup.authority, client), "GET /api/v1/status", "");
    assert!(ask(None).is_err());
    assert!(ask(Some(operators.certify("operator"))).unwrap().starts_with("HTTP/1.1 200 "));
}

// Input:  a body of a megabyte for a call that reads it, and a body that never ends for one that does not.
// Output: a refusal for the first, the response or the end of the connection for the other; pages as before.
#[test]
fn bodies_are_bounded() {
    let running = Setup::new().run();
    let huge = "x".repeat(1 << 20);
    for (request, statuses) in [
        (
            format!(
                "PUT /api/v1/log-level HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{huge}",
                huge.len()
            ),
            &["413", ""][..],
        ),
        (
            format!(
                "GET /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n{huge}"
            ),
            &["200", ""],
        ),
    ] {
        let mut stream = connect(&running, 0);
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).unwrap_or_default();
        assert!(statuses.contains(&status), "{answer}");
        assert_eq!(running.fetch("/healthz").1, "ok\n");
    }
}

//! Commands over a Unix socket, and over TLS with a token and with client certificates.

use std::fs;
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use super::{command, ended};
use crate::common::{Running, file, loopback};

/// A folder of a test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn file(&self, name: &str, content: &str) -> String {
        fs::write(self.0.join(name), content).unwrap();
        self.path(name)
    }
}

/// A daemon with further keys of `upf`.
fn start(keys: &str) -> (Running, std::net::Ipv4Addr) {
    let at = loopback();
    let path = file(at, "info");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text + &keys.replace("ADDRESS", &at.to_string())).unwrap();
    let mut running = Running::start(&["--config", path.to_str().unwrap()]);
    running.until("ready");
    (running, at)
}

// Input:  a daemon with a Unix socket; commands that use it, with and without the word `unix:` before it.
// Output: they are answered.
#[test]
fn a_unix_socket_is_an_address() {
    let folder = Folder::new("socket");
    let socket = folder.path("management.sock");
    let (_running, _) = start(&format!("  management: {{socket: {{path: {socket}}}}}\n"));
    for address in [socket.clone(), format!("unix:{socket}")] {
        let output = command(&address, &["status"]).output().unwrap();
        assert!(ended(&output).1.contains("fastpath"), "{output:?}");
    }
}

// Input:  a daemon with TLS that asks for a token and a client certificate; commands with both, and with one of them missing or wrong.
// Output: only with both they are answered; otherwise the user is told what is missing.
#[test]
fn tls_tokens_and_certificates_admit() {
    let folder = Folder::new("tls");
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let at = loopback();
    let certify = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned(), at.to_string()]).unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap();
        let file = |extension, content: &str| folder.file(&format!("{name}.{extension}"), content);
        (file("crt", &certificate.pem()), file("key", &key.serialize_pem()))
    };
    let ((upf, upf_key), (operator, operator_key)) = (certify("upf"), certify("operator"));
    let ca = folder.file("ca.crt", &authority.pem());
    let token = folder.file("token", "0123456789abcdef0123456789abcdef\n");
    let wrong_token = folder.file("wrong-token", "0123456789abcdef0123456789abcdee\n");
    let (_running, _) = start(&format!(
        "  management: {{server: [{{address: {at}}}], token_file: {token}, tls: {{certificate: {upf}, key: {upf_key}, client_ca: {ca}}}}}\n"
    ));
    let address = format!("https://{at}");
    let all = [
        ["--ca", ca.as_str()],
        ["--token-file", &token],
        ["--certificate", &operator],
        ["--key", &operator_key],
    ];
    let ask = |options: &[[&str; 2]]| {
        let args = [&["status"], options.as_flattened()].concat();
        command(&address, &args).output().unwrap()
    };
    let output = ask(&all);
    assert!(ended(&output).1.contains("fastpath"), "{output:?}");
    for (options, says) in [
        (vec![all[1], all[2], all[3]], "an https address needs the authority of the server: --ca FILE"),
        (vec![["--ca", &operator], all[1], all[2], all[3]], "no secure connection to https://"),
        (vec![all[0], all[2], all[3]], "--token-file FILE"),
        (vec![all[0], ["--token-file", &wrong_token], all[2], all[3]], "this needs the token"),
        (vec![all[0], ["--token-file", "/nowhere"], all[2], all[3]], "/nowhere: No such file"),
        (vec![all[0], all[1]], "ertificate"),
        (vec![all[0], all[1], all[2], ["--key", &upf_key]], "is --key that of --certificate?"),
    ] {
        let output = ask(&options);
        let (code, printed, error) = ended(&output);
        assert_eq!((code, printed), (Some(1), ""), "{options:?}: {error}");
        assert!(error.contains(says), "{options:?}: {error}");
        assert!(!error.contains("0123456789abcde"), "{error}");
    }
}

//! Commands over a Unix socket, and over TLS with a token and with client certificates.

use std::fs;
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use super::{Operated, command, ended};
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

// Input:  a daemon as it is by default, with a Unix socket and a session; a capture over the loopback address and over the
//         socket; then a reload with `capture: everyone`, and with `off`.
// Output: by default the loopback address, which every user may call, shows no packets and says what to do, and the socket
//         shows them; then both do; then neither does.
#[test]
fn captures_are_restricted_by_default() {
    let folder = Folder::new("restricted");
    let socket = folder.path("management.sock");
    let of = Operated::with_keys(1, &format!("  management: {{socket: {{path: {socket}}}}}\n"));
    let capture = |address: &str| {
        let args = ["capture", &of.seid(0), "--seconds", "1", "-w", &folder.path("a.pcapng")];
        command(address, &args).output().unwrap()
    };
    let loopback = format!("{}:9098", of.at);
    let output = capture(&loopback);
    let (code, _, error) = ended(&output);
    assert!(code == Some(1) && error.contains("upf.management.socket"), "{output:?}");
    assert_eq!(ended(&capture(&socket)).0, Some(0));
    let text = fs::read_to_string(&of.path).unwrap();
    for (value, expected) in [("everyone", Some(0)), ("off", Some(1))] {
        let keys = format!("management: {{capture: {value}, ");
        fs::write(&of.path, text.replace("management: {", &keys)).unwrap();
        assert!(of.text(&["reload"]).contains("upf.management.capture"));
        for address in [&loopback, &socket] {
            let output = capture(address);
            assert_eq!(ended(&output).0, expected, "{value} {address}: {output:?}");
        }
    }
}

// Input:  a daemon with a token; the file has another token; then one that is too short; then the key names a file that
//         does not exist.
// Output: after a reload only the new token is accepted. What is wrong is named with file, line and key, and the token in
//         force stays.
#[test]
fn a_reload_reads_the_token_again() {
    let folder = Folder::new("token");
    let (old, new) = ("0123456789abcdef-old", "0123456789abcdef-new");
    let file = folder.file("token", old);
    let of = Operated::with_keys(0, &format!("  management: {{token_file: {file}}}\n"));
    let status = |token: &str| {
        let token = folder.file("mine", token);
        ended(&of.command(&["status", "--token-file", &token]).output().unwrap()).0
    };
    assert_eq!((status(old), status(new)), (Some(0), Some(1)));
    folder.file("token", new);
    let reload = |token: &str| {
        let token = folder.file("mine", token);
        of.command(&["reload", "--token-file", &token]).output().unwrap()
    };
    let output = reload(old);
    assert!(ended(&output).1.contains("upf.management.token_file"), "{output:?}");
    assert_eq!((status(old), status(new)), (Some(1), Some(0)));
    let text = fs::read_to_string(&of.path).unwrap();
    let line = text.lines().position(|line| line.contains("token_file")).unwrap() + 1;
    let at = format!("{}:{line}: upf.management.token_file: ", of.path.display());
    folder.file("token", "short");
    for (content, expected) in
        [(text.clone(), "expected one line of 16"), (text.replace(&file, "none"), "none: ")]
    {
        fs::write(&of.path, content).unwrap();
        let output = reload(new);
        let (code, _, error) = ended(&output);
        assert!(code == Some(1) && error.contains(&at) && error.contains(expected), "{at} {error}");
        assert_eq!((status(old), status(new)), (Some(1), Some(0)));
    }
}

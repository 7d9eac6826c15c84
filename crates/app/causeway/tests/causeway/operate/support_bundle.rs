//! `causeway support-bundle`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use tar::Archive;

use super::capture::Gnb;
use super::{Operated, command, ended};

const TOKEN: &str = "secret-token-0123456789";
const IMSI: &str = "001010000000000";

fn folder() -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("bundle-{}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    path
}

/// The texts of an archive, by their names without the folder, which all have.
fn texts(file: &Path) -> BTreeMap<String, String> {
    let mut archive = Archive::new(GzDecoder::new(File::open(file).unwrap()));
    let mut texts = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().into_owned();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        let name = path.components().skip(1).collect::<PathBuf>().display().to_string();
        assert!(texts.insert(name, text).is_none(), "{}", path.display());
    }
    texts
}

// Input:  a UPF with a token, a private key, a redirect URL with a password and a query, and a session with an IMSI, a
//         User ID and a packet; a bundle; one with User IDs.
// Output: both have what helps, are for their owner only, and hold no secret; only the second has the User IDs.
#[test]
fn a_bundle_has_what_helps_and_no_secret() {
    let folder = folder();
    let token = folder.join("token");
    fs::write(&token, TOKEN).unwrap();
    let (token, socket) = (token.display(), folder.join("m.sock"));
    let of = Operated::with_keys(
        1,
        &format!(
            "  management: {{token_file: {token}, capture: everyone, socket: {{path: {}}}}}\n  \
             forwarding_policy: [{{name: walled, redirect: 'http://user:password-of-url@192.0.2.80/?key=query-secret'}}]\n",
            socket.display()
        ),
    );
    let gnb = Gnb::new();
    gnb.send(&of, 1);
    let socket = socket.display().to_string();
    let bundle = |name: &str, more: &[&str]| {
        let file = folder.join(name);
        let args = [&["support-bundle", "--events", "1", "-o", file.to_str().unwrap()], more].concat();
        let output = command(&socket, &args).output().unwrap();
        assert_eq!(ended(&output).0, Some(0), "{output:?}");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        texts(&file)
    };
    let masked = bundle("masked.tar.gz", &[]);
    let whole = bundle("whole.tar.gz", &["--with-user-ids"]);
    for texts in [&masked, &whole] {
        for (name, part) in [
            ("README.txt", "causeway "),
            ("config.yaml", "name: walled"),
            ("config.yaml", "redirect: http://192.0.2.80/REMOVED"),
            ("status.json", "\"version\""),
            ("associations.json", "\"node_id\""),
            ("sessions.json", "10.45.1.0"),
            ("metrics.txt", "pfcp_sessions 1"),
            ("drops.json", "unknown_teid"),
            ("doctor.json", "\"verdict\""),
            ("events.json", "["),
            ("host/kernel.txt", "Linux"),
        ] {
            let text = texts.get(name).unwrap_or_else(|| panic!("{name} is not in {:?}", texts.keys()));
            assert!(text.contains(part), "{part} is not in {name}:\n{text}");
        }
        for name in ["peers.json", "pools.json", "workers.json", "interfaces.json", "host/memory.txt"] {
            assert!(texts.contains_key(name), "{name} is not in {:?}", texts.keys());
        }
        // Programs that a host may lack, or a log that it does not keep, are named.
        assert!(texts.contains_key("log.txt") || texts["missing.txt"].contains("log.txt: "));
        for secret in [TOKEN, "password-of-url", "query-secret", "captured", "PRIVATE KEY"] {
            let holder = texts.iter().find(|(_, text)| text.contains(secret));
            assert!(holder.is_none(), "{secret} is in {holder:?}");
        }
    }
    assert!(whole["sessions.json"].contains(IMSI), "{}", whole["sessions.json"]);
    let holder = masked.iter().find(|(_, text)| text.contains(IMSI));
    assert!(holder.is_none() && masked["sessions.json"].contains("00101**********"), "{holder:?}");
}

// Input:  a bundle where no UPF answers, with the configuration file; one whose file cannot be written.
// Output: the first has what the host tells, and names what is missing with the reason; the second is an error.
#[test]
fn a_bundle_without_a_upf_says_what_is_missing() {
    let folder = folder();
    let (file, config) = (folder.join("without.tar.gz"), folder.join("upf.yaml"));
    fs::write(&config, "upf: {session: []}").unwrap();
    let nowhere = folder.join("nowhere.sock").display().to_string();
    let bundle = |file: &str| {
        command(&nowhere, &["support-bundle", "-o", file, "-c", config.to_str().unwrap()]).output().unwrap()
    };
    let output = bundle(file.to_str().unwrap());
    let (code, _, notes) = ended(&output);
    assert!(code == Some(0) && notes.contains("parts are missing"), "{output:?}");
    let texts = texts(&file);
    assert!(texts["missing.txt"].contains("status.json: ") && texts["doctor.json"].contains("\"verdict\""));
    assert!(texts["host/kernel.txt"].contains("Linux"));
    let output = bundle("/nonexistent/bundle.tar.gz");
    let (code, _, error) = ended(&output);
    assert!(code == Some(1) && error.contains("/nonexistent/bundle.tar.gz: "), "{error}");
}

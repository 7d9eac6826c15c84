//! `causeway top` on a terminal, and without one.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use super::{Operated, ended};

// Input:  `causeway top` on a terminal that `script` provides; then the key q.
// Output: the screen with the session; it ends with 0, and the terminal is as before (the alternate screen is left).
#[test]
fn top_shows_sessions_until_q() {
    let of = Operated::with_sessions(1);
    let top = format!("{} top --management {}:9098", env!("CARGO_BIN_EXE_causeway"), of.at);
    let mut script = Command::new("script");
    script.args(["-qfec", &format!("stty cols 120 rows 20; {top}"), "/dev/null"]).env("TERM", "xterm");
    let Ok(mut child) = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        return eprintln!("SKIPPED operate::top::top_shows_sessions_until_q: needs script (util-linux)");
    };
    let (mut screen, mut output) = (Vec::new(), child.stdout.take().unwrap());
    let shows = |screen: &[u8], text: &str| String::from_utf8_lossy(screen).contains(text);
    // The keys are drawn last.
    while !shows(&screen, "quit") {
        let mut octets = [0; 4096];
        let read = output.read(&mut octets).unwrap();
        assert!(read > 0, "it has ended: {}", String::from_utf8_lossy(&screen));
        screen.extend_from_slice(&octets[..read]);
    }
    assert!(shows(&screen, &of.seid(0)), "{}", String::from_utf8_lossy(&screen));
    assert!(shows(&screen, "10.45.1.0"), "{}", String::from_utf8_lossy(&screen));
    child.stdin.take().unwrap().write_all(b"q").unwrap();
    output.read_to_end(&mut screen).unwrap();
    assert!(shows(&screen, "\u{1b}[?1049l"), "{}", String::from_utf8_lossy(&screen));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

// Input:  `causeway top` into a pipe.
// Output: an error that names what is for programs.
#[test]
fn top_needs_a_terminal() {
    let of = Operated::with_sessions(0);
    let output = of.command(&["top"]).output().unwrap();
    let (code, printed, error) = ended(&output);
    assert_eq!((code, printed), (Some(1), ""));
    assert!(error.starts_with("`top` needs a terminal"), "{error}");
}

//! What goes wrong, and what the user is told.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use super::{Operated, command, ended};
use crate::common::loopback;

// Input:  an address where nothing listens, a socket that is not there, and an address that is none.
// Output: which address, why, and what to do; exit code 1, and 2 for the one that is none.
#[test]
fn a_upf_that_does_not_run_is_named() {
    let at = loopback();
    for (management, shown) in
        [(format!("{at}:9"), format!("{at}:9")), ("/nowhere/socket".into(), "unix:/nowhere/socket".into())]
    {
        let output = command(&management, &["status"]).output().unwrap();
        let (code, printed, error) = ended(&output);
        assert_eq!((code, printed), (Some(1), ""));
        assert!(error.starts_with(&format!("no UPF answers at {shown}: ")), "{error}");
        assert!(
            error.contains("is `causeway run` there") && error.contains("CAUSEWAY_MANAGEMENT"),
            "{error}"
        );
    }
    let output = command("127.0.0.1:port", &["status"]).output().unwrap();
    let (code, _, error) = ended(&output);
    assert_eq!(code, Some(2));
    assert!(error.contains("expected HOST[:PORT], https://HOST[:PORT] or unix:PATH"), "{error}");
}

// Input:  a server that is no UPF: it answers with a page, with an error page, with nothing, or not in HTTP.
// Output: one line that says so; exit code 1.
#[test]
fn what_is_no_upf_is_recognised() {
    for (answer, says) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "is not the management server"),
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nhi", "is not the management server"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "is not the management server"),
        ("", "broke"),
        ("SSH-2.0-server\r\n", "broke"),
    ] {
        let listener = TcpListener::bind((loopback(), 0)).unwrap();
        let at = listener.local_addr().unwrap().to_string();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let output = command(&at, &["status"]).output().unwrap();
        server.join().unwrap();
        let (code, printed, error) = ended(&output);
        assert_eq!((code, printed, error.lines().count()), (Some(1), "", 1), "{answer:?}: {error}");
        assert!(error.contains(says) && error.contains(&at), "{answer:?}: {error}");
    }
}

// Input:  filters and identifiers with values that are none, and two that exclude each other.
// Output: which option is wrong, and an example of a right one; exit code 2.
#[test]
fn wrong_filters_are_named() {
    let of = Operated::with_sessions(0);
    for (args, says) in [
        (&["sessions", "--ue", "10.45.0.300"][..], "--ue"),
        (&["sessions", "--teid", "0"], "for example 0x1a2b3c4d"),
        (&["sessions", "--seid", "x"], "for example 42 or 0x2a"),
        (&["sessions", "--cp-seid", "1@x"], "0x51@192.0.2.21"),
        (&["sessions", "--gnb", "gnb"], "--gnb"),
        (&["sessions", "--limit", "0"], "'--limit <N>': expected a number from 1 on"),
        (&["events", "--count", "none"], "expected a number from 1 on"),
        (&["sessions", "--all", "--limit", "1"], "cannot be used with"),
        (&["sessions", "--imsi", "1", "--user-id", "1"], "cannot be used with"),
        (&["sessions", "--colour", "red"], "unexpected argument"),
    ] {
        let output = of.command(args).output().unwrap();
        let (code, printed, error) = ended(&output);
        assert_eq!((code, printed), (Some(2), ""), "{args:?}");
        assert!(error.contains(says), "{args:?}: {error}");
    }
    // The server refuses what the command line cannot know.
    let output = of.command(&["sessions", "--dnn", ""]).output().unwrap();
    let (code, _, error) = ended(&output);
    assert_eq!(code, Some(1));
    assert!(error.contains("dnn: ") && error.contains("1 to 255 octets"), "{error}");
}

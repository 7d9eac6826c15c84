//! `causeway switch-model` as a shell sees it.
#![cfg(feature = "p4runtime")]

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_causeway"));
    command.arg("switch-model").args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts it on a free port; returns its first line, and the address that stands there.
fn start(args: &[&str]) -> (Child, String, String) {
    let mut child = command(&[&["--listen", "127.0.0.1:0"], args].concat()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split(" on ").nth(1).and_then(|rest| rest.split(',').next());
    let address = address.unwrap_or_else(|| panic!("{line:?}")).to_owned();
    (child, line, address)
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

// Input:  the model with a program and without; a client connects and says nothing; SIGTERM or SIGINT.
// Output: one line when it is ready, with the program and the address; it ends with 0 and one line of what was done.
#[test]
fn it_says_when_it_is_ready_and_ends_by_a_signal() {
    for (args, program, name) in [
        (&["--profile", "baseline"][..], "baseline", "TERM"),
        (&["--empty", "--device-id", "7"], "no program", "INT"),
    ] {
        let (mut child, line, address) = start(args);
        let device = if args.contains(&"7") { 7 } else { 1 };
        assert_eq!(line, format!("switch model ready: {program} on {address}, device {device}\n"));
        let _client = TcpStream::connect(&address).unwrap();
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(said.starts_with("stopped: 0 entries; 0 updates made"), "{said}");
    }
}

// Input:  an address that is taken, and profiles that the model does not run.
// Output: 1 with the address; 2 with the profiles that there are.
#[test]
fn what_it_cannot_do_is_said() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let Output { status, stderr, .. } = command(&["--listen", &address]).output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(1));
    assert!(said.contains(&format!("cannot listen on {address}: ")), "{said}");
    let Output { status, stderr, .. } = command(&["--profile", "hip4-outer-ipv6"]).output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(2));
    assert!(said.contains("baseline, red, red-spt, hip4, direct"), "{said}");
}

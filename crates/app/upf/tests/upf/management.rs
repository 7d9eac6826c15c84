//! The management server under clients that mean no good: N4 does not notice.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use causeway_pfcp::Cause;

use crate::common::smf::Smf;
use crate::common::{PATIENCE, Running, config, loopback, run};

/// Longer than the server waits for anything, on a busy machine.
const LONG: Duration = Duration::from_secs(60);

fn start() -> Running {
    let upf = loopback();
    run(&config(upf), upf).unwrap()
}

fn connect(running: &Running) -> TcpStream {
    let stream = TcpStream::connect_timeout(&running.daemon.management_addresses()[0], PATIENCE).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream
}

/// What comes until the server closes the connection.
fn rest(mut stream: TcpStream) -> String {
    let mut octets = Vec::new();
    match stream.read_to_end(&mut octets) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("the server keeps it open: {error}"),
    }
    String::from_utf8(octets).unwrap()
}

// Input:  300 connections that send half a request and no more.
// Output: pages are served and N4 answers meanwhile; no more than 64 of the connections are kept, and those not for long.
#[test]
fn half_open_connections_are_closed() {
    let running = start();
    let mut smf = Smf::new(loopback().into(), running.n4());
    let slow: Vec<TcpStream> = (0..300).map(|_| connect(&running)).collect();
    for mut stream in &slow {
        // Those that are closed already do not take it.
        let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: upf\r\nX-Slow: ");
    }
    assert_eq!(running.fetch("/healthz").1, "ok\n");
    smf.heartbeat();
    assert_eq!(smf.associate(), Cause::RequestAccepted);
    for stream in &slow {
        stream.set_nonblocking(true).unwrap();
    }
    let is_open = |mut stream: &TcpStream| {
        stream.read(&mut [0; 16]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    };
    let start = Instant::now();
    while slow.iter().filter(|stream| is_open(stream)).count() > 64 {
        assert!(start.elapsed() < LONG, "too many stay open");
        std::thread::sleep(Duration::from_millis(10));
    }
    for stream in slow {
        stream.set_nonblocking(false).unwrap();
        rest(stream);
    }
    smf.heartbeat();
}

// Input:  64 connections that send the headers of a request and one octet of its body; then 65 that do so with a body in chunks.
// Output: pages are served meanwhile, since such connections give place; a request whose body comes in two parts is answered.
#[test]
fn connections_that_wait_for_a_body_give_place() {
    let running = start();
    let request = |length: &str| {
        format!("PUT /api/v1/drain HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{length}")
    };
    for (count, text) in [
        (64, request("Content-Length: 100\r\n\r\n{")),
        (65, request("Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n")),
    ] {
        let slow: Vec<TcpStream> = (0..count).map(|_| connect(&running)).collect();
        for mut stream in &slow {
            // One that has given place already does not take it.
            let _ = stream.write_all(text.as_bytes());
        }
        // The server takes connections in their order.
        for _ in 0..3 {
            assert_eq!(running.fetch("/healthz").1, "ok\n");
        }
    }
    let mut stream = connect(&running);
    let body = r#"{"draining": false}"#;
    stream.write_all(request(&format!("Content-Length: {}\r\n\r\n{{", body.len())).as_bytes()).unwrap();
    stream.write_all(&body.as_bytes()[1..]).unwrap();
    let answer = rest(stream);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

// Input:  a client that sends a letter of its request every 50 ms.
// Output: it is cut off, though it never pauses for long; N4 answers after each letter.
#[test]
fn a_request_has_to_come_in_time() {
    let running = start();
    let mut smf = Smf::new(loopback().into(), running.n4());
    let mut stream = connect(&running);
    stream.write_all(b"GET / HTTP/1.1\r\nX: ").unwrap();
    let start = Instant::now();
    while stream.write_all(b"x").is_ok() {
        assert!(start.elapsed() < LONG, "it is never cut off");
        smf.heartbeat();
        std::thread::sleep(Duration::from_millis(50));
    }
}

// Input:  a header of a megabyte, a target of a megabyte, a thousand headers, and a request that is none.
// Output: an error or the end of the connection for each, and pages as before.
#[test]
fn what_is_too_large_is_refused() {
    let running = start();
    let large = "x".repeat(1 << 20);
    let many: String = (0..1000).map(|n| format!("X-{n}: x\r\n")).collect();
    for (request, statuses) in [
        (format!("GET / HTTP/1.1\r\nX: {large}\r\n\r\n"), ["431", ""]),
        (format!("GET /{large} HTTP/1.1\r\n\r\n"), ["414", "431"]),
        (format!("GET / HTTP/1.1\r\n{many}\r\n"), ["431", ""]),
        ("\0\u{1}\u{2}\r\n\r\n".to_owned(), ["400", ""]),
    ] {
        let mut stream = connect(&running);
        // It may be closed before all has been sent.
        let _ = stream.write_all(request.as_bytes());
        let answer = rest(stream);
        let status = answer.split(' ').nth(1).unwrap_or("");
        assert!(statuses.contains(&status) || status.is_empty(), "{answer}");
        assert_eq!(running.fetch("/healthz").1, "ok\n");
    }
}

// Input:  150 sessions, read in pages of seven; then a page beyond the last.
// Output: each is on one page; the last page says that there is none after it.
#[test]
fn pages_show_every_session_once() {
    let running = start();
    let mut smf = Smf::new(loopback().into(), running.n4());
    smf.associate();
    let ues: Vec<Ipv4Addr> = (2..152).map(|n| Ipv4Addr::new(10, 45, 0, n)).collect();
    assert_eq!(smf.establish_all(&ues), 150);
    let (mut seen, mut after, mut pages) = (BTreeSet::new(), String::from("0"), 0);
    loop {
        let (_, body) = running.fetch(&format!("/api/v1/sessions?limit=7&after={after}"));
        let page: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(page["total"], 150);
        let sessions = page["sessions"].as_array().unwrap();
        assert!(sessions.len() <= 7);
        for session in sessions {
            assert!(seen.insert(session["ue"][0].as_str().unwrap().to_owned()), "{session} is there twice");
        }
        pages += 1;
        match page["after"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
    }
    assert_eq!((seen.len(), pages), (150, 22));
    let beyond = running.fetch("/api/v1/sessions?after=0xffffffffffffffff").1;
    assert_eq!(beyond, "{\"total\":150,\"sessions\":[]}");
}

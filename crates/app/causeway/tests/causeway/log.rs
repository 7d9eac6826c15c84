//! The log of a daemon whose peers, and whose reader, do their worst.

use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use causeway_pfcp::{
    ApplyAction, AssociationSetupRequest, Cause, CreateFar, CreatePdr, Header, HeartbeatRequest, Message,
    NetworkInstance, NodeId, Pdi, RecoveryTimeStamp, SessionDeletionRequest, SessionEstablishmentRequest,
    SourceInterface, UeIpAddress,
};
use causeway_types::{DualIp, FSeid, FarId, NtpSeconds, PdrId, Precedence, Seid};

use crate::common::{PATIENCE, Running, file, loopback};

const RECOVERY: RecoveryTimeStamp = RecoveryTimeStamp(NtpSeconds(0xe000_0000));

/// An SMF that waits for each answer.
struct Smf {
    socket: UdpSocket,
    address: Ipv4Addr,
    sequence: u32,
}

impl Smf {
    fn new(upf: Ipv4Addr) -> Self {
        let address = loopback();
        let socket = UdpSocket::bind((address, 8805)).unwrap();
        socket.connect((upf, 8805)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { socket, address, sequence: 0 }
    }

    fn ask(&mut self, message: Message<'_>, seid: Option<Seid>) -> Vec<u8> {
        self.sequence += 1;
        let mut octets = Vec::new();
        message.encode(seid, self.sequence, &mut octets).unwrap();
        self.socket.send(&octets).unwrap();
        let mut answer = vec![0; 65_535];
        let len = self.socket.recv(&mut answer).expect("an answer in time");
        answer.truncate(len);
        answer
    }

    fn heartbeat(&mut self) {
        let answer = self.ask(HeartbeatRequest::new(RECOVERY).into(), None);
        assert!(matches!(decode(&answer), Message::HeartbeatResponse(_)));
    }

    /// Asks for the end of a session that does not exist: a warning in the log.
    fn ask_for_nothing(&mut self) {
        let answer = self.ask(SessionDeletionRequest::default().into(), Some(Seid(99)));
        assert!(matches!(decode(&answer), Message::SessionDeletionResponse(_)));
    }
}

fn decode(octets: &[u8]) -> Message<'_> {
    let (header, body, _) = Header::decode(octets).unwrap();
    Message::decode(&header, body).unwrap()
}

/// One value of `/metrics`.
fn metric(at: Ipv4Addr, series: &str) -> f64 {
    use std::io::Write;
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((at, 9098)), PATIENCE).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n").unwrap();
    let mut body = String::new();
    stream.read_to_string(&mut body).unwrap();
    let line = body.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{series} is not in\n{body}")).parse().unwrap()
}

// Input:  one peer asks 2,000 times for what is refused, with logs at `info` and at `debug`; another asks once.
// Output: each is answered. The log has few lines of the first, how many more there were, and the line of the other.
#[test]
fn a_peer_cannot_flood_the_log() {
    for (level, most) in [("info", 50), ("debug", 400)] {
        let at = loopback();
        let mut running = Running::start(&["-c", file(at, level).to_str().unwrap()]);
        running.until("ready");
        let (mut loud, mut quiet) = (Smf::new(at), Smf::new(at));
        (0..2_000).for_each(|_| loud.ask_for_nothing());
        quiet.ask_for_nothing();
        running.until(&format!("session deletion request from {}:8805 is refused", quiet.address));
        let summary = running.until(&format!(" more from {} in the last 10 s", loud.address));
        assert!(summary.contains("refused requests: "), "{summary}");
        running.signal("TERM");
        let rest: Vec<String> = running.log.iter().collect();
        let lines = running.seen.iter().chain(&rest).filter(|line| line.contains(&loud.address.to_string()));
        let lines = lines.count();
        assert!((2..most).contains(&lines), "{level}: {lines} lines");
        let written = metric_of_summary(&summary);
        assert!(written >= 1_000, "{summary}");
    }
}

fn metric_of_summary(summary: &str) -> u64 {
    let (before, _) = summary.split_once(" more from ").unwrap();
    before.rsplit(' ').next().unwrap().parse().unwrap()
}

/// Killed in the end, if it has not ended by then.
struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

// Input:  a daemon that logs everything into a pipe that nobody reads, and requests that fill it a hundred times.
// Output: every request is answered, and SIGTERM ends it with 0. What did not get into the log is counted.
#[test]
fn a_log_that_nobody_reads_stops_nothing() {
    let at = loopback();
    let child = Command::new(env!("CARGO_BIN_EXE_causeway"))
        .args(["run", "-c", file(at, "trace").to_str().unwrap(), "--log-format", "json"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut running = Killed(child);
    let child = &mut running.0;
    let pipe = child.stderr.take().unwrap();
    let started = Instant::now();
    while TcpStream::connect((at, 9098)).is_err() {
        assert!(started.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(10));
    }
    // The listener accepts before N4 has discarded datagrams that its filter did not check. A response comes afterwards.
    metric(at, "pfcp_associations");
    // Many peers, since each may cause only so many lines: a pipe takes 64 KiB.
    for _ in 0..100 {
        let mut smf = Smf::new(at);
        (0..30).for_each(|_| smf.ask_for_nothing());
    }
    Smf::new(at).heartbeat();
    assert!(metric(at, "causeway_log_lines_suppressed_total") > 0.0);
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
    let asked = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if asked.elapsed() > PATIENCE {
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.code(), Some(0));
    drop(pipe);
}

// Input:  a session for a network instance with line feeds, an escape sequence and a right-to-left mark in them.
// Output: each is one line of the log, in which they are escaped.
#[test]
fn what_peers_call_themselves_cannot_forge_a_line() {
    let at = loopback();
    let mut running = Running::start(&["-c", file(at, "info").to_str().unwrap()]);
    running.until("ready");
    let mut smf = Smf::new(at);
    let node = || NodeId::Ip(smf_address(&smf));
    let answer = {
        let request = AssociationSetupRequest::new(node(), RECOVERY);
        smf.ask(request.into(), None)
    };
    assert!(
        matches!(decode(&answer), Message::AssociationSetupResponse(it) if it.cause == Cause::RequestAccepted)
    );
    let name = "x\n2026-01-01 ERROR forged \x1b[2J\u{202e}";
    let ue = UeIpAddress { ipv4: Some([10, 45, 0, 2].into()), destination: true, ..UeIpAddress::default() };
    let network_instance = Some(NetworkInstance::text(name));
    let pdi = Pdi { network_instance, ue_ip_addresses: [ue].into(), ..Pdi::new(SourceInterface::Core) };
    let pdr = CreatePdr { far_id: Some(FarId(1)), ..CreatePdr::new(PdrId(1), Precedence(1), pdi) };
    let far = CreateFar::new(FarId(1), ApplyAction::DROP);
    let cp = FSeid { seid: Seid(1), addr: DualIp::from(smf_address(&smf)) };
    let request = SessionEstablishmentRequest::new(NodeId::Ip(smf_address(&smf)), cp, [pdr], [far]);
    let answer = smf.ask(request.into(), Some(Seid(0)));
    assert!(matches!(decode(&answer), Message::SessionEstablishmentResponse(it) if !it.cause.is_accepted()));
    let line = running.until("session establishment request");
    assert!(line.contains("x\\n2026-01-01 error forged \\u{1b}[2j\\u{202e}"), "{line}");
    running.signal("TERM");
    let rest: Vec<String> = running.log.iter().collect();
    assert!(!rest.iter().any(|line| line.starts_with("2026-01-01")), "{rest:?}");
}

impl Smf {
    fn associate(&mut self) {
        let node = NodeId::Ip(smf_address(self));
        let answer = self.ask(AssociationSetupRequest::new(node, RECOVERY).into(), None);
        assert!(
            matches!(decode(&answer), Message::AssociationSetupResponse(it) if it.cause == Cause::RequestAccepted)
        );
    }
}

/// A daemon that logs JSON at this level.
fn json(at: Ipv4Addr, level: &str) -> Running {
    let mut running = Running::start(&["-c", file(at, level).to_str().unwrap(), "--log-format", "json"]);
    running.until("ready");
    running
}

/// The object of the next line that contains this text.
fn object(running: &mut Running, text: &str) -> serde_json::Value {
    serde_json::from_str(&running.until(text)).unwrap()
}

// Input:  an SMF deletes a session that does not exist, and asks for one without the mandatory Create PDR.
// Output: a line for each, in JSON with fields for the SMF, the request, the session, the cause and the offending IE; in text
//         the same fields follow the message.
#[test]
fn a_refusal_says_what_it_is_about() {
    let at = loopback();
    let mut running = json(at, "info");
    let mut smf = Smf::new(at);
    smf.associate();
    let address = smf_address(&smf);
    let common = |line: &serde_json::Value, pfcp: &str, sequence: u32| {
        assert_eq!((&line["smf"], &line["peer"]), (&address.to_string().into(), &address.to_string().into()));
        assert_eq!((&line["pfcp"], &line["sequence"]), (&pfcp.into(), &sequence.into()), "{line}");
        assert_eq!(line["level"], "WARN");
    };
    smf.ask_for_nothing();
    let line = object(&mut running, "is refused with cause 65");
    common(&line, "session_deletion_request", 2);
    assert_eq!((&line["seid"], &line["cause"]), (&"0x63".into(), &65.into()), "{line}");
    assert_eq!(line["cause_name"], "session_context_not_found");
    assert!(line["message"].as_str().unwrap().contains("there is no session 0x63 for this sender"));

    let cp = FSeid { seid: Seid(0x2a), addr: DualIp::from(address) };
    let request = SessionEstablishmentRequest::new(NodeId::Ip(address), cp, [], []);
    smf.ask(request.into(), Some(Seid(0)));
    let line = object(&mut running, "is refused with cause 66");
    common(&line, "session_establishment_request", 3);
    assert_eq!((&line["smf_seid"], &line["ie"]), (&"0x2a".into(), &1.into()), "{line}");
    assert_eq!((&line["ie_name"], &line["seid"]), (&"Create PDR".into(), &serde_json::Value::Null));
    drop((running, smf));

    let at = loopback();
    let mut running = Running::start(&["-c", file(at, "info").to_str().unwrap()]);
    running.until("ready");
    let mut smf = Smf::new(at);
    smf.associate();
    smf.ask_for_nothing();
    let line = running.until("is refused with cause 65");
    let address = smf_address(&smf);
    for field in [
        format!("smf=\"{address}\""),
        "pfcp=\"session_deletion_request\"".into(),
        "sequence=2".into(),
        "seid=\"0x63\"".into(),
        "cause=65".into(),
        "cause_name=\"session_context_not_found\"".into(),
    ] {
        assert!(line.contains(&format!(" {field}")), "{field} is not in {line}");
    }
}

// Input:  a heartbeat and a deletion at level `trace`; then a heartbeat at level `debug`.
// Output: a line for each message in and out at `trace`, with type, sequence number, SEID and length; none at `debug`.
#[test]
fn each_pfcp_message_is_traced() {
    let at = loopback();
    let mut running = json(at, "trace");
    let mut smf = Smf::new(at);
    let from = format!("{}:8805", smf.address);
    smf.heartbeat();
    smf.ask_for_nothing();
    for (text, pfcp, sequence, seid, octets) in [
        ("received heartbeat request", "heartbeat_request", 1, None, 16),
        ("sends heartbeat response", "heartbeat_response", 1, None, 16),
        ("received session deletion request", "session_deletion_request", 2, Some("0x63"), 16),
        ("sends session deletion response", "session_deletion_response", 2, Some("0x0"), 21),
    ] {
        let line = object(&mut running, text);
        let found = (&line["level"], &line["peer"], &line["pfcp"], &line["sequence"], &line["octets"]);
        let expected =
            (&"TRACE".into(), &from.clone().into(), &pfcp.into(), &sequence.into(), &octets.into());
        assert_eq!(found, expected, "{line}");
        assert_eq!(line["seid"].as_str(), seid, "{line}");
    }
    running.signal("TERM");

    let at = loopback();
    let mut running = json(at, "debug");
    Smf::new(at).heartbeat();
    running.signal("TERM");
    running.until("stopped: ");
    assert!(!running.seen.iter().any(|line| line.contains("heartbeat")), "{:?}", running.seen);
}

// Input:  SIGUSR1 and SIGUSR2, as tools send them that rotate log files.
// Output: a line that says they are ignored; the daemon answers as before, and ends as before.
#[test]
fn user_signals_are_ignored() {
    let at = loopback();
    let mut running = Running::start(&["-c", file(at, "info").to_str().unwrap()]);
    running.until("ready");
    for name in ["USR1", "USR2"] {
        running.signal(name);
        running.until(&format!("SIG{name} is ignored: the log is standard error"));
    }
    Smf::new(at).heartbeat();
    running.signal("TERM");
    running.until("stopped: ");
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
}

fn smf_address(smf: &Smf) -> std::net::IpAddr {
    smf.address.into()
}

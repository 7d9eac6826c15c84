//! The trace of a session: what becomes of its packets, and of no others.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use causeway_packet::Meta;
use causeway_types::Teid;
use causeway_upf::management::views::{ProblemView, TraceEnd, TraceEvent, TracedPacketView};

use crate::common::smf::{Session, Smf};
use crate::common::{Gnb, PATIENCE, Running, SERVER, UE, config, loopback, next, packet, run};

const OTHER: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 3);

fn start() -> (Running, Smf, Gnb) {
    let upf = loopback();
    let running = run(&config(upf), upf).unwrap();
    let (mut smf, gnb) = (Smf::new(loopback().into(), running.n4()), Gnb::new());
    smf.associate();
    (running, smf, gnb)
}

fn teid(value: u32) -> Teid {
    Teid::new(value).unwrap()
}

fn path(session: Session, query: &str) -> String {
    format!("/api/v1/sessions/{:#x}/trace{query}", session.up_seid.0)
}

/// The events of a trace.
pub(super) struct Trace(BufReader<TcpStream>);

impl Trace {
    pub(super) fn of(running: &Running, session: Session, query: &str) -> Self {
        let mut stream = TcpStream::connect(running.daemon.management_addresses()[0]).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", path(session, query)).unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).unwrap();
            assert!(!line.starts_with("HTTP/1.1") || line.contains(" 200 "), "{line}");
        }
        Self(stream)
    }

    fn next(&mut self) -> TraceEvent {
        let mut line = String::new();
        loop {
            line.clear();
            assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "the stream ends");
            if let Some(data) = line.strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
    }

    pub(super) fn packet(&mut self) -> TracedPacketView {
        match self.next() {
            TraceEvent::Packet(packet) => *packet,
            other => panic!("{other:?}"),
        }
    }
}

// Input:  two UEs that send and receive, of which one is traced for three packets: uplink, downlink, and one with a source
//         address that is not its own.
// Output: all packets arrive, but the last; the trace shows the three, with their keys, rules and fates, and ends.
#[test]
fn a_trace_shows_the_packets_of_one_ue() {
    let (mut running, mut smf, gnb) = start();
    let session = smf.establish_forwarding(UE, teid(7), gnb.address);
    let other = smf.establish_forwarding(OTHER, teid(8), gnb.address);
    let mut trace = Trace::of(&running, session, "?packets=3");
    for (ue, tunnel) in [(OTHER, other.uplink.teid), (UE, session.uplink.teid)] {
        gnb.send(running.upf, tunnel, &packet(ue, SERVER, b"up"));
        next(&mut running.server);
        assert!(running.server.push(Meta::Ip, &packet(SERVER, ue, b"down")));
        gnb.receive();
    }
    gnb.send(running.upf, session.uplink.teid, &packet(OTHER, SERVER, b"forged"));

    let seid = format!("{:#x}", session.up_seid.0);
    for (direction, to) in [
        ("uplink", "data network internet".to_owned()),
        ("downlink", format!("GTP-U peer {}:2152", gnb.address)),
    ] {
        let seen = trace.packet();
        let rules = seen.explanation.unwrap().rules.unwrap();
        assert_eq!(
            (rules.seid, rules.direction.as_str(), rules.action.as_str()),
            (seid.clone(), direction, "forward")
        );
        assert_eq!((seen.disposition.as_str(), seen.sent[0].to.as_str()), ("forwarded", to.as_str()));
    }
    let forged = trace.packet();
    assert_eq!((forged.disposition.as_str(), forged.sent), ("dropped", vec![]));
    assert!(forged.explanation.unwrap().key.unwrap().contains("TEID"));
    assert!(forged.reason.is_some());
    assert_eq!(trace.next(), TraceEvent::Ended { end: TraceEnd::Packets, lost: 0, not_observed: 0 });
}

// Input:  a traced session that is deleted; another that is traced for a second.
// Output: each trace ends and says why.
#[test]
fn a_trace_ends_with_its_session_or_time() {
    let (running, mut smf, gnb) = start();
    let session = smf.establish_forwarding(UE, teid(7), gnb.address);
    let mut trace = Trace::of(&running, session, "");
    smf.delete(session);
    assert_eq!(trace.next(), TraceEvent::Ended { end: TraceEnd::Session, lost: 0, not_observed: 0 });
    let session = smf.establish_forwarding(OTHER, teid(8), gnb.address);
    let mut trace = Trace::of(&running, session, "?seconds=1");
    assert_eq!(trace.next(), TraceEvent::Ended { end: TraceEnd::Seconds, lost: 0, not_observed: 0 });
}

// Input:  traces of no session, with bounds that do not exist, and more than there may be.
// Output: each is refused, and the response says why.
#[test]
fn what_cannot_be_traced_is_refused() {
    let (running, mut smf, gnb) = start();
    let session = smf.establish_forwarding(UE, teid(7), gnb.address);
    let refused = |path: &str| {
        let (head, body) = running.fetch(path);
        let problem: ProblemView = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{head} {body}"));
        (problem.status, problem.detail)
    };
    assert_eq!(refused("/api/v1/sessions/0xffffffffffff/trace").0, 404);
    assert_eq!(refused("/api/v1/sessions/x/trace").0, 400);
    for query in ["?seconds=0", "?seconds=3601", "?packets=0", "?second=1"] {
        assert_eq!(refused(&path(session, query)).0, 400, "{query}");
    }
    let _kept: Vec<Trace> = (0..8).map(|_| Trace::of(&running, session, "")).collect();
    let (status, detail) = refused(&path(session, ""));
    assert!(status == 503 && detail.contains("8 sessions are watched"), "{status} {detail}");
}

/// How long packets of another UE take behind sixteen of a flood, each: sorted.
fn behind_a_flood(running: &mut Running, gnb: &Gnb, flooding: Session, other: Session) -> Vec<Duration> {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            for _ in 0..FLOOD {
                gnb.send(running.upf, flooding.uplink.teid, &packet(UE, SERVER, b"flood"));
            }
            let begin = Instant::now();
            gnb.send(running.upf, other.uplink.teid, &packet(OTHER, SERVER, b"other"));
            let sources: Vec<_> = (0..=FLOOD).map(|_| next(&mut running.server)[15]).collect();
            assert_eq!((sources[FLOOD as usize], sources[0]), (3, 2), "the order is kept");
            begin.elapsed()
        })
        .collect();
    times.sort_unstable();
    times
}

const ROUNDS: u32 = 300;
const FLOOD: u32 = 16;

// Input:  a flood of a UE between packets of another one; then the same while the former is traced, by a client that does not read.
// Output: every packet of the other UE arrives, and each of the flood; the trace counts what it does not show. How long packets of
//         the other UE take with and without the trace is printed.
#[test]
fn a_flood_loses_observations_and_no_packets() {
    let (mut running, mut smf, gnb) = start();
    let session = smf.establish_forwarding(UE, teid(7), gnb.address);
    let other = smf.establish_forwarding(OTHER, teid(8), gnb.address);
    let without = behind_a_flood(&mut running, &gnb, session, other);
    let mut trace = Trace::of(&running, session, "?seconds=3600&packets=1000000");
    let with = behind_a_flood(&mut running, &gnb, session, other);
    for (what, times) in [("without", without), ("with", with)] {
        let at = |percent: usize| times[times.len() * percent / 100];
        eprintln!("the other UE, {what} a trace: none of {ROUNDS} lost, p50 {:?}, p99 {:?}", at(50), at(99));
    }
    smf.delete(session);
    let (mut shown, mut missed) = (0, 0);
    loop {
        match trace.next() {
            TraceEvent::Packet(_) => shown += 1,
            TraceEvent::Missed { lost, not_observed } => missed += lost + not_observed,
            TraceEvent::Ended { lost, not_observed, .. } => {
                missed += lost + not_observed;
                break;
            }
        }
    }
    // Observations that wait when the session ends are not shown.
    let all = u64::from(ROUNDS * FLOOD);
    assert!(shown > 0 && missed > 0 && shown + missed <= all, "{shown} + {missed} of {all}");
}

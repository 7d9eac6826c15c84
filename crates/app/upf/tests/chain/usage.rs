//! Usage over take-overs: what the SMF is told, and what has passed.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use causeway_pfcp::{
    Cause, CreateUrr, MeasurementMethod, Message, SessionDeletionRequest, SessionReportResponse, UsageReport,
    VolumeQuota, VolumeThreshold, Volumes,
};
use causeway_types::{ReportingTriggers, Teid, UrrId};

use crate::common::namespace::in_namespace;
use crate::common::smf::{Session, Smf, decode};
use crate::common::{Gnb, UE, packet, until};
use crate::network::{self, GNB, Network, SERVICE, Server};

/// A packet of 100 octets.
const PAYLOAD: [u8; 72] = [7; 72];
const PACKET: u64 = 100;

/// Sequence numbers of deletions, which no other request has.
const FIRST_DELETION: u32 = 0x00f0_0000;

/// An SMF that answers each report, and knows what each session has used, report by report.
struct Charging {
    smf: Smf,
    sessions: Vec<(Session, Vec<u64>)>,
    /// The numbers of the requests that it has answered: one that comes again has been counted.
    answered: BTreeSet<u32>,
    deletions: u32,
}

impl Charging {
    fn new(smf: Smf) -> Self {
        Self { smf, sessions: Vec::new(), answered: BTreeSet::new(), deletions: 0 }
    }

    fn establish(&mut self, ue: Ipv4Addr, urr: CreateUrr<'static>) -> Session {
        let session = self.smf.establish_measured(ue, urr);
        self.sessions.push((session, Vec::new()));
        session
    }

    /// The octets of each report of a session.
    fn reports(&self, session: Session) -> &[u64] {
        &self.sessions.iter().find(|(its, _)| its.up_seid == session.up_seid).unwrap().1
    }

    fn used(&self, session: Session) -> u64 {
        self.reports(session).iter().sum()
    }

    fn count(&mut self, session: Session, octets: u64) {
        let mut sessions = self.sessions.iter_mut();
        sessions.find(|(its, _)| its.up_seid == session.up_seid).unwrap().1.push(octets);
    }

    /// Answers what has arrived.
    fn answer(&mut self) {
        for datagram in self.smf.receive_waiting() {
            self.handle(&datagram);
        }
    }

    fn handle(&mut self, datagram: &[u8]) {
        let (header, message) = decode(datagram);
        match message {
            Message::HeartbeatRequest(_) => self.smf.answer_heartbeat(header.sequence, false),
            Message::SessionReportRequest(request) => {
                let its = |(session, _): &&(Session, Vec<u64>)| Some(session.cp_seid) == header.seid;
                let session = self.sessions.iter().find(its).unwrap().0;
                if self.answered.insert(header.sequence) {
                    let used: u64 = request.usage_reports.iter().map(uplink).sum();
                    self.count(session, used);
                }
                let accepted = SessionReportResponse::new(Cause::RequestAccepted);
                self.smf.send(accepted.into(), Some(session.up_seid), header.sequence);
            }
            // The response to a request that was repeated.
            _ => {}
        }
    }

    /// Deletes a session. Returns all that it has used.
    fn delete(&mut self, session: Session) -> u64 {
        let deletion = || SessionDeletionRequest::default().into();
        self.deletions += 1;
        let sequence = FIRST_DELETION + self.deletions;
        let mut sent = None::<Instant>;
        let mut used = None;
        until("the response to a deletion", || {
            if sent.is_none_or(|sent| sent.elapsed() > Duration::from_secs(1)) {
                self.smf.send(deletion(), Some(session.up_seid), sequence);
                sent = Some(Instant::now());
            }
            for datagram in self.smf.receive_waiting() {
                let (header, message) = decode(&datagram);
                match message {
                    Message::SessionDeletionResponse(response) if header.sequence == sequence => {
                        assert!(response.cause.is_accepted());
                        used = used.or(Some(response.usage_reports.iter().map(uplink).sum()));
                    }
                    _ => self.handle(&datagram),
                }
            }
            used.is_some()
        });
        self.count(session, used.unwrap());
        self.used(session)
    }
}

fn uplink(report: UsageReport<'_>) -> u64 {
    report.volume_measurement.and_then(|volume| volume.octets.uplink).unwrap_or(0)
}

fn volumes(total: u64) -> Volumes {
    Volumes { total: Some(total), ..Volumes::default() }
}

/// A URR that reports each time so many octets have passed.
fn with_threshold(octets: u64) -> CreateUrr<'static> {
    CreateUrr {
        volume_threshold: Some(VolumeThreshold(volumes(octets))),
        ..CreateUrr::new(UrrId(1), MeasurementMethod::VOLUM, ReportingTriggers::VOLTH)
    }
}

fn with_quota(octets: u64) -> CreateUrr<'static> {
    CreateUrr {
        volume_quota: Some(VolumeQuota(volumes(octets))),
        ..CreateUrr::new(UrrId(1), MeasurementMethod::VOLUM, ReportingTriggers::VOLQU)
    }
}

fn send(gnb: &Gnb, uplink: Teid, ue: Ipv4Addr, count: usize) {
    (0..count).for_each(|_| gnb.send(SERVICE, uplink, &packet(ue, network::SERVER, &PAYLOAD)));
}

/// The number of the last round through the usage of all sessions.
fn round(network: &Network) -> u64 {
    let metric = |name: &str| network.metric(network.primary(), name)?.parse::<f64>().ok();
    metric("causeway_chain_usage_rounds_total").map_or(0, |rounds| rounds as u64)
}

/// The standby has all changes.
fn is_acknowledged(network: &Network) -> bool {
    network.metric(network.primary(), "causeway_chain_unacknowledged").as_deref() == Some("0")
}

/// Waits until the standby has the usage of all packets that have passed before.
fn await_usage(network: &Network, mut meanwhile: impl FnMut()) {
    let before = round(network);
    // A round under way may have passed the session.
    until("two rounds", || {
        meanwhile();
        round(network) >= before + 2
    });
    until("an acknowledgement", || {
        meanwhile();
        is_acknowledged(network)
    });
}

// Input:  a session with a threshold of 4,000 octets, of which 3,500 are used, and one with a quota of 3,000, of which 2,000 are used; when the standby has that, the
//         primary is killed. Then packets for both until the threshold is reached and the quota exhausted; both sessions are deleted.
// Output: the report at the threshold has what was used before and after the take-over; no more passes than the quota; the SMF was told of exactly what has
//         passed.
#[test]
fn thresholds_and_quotas_go_on_after_a_take_over() {
    in_namespace("usage::thresholds_and_quotas_go_on_after_a_take_over", || {
        let mut network = Network::new();
        network.start_member(1);
        network.start_member(2);
        network.await_standby();
        let (mut smf, gnb, server) = (Charging::new(network.smf()), Gnb::at(GNB), Server::new());
        assert!(smf.smf.associate().is_accepted());
        let other = Ipv4Addr::new(10, 45, 0, 3);
        let first = smf.establish(UE, with_threshold(4000));
        let second = smf.establish(other, with_quota(3000));
        send(&gnb, first.uplink.teid, UE, 35);
        send(&gnb, second.uplink.teid, other, 20);
        until("the packets", || server.received() == 55 * PACKET);
        await_usage(&network, || ());
        let killed = network.kill_primary();
        until("a packet of the first session", || {
            send(&gnb, first.uplink.teid, UE, 1);
            server.received() > 55 * PACKET
        });
        until("a report at the threshold", || {
            send(&gnb, first.uplink.teid, UE, 1);
            smf.answer();
            !smf.reports(first).is_empty()
        });
        // On a busy machine there may be a second one already.
        let report = smf.reports(first)[0];
        assert!((4000..5000).contains(&report), "{report} octets");
        until("the end of the quota", || {
            send(&gnb, second.uplink.teid, other, 1);
            smf.answer();
            smf.used(second) > 0
        });
        send(&gnb, second.uplink.teid, other, 5);
        let log = network.log(3 - killed);
        assert!(log.contains("2 of them go on with their usage"), "{log}");
        assert_eq!((smf.used(second), smf.delete(second)), (3000, 3000));
        let used = smf.delete(first);
        assert_eq!(used + 3000, server.received());
    });
}

// Input:  a session with packets all the time, and a threshold that is reached every 20 packets; the primary is killed, or as often as CAUSEWAY_CHAIN_KILLS says, and returns each time. At the end the
//         session is deleted.
// Output: the SMF was told of no more than what has passed, and of all but what has passed since the last snapshots that the standby had.
#[test]
fn usage_is_lost_since_the_last_snapshot_alone() {
    in_namespace("usage::usage_is_lost_since_the_last_snapshot_alone", || {
        let kills =
            std::env::var("CAUSEWAY_CHAIN_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
        let mut network = Network::new();
        network.start_member(1);
        network.start_member(2);
        network.await_standby();
        let (mut smf, gnb, server) = (Charging::new(network.smf()), Gnb::at(GNB), Server::new());
        assert!(smf.smf.associate().is_accepted());
        let session = smf.establish(UE, with_threshold(20 * PACKET));
        let (ends, mut lost) = (AtomicBool::new(false), 0);
        thread::scope(|scope| {
            let (has_ended, end) = mpsc::channel::<()>();
            let sender = || {
                // Packets end with the test, also if it fails.
                let _has_ended = has_ended;
                while !ends.load(Relaxed) {
                    send(&gnb, session.uplink.teid, UE, 1);
                    thread::sleep(Duration::from_millis(1));
                }
            };
            let _stop = Stop(&ends);
            scope.spawn(sender);
            for _ in 0..kills {
                let before = server.received();
                until("packets", || {
                    smf.answer();
                    server.received() > before + 100 * PACKET
                });
                let covered = server.received();
                // The server reads all the time: what does not fit into the buffer of its socket, it would not count.
                await_usage(&network, || {
                    smf.answer();
                    server.received();
                });
                let killed = network.kill_primary();
                lost += server.received() - covered;
                network.start_member(killed);
                let passed = server.received();
                until("packets by the other member", || {
                    smf.answer();
                    server.received() > passed
                });
                until("a standby", || {
                    smf.answer();
                    server.received();
                    network.has_standby()
                });
            }
            ends.store(true, Relaxed);
            let _ = end.recv();
        });
        let used = smf.delete(session);
        let passed = server.received();
        eprintln!(
            "{passed} octets passed, {used} were reported; {lost} could be lost with {kills} primaries"
        );
        assert!(used <= passed && used + lost >= passed);
    });
}

/// Stops the packets when it is dropped.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

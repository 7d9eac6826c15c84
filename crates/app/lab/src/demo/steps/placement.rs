//! Rules that move to a switch and back under traffic, with the hybrid data plane.

use std::net::SocketAddrV4;
use std::thread;
use std::time::Duration;

use super::cast;
use crate::LabError;
use crate::demo::environment::{DemoEnvironment, Network};
use crate::demo::step::Observer;
use crate::metrics::Metrics;
use crate::patience::{QUIET, wait_while_changing};
use crate::topology::DN;
use crate::traffic::Sequence;
use crate::traffic::sequenced::{Sender, Sink};

const PORT: u16 = 7004;
const LENGTH: u16 = 500;
/// 2 Mbit/s in each direction.
const PACKET_INTERVAL: Duration = Duration::from_millis(2);
/// Packets between two looks at the metrics, and those that follow when both rules are on the switch.
const PART: u64 = 100;
const THEN: u64 = 500;
/// Packets in each direction within which both rules must be on the switch: a minute of them.
const AT_MOST: u64 = 30_000;

pub(super) fn play(stage: &mut DemoEnvironment, observer: &mut Observer<'_>) -> Result<(), LabError> {
    let network = stage.network()?;
    observer.progress("waits until all rules are in software");
    let before = wait_for_rest(network)?;
    let (ue, _, _, topology) = network.ue(cast::PLACED)?;
    let (at_ue, at_dn, device) = (ue.at(PORT)?, SocketAddrV4::new(DN, PORT), ue.device.clone());
    let sinks = [Sink::open(&topology.dn, at_dn)?, Sink::open(&topology.ue, at_ue)?];
    let mut senders =
        [Sender::open(&topology.ue, Some(&device), at_dn)?, Sender::open(&topology.dn, None, at_ue)?];

    observer.progress("packets each way until both rules are on the switch");
    let on_switch = |metrics: &Metrics| rules(metrics, "switch");
    let mut now = before.clone();
    while on_switch(&now) < 2.0 && senders[0].sent() < AT_MOST {
        send(&mut senders, PART)?;
        now = network.metrics()?;
    }
    let first = senders[0].sent();
    observer.expect("rules on the switch", on_switch(&now), on_switch(&now) >= 2.0);
    observer.note("packets each way before that", first);
    observer.progress(format!("{THEN} packets each way on the switch"));
    send(&mut senders, THEN)?;
    for (name, sender, sink) in [("uplink", &senders[0], &sinks[0]), ("downlink", &senders[1], &sinks[1])] {
        let seen = Sequence::compare(sender.sent(), sink.wait_for(sender.sent(), QUIET));
        observer.expect(name, seen, seen.is_perfect());
    }
    let after = network.metrics()?;
    let by_switch = packets(&after, "switch") - packets(&before, "switch");
    observer.expect("packets by the switch", by_switch, by_switch >= 2.0 * THEN as f64);

    observer.progress("silence until both rules are in software again");
    let back = wait_for_rest(network)?;
    let demoted = moves(&back, "demoted") - moves(&before, "demoted");
    observer.expect("rules that moved back by their rate", demoted, demoted >= 2.0);
    let early = |metrics: &Metrics| metrics.sum("causeway_hybrid_events_total", &["event=\"flipped_early\""]);
    observer.note("of all rules that moved, after a short gap", early(&back));
    observer.summarise(format!(
        "both rules on the switch after {first} packets each way; {by_switch} packets by the switch; none lost, doubled or overtaken"
    ));
    Ok(())
}

/// Sends so many packets each way, at the same time.
fn send([uplink, downlink]: &mut [Sender; 2], count: u64) -> Result<(), LabError> {
    thread::scope(|scope| {
        let up = scope.spawn(|| uplink.send(count, LENGTH, PACKET_INTERVAL));
        downlink.send(count, LENGTH, PACKET_INTERVAL)?;
        up.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map(drop)
    })
}

/// Waits until no rule is on the switch or on its way.
fn wait_for_rest(network: &Network) -> Result<Metrics, LabError> {
    let elsewhere = |metrics: &Metrics| {
        ["promoting", "armed", "switch", "demoting"].map(|place| rules(metrics, place)).iter().sum::<f64>()
    };
    let look = || network.metrics().map(|metrics| elsewhere(&metrics));
    wait_while_changing(QUIET, look, |elsewhere| *elsewhere == 0.0)?;
    network.metrics()
}

fn rules(metrics: &Metrics, place: &str) -> f64 {
    metrics.sum("causeway_hybrid_rules", &[&format!("place=\"{place}\"")])
}

fn packets(metrics: &Metrics, side: &str) -> f64 {
    metrics.sum("causeway_hybrid_packets_total", &[&format!("side=\"{side}\"")])
}

fn moves(metrics: &Metrics, name: &str) -> f64 {
    metrics.sum("causeway_hybrid_moves_total", &[&format!("move=\"{name}\"")])
}

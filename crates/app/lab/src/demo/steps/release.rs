//! The end of all sessions.

use std::net::SocketAddrV4;
use std::time::Duration;

use crate::LabError;
use crate::demo::environment::{DemoEnvironment, Network};
use crate::demo::step::Observer;
use crate::metrics::Metrics;
use crate::patience::{QUIET, wait_while_changing};
use crate::topology::DN;
use crate::traffic::sequenced::{Sender, Sink};

const PORT: u16 = 7004;
const LENGTH: u16 = 100;
const PACKETS: u64 = 10;
const PACKET_INTERVAL: Duration = Duration::from_millis(1);

pub(super) fn play(stage: &mut DemoEnvironment, observer: &mut Observer<'_>) -> Result<(), LabError> {
    // In a network that stayed, somebody may send packets of their own.
    let stays = stage.options.keep;
    let network = stage.network()?;
    if super::was_released(stays, network)? {
        observer.summarise("not played: the association was released while the network stayed");
        stage.after = stage.network()?.metrics()?;
        return Ok(());
    }
    let Network { ues, smf, ran, .. } = network;
    let mut exact = 0;
    let all = ues.len();
    for ue in ues {
        observer.progress(format!("deletes {} of {all}", ue.device));
        ue.charge(&smf.delete(&ue.session)?);
        let at_gnb = super::counted(ran.ue(ue.id));
        let same = super::same(&ue.reported, &at_gnb);
        exact += usize::from(same);
        let seen = format!("{} reported, {} at the gNB", super::octets(&ue.reported), super::octets(&at_gnb));
        observer.expect(&format!("usage of {}, all reports", ue.device), seen, same);
    }
    observer.progress("packets after the release");
    nothing_passes(network, observer, stays)?;
    stage.after = stage.network()?.metrics()?;
    let left = stage.after.sum(super::SESSIONS, &[]);
    observer.expect("sessions in /metrics", left, left == 0.0);
    observer
        .summarise(format!("final usage exact for {exact} of {all}; no packet passes, all drops counted"));
    Ok(())
}

/// The drop reasons after the release, as labels, and the direction.
const REASONS: [(&str, &str); 2] =
    [("reason=\"unknown_ue\"", "downlink"), ("reason=\"unknown_teid\"", "uplink")];

/// Both ends continue to send; the gNB still has its side of the tunnel.
fn nothing_passes(
    network: &mut Network,
    observer: &mut Observer<'_>,
    others_send: bool,
) -> Result<(), LabError> {
    let before = network.metrics()?;
    let (ue, _, ran, topology) = network.ue(0)?;
    let (at_ue, at_dn) = (ue.at(PORT)?, SocketAddrV4::new(DN, PORT));
    let (ue_sink, dn_sink) = (Sink::open(&topology.ue, at_ue)?, Sink::open(&topology.dn, at_dn)?);
    Sender::open(&topology.dn, None, at_ue)?.send(PACKETS, LENGTH, PACKET_INTERVAL)?;
    Sender::open(&topology.ue, Some(&ue.device), at_dn)?.send(PACKETS, LENGTH, PACKET_INTERVAL)?;
    let (ran, gnb) = (ran.clone(), ue.gnb);
    let drops = |metrics: &Metrics| REASONS.map(|(label, _)| metrics.sum(super::DROPS, &[label]));
    let look = || network.metrics().map(|now| drops(&now));
    let all = drops(&before).map(|drops| drops + PACKETS as f64);
    let after = wait_while_changing(QUIET, look, |now| now.iter().zip(all).all(|(now, all)| *now >= all))?;
    for ((label, direction), (after, before)) in REASONS.iter().zip(after.iter().zip(drops(&before))) {
        let counted = after - before;
        let is_right = counted == PACKETS as f64 || others_send && counted > PACKETS as f64;
        observer.expect(&format!("{direction} drops, {label}"), counted, is_right);
    }
    // The UPF has dropped every packet, so that none is on its way any more.
    let (down, up) = (ue_sink.seen().len(), dn_sink.seen().len());
    observer.expect("packets that passed", format!("{up} up, {down} down"), down + up == 0);
    observer.note("Error Indications at the gNB", ran.gnb_counters(gnb).error_indications);
    (0..network.ues.len()).for_each(|n| network.ran.disconnect(crate::ran::UeId(n)));
    Ok(())
}

//! An idle UE: buffering, report, service request.

use std::time::Duration;

use causeway_types::Qfi;

use super::{attach, cast};
use crate::LabError;
use crate::demo::environment::DemoEnvironment;
use crate::demo::path::Route;
use crate::demo::step::Observer;
use crate::patience::{QUIET, wait_while_changing};
use crate::ran::Bearer;
use crate::smf::{DOWNLINK_PDR, Downlink};
use crate::topology::UPF_N3;
use crate::traffic::Sequence;
use crate::traffic::sequenced::{Sender, Sink};

const PORT: u16 = 7001;
const LENGTH: u16 = 200;
const PACKET_INTERVAL: Duration = Duration::from_millis(2);
/// Packets while the UE is idle, and afterwards.
const HELD: u64 = 20;
const NEW: u64 = 10;

pub(super) fn play(stage: &mut DemoEnvironment, observer: &mut Observer<'_>) -> Result<(), LabError> {
    stage.follow(Route::Downlink, HELD + NEW);
    let network = stage.network()?;
    let (ue, smf, ran, topology) = network.ue(cast::SLEEPS)?;
    let sink = Sink::open(&topology.ue, ue.at(PORT)?)?;
    let mut sender = Sender::open(&topology.dn, None, ue.at(PORT)?)?;

    observer.progress("idle; packets from the data network");
    ran.disconnect(ue.id);
    smf.set_downlink(&ue.session, Downlink::Buffer)?;
    let strays = ran.gnb_counters(ue.gnb).unknown_tunnel;
    sender.send(HELD, LENGTH, PACKET_INTERVAL)?;
    let report = smf.next_report(QUIET)?;
    let right = report.session == ue.session.cp_seid && report.downlink_data == [DOWNLINK_PDR];
    let pdrs: Vec<_> = report.downlink_data.iter().map(ToString::to_string).collect();
    observer.expect("Session Report (DLDR)", format!("PDR {}", pdrs.join(", ")), right);
    let (session, gnb) = (ue.session, ue.gnb);

    let look = || network.metrics().map(|metrics| metrics.sum(super::BUFFERED, &[]));
    let waiting = wait_while_changing(QUIET, look, |waiting| *waiting >= HELD as f64)?;
    observer.expect("buffered packets, in /metrics", waiting, waiting == HELD as f64);
    // The UPF has dealt with every packet. Reports precede the response to a later request, and packets to the gNB
    // a later Echo Response.
    network.smf.set_downlink(&session, Downlink::Buffer)?;
    network.ran.echo(gnb, UPF_N3.into(), QUIET)?;
    let again = network.smf.next_report(Duration::ZERO).is_ok();
    observer.expect("further reports", if again { "one more" } else { "none" }, !again);
    let escaped = network.ran.gnb_counters(gnb).unknown_tunnel - strays + sink.seen().len() as u64;
    observer.expect("packets that reached the gNB or the UE", escaped, escaped == 0);

    observer.progress("service request");
    let (ue, smf, ran, _) = network.ue(cast::SLEEPS)?;
    let bearer = Bearer { uplink: ue.session.uplink, qfi: Qfi::from_low_bits(attach::QFI) };
    ue.downlink = ran
        .connect(ue.id, ue.gnb, bearer)
        .ok_or_else(|| LabError::Missing("the gNB does not exist".into()))?;
    smf.set_downlink(&ue.session, Downlink::Forward(ue.downlink))?;
    let held = Sequence::compare(HELD, sink.wait_for(HELD, QUIET));
    observer.expect("buffered packets", held, held.is_perfect());
    sender.send(NEW, LENGTH, PACKET_INTERVAL)?;
    let all = Sequence::compare(HELD + NEW, sink.wait_for(HELD + NEW, QUIET));
    observer.expect("buffered and new packets, in order of arrival", all, all.is_perfect());
    ran.echo(ue.gnb, UPF_N3.into(), QUIET)?;
    let tunnel = ran.tunnel(ue.gnb, ue.downlink.teid).packets;
    observer.expect("packets in the new tunnel", tunnel, tunnel == HELD + NEW);
    observer.summarise(format!("1 report, 0 leaked, {HELD} buffered in order, then {NEW} new"));
    stage.arrived(Some(all.received));
    Ok(())
}

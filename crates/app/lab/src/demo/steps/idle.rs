//! An idle UE: buffering, report, service request.

use std::thread;
use std::time::Duration;

use causeway_types::Qfi;

use super::{attach, cast};
use crate::LabError;
use crate::demo::environment::DemoEnvironment;
use crate::demo::step::Observer;
use crate::ran::Bearer;
use crate::smf::{DOWNLINK_PDR, Downlink};
use crate::traffic::Sequence;
use crate::traffic::sequenced::{Sender, Sink};

const PORT: u16 = 7001;
const LENGTH: u16 = 200;
const PACKET_INTERVAL: Duration = Duration::from_millis(2);
/// Packets while the UE is idle, and afterwards.
const HELD: u64 = 20;
const NEW: u64 = 10;
const TIMEOUT: Duration = Duration::from_secs(3);
/// A second report, or an unexpected packet, would have arrived within this time.
const SILENCE_TIME: Duration = Duration::from_millis(300);

pub(super) fn play(stage: &mut DemoEnvironment, observer: &mut Observer<'_>) -> Result<(), LabError> {
    let network = stage.network()?;
    let (ue, smf, ran, topology) = network.ue(cast::SLEEPS)?;
    let sink = Sink::open(&topology.ue, ue.at(PORT))?;
    let mut sender = Sender::open(&topology.dn, None, ue.at(PORT))?;

    observer.progress("idle; packets from the data network");
    ran.disconnect(ue.id);
    smf.set_downlink(&ue.session, Downlink::Buffer)?;
    let strays = ran.gnb_counters(ue.gnb).unknown_tunnel;
    sender.send(HELD, LENGTH, PACKET_INTERVAL)?;
    let report = smf.next_report(TIMEOUT)?;
    let right = report.session == ue.session.cp_seid && report.downlink_data == [DOWNLINK_PDR];
    let pdrs: Vec<_> = report.downlink_data.iter().map(ToString::to_string).collect();
    observer.expect("Session Report (DLDR)", format!("PDR {}", pdrs.join(", ")), right);
    let again = smf.next_report(SILENCE_TIME).is_ok();
    observer.expect("further reports", if again { "one more" } else { "none" }, !again);
    let escaped = ran.gnb_counters(ue.gnb).unknown_tunnel - strays + sink.seen().len() as u64;
    observer.expect("packets that reached the gNB or the UE", escaped, escaped == 0);

    let waiting = network.metrics()?.sum(super::BUFFERED, &[]);
    observer.expect("buffered packets, in /metrics", waiting, waiting == HELD as f64);

    observer.progress("service request");
    let (ue, smf, ran, _) = network.ue(cast::SLEEPS)?;
    let bearer = Bearer { uplink: ue.session.uplink, qfi: Qfi::from_low_bits(attach::QFI) };
    ue.downlink = ran
        .connect(ue.id, ue.gnb, bearer)
        .ok_or_else(|| LabError::Missing("the gNB does not exist".into()))?;
    smf.set_downlink(&ue.session, Downlink::Forward(ue.downlink))?;
    let held = Sequence::compare(HELD, sink.wait_for(HELD, TIMEOUT));
    observer.expect("buffered packets", held, held.is_perfect());
    sender.send(NEW, LENGTH, PACKET_INTERVAL)?;
    let all = Sequence::compare(HELD + NEW, sink.wait_for(HELD + NEW, TIMEOUT));
    observer.expect("buffered and new packets, in order of arrival", all, all.is_perfect());
    thread::sleep(SILENCE_TIME / 3);
    let tunnel = ran.tunnel(ue.gnb, ue.downlink.teid).packets;
    observer.expect("packets in the new tunnel", tunnel, tunnel == HELD + NEW);
    observer.summarise(format!("1 report, 0 leaked, {HELD} buffered in order, then {NEW} new"));
    Ok(())
}

//! A usage report with exact octets.

use std::net::SocketAddrV4;
use std::time::Duration;

use causeway_types::Volume;

use super::attach::THRESHOLD;
use super::cast;
use crate::LabError;
use crate::demo::environment::DemoEnvironment;
use crate::demo::path::Route;
use crate::demo::step::Observer;
use crate::patience::QUIET;
use crate::smf::{Downlink, UsageTrigger};
use crate::topology::DN;
use crate::traffic::sequenced::{Sender, Sink};

const PORT: u16 = 7003;
/// IP packets of this size, this number in each direction: exactly the threshold.
const LENGTH: u16 = 1000;
const UP: u64 = 40;
const DOWN: u64 = 60;
const PACKET_INTERVAL: Duration = Duration::from_micros(500);

pub(super) fn play(stage: &mut DemoEnvironment, observer: &mut Observer<'_>) -> Result<(), LabError> {
    let network = stage.network()?;
    let (ue, smf, ran, topology) = network.ue(cast::PAYS)?;
    let (at_ue, at_dn) = (ue.at(PORT)?, SocketAddrV4::new(DN, PORT));
    let (ue_sink, dn_sink) = (Sink::open(&topology.ue, at_ue)?, Sink::open(&topology.dn, at_dn)?);

    observer.progress("query of the usage, new threshold");
    let queried = ue.charge(&smf.query_and_rearm(&ue.session, THRESHOLD)?);
    let at_gnb = super::counted(ran.ue(ue.id));
    observer.expect("usage, by query", super::octets(&queried), super::same(&queried, &at_gnb));

    observer.progress(format!("{THRESHOLD} octets"));
    stage.follow(Route::Uplink, UP);
    let (ue, _, _, topology) = stage.network()?.ue(cast::PAYS)?;
    Sender::open(&topology.ue, Some(&ue.device), at_dn)?.send(UP, LENGTH, PACKET_INTERVAL)?;
    let up = dn_sink.wait_for(UP, QUIET).len() as u64;
    stage.arrived(Some(up));
    let (ue, smf, _, _) = stage.network()?.ue(cast::PAYS)?;
    // Reports precede the response to a later request; this one changes nothing.
    smf.set_downlink(&ue.session, Downlink::Forward(ue.downlink))?;
    let early = smf.next_report(Duration::ZERO).is_ok();
    observer.expect("report below the threshold", if early { "one" } else { "none" }, !early);
    stage.follow(Route::Downlink, DOWN);
    let (_, _, _, topology) = stage.network()?.ue(cast::PAYS)?;
    Sender::open(&topology.dn, None, at_ue)?.send(DOWN, LENGTH, PACKET_INTERVAL)?;
    let down = ue_sink.wait_for(DOWN, QUIET).len() as u64;
    observer.expect("packets received", format!("{up} up, {down} down"), (up, down) == (UP, DOWN));
    stage.arrived(Some(down));
    let (ue, smf, _, _) = stage.network()?.ue(cast::PAYS)?;
    let report = smf.next_report(QUIET)?;
    let due = report.session == ue.session.cp_seid
        && report.usage.iter().all(|usage| usage.trigger == UsageTrigger::VolumeThreshold);
    let trigger = if due { "volume threshold (VOLTH)" } else { "another" };
    observer.expect("trigger", trigger, due);
    let reported = ue.charge(&report.usage);
    let sent = Volume {
        uplink: UP * u64::from(LENGTH),
        downlink: DOWN * u64::from(LENGTH),
        uplink_packets: UP,
        downlink_packets: DOWN,
    };
    observer.expect("octets sent", super::octets(&sent), sent.total() == THRESHOLD);
    observer.expect("octets reported", super::octets(&reported), super::same(&reported, &sent));
    observer.summarise(format!("reported {} of {} octets sent", reported.total(), sent.total()));
    Ok(())
}

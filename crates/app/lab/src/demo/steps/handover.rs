//! A handover under traffic.

use std::thread;
use std::time::{Duration, Instant};

use super::cast;
use crate::LabError;
use crate::demo::environment::DemoEnvironment;
use crate::demo::path::Route;
use crate::demo::step::Observer;
use crate::patience::QUIET;
use crate::ran::GnbId;
use crate::smf::Downlink;
use crate::topology::DN;
use crate::traffic::Sequence;
use crate::traffic::ping::ping;
use crate::traffic::sequenced::{Sender, Sink};

const PORT: u16 = 7002;
const LENGTH: u16 = 500;
const PACKETS: u64 = 1000;
const PACKET_INTERVAL: Duration = Duration::from_millis(1);
/// So many are sent at a time, and no more are on their way when the next ones are. A UPF whose tables are in another host's memory has
/// place for 64 of a flow while it waits for that host, which takes a while on a busy machine.
const PART: u64 = 25;
/// Packets before the UE moves, while it moves, and after it has moved.
const BEFORE: u64 = 400;
const MEANWHILE: u64 = 400;
const AFTER: u64 = PACKETS - BEFORE - MEANWHILE;
const TARGET: GnbId = GnbId(1);

pub(super) fn play(stage: &mut DemoEnvironment, observer: &mut Observer<'_>) -> Result<(), LabError> {
    stage.follow(Route::Downlink, PACKETS);
    let network = stage.network()?;
    let (ue, smf, ran, topology) = network.ue(cast::MOVES)?;
    let sink = Sink::open(&topology.ue, ue.at(PORT)?)?;
    let mut sender = Sender::open(&topology.dn, None, ue.at(PORT)?)?;
    let (source, old) = (ue.gnb, ue.downlink.teid);
    let before = ran.tunnel(source, old).packets;

    observer.progress(format!("{PACKETS} packets are sent"));
    send(&mut sender, &sink, BEFORE)?;
    let (new, switch) = thread::scope(|scope| {
        let flow = scope.spawn(|| send(&mut sender, &sink, MEANWHILE));
        // The UE moves while packets are on their way.
        sink.wait_for(BEFORE + 1, QUIET);
        let new = ran.hand_over(ue.id, TARGET).ok_or_else(|| LabError::Missing("the target gNB".into()))?;
        let start = Instant::now();
        smf.set_downlink(&ue.session, Downlink::HandOver(new))?;
        let switch = start.elapsed();
        flow.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok::<_, LabError>((new, switch))
    })?;
    (ue.gnb, ue.downlink) = (TARGET, new);
    send(&mut sender, &sink, AFTER)?;
    let seen = Sequence::compare(PACKETS, sink.wait_for(PACKETS, QUIET));

    let (ended, fresh) = (ran.tunnel(source, old), ran.tunnel(TARGET, new.teid));
    let first = ended.packets - before;
    observer.note("path switch", format!("acknowledged in {:.2} ms", switch.as_secs_f64() * 1000.0));
    observer.expect("End Markers on the old tunnel", ended.end_markers, ended.end_markers == 1);
    let late = ended.after_end_marker;
    observer.expect("packets after the End Marker", late, late == 0);
    let both = first > 0 && fresh.packets > 0 && first + fresh.packets == PACKETS;
    observer.expect("packets in the old and the new tunnel", format!("{first} and {}", fresh.packets), both);
    observer.expect("at the UE", seen, seen.is_perfect());
    let (namespace, device) = (topology.ue.clone(), ue.device.clone());
    stage.arrived(Some(seen.received));
    let uplink = ping(&namespace, &device, DN, 3)?;
    observer.expect("ping through the second gNB", format!("{} of 3", uplink.received), uplink.is_lossless());
    observer.summarise(format!(
        "1 End Marker after {first} packets, {} on the new tunnel, {} lost, {} reordered",
        fresh.packets,
        seen.lost(),
        seen.reordered
    ));
    Ok(())
}

/// Sends so many packets.
fn send(sender: &mut Sender, sink: &Sink, count: u64) -> Result<(), LabError> {
    let end = sender.sent() + count;
    while sender.sent() < end {
        sink.wait_for(sender.sent().saturating_sub(PART), QUIET);
        sender.send(PART.min(end - sender.sent()), LENGTH, PACKET_INTERVAL)?;
    }
    Ok(())
}

//! A handover under traffic.

use std::thread;
use std::time::{Duration, Instant};

use super::cast;
use crate::LabError;
use crate::demo::environment::DemoEnvironment;
use crate::demo::step::Observer;
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
/// When the UE moves, after the first packet.
const HANDOVER_AT: Duration = Duration::from_millis(400);
const TIMEOUT: Duration = Duration::from_secs(3);
const TARGET: GnbId = GnbId(1);

pub(super) fn play(stage: &mut DemoEnvironment, observer: &mut Observer<'_>) -> Result<(), LabError> {
    let network = stage.network()?;
    let (ue, smf, ran, topology) = network.ue(cast::MOVES)?;
    let sink = Sink::open(&topology.ue, ue.at(PORT))?;
    let mut sender = Sender::open(&topology.dn, None, ue.at(PORT))?;
    let (source, old) = (ue.gnb, ue.downlink.teid);
    let before = ran.tunnel(source, old).packets;

    observer.progress(format!("{PACKETS} packets are sent"));
    let flow = thread::spawn(move || sender.send(PACKETS, LENGTH, PACKET_INTERVAL));
    thread::sleep(HANDOVER_AT);
    let new = ran.hand_over(ue.id, TARGET).ok_or_else(|| LabError::Missing("the target gNB".into()))?;
    let start = Instant::now();
    smf.set_downlink(&ue.session, Downlink::HandOver(new))?;
    let switch = start.elapsed();
    (ue.gnb, ue.downlink) = (TARGET, new);
    flow.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    let seen = Sequence::compare(PACKETS, sink.wait_for(PACKETS, TIMEOUT));

    let (ended, fresh) = (ran.tunnel(source, old), ran.tunnel(TARGET, new.teid));
    let first = ended.packets - before;
    observer.note("path switch", format!("acknowledged in {:.2} ms", switch.as_secs_f64() * 1000.0));
    observer.expect("End Markers on the old tunnel", ended.end_markers, ended.end_markers == 1);
    let late = ended.after_end_marker;
    observer.expect("packets after the End Marker", late, late == 0);
    let both = first > 0 && fresh.packets > 0 && first + fresh.packets == PACKETS;
    observer.expect("packets in the old and the new tunnel", format!("{first} and {}", fresh.packets), both);
    observer.expect("at the UE", seen, seen.is_perfect());
    let uplink = ping(&topology.ue, &ue.device, DN, 3)?;
    observer.expect("ping through the second gNB", format!("{} of 3", uplink.received), uplink.is_lossless());
    observer.summarise(format!(
        "1 End Marker after {first} packets, {} on the new tunnel, {} lost, {} reordered",
        fresh.packets,
        seen.lost(),
        seen.reordered
    ));
    Ok(())
}

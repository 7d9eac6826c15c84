//! Response templates of deletions: the octets are constant except the usage of each session.

use std::sync::Arc;

use causeway_model::{MacChanges, Usage};
use causeway_pfcp::{
    Cause, DurationMeasurement, EndTime, Header, Ie, RawIe, RawIes, StartTime, TimeOfFirstPacket,
    TimeOfLastPacket, UrSeqn, VolumeMeasurement,
};
use causeway_rules::{ControlProfile, StoredRules};
use causeway_types::{Seid, Span, Time, Volume, WallClock, WallTime};

use super::response_template::{address, put};

/// Usage Report in a deletion response (TS 29.244 table 8.1.2-1).
const USAGE_REPORT: u16 = 79;

/// The bits of Volume Measurement for packet counts.
const PACKETS: u8 = 0b11_1000;

/// The response to the deletion of a session of a profile, with at most one usage report for each URR.
#[derive(Debug)]
pub(super) struct DeletionResponseTemplate {
    profile: Arc<ControlProfile>,
    /// The usage in it.
    usage: Vec<Usage>,
    octets: Vec<u8>,
    /// The offsets of the values of each usage report.
    places: Vec<UsageOffsets>,
}

/// The offsets of the values of a usage report, if present.
#[derive(Clone, Copy, Default, Debug)]
struct UsageOffsets {
    sequence: usize,
    start: Option<usize>,
    end: Option<usize>,
    /// And whether it has packet counts.
    volume: Option<(usize, bool)>,
    duration: Option<usize>,
    first_packet: Option<usize>,
    last_packet: Option<usize>,
}

impl DeletionResponseTemplate {
    /// Derives a template from a response. `None`: it contains an unsupported field.
    pub(super) fn of(kept: &StoredRules, usage: &[Usage], answer: &[u8]) -> Option<Self> {
        let (_, body, _) = Header::decode(answer).ok()?;
        let mut places = Vec::new();
        for ie in RawIes::new(body) {
            let ie = ie.ok()?;
            match ie.ie_type {
                Cause::TYPE => {}
                // In a deletion response.
                USAGE_REPORT => places.push(UsageOffsets::of(answer, ie)?),
                _ => return None,
            }
        }
        let is_first = |(at, it): (usize, &Usage)| usage.iter().position(|one| one.urr == it.urr) == Some(at);
        let can_be_known = places.len() == usage.len()
            && usage.iter().all(has_only_known_fields)
            && usage.iter().enumerate().all(is_first);
        let profile = Arc::clone(kept.profiled()?.profile());
        can_be_known.then(|| Self { profile, usage: usage.to_vec(), octets: answer.to_vec(), places })
    }

    /// The template fits such a session with such usage.
    pub(super) fn matches(&self, kept: &StoredRules, usage: &[Usage]) -> bool {
        kept.profiled().is_some_and(|profiled| Arc::ptr_eq(profiled.profile(), &self.profile))
            && self.usage.len() == usage.len()
            && self.usage.iter().zip(usage).all(|(known, usage)| has_same_fields(known, usage))
    }

    /// The response for a session that it fits. Written into `octets`, which are empty.
    pub(super) fn encode(
        &self,
        kept: &StoredRules,
        usage: &[Usage],
        cp: Seid,
        sequence: u32,
        mut octets: Vec<u8>,
        clock: WallClock,
    ) -> Option<Vec<u8>> {
        octets.extend_from_slice(&self.octets);
        address(&mut octets, cp, sequence)?;
        for (places, usage) in self.places.iter().zip(usage) {
            put(&mut octets, places.sequence, &kept.next_report(usage.urr)?.to_be_bytes())?;
            places.put_times(&mut octets, usage, clock)?;
            places.put_volume(&mut octets, usage)?;
        }
        Some(octets)
    }
}

impl UsageOffsets {
    fn of(answer: &[u8], report: RawIe<'_>) -> Option<Self> {
        let mut places = Self::default();
        for ie in RawIes::new(report.value) {
            let ie = ie.ok()?;
            let at = ie.value.as_ptr().addr().checked_sub(answer.as_ptr().addr())?;
            match ie.ie_type {
                UrSeqn::TYPE => places.sequence = at,
                StartTime::TYPE => places.start = Some(at),
                EndTime::TYPE => places.end = Some(at),
                VolumeMeasurement::TYPE => {
                    places.volume = Some((at + 1, ie.value.first()? & PACKETS != 0));
                }
                DurationMeasurement::TYPE => places.duration = Some(at),
                TimeOfFirstPacket::TYPE => places.first_packet = Some(at),
                TimeOfLastPacket::TYPE => places.last_packet = Some(at),
                _ => {}
            }
        }
        Some(places)
    }

    fn put_times(&self, octets: &mut [u8], usage: &Usage, clock: WallClock) -> Option<()> {
        let wall = |time: Time| clock.at(time);
        put_time(octets, self.start, Some(wall(usage.start)))?;
        put_time(octets, self.end, Some(wall(usage.end)))?;
        put_time(octets, self.first_packet, usage.first_packet.map(wall))?;
        put_time(octets, self.last_packet, usage.last_packet.map(wall))?;
        match self.duration.zip(usage.duration) {
            Some((at, duration)) => put(octets, at, &seconds(duration).to_be_bytes()),
            None => Some(()),
        }
    }

    fn put_volume(&self, octets: &mut [u8], usage: &Usage) -> Option<()> {
        let Some(((at, has_packets), volume)) = self.volume.zip(usage.volume) else { return Some(()) };
        let Volume { uplink, downlink, uplink_packets, downlink_packets } = volume;
        let packets = [volume.total_packets(), uplink_packets, downlink_packets];
        let values = [volume.total(), uplink, downlink].into_iter().chain(packets);
        let places = octets.get_mut(at..at + if has_packets { 48 } else { 24 })?.as_chunks_mut().0;
        places.iter_mut().zip(values).for_each(|(index, value)| *index = value.to_be_bytes());
        Some(())
    }
}

fn put_time(octets: &mut [u8], at: Option<usize>, time: Option<WallTime>) -> Option<()> {
    match at.zip(time) {
        Some((at, time)) => put(octets, at, &time.to_ntp().0.to_be_bytes()),
        None => Some(()),
    }
}

fn seconds(span: Span) -> u32 {
    u32::try_from(span.as_secs()).unwrap_or(u32::MAX)
}

/// All fields of the usage have an offset.
fn has_only_known_fields(usage: &Usage) -> bool {
    usage.part.is_empty()
        && usage.events.is_empty()
        && usage.macs == MacChanges::default()
        && usage.detected.is_none()
}

/// Both have the same fields; values may differ.
fn has_same_fields(known: &Usage, usage: &Usage) -> bool {
    has_only_known_fields(usage)
        && (known.urr, known.triggers) == (usage.urr, usage.triggers)
        && known.volume.is_some() == usage.volume.is_some()
        && known.duration.is_some() == usage.duration.is_some()
        && known.first_packet.is_some() == usage.first_packet.is_some()
        && known.last_packet.is_some() == usage.last_packet.is_some()
}

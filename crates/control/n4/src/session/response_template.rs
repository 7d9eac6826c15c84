//! Templates of recent responses to requests for profiled sessions.

use std::sync::Arc;

use causeway_model::{MacChanges, Usage};
use causeway_pfcp::template::{ResponseTemplate, ResponseValues, UsageValues};
use causeway_rules::{ControlProfile, ProfiledRules, StoredRules};
use causeway_types::{Seid, WallClock};

/// The most templates of each kind.
const CACHE_SIZE: usize = 64;

/// Templates of recent responses.
#[derive(Debug, Default)]
pub(crate) struct ResponseTemplates {
    /// Of establishments: they contain no more than what the UPF chose.
    establishments: Vec<(Arc<ControlProfile>, ResponseTemplate)>,
    /// Of a modification that is accepted without results.
    modification: Option<ResponseTemplate>,
    /// Of deletions: they contain no more than the usage, at most one usage report for each URR.
    ends: Vec<DeletionTemplate>,
}

#[derive(Debug)]
struct DeletionTemplate {
    profile: Arc<ControlProfile>,
    /// The usage in it.
    usage: Vec<Usage>,
    template: ResponseTemplate,
}

impl ResponseTemplates {
    /// The response to an establishment, if there is a template. Written into `octets`, which are empty.
    pub(crate) fn encode(
        &self,
        profiled: &ProfiledRules,
        up: Seid,
        cp: Seid,
        sequence: u32,
        octets: Vec<u8>,
    ) -> Option<Vec<u8>> {
        let (_, template) =
            self.establishments.iter().find(|(profile, _)| Arc::ptr_eq(profile, profiled.profile()))?;
        let values = ResponseValues { cp, sequence, up, tunnels: &profiled.params().tunnels };
        template.encode(&values, [], octets)
    }

    /// Learns the template of a response; it contains no more than what the UPF chose.
    pub(crate) fn remember(
        &mut self,
        profiled: &ProfiledRules,
        up: Seid,
        cp: Seid,
        sequence: u32,
        response: &[u8],
    ) {
        let values = ResponseValues { cp, sequence, up, tunnels: &profiled.params().tunnels };
        if let Some(template) = ResponseTemplate::learn(response, &values, &[]) {
            self.establishments.truncate(CACHE_SIZE - 1);
            self.establishments.insert(0, (Arc::clone(profiled.profile()), template));
        }
    }

    /// The response that accepts a modification, if there is a template. Written into `octets`, which are empty.
    pub(crate) fn accept(&self, cp: Seid, sequence: u32, octets: Vec<u8>) -> Option<Vec<u8>> {
        let values = ResponseValues { cp, sequence, ..ResponseValues::default() };
        self.modification.as_ref()?.encode(&values, [], octets)
    }

    /// Learns the template of a response to a modification that contains nothing but its acceptance.
    pub(crate) fn remember_accepted(&mut self, cp: Seid, sequence: u32, response: &[u8]) {
        let values = ResponseValues { cp, sequence, ..ResponseValues::default() };
        self.modification = ResponseTemplate::learn(response, &values, &[]);
    }

    /// The response to a deletion, if there is a template. Written into `octets`, which are empty, with times of the
    /// wall clock.
    pub(crate) fn end(
        &self,
        held: &StoredRules,
        usage: &[Usage],
        cp: Seid,
        sequence: u32,
        octets: Vec<u8>,
        clock: WallClock,
    ) -> Option<Vec<u8>> {
        let known = self.ends.iter().find(|known| known.matches(held, usage))?;
        let values = ResponseValues { cp, sequence, ..ResponseValues::default() };
        known.template.encode(&values, usage.iter().map(|usage| values_of(held, usage, clock)), octets)
    }

    /// Learns the template of a response to a deletion that contains no more than the usage.
    pub(crate) fn remember_end(
        &mut self,
        held: &StoredRules,
        usage: &[Usage],
        cp: Seid,
        sequence: u32,
        response: &[u8],
        clock: WallClock,
    ) {
        let is_first = |(at, it): (usize, &Usage)| usage.iter().position(|one| one.urr == it.urr) == Some(at);
        let can_be_known = usage.iter().all(has_only_known_fields) && usage.iter().enumerate().all(is_first);
        let Some(profiled) = held.profiled().filter(|_| can_be_known) else { return };
        let values = ResponseValues { cp, sequence, ..ResponseValues::default() };
        let reports: Vec<_> = usage.iter().map(|usage| values_of(held, usage, clock)).collect();
        if let Some(template) = ResponseTemplate::learn(response, &values, &reports) {
            self.ends.truncate(CACHE_SIZE - 1);
            let profile = Arc::clone(profiled.profile());
            self.ends.insert(0, DeletionTemplate { profile, usage: usage.to_vec(), template });
        }
    }
}

impl DeletionTemplate {
    /// The template fits such a session with such usage.
    fn matches(&self, held: &StoredRules, usage: &[Usage]) -> bool {
        held.profiled().is_some_and(|profiled| Arc::ptr_eq(profiled.profile(), &self.profile))
            && self.usage.len() == usage.len()
            && self.usage.iter().zip(usage).all(|(known, usage)| has_same_fields(known, usage))
    }
}

/// The values of a usage report. One with an unknown sequence number is never encoded: the session has the URR.
#[inline]
fn values_of(held: &StoredRules, usage: &Usage, clock: WallClock) -> UsageValues {
    let seconds = |time| clock.at(time).to_ntp();
    UsageValues {
        sequence: held.next_report(usage.urr).unwrap_or_default(),
        start: Some(seconds(usage.start)),
        end: Some(seconds(usage.end)),
        first_packet: usage.first_packet.map(seconds),
        last_packet: usage.last_packet.map(seconds),
        duration: usage.duration.map(|span| u32::try_from(span.as_secs()).unwrap_or(u32::MAX)),
        volume: usage.volume,
    }
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

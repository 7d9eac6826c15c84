//! Sessions that are unused since they were established: they can be dormant as long as that is so.

use std::net::{IpAddr, Ipv4Addr};

use causeway_collections::SortedMap;
use causeway_dataplane::Usage;
use causeway_model::{OuterHeader, Pdr, PduSessionType, RuleSet, UE_PREFIX_BITS, Urr};
use causeway_types::{Seid, Teid, Time, UsageReportTrigger, Volume};

use super::measured_state::is_independent_of_topology;
use crate::engine::SlowPath;
use crate::lazy::Lazy;
use crate::measure::Measurement;
use crate::session::Session;

impl SlowPath {
    /// The number of sessions.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// All sessions, in no order.
    pub fn seids(&self) -> impl Iterator<Item = Seid> {
        self.sessions.iter().map(|(seid, _)| *seid)
    }

    /// The session exists.
    pub fn has(&self, seid: Seid) -> bool {
        self.sessions.contains_key(&seid)
    }

    /// No session has one of these local tunnels, or this UE address.
    pub fn is_free(&self, tunnels: impl IntoIterator<Item = (Teid, IpAddr)>, ue: Option<Ipv4Addr>) -> bool {
        let is_free = |(teid, local)| self.index.session_of_tunnel(teid, local).is_none();
        tunnels.into_iter().all(is_free) && ue.is_none_or(|ue| !self.index.has_ue(ue.into()))
    }

    /// The session was established at this time and is unused since, and will be until it receives a packet or a
    /// plan. Its final report is [`SlowPath::final_usage`].
    pub fn can_be_dormant(&self, seid: Seid, since: Time) -> bool {
        let Some(session) = self.sessions.get(&seid) else { return false };
        let measurements: SortedMap<_, _> =
            session.rules.urrs.keys().map(|urr| (*urr, Lazy::since(since))).collect();
        let enforcers: SortedMap<_, _> =
            session.rules.qers.keys().map(|qer| (*qer, Lazy::since(since))).collect();
        let fresh = Session { rules: session.rules.clone(), measurements, enforcers, ..Session::default() };
        **session == fresh && is_independent_of_topology(&session.rules, &self.topology)
    }

    /// The final usage of a session with these rules, established at `since`, that received no packet.
    pub fn final_usage(rules: &RuleSet, since: Time, now: Time) -> Vec<Usage> {
        let mut usage = Vec::with_capacity(rules.urrs.len());
        for urr in rules.urrs.values() {
            match volume_only_report(urr, since, now) {
                Some(nothing) => usage.push(nothing),
                None => usage.extend(final_reports(urr, since, now)),
            }
        }
        usage
    }
}

fn final_reports(urr: &Urr, since: Time, now: Time) -> Vec<Usage> {
    Measurement::new(urr, since).report(urr, UsageReportTrigger::TERMR, now)
}

/// The same where time is not measured and there is one report, without measuring.
fn volume_only_report(urr: &Urr, since: Time, now: Time) -> Option<Usage> {
    let volume = urr.method.volume.then_some(Volume::ZERO);
    (!urr.method.duration)
        .then(|| Usage { volume, ..Usage::new(urr.id, UsageReportTrigger::TERMR, since, now) })
}

/// The session shares nothing with others. Packets identify it by an IPv4 address, an IPv6 prefix of 64 bits, and by
/// local tunnels.
pub(super) fn is_independent(rules: &RuleSet) -> bool {
    let RuleSet { pdu_type, pdrs, fars, qers, .. } = rules;
    let has_ue_prefix =
        |pdr: &Pdr| pdr.pdi.ue.and_then(|ue| ue.v6).is_none_or(|net| net.prefix_len() == UE_PREFIX_BITS);
    let has_one_address = pdrs.values().all(|pdr| pdr.pdi.routes.is_empty() && has_ue_prefix(pdr));
    let leads_into_gtpu = fars.values().all(|far| {
        let outer = far.forwarding.as_ref().and_then(|forwarding| forwarding.outer);
        let is_plain = matches!(outer, None | Some(OuterHeader::Unknown | OuterHeader::Gtpu(_)));
        is_plain && far.duplicates.is_empty()
    });
    let has_no_slice_limit = qers.values().all(|qer| qer.correlation.is_none() && qer.packet_rate.is_none());
    *pdu_type == PduSessionType::Ip && has_one_address && leads_into_gtpu && has_no_slice_limit
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use causeway_model::{MeasurementMethod, Monitoring, UsageLimits};
    use causeway_types::{Span, UrrId, WallTime};

    use super::*;

    // Input:  URRs that measure nothing, volume, time, events or several of them, from their start or the first
    //         packet, before QoS enforcement too, with limits and a monitoring time that is over, or paused; each
    //         ends after 90 s without a packet.
    // Output: where the report is known without measuring, it is equal to the measured one, and it is one report.
    #[test]
    fn a_final_report_without_measuring_equals_a_measured_one() {
        let (since, now) = (Time::from_secs(1000), Time::from_secs(1090));
        let (at, mut known) = (WallTime::from_secs(1030), 0);
        for bits in 0..256_u32 {
            let has = |bit: u32| bits & 1 << bit != 0;
            let method = MeasurementMethod { volume: has(0), duration: has(1), events: has(2) };
            let limits =
                UsageLimits { volume: None, time: has(3).then(|| Span::from_secs(30)), events: Some(1) };
            let urr = Urr {
                before_qos: has(4),
                immediate_start: has(5),
                inactive: has(6),
                thresholds: limits,
                quotas: limits,
                monitoring: has(7).then_some(Monitoring { at, thresholds: limits, quotas: limits }),
                number_of_reports: NonZeroU16::new(1).filter(|_| has(3)),
                ..Urr::new(UrrId(1), method)
            };
            if let Some(usage) = volume_only_report(&urr, since, now) {
                known += 1;
                assert_eq!(final_reports(&urr, since, now), [usage], "{urr:?}");
            }
        }
        assert_eq!(known, 128);
    }
}

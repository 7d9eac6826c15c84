//! Volume limits.

use causeway_types::{Direction, Volume};

use super::config::PullingPolicy;

/// A volume threshold or quota (TS 29.244 clauses 8.2.13 and 8.2.50) in octets; each value is optional.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limit {
    /// Of both directions together.
    pub total: Option<u64>,
    /// From the UE.
    pub uplink: Option<u64>,
    /// Towards the UE.
    pub downlink: Option<u64>,
}

impl Limit {
    /// Of both directions together.
    pub const fn total(octets: u64) -> Self {
        Self { total: Some(octets), uplink: None, downlink: None }
    }

    /// Whether it is reached.
    pub fn is_reached(&self, volume: &Volume) -> bool {
        self.parts(volume).any(|(limit, counted)| counted >= limit)
    }

    /// Each limit that is set, with the volume that counts towards it.
    fn parts(&self, volume: &Volume) -> impl Iterator<Item = (u64, u64)> {
        let counted = [volume.total(), volume.uplink, volume.downlink];
        let limits = [self.total, self.uplink, self.downlink];
        limits.into_iter().zip(counted).filter_map(|(limit, counted)| Some((limit?, counted)))
    }

    /// When packets of a direction are likely to reach the limit, at the given flows (both directions, uplink,
    /// downlink), each relative to the time of the counted volume; seconds from now. The policy determines the fraction
    /// of that time. `None`: they never will, or do not count.
    pub(super) fn reached_in(
        &self,
        volume: &Volume,
        flows: &[Flow; 3],
        direction: Option<Direction>,
        care: PullingPolicy,
    ) -> Option<f64> {
        let [total, uplink, downlink] = [self.total, self.uplink, self.downlink];
        let limits = match direction {
            None => [total, uplink, downlink],
            Some(Direction::Uplink) => [total, uplink, None],
            Some(Direction::Downlink) => [total, None, downlink],
        };
        let counted = [volume.total(), volume.uplink, volume.downlink];
        let parts = limits.into_iter().zip(counted).zip(flows);
        let seconds = parts.filter_map(|((limit, counted), flow)| {
            let missing = (limit?.saturating_sub(counted) as f64 - flow.packet).max(0.0);
            (flow.rate > 0.0).then(|| flow.since + care.wait(missing / flow.rate))
        });
        seconds.min_by(f64::total_cmp)
    }
}

/// Estimated traffic.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Flow {
    /// Octets per second.
    pub(super) rate: f64,
    /// The time of the counter readings, weighted by their rates: seconds from now, mostly negative.
    pub(super) since: f64,
    /// Octets of a packet: the limit is predicted one packet early, as a packet may arrive at any time.
    pub(super) packet: f64,
}

impl Flow {
    /// The flow of several counters, from the rate and the reading time of each.
    pub(super) fn sum(parts: impl Iterator<Item = (f64, f64)>) -> Self {
        let (rate, weighed) =
            parts.fold((0.0, 0.0), |(rate, weighed), (part, since)| (rate + part, weighed + part * since));
        Self { rate, since: if rate > 0.0 { weighed / rate } else { 0.0 }, packet: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  1000 octets in all and 300 uplink; 400 counted downlink and 200 uplink; flows of 10 and 5 octets per
    //         second.
    // Output: the uplink limit is nearer: 100 octets at 5 per second, less the four seconds since the counter was read.
    //         The downlink counts only towards the total: half of the time until then is 13.3 s, less two. With packets
    //         of 50 octets, the prediction is one packet earlier.
    #[test]
    fn the_nearest_limit_counts() {
        let limit = Limit { total: Some(1000), uplink: Some(300), downlink: None };
        let volume = Volume { uplink: 200, downlink: 400, ..Volume::ZERO };
        let half = PullingPolicy { part: 50, ..PullingPolicy::PAPER };
        let flow = |rate, since| Flow { rate, since, packet: 0.0 };
        let flows = [Flow::sum([(5.0, -4.0), (10.0, -1.0)].into_iter()), flow(5.0, -4.0), flow(10.0, -1.0)];
        assert_eq!(flows[0], flow(15.0, -2.0));
        assert_eq!(limit.reached_in(&volume, &flows, None, PullingPolicy::PAPER), Some(16.0));
        let downlink = limit.reached_in(&volume, &flows, Some(Direction::Downlink), half);
        assert_eq!(downlink.map(|seconds| (seconds * 1e9).round()), Some(11_333_333_333.0));
        assert_eq!(limit.reached_in(&volume, &flows, Some(Direction::Uplink), half), Some(6.0));
        let packet = flows.map(|flow| Flow { packet: 50.0, ..flow });
        assert_eq!(limit.reached_in(&volume, &packet, None, PullingPolicy::PAPER), Some(6.0));
        assert!(!limit.is_reached(&volume));
        assert!(limit.is_reached(&Volume { uplink: 300, ..volume }));
        assert!(Limit::total(600).is_reached(&volume));
        assert_eq!(Limit::default().reached_in(&volume, &flows, None, PullingPolicy::PAPER), None);
        assert_eq!(limit.reached_in(&volume, &[Flow::default(); 3], None, PullingPolicy::PAPER), None);
    }
}

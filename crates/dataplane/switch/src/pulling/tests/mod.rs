//! Usage pulling as a whole.

mod care;
mod random;
mod stories;

use causeway_types::{Direction, Span, Time, Volume};

use super::{Config, Limit, Measured, Pulling, PullingPolicy, Report, Start, Triggers, Urr};
use crate::pendulum::{Partition, Reading, Side};
use crate::{Count, SwitchPdr};

/// Milliseconds after a moment.
fn at(millis: u64) -> Time {
    Time::from_secs(1_000_000) + Span::from_millis(millis)
}

/// A URR that counts before QoS enforcement.
const INGRESS: Urr = Urr::new(Side::Ingress);

/// With care: half of the time that is likely is let pass.
const CARE: PullingPolicy =
    PullingPolicy { part: 50, memory: Span::from_secs(10), recent: Some(Span::from_secs(2)) };

/// Pulling with small numbers: rules have their entries in the first partition of both sides.
struct Bench {
    pulling: Pulling<u32>,
}

impl Bench {
    fn new() -> Self {
        Self { pulling: Pulling::new(Config::default()) }
    }

    fn urr(&mut self, millis: u64, key: u32, urr: Urr) {
        self.pulling.provision(at(millis), key, urr);
    }

    fn uplink(&mut self, millis: u64, number: u32, urrs: &[u32]) {
        self.enter(millis, number, Direction::Uplink, urrs, None);
    }

    fn enter(&mut self, millis: u64, number: u32, direction: Direction, urrs: &[u32], replaces: Option<u32>) {
        let measured = Measured {
            number: SwitchPdr(number),
            direction,
            partitions: [Partition(0); 2],
            banks: [0; 2],
            urrs,
            replaces: replaces.map(SwitchPdr),
        };
        self.pulling.enter(at(millis), &measured).unwrap();
    }

    fn pick(&mut self, millis: u64, budget: usize) -> Vec<u32> {
        let picked = self.pulling.pick(at(millis), Side::Ingress, Partition(0), budget);
        picked.into_iter().map(|number| number.0).collect()
    }

    /// Reads the ingress counter of a rule.
    fn read(&mut self, millis: u64, number: u32, octets: u64) -> Vec<Report<u32>> {
        self.read_on(Side::Ingress, millis, number, octets)
    }

    fn read_packets(&mut self, millis: u64, number: u32, octets: u64, packets: u64) -> Vec<Report<u32>> {
        let usage = Count { octets, packets };
        let reading = Reading { number: SwitchPdr(number), side: Side::Ingress, usage, is_last: false };
        self.pulling.readings(at(millis), &[reading])
    }

    fn read_on(&mut self, side: Side, millis: u64, number: u32, octets: u64) -> Vec<Report<u32>> {
        let usage = Count { octets, packets: octets.min(1) };
        let reading = Reading { number: SwitchPdr(number), side, usage, is_last: false };
        self.pulling.readings(at(millis), &[reading])
    }
}

/// What reports say, briefly: the URR, why, and octets of both directions.
fn said(reports: &[Report<u32>]) -> Vec<(u32, Triggers, u64)> {
    reports.iter().map(|report| (report.key, report.triggers, report.usage.total())).collect()
}

//! How many messages the UPF sends because of packets that anybody may send: ICMP errors (RFC 1812 clause 4.3.2.8,
//! RFC 4443 clause 2.4) and GTP-U signalling.

use std::collections::BTreeMap;
use std::net::IpAddr;

use causeway_types::{Span, Time};

/// How many hosts are remembered; beyond that only the limit for all holds.
const REMEMBERED: usize = 4096;

const SECOND: u128 = Span::from_secs(1).as_nanos();

/// Token buckets: one for all hosts together, and one for each.
#[derive(Debug)]
pub(crate) struct Ration {
    all: Bucket,
    per_host: u32,
    hosts: BTreeMap<IpAddr, Bucket>,
}

impl Ration {
    /// So many messages in a second, and at once, to all hosts together, and to each.
    pub(crate) fn new(per_second: u32, per_host: u32) -> Self {
        Self { all: Bucket::full(per_second), per_host, hosts: BTreeMap::new() }
    }

    /// A message may be sent to this host now.
    pub(crate) fn has_some(&mut self, host: IpAddr, now: Time) -> bool {
        self.all.has_some(now) && self.hosts.get_mut(&host).is_none_or(|bucket| bucket.has_some(now))
    }

    /// A message may be sent to this host now; it then counts as sent.
    pub(crate) fn may_send(&mut self, host: IpAddr, now: Time) -> bool {
        if self.hosts.len() >= REMEMBERED && !self.hosts.contains_key(&host) {
            self.hosts.retain(|_, bucket| !bucket.is_full(now));
        }
        if self.hosts.len() >= REMEMBERED && !self.hosts.contains_key(&host) {
            return self.all.take(now);
        }
        let bucket = self.hosts.entry(host).or_insert_with(|| Bucket::full(self.per_host));
        bucket.has_some(now) && self.all.take(now) && bucket.take(now)
    }
}

/// Fills up within a second.
#[derive(Debug)]
struct Bucket {
    per_second: u32,
    /// Nanoseconds of filling that are in it; a message takes those between two messages at the full rate.
    held: u128,
    updated: Time,
}

impl Bucket {
    fn full(per_second: u32) -> Self {
        Self { per_second, held: SECOND, updated: Time::default() }
    }

    fn fill(&mut self, now: Time) {
        self.held = self.held.saturating_add(now.since(self.updated).as_nanos()).min(SECOND);
        self.updated = self.updated.max(now);
    }

    fn is_full(&mut self, now: Time) -> bool {
        self.fill(now);
        self.held == SECOND
    }

    fn has_some(&mut self, now: Time) -> bool {
        self.fill(now);
        self.per_second > 0 && self.held >= SECOND / u128::from(self.per_second)
    }

    fn take(&mut self, now: Time) -> bool {
        let has_some = self.has_some(now);
        if has_some {
            self.held -= SECOND / u128::from(self.per_second);
        }
        has_some
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn host(n: u32) -> IpAddr {
        Ipv4Addr::from(n).into()
    }

    // Input: a hundred messages to one host within a second, then one each 200 ms.
    // Output: ten at once; afterwards every one.
    #[test]
    fn a_host_hears_ten_a_second() {
        let mut limit = Ration::new(1000, 10);
        let start = Time::from_secs(9);
        let at_once = (0..100).filter(|_| limit.may_send(host(1), start)).count();
        assert_eq!(at_once, 10);
        assert!((1..50).all(|n| limit.may_send(host(1), start + Span::from_millis(200 * n))));
    }

    // Input: a flood from 20,000 hosts, and a limit of 50 for all; a limit of none.
    // Output: 50 messages, and no more memory than for 4096 hosts; nothing.
    #[test]
    fn a_flood_is_bounded() {
        let mut limit = Ration::new(50, 10);
        let start = Time::from_secs(9);
        assert_eq!((0..20_000).filter(|n| limit.may_send(host(*n), start)).count(), 50);
        assert!(limit.hosts.len() <= REMEMBERED);
        assert!(!Ration::new(0, 10).may_send(host(1), start));
    }
}

//! The rate limit of messages that packets of any sender can cause: ICMP errors (RFC 1812 clause 4.3.2.8, RFC 4443
//! clause 2.4) and GTP-U signalling.

use std::collections::HashMap;
use std::net::IpAddr;

use causeway_types::Time;
use foldhash::fast::RandomState;

/// The number of tracked hosts; beyond it only the limit for all hosts applies.
const MAX_TRACKED: usize = 4096;

const SECOND: u64 = 1_000_000_000;

/// Token buckets: one for all hosts together, and one for each.
#[derive(Clone, Debug)]
pub(crate) struct RateLimiter {
    all: Bucket,
    per_host: u32,
    hosts: HashMap<IpAddr, Bucket, RandomState>,
}

impl RateLimiter {
    /// The number of messages per second, which is also the burst, to all hosts together and to each.
    pub(crate) fn new(per_second: u32, per_host: u32) -> Self {
        Self { all: Bucket::full(per_second), per_host, hosts: HashMap::default() }
    }

    /// A message may be sent to this host now.
    pub(crate) fn is_available(&mut self, host: IpAddr, now: Time) -> bool {
        self.all.is_available(now) && self.hosts.get_mut(&host).is_none_or(|bucket| bucket.is_available(now))
    }

    /// Until when no message may be sent to this host. `None`: one may be sent now.
    pub(crate) fn suppressed_until(&mut self, host: IpAddr, now: Time) -> Option<Time> {
        let own = self.hosts.get_mut(&host).and_then(|bucket| bucket.exhausted_until(now));
        self.all.exhausted_until(now).max(own)
    }

    /// A message may be sent to this host now; it then counts as sent.
    pub(crate) fn may_send(&mut self, host: IpAddr, now: Time) -> bool {
        if self.hosts.len() >= MAX_TRACKED && !self.hosts.contains_key(&host) {
            self.hosts.retain(|_, bucket| !bucket.is_full(now));
        }
        if self.hosts.len() >= MAX_TRACKED && !self.hosts.contains_key(&host) {
            return self.all.take(now);
        }
        let bucket = self.hosts.entry(host).or_insert_with(|| Bucket::full(self.per_host));
        bucket.is_available(now) && self.all.take(now) && bucket.take(now)
    }
}

/// A token bucket that fills within a second.
#[derive(Clone, Debug)]
struct Bucket {
    /// Nanoseconds between two messages at the full rate: the cost of a message. More than the capacity where no
    /// message is allowed.
    price: u64,
    /// Its tokens, in nanoseconds of filling.
    held: u64,
    updated: Time,
}

impl Bucket {
    fn full(per_second: u32) -> Self {
        let price = SECOND.checked_div(per_second.into()).unwrap_or(u64::MAX);
        Self { price, held: SECOND, updated: Time::default() }
    }

    fn fill(&mut self, now: Time) {
        let passed = now.as_nanos().saturating_sub(self.updated.as_nanos());
        self.held = self.held.saturating_add(passed).min(SECOND);
        self.updated = self.updated.max(now);
    }

    fn is_full(&mut self, now: Time) -> bool {
        self.fill(now);
        self.held == SECOND
    }

    fn is_available(&mut self, now: Time) -> bool {
        self.fill(now);
        self.held >= self.price
    }

    /// It has too few tokens until that time, whatever is taken in between.
    fn exhausted_until(&mut self, now: Time) -> Option<Time> {
        let lacking = if self.is_available(now) { return None } else { self.price - self.held };
        Some(Time::from_nanos(self.updated.as_nanos().saturating_add(lacking)))
    }

    fn take(&mut self, now: Time) -> bool {
        let has_some = self.is_available(now);
        if has_some {
            self.held -= self.price;
        }
        has_some
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use causeway_types::Span;

    use super::*;

    fn host(n: u32) -> IpAddr {
        Ipv4Addr::from(n).into()
    }

    // Input: a hundred messages to one host within a second, then one each 200 ms.
    // Output: ten immediately; afterwards every one.
    #[test]
    fn a_host_gets_ten_icmp_errors_a_second() {
        let mut limit = RateLimiter::new(1000, 10);
        let start = Time::from_secs(9);
        let at_once = (0..100).filter(|_| limit.may_send(host(1), start)).count();
        assert_eq!(at_once, 10);
        assert!((1..50).all(|n| limit.may_send(host(1), start + Span::from_millis(200 * n))));
    }

    // Input: messages to two hosts until neither may be sent more, which is the limit for all; a limit of none.
    // Output: none may be sent until the nanosecond in which the next message may; never.
    #[test]
    fn suppression_ends_at_the_announced_time() {
        let start = Time::from_secs(9);
        let mut limit = RateLimiter::new(20, 10);
        assert_eq!(limit.suppressed_until(host(1), start), None);
        while limit.may_send(host(1), start) {}
        assert_eq!(limit.suppressed_until(host(2), start), None);
        while limit.may_send(host(2), start) {}
        for (number, wait) in [(3, Span::from_millis(50)), (1, Span::from_millis(100))] {
            let until = limit.suppressed_until(host(number), start);
            assert_eq!(until, Some(start + wait));
            assert!(!limit.is_available(host(number), start + wait - Span::from_nanos(1)));
            assert!(limit.is_available(host(number), start + wait));
        }
        let never = RateLimiter::new(0, 10).suppressed_until(host(1), start);
        assert!(never.is_some_and(|until| until > start + Span::from_secs(1 << 30)));
    }

    // Input: a flood from 20,000 hosts, and a limit of 50 for all; a limit of none.
    // Output: 50 messages, and no more memory than for 4096 hosts; nothing.
    #[test]
    fn a_flood_is_bounded() {
        let mut limit = RateLimiter::new(50, 10);
        let start = Time::from_secs(9);
        assert_eq!((0..20_000).filter(|n| limit.may_send(host(*n), start)).count(), 50);
        assert!(limit.hosts.len() <= MAX_TRACKED);
        assert!(!RateLimiter::new(0, 10).may_send(host(1), start));
    }
}

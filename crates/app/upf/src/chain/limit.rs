//! A limit of log lines about other hosts, as N4 has one.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::warn;

use crate::logging::count_suppressed;

/// The period of the limit.
const PERIOD: Duration = Duration::from_secs(10);

/// Lines of a kind about a host in a period, and in all.
const OF_HOST: u64 = 10;
const OF_KIND: u64 = 100;

/// Hosts that are counted apart, at most.
const MAX_HOSTS: usize = 1000;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Count {
    written: u64,
    left_out: u64,
}

/// Writes warnings, at most so many.
#[derive(Debug, Default)]
pub(super) struct LineLimit(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    since: Option<Instant>,
    kinds: BTreeMap<&'static str, Count>,
    hosts: BTreeMap<(&'static str, IpAddr), Count>,
}

impl LineLimit {
    /// Writes a line of a kind about a host, or counts it.
    pub(super) fn warn(&self, kind: &'static str, host: IpAddr, line: &dyn Display) {
        let (is_admitted, summaries) = {
            let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let summaries = counts.summaries(Instant::now());
            (counts.admit(kind, host), summaries)
        };
        summaries.iter().for_each(|summary| warn!("chain: {summary}"));
        if is_admitted {
            warn!("chain: {line}");
        } else {
            count_suppressed();
        }
    }

    /// Says how many lines were suppressed, when the period has ended.
    pub(super) fn summarise(&self) {
        let summaries = self.0.lock().unwrap_or_else(PoisonError::into_inner).summaries(Instant::now());
        summaries.iter().for_each(|summary| warn!("chain: {summary}"));
    }
}

impl Counts {
    /// Whether one more line may be written.
    fn admit(&mut self, kind: &'static str, host: IpAddr) -> bool {
        let of_kind = self.kinds.entry(kind).or_default();
        if self.hosts.len() < MAX_HOSTS || self.hosts.contains_key(&(kind, host)) {
            let of_host = self.hosts.entry((kind, host)).or_default();
            if of_host.written >= OF_HOST {
                of_host.left_out += 1;
                return false;
            }
            if of_kind.written < OF_KIND {
                of_host.written += 1;
            }
        }
        if of_kind.written >= OF_KIND {
            of_kind.left_out += 1;
            return false;
        }
        of_kind.written += 1;
        true
    }

    /// What was suppressed in a period that has ended; then another one begins.
    fn summaries(&mut self, now: Instant) -> Vec<String> {
        let since = *self.since.get_or_insert(now);
        if now.duration_since(since) < PERIOD {
            return Vec::new();
        }
        self.since = Some(now);
        let hosts = std::mem::take(&mut self.hosts).into_iter();
        let of_hosts =
            hosts.map(|((kind, host), count)| (format!("{kind}: "), format!(" from {host}"), count));
        let kinds = std::mem::take(&mut self.kinds).into_iter();
        let of_kinds = kinds.map(|(kind, count)| (format!("{kind}: "), String::new(), count));
        let over = of_hosts.chain(of_kinds).filter(|(_, _, count)| count.left_out > 0);
        over.map(|(kind, host, count)| format!("{kind}{} more{host} in the last 10 s", count.left_out))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  25 lines of a kind about a host, one of another kind, 20 hosts more; the end of the period.
    // Output: 10 lines of each kind and host, 100 of a kind; what was suppressed is said once, then the same host is heard again.
    #[test]
    fn lines_about_a_host_are_limited() {
        let (mut counts, start) = (Counts::default(), Instant::now());
        let host = |last: u8| IpAddr::from([192, 0, 2, last]);
        assert!(counts.summaries(start).is_empty());
        let admitted = (0..25).filter(|_| counts.admit("unassociated peers", host(1))).count();
        assert_eq!(admitted, 10);
        assert!(counts.admit("frames", host(1)));
        let of_others =
            (2..22).filter(|last| (0..10).all(|_| counts.admit("unassociated peers", host(*last)))).count();
        assert_eq!(of_others, 9);
        assert!(counts.summaries(start + PERIOD - Duration::from_millis(1)).is_empty());
        let said = counts.summaries(start + PERIOD);
        assert_eq!(
            said,
            [
                "unassociated peers: 15 more from 192.0.2.1 in the last 10 s",
                "unassociated peers: 11 more in the last 10 s"
            ]
        );
        assert!(counts.admit("unassociated peers", host(1)) && counts.summaries(start + PERIOD).is_empty());
    }
}

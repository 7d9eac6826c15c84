//! Limits of log lines: of a kind, and of those that one peer causes.

use std::collections::HashMap;
use std::net::IpAddr;

use causeway_types::{Span, Time};
use tracing::Level;

/// The period of the limits.
const PERIOD: Span = Span::from_secs(10);

/// Maximum number of lines of one kind and one peer in a period.
const LINES_PER_PEER: u64 = 10;

/// Maximum number of lines of one kind in a period, for all peers.
const LINES_PER_KIND: u64 = 100;

/// The factor for levels `debug` and `trace`.
const DETAILED: u64 = 10;

/// Maximum number of distinguished peers and kinds in a period.
const MAX_SUBJECTS: usize = 4096;

/// The subject of a line: lines of one kind and one peer have a common limit.
pub(crate) type Subject = (&'static str, Option<IpAddr>);

#[derive(Clone, Copy, Debug)]
struct Count {
    level: Level,
    written: u64,
    left_out: u64,
}

/// The lines of a period: those that were written, and those that were suppressed.
#[derive(Debug, Default)]
pub(crate) struct LineCounts {
    since: Time,
    peers: HashMap<Subject, Count>,
    kinds: HashMap<&'static str, Count>,
    is_left_out: bool,
}

impl LineCounts {
    /// Whether one more line may be written.
    pub(crate) fn admit(&mut self, level: Level, subject: Subject) -> bool {
        let factor = if level > Level::INFO { DETAILED } else { 1 };
        let (new, (kind, peer)) = (Count { level, written: 0, left_out: 0 }, subject);
        let of_kind = self.kinds.entry(kind).or_insert(new);
        let is_known = self.peers.len() < MAX_SUBJECTS || self.peers.contains_key(&subject);
        if let Some(count) = peer.filter(|_| is_known).map(|_| self.peers.entry(subject).or_insert(new)) {
            if count.written >= LINES_PER_PEER * factor {
                count.left_out += 1;
                self.is_left_out = true;
                return false;
            }
            if of_kind.written < LINES_PER_KIND * factor {
                count.written += 1;
            }
        }
        if of_kind.written >= LINES_PER_KIND * factor {
            of_kind.left_out += 1;
            self.is_left_out = true;
            return false;
        }
        of_kind.written += 1;
        true
    }

    /// When suppressed lines are to be reported; `None`: there are none.
    pub(crate) fn due(&self) -> Option<Time> {
        self.is_left_out.then(|| self.since + PERIOD)
    }

    /// Whether the period is over.
    pub(crate) fn has_ended(&self, now: Time) -> bool {
        now.since(self.since) >= PERIOD
    }

    /// Begins a new period. Returns a line for each subject of which lines were suppressed in the last one, with the level of these.
    pub(crate) fn begin(&mut self, now: Time) -> Vec<(Level, String)> {
        let of_peers = self.peers.iter().filter_map(|((kind, peer), count)| {
            let (more, peer) = (count.left_out, (*peer)?);
            (more > 0).then(|| (count.level, format!("{kind}: {more} more from {peer} in the last 10 s")))
        });
        let of_kinds =
            self.kinds.iter().filter(|(_, count)| count.left_out > 0).map(|(kind, count)| {
                (count.level, format!("{kind}: {} more in the last 10 s", count.left_out))
            });
        let suppressed = of_peers.chain(of_kinds).collect();
        *self = Self { since: now, ..Self::default() };
        suppressed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(n: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, n]))
    }

    // Input:  a hundred lines of one kind from one peer, then one from another, and one of another kind.
    // Output: ten of the first, and both others; the number of suppressed lines is due ten seconds after the first
    //         line.
    #[test]
    fn a_peer_is_cut_and_counted() {
        let mut counts = LineCounts { since: Time::from_secs(1_000), ..LineCounts::default() };
        assert_eq!(counts.due(), None);
        let written = (0..100).filter(|_| counts.admit(Level::WARN, ("refused requests", peer(1)))).count();
        assert_eq!(written as u64, LINES_PER_PEER);
        assert!(counts.admit(Level::WARN, ("refused requests", peer(2))));
        assert!(counts.admit(Level::INFO, ("associations", peer(1))));
        assert_eq!(counts.due(), Some(Time::from_secs(1_010)));
        let results =
            vec![(Level::WARN, "refused requests: 90 more from 192.0.2.1 in the last 10 s".to_owned())];
        assert!(!counts.has_ended(Time::from_secs(1_009)) && counts.has_ended(Time::from_secs(1_010)));
        assert_eq!(counts.begin(Time::from_secs(1_010)), results);
        assert!(counts.due().is_none() && counts.admit(Level::WARN, ("refused requests", peer(1))));
    }

    // Input:  lines of one kind from ten thousand peers, some errors, some information, some details.
    // Output: each level is limited; one line contains the number of suppressed ones; memory is bounded.
    #[test]
    fn many_peers_are_cut_and_counted_together() {
        for level in [Level::TRACE, Level::DEBUG, Level::INFO, Level::WARN, Level::ERROR] {
            let mut counts = LineCounts { since: Time::from_secs(1_000), ..LineCounts::default() };
            let from = |n: u32| Some(IpAddr::from(n.to_be_bytes()));
            let written =
                (0..10_000).filter(|n| counts.admit(level, ("discarded datagrams", from(*n)))).count();
            assert_eq!(
                written as u64,
                if level > Level::INFO { LINES_PER_KIND * DETAILED } else { LINES_PER_KIND }
            );
            let line = format!("discarded datagrams: {} more in the last 10 s", 10_000 - written);
            assert_eq!(counts.peers.len(), MAX_SUBJECTS);
            assert_eq!(counts.begin(Time::from_secs(1_010)), [(level, line)]);
        }
    }
}

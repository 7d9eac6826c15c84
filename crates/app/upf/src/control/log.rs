//! The log lines of N4. Their rate is limited, so that peers cannot flood the log.

use std::collections::HashMap;
use std::fmt::Display;
use std::net::IpAddr;

use causeway_dataplane::Plan;
use causeway_model::SessionChange;
use causeway_n4::{Level, Notice};
use causeway_types::{Span, Time};
use tracing::{debug, error, info, warn};

use crate::logging::count_suppressed;

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
type Subject = (&'static str, Option<IpAddr>);

/// Counts of lines.
#[derive(Clone, Copy, Debug)]
struct Count {
    level: Level,
    written: u64,
    left_out: u64,
}

/// Writes log lines, with limits for each kind: for each peer and in all.
#[derive(Debug, Default)]
pub(super) struct Log {
    since: Time,
    peers: HashMap<Subject, Count>,
    kinds: HashMap<&'static str, Count>,
    is_left_out: bool,
}

impl Log {
    /// A notice, at its level.
    pub(super) fn notice(&mut self, now: Time, notice: &Notice) {
        self.line(now, notice.level(), (notice.kind(), notice.peer()), notice);
    }

    /// A warning of a kind, which a peer may have caused.
    pub(super) fn warn(&mut self, now: Time, kind: &'static str, peer: Option<IpAddr>, what: &dyn Display) {
        self.line(now, Level::Warn, (kind, peer), what);
    }

    /// A detail of a kind.
    pub(super) fn debug(&mut self, now: Time, kind: &'static str, what: &dyn Display) {
        self.line(now, Level::Debug, (kind, None), what);
    }

    fn line(&mut self, now: Time, level: Level, subject: Subject, what: &dyn Display) {
        if !is_enabled(level) {
            return;
        }
        if now.since(self.since) >= PERIOD {
            self.summarise(now);
        }
        if self.admit(level, subject) {
            write(level, what);
        } else {
            count_suppressed();
        }
    }

    /// Whether one more line may be written.
    fn admit(&mut self, level: Level, subject: Subject) -> bool {
        let factor = if level == Level::Debug { DETAILED } else { 1 };
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
    pub(super) fn due(&self) -> Option<Time> {
        self.is_left_out.then(|| self.since + PERIOD)
    }

    /// Reports the suppressed lines when the period has ended.
    pub(super) fn log_suppressed(&mut self, now: Time) {
        if self.due().is_some_and(|due| due <= now) {
            self.summarise(now);
        }
    }

    /// Reports the suppressed lines, and begins a new period.
    pub(super) fn summarise(&mut self, now: Time) {
        for (level, line) in self.summaries() {
            write(level, &line);
        }
        (self.since, self.is_left_out) = (now, false);
        self.peers.clear();
        self.kinds.clear();
    }

    fn summaries(&self) -> Vec<(Level, String)> {
        let of_peers = self.peers.iter().filter_map(|((kind, peer), count)| {
            let (more, peer) = (count.left_out, (*peer)?);
            (more > 0).then(|| (count.level, format!("{kind}: {more} more from {peer} in the last 10 s")))
        });
        let of_kinds =
            self.kinds.iter().filter(|(_, count)| count.left_out > 0).map(|(kind, count)| {
                (count.level, format!("{kind}: {} more in the last 10 s", count.left_out))
            });
        of_peers.chain(of_kinds).collect()
    }
}

fn is_enabled(level: Level) -> bool {
    match level {
        Level::Debug => tracing::enabled!(tracing::Level::DEBUG),
        Level::Info => tracing::enabled!(tracing::Level::INFO),
        Level::Warn => tracing::enabled!(tracing::Level::WARN),
        Level::Error => tracing::enabled!(tracing::Level::ERROR),
    }
}

fn write(level: Level, what: &dyn Display) {
    match level {
        Level::Debug => debug!("{what}"),
        Level::Info => info!("{what}"),
        Level::Warn => warn!("{what}"),
        Level::Error => error!("{what}"),
    }
}

impl Log {
    /// Logs a plan that is submitted to the data plane.
    pub(super) fn plan(&mut self, now: impl FnOnce() -> Time, plan: &Plan) {
        if is_enabled(Level::Debug) {
            let (what, writes) = (what(plan), plan.ops().len());
            self.debug(
                now(),
                "changes of sessions",
                &format_args!("session {}: {what}, {writes} writes", plan.session),
            );
        }
    }
}

fn what(plan: &Plan) -> &'static str {
    match &plan.change {
        SessionChange::Install(_) => "established",
        SessionChange::Remove => "removed",
        SessionChange::Rebind(_) | SessionChange::Update(_) => "modified",
    }
}

#[cfg(test)]
mod tests {
    use causeway_model::RuleSet;
    use causeway_types::Seid;

    use super::*;

    #[test]
    fn a_plan_is_named_by_what_it_does_to_its_session() {
        assert_eq!(what(&Plan::install(Seid(1), RuleSet::default())), "established");
        assert_eq!(what(&Plan::removal(Seid(1))), "removed");
        assert_eq!(what(&Plan::update(Seid(1), vec![])), "modified");
    }

    fn peer(n: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, n]))
    }

    // Input:  a hundred lines of one kind from one peer, then one from another, and one of another kind.
    // Output: ten of the first, and both others; the number of suppressed lines is due ten seconds after the first
    //         line.
    #[test]
    fn a_peer_is_cut_and_counted() {
        let mut log = Log { since: Time::from_secs(1_000), ..Log::default() };
        assert_eq!(log.due(), None);
        let written = (0..100).filter(|_| log.admit(Level::Warn, ("refused requests", peer(1)))).count();
        assert_eq!(written as u64, LINES_PER_PEER);
        assert!(log.admit(Level::Warn, ("refused requests", peer(2))));
        assert!(log.admit(Level::Info, ("associations", peer(1))));
        assert_eq!(log.due(), Some(Time::from_secs(1_010)));
        let results =
            vec![(Level::Warn, "refused requests: 90 more from 192.0.2.1 in the last 10 s".to_owned())];
        assert_eq!(log.summaries(), results);
        log.log_suppressed(Time::from_secs(1_009));
        assert!(log.due().is_some());
        log.log_suppressed(Time::from_secs(1_010));
        assert!(log.due().is_none() && log.admit(Level::Warn, ("refused requests", peer(1))));
    }

    // Input:  lines of one kind from ten thousand peers, some errors, some information, some details.
    // Output: each level is limited; one line contains the number of suppressed ones; memory is bounded.
    #[test]
    fn many_peers_are_cut_and_counted_together() {
        for level in [Level::Debug, Level::Info, Level::Warn, Level::Error] {
            let mut log = Log { since: Time::from_secs(1_000), ..Log::default() };
            let from = |n: u32| Some(IpAddr::from(n.to_be_bytes()));
            let written = (0..10_000).filter(|n| log.admit(level, ("discarded datagrams", from(*n)))).count();
            assert_eq!(
                written as u64,
                if level == Level::Debug { LINES_PER_KIND * DETAILED } else { LINES_PER_KIND }
            );
            let line = format!("discarded datagrams: {} more in the last 10 s", 10_000 - written);
            assert_eq!(log.summaries(), [(level, line)]);
            assert_eq!(log.peers.len(), MAX_SUBJECTS);
        }
    }
}

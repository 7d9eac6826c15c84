//! What the worlds had in them.

use std::collections::BTreeMap;
use std::fmt;

use causeway_dataplane::{Counters, DropReason, Event};

/// What was compared, and what became of the packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) worlds: u64,
    pub(crate) packets: u64,
    pub(crate) plans: u64,
    /// Rules that no SMF could set, or that both refused.
    pub(crate) illegal: u64,
    pub(crate) forwarded: u64,
    /// Packets that the lines decided.
    pub(crate) hot: u64,
    /// Drop reasons and kinds of events, and how many of them there were.
    pub(crate) others: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Both data planes had this to tell.
    pub(crate) fn event(&mut self, event: &Event) {
        let name = match event {
            Event::Usage { .. } => "usage reports",
            Event::DownlinkData { .. } => "downlink data reports",
            Event::Inactivity { .. } => "inactivity reports",
            Event::ErrorIndication { .. } => "error indications",
            Event::HeavyHitter { .. } => "heavy hitters",
            Event::ClassChange { .. } => "changes of application classes",
            Event::PathDown { .. } | Event::PathUnused { .. } | Event::PathUp { .. } => "path reports",
        };
        self.count(name);
    }

    /// One more thing of this name.
    pub(crate) fn count(&mut self, name: &'static str) {
        *self.others.entry(name).or_default() += 1;
    }

    /// A world has ended with these counters.
    pub(crate) fn end(&mut self, counters: &Counters, hot: u64) {
        self.worlds += 1;
        self.hot += hot;
        self.forwarded += counters.forwarded;
        for reason in DropReason::ALL.iter().filter(|reason| counters.dropped(**reason) > 0) {
            *self.others.entry(reason.label()).or_default() += counters.dropped(*reason);
        }
        *self.others.entry("consumed").or_default() += counters.consumed;
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.worlds += other.worlds;
        self.packets += other.packets;
        self.plans += other.plans;
        self.illegal += other.illegal;
        self.forwarded += other.forwarded;
        self.hot += other.hot;
        for (name, count) in other.others {
            *self.others.entry(name).or_default() += count;
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { worlds, packets, plans, illegal, forwarded, hot, others } = self;
        write!(
            f,
            "{worlds} worlds, {packets} packets and {plans} plans compared ({illegal} more not legal); "
        )?;
        write!(f, "{hot} decided by lines, {forwarded} forwarded")?;
        others.iter().try_for_each(|(name, count)| write!(f, ", {count} {name}"))
    }
}

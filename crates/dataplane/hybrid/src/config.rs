//! The configuration of a hybrid UPF.

use causeway_types::Span;

/// How rules move. [`Config::default`] is for a switch with a driver of 3,442 rule changes a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Rules that the switch holds at most.
    pub capacity: usize,
    /// Rule changes a second, at most: promotions, demotions, and changes of armed rules.
    pub changes_per_second: u32,
    /// The longest time that a packet stays in the software, from the switch's ingress to its egress. A rule flips after
    /// a gap of that length between its packets.
    pub longest_stay: Span,
    /// No packet overtakes another one: a rule without a gap of [`Config::longest_stay`] never flips.
    pub strict: bool,
    /// How long a rule waits for that gap; then, unless `strict`, shorter ones suffice: half of it, and half of that each
    /// quarter of a second later.
    pub patience: Span,
    /// The shortest gap that suffices then.
    pub least_gap: Span,
    /// How long a rule is armed at most: it returns to the software then.
    pub give_up: Span,
    /// Rules that are armed at a time, at most.
    pub armed: usize,
    /// The interval between readings of the switch's counters. `None`: after each packet that it has forwarded, so that
    /// reports are as exact as those of software; for tests.
    pub read_interval: Option<Span>,
    /// How long a rule that the switch cannot forward is not tried again, unless its session changes.
    pub retry_refused: Span,
    /// Octets that a volume quota must have left, in each direction it limits, for a rule to be on the switch. A quota that
    /// can end between two readings is in the software.
    pub quota_margin: u64,
    /// Seconds that a time quota must have left, likewise.
    pub quota_time_margin: Span,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            capacity: 20_000,
            changes_per_second: 3_442,
            longest_stay: Span::from_micros(650),
            strict: false,
            patience: Span::from_secs(2),
            least_gap: Span::from_micros(40),
            give_up: Span::from_secs(10),
            armed: causeway_switch::ARMED_RULES,
            read_interval: Some(Span::from_millis(100)),
            retry_refused: Span::from_secs(10),
            quota_margin: 1 << 27,
            quota_time_margin: Span::from_secs(2),
        }
    }
}

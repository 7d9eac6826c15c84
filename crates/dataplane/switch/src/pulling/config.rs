//! How counters are picked.

use causeway_types::Span;

/// How counters are picked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// No counter that a URR counts is left unread for longer, as far as the switch can be read that fast; at most 8 s.
    pub longest: Span,
    /// Counters that are not needed within this time are not picked, so that a pass with little to do is short. `None`: a
    /// pass is always as long as it may be.
    pub ahead: Option<Span>,
    /// `None`: estimates are taken at their word, as in the paper.
    pub care: Option<PullingPolicy>,
}

impl Config {
    /// With care: passes read what is needed about as soon as a short pass takes, and are even. Before a limit is reached its counters are
    /// looked at again, each time after somewhat less than half of the time that is likely to be left.
    pub const CAREFUL: Self = Self {
        longest: Span::from_secs(5),
        ahead: Some(Span::from_millis(20)),
        care: Some(PullingPolicy { part: 45, memory: Span::from_secs(10), recent: Some(Span::from_secs(2)) }),
    };
}

impl Default for Config {
    /// As in the paper: 5 s, passes as long as they may be, and estimates that are taken at their word.
    fn default() -> Self {
        Self { longest: Span::from_secs(5), ahead: None, care: None }
    }
}

/// With care, few counters are read and none much too late:
///
/// - A counter is read before its limit is likely to be reached, and then again; the last packet is not waited for.
/// - Only counters whose packets count for a limit are read for it: a limit of the uplink needs no downlink counter.
/// - What only [`Config::longest`] asks for is spread over that time. Otherwise the counters of rules that came together are read together ever
///   after, in passes as long as all of that takes.
/// - In a pass, what is needed first comes last. What a counter holds is known when the whole pass is over, so it is best read late.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PullingPolicy {
    /// After how many hundredths of the time that a volume threshold or quota is likely to be away its counters are read again, from 1 to
    /// 100. Traffic that grows reaches it earlier than it is likely; with 50, traffic may double.
    pub part: u8,
    /// Estimates of traffic forget by this time: all that was before it weighs 1/e.
    pub memory: Span,
    /// A second estimate forgets by this shorter time. It counts if it is higher: traffic has begun, or grown.
    pub recent: Option<Span>,
}

impl PullingPolicy {
    /// The paper's estimates keep 0.95 with each observation (section 5.2). Its passes take 0.13 s from one reading of a counter to the next, so
    /// that is what is kept after this time: the more time an observation is of, the less of the estimate stays.
    pub(super) const PAPER: Self = Self { part: 100, memory: Span::from_micros(2_534_444), recent: None };

    /// How estimates are made and used, with or without care.
    pub(super) fn of(config: &Config) -> Self {
        config.care.unwrap_or(Self::PAPER)
    }

    /// How many of the seconds in which something is likely to happen may pass.
    pub(super) fn wait(self, likely: f64) -> f64 {
        likely * f64::from(self.part.clamp(1, 100)) / 100.0
    }
}

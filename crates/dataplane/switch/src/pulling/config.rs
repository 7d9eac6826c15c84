//! Configuration of counter selection.

use causeway_types::Span;

/// Configuration of counter selection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// No counter of a URR remains unread for longer, if the switch can be read that fast; at most 8 s.
    pub longest: Span,
    /// Counters that are not needed within this time are not picked, so that a pass with little to do is short. `None`:
    /// a pass always has its full length.
    pub ahead: Option<Span>,
    /// `None`: estimates are used without a margin, as in the paper.
    pub care: Option<PullingPolicy>,
}

impl Config {
    /// With a policy: passes read what is needed within about the duration of a short pass, and are even. Before a
    /// limit is reached its counters are read repeatedly, each time after somewhat less than half of the estimated
    /// remaining time.
    pub const CAREFUL: Self = Self {
        longest: Span::from_secs(5),
        ahead: Some(Span::from_millis(20)),
        care: Some(PullingPolicy { part: 45, memory: Span::from_secs(10), recent: Some(Span::from_secs(2)) }),
    };
}

impl Default for Config {
    /// As in the paper: 5 s, passes of full length, and estimates without a margin.
    fn default() -> Self {
        Self { longest: Span::from_secs(5), ahead: None, care: None }
    }
}

/// A policy that reads few counters and none much too late:
///
/// - A counter is read before its limit is likely to be reached, and then again, without waiting for the last packet.
/// - Only counters whose packets count towards a limit are read for it: a limit of the uplink needs no downlink
///   counter.
/// - Readings that only [`Config::longest`] requires are spread over that time. Otherwise the counters of rules that
///   were created together would always be read together, in passes of the corresponding length.
/// - In a pass, the counter that is needed first is read last. The values of a pass are known when the whole pass has
///   ended, so a late reading is the most useful.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PullingPolicy {
    /// The fraction, in hundredths from 1 to 100, of the estimated time to a volume threshold or quota after which its
    /// counters are read again. Growing traffic reaches the limit earlier than estimated; with 50, traffic may double.
    pub part: u8,
    /// The time constant of traffic estimates: traffic older than this weighs 1/e.
    pub memory: Span,
    /// The shorter time constant of a second estimate. It is used if it is higher: traffic has started, or grown.
    pub recent: Option<Span>,
}

impl PullingPolicy {
    /// The paper's estimates keep 0.95 with each observation (section 5.2). Its passes read a counter every 0.13 s, so
    /// that is the fraction kept after this time: the longer the observed time, the less of the estimate remains.
    pub(super) const PAPER: Self = Self { part: 100, memory: Span::from_micros(2_534_444), recent: None };

    /// The policy of a configuration, with the paper's values as the default.
    pub(super) fn of(config: &Config) -> Self {
        config.care.unwrap_or(Self::PAPER)
    }

    /// The part of the estimated seconds that may pass before the next reading.
    pub(super) fn wait(self, likely: f64) -> f64 {
        likely * f64::from(self.part.clamp(1, 100)) / 100.0
    }
}

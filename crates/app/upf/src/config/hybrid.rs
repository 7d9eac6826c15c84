//! The keys of the data plane `hybrid`.

use causeway_types::{Bitrate, Span};
use serde::{Serialize, Serializer};

use super::check::Problems;
use super::enums::DriverTiming;
use super::model::Upf;
use super::problem::Problem;
use super::section::Section;
use super::serialize::{bitrate, bitrate_if_any, span};
use super::values::wrong;
use super::{quantities, values};

/// Which rules move between the fast path and the switch in front of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HybridKeys {
    /// A rule with this rate or more, measured over a second, moves to the switch.
    #[serde(serialize_with = "bitrate")]
    pub promote_at: Bitrate,
    /// A rule below this rate for `demote_after` moves back; `None`: half of `promote_at`.
    #[serde(serialize_with = "bitrate_if_any", skip_serializing_if = "Option::is_none")]
    pub demote_below: Option<Bitrate>,
    /// How long a rule on the switch must be below `demote_below`.
    #[serde(serialize_with = "span")]
    pub demote_after: Span,
    /// Rules that the switch holds at most.
    pub capacity: u32,
    /// Rule changes of the switch a second, at most.
    pub changes_per_second: u32,
    /// The longest time that a packet is in the software: the gap after which a rule flips.
    #[serde(serialize_with = "stay_text")]
    pub longest_stay: Span,
    /// No packet overtakes another one, even if a rule never moves for that reason.
    pub strict: bool,
    /// The interval between reads of the switch's counters.
    #[serde(serialize_with = "span")]
    pub read_interval: Span,
    /// The model of the switch.
    pub model: SwitchModel,
}

/// How the model of the switch answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct SwitchModel {
    /// How long its requests take.
    pub timing: DriverTiming,
    /// Of a thousand requests so many fail.
    pub faults: u16,
}

impl Default for HybridKeys {
    fn default() -> Self {
        let config = causeway_hybrid::Config::default();
        let read_interval = Span::from_millis(100);
        Self {
            promote_at: Bitrate::from_kbps(1000).unwrap_or(Bitrate::MAX),
            demote_below: None,
            demote_after: Span::from_secs(2),
            capacity: u32::try_from(config.capacity).unwrap_or(u32::MAX),
            changes_per_second: config.changes_per_second,
            longest_stay: config.longest_stay,
            strict: config.strict,
            read_interval: config.read_interval.unwrap_or(read_interval),
            model: SwitchModel::default(),
        }
    }
}

impl HybridKeys {
    /// The rate below which a rule moves back.
    pub fn lower_rate(&self) -> Bitrate {
        // At a rate of zero none would move back.
        let half = Bitrate::from_kbps((self.promote_at.kbps() / 2).max(1));
        self.demote_below.or(half).unwrap_or(self.promote_at)
    }

    pub(super) fn read(hybrid: &mut Section<'_>) -> Self {
        let default = Self::default();
        let span = || quantities::positive_span;
        Self {
            promote_at: hybrid.value("promote_at", positive).unwrap_or(default.promote_at),
            demote_below: hybrid.value("demote_below", quantities::bitrate),
            demote_after: hybrid.value("demote_after", span()).unwrap_or(default.demote_after),
            capacity: hybrid.value("capacity", values::number(1..=1_000_000)).unwrap_or(default.capacity),
            changes_per_second: hybrid
                .value("changes_per_second", values::number(1..=1_000_000))
                .unwrap_or(default.changes_per_second),
            longest_stay: hybrid.value("longest_stay", stay).unwrap_or(default.longest_stay),
            strict: hybrid.value("strict", values::flag).unwrap_or(default.strict),
            read_interval: hybrid.value("read_interval", span()).unwrap_or(default.read_interval),
            model: hybrid.section("model", SwitchModel::read),
        }
    }
}

impl SwitchModel {
    fn read(model: &mut Section<'_>) -> Self {
        Self {
            timing: model.value("timing", values::word).unwrap_or_default(),
            faults: model.value("faults", values::number(0..=900)).unwrap_or_default(),
        }
    }
}

/// A bit rate that is not zero.
fn positive(text: &str) -> Result<Bitrate, Problem> {
    let rate = quantities::bitrate(text)?;
    if rate.kbps() == 0 { Err(wrong(text, "a bit rate above 0")) } else { Ok(rate) }
}

/// A time in the software: `650us` or `5ms`.
fn stay(text: &str) -> Result<Span, Problem> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits);
    let scale = match unit {
        "us" => Some(1),
        "ms" => Some(1000),
        _ => None,
    };
    let micros = scale.zip(digits.parse::<u64>().ok()).and_then(|(scale, n)| n.checked_mul(scale));
    let legal = micros.filter(|micros| (1..=1_000_000).contains(micros));
    legal.map(Span::from_micros).ok_or_else(|| wrong(text, "a time from 1us to 1000ms, for example 650us"))
}

/// A time as [`stay`] reads it.
fn stay_text<S: Serializer>(span: &Span, serializer: S) -> Result<S::Ok, S::Error> {
    let micros = span.as_nanos() / 1000;
    let text =
        if micros.is_multiple_of(1000) { format!("{}ms", micros / 1000) } else { format!("{micros}us") };
    serializer.serialize_str(&text)
}

/// The problems of a hybrid data plane: thresholds in the wrong order.
pub(super) fn check(upf: &Upf, found: &mut Problems) {
    let HybridKeys { promote_at, demote_below, .. } = &upf.hybrid;
    if demote_below.is_some_and(|below| below > *promote_at) {
        let promote_at = quantities::bitrate_text(*promote_at);
        found.push(("upf.hybrid.demote_below".into(), Problem::ThresholdsReversed { promote_at }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_are_read_in_microseconds() {
        for (text, micros) in [("650us", 650), ("5ms", 5000), ("1us", 1), ("1000ms", 1_000_000)] {
            assert_eq!(stay(text).unwrap(), Span::from_micros(micros), "{text}");
        }
        for bad in ["", "0us", "650", "1s", "1001ms", "us", "-1us", "99999999999999999999ms"] {
            assert!(stay(bad).is_err(), "{bad}");
        }
    }
}

//! QoS enforcement: gates, bit rates and limits of slices (TS 29.244 clauses 5.4.3 to 5.4.5, TS 23.501 clause 5.7.1).

use std::collections::BTreeMap;

use causeway_dataplane::{DropReason, SliceLimit};
use causeway_model::{Correlation, Gate, Pdr, Qer, RuleSet};
use causeway_types::{Bitrate, Direction, QerId, SNssai, Seid, Span, Time};

/// The burst of a rate without an averaging window, as time at the full rate.
const BURST: Span = Span::from_millis(5);

/// Bits are counted in units of 10^-9 bit, so that a rate of whole bits per second is exact after each nanosecond.
const UNITS_PER_BIT: i128 = 1_000_000_000;

/// A token bucket. A packet passes while there are tokens, and may take more than there are: so the rate holds for
/// packets of any size, over any time that is longer than the burst.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    rate: Bitrate,
    window: Span,
    tokens: i128,
    filled: Time,
}

impl Bucket {
    /// A full one.
    pub(crate) fn new(rate: Bitrate, window: Span, now: Time) -> Self {
        Self { rate, window, tokens: depth(rate, window), filled: now }
    }

    /// Another rate or window; the tokens stay, as far as the new depth holds them.
    fn change(&mut self, rate: Bitrate, window: Span, now: Time) {
        self.fill(now);
        (self.rate, self.window) = (rate, window);
        self.tokens = self.tokens.min(depth(rate, window));
    }

    fn fill(&mut self, now: Time) {
        let elapsed = i128::from(now.as_nanos().saturating_sub(self.filled.as_nanos()));
        let gained = i128::from(self.rate.bps()) * elapsed;
        self.tokens = (self.tokens + gained).min(depth(self.rate, self.window));
        self.filled = now;
    }

    /// A packet may pass.
    fn allows(&mut self, now: Time) -> bool {
        self.fill(now);
        self.tokens > 0
    }

    fn take(&mut self, octets: usize, now: Time) {
        self.fill(now);
        self.tokens -= octets as i128 * 8 * UNITS_PER_BIT;
    }
}

fn depth(rate: Bitrate, window: Span) -> i128 {
    i128::from(rate.bps()) * i128::try_from(window.as_nanos()).unwrap_or(i128::MAX >> 64)
}

/// The buckets of a QER, or of the QERs of one correlation.
#[derive(Clone, Debug, Default)]
struct Meter {
    maximum: BTreeMap<Direction, Bucket>,
    guaranteed: BTreeMap<Direction, Bucket>,
    users: u32,
}

impl Meter {
    fn provision(&mut self, qer: &Qer, now: Time) {
        let window = qer.averaging_window.unwrap_or(BURST);
        for direction in [Direction::Uplink, Direction::Downlink] {
            set(&mut self.maximum, direction, qer.mbr.map(|mbr| mbr.rate(direction)), window, now);
            set(&mut self.guaranteed, direction, qer.guaranteed(direction), window, now);
        }
    }
}

fn set(
    buckets: &mut BTreeMap<Direction, Bucket>,
    direction: Direction,
    rate: Option<Bitrate>,
    window: Span,
    now: Time,
) {
    match (rate, buckets.get_mut(&direction)) {
        (None, _) => drop(buckets.remove(&direction)),
        (Some(rate), Some(bucket)) if (bucket.rate, bucket.window) == (rate, window) => {}
        (Some(rate), Some(bucket)) => bucket.change(rate, window, now),
        (Some(rate), None) => drop(buckets.insert(direction, Bucket::new(rate, window, now))),
    }
}

/// The owner of a meter: one QER, or the QERs of one correlation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Owner {
    Qer(Seid, QerId),
    Correlation(Correlation),
}

fn owner(session: Seid, qer: &Qer) -> Owner {
    match &qer.correlation {
        Some(correlation) => Owner::Correlation(correlation.clone()),
        None => Owner::Qer(session, qer.id),
    }
}

/// The meters of all sessions and slices.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meters {
    qers: BTreeMap<Owner, Meter>,
    slices: BTreeMap<(SNssai, Direction), Bucket>,
}

impl Meters {
    /// Meters with these limits of slices.
    pub(crate) fn new(slices: &[SliceLimit]) -> Self {
        let mut meters = Self::default();
        for limit in slices {
            for direction in [Direction::Uplink, Direction::Downlink] {
                if let Some(rate) = limit.rate(direction) {
                    let bucket = Bucket::new(rate, BURST, Time::default());
                    meters.slices.insert((limit.slice, direction), bucket);
                }
            }
        }
        meters
    }

    /// A QER is created, or replaces `old`.
    pub(crate) fn put(&mut self, session: Seid, old: Option<&Qer>, qer: &Qer, now: Time) {
        let new = owner(session, qer);
        let former = old.map(|old| owner(session, old));
        if former.as_ref() != Some(&new) {
            self.qers.entry(new.clone()).or_default().users += 1;
        }
        self.qers.entry(new.clone()).or_default().provision(qer, now);
        if let Some(former) = former.filter(|former| *former != new) {
            self.leave(&former);
        }
    }

    /// A QER is removed.
    pub(crate) fn remove(&mut self, session: Seid, qer: &Qer) {
        self.leave(&owner(session, qer));
    }

    fn leave(&mut self, owner: &Owner) {
        if let Some(meter) = self.qers.get_mut(owner) {
            meter.users -= 1;
            if meter.users == 0 {
                self.qers.remove(owner);
            }
        }
    }

    /// A packet of a PDR may pass its QERs and the limit of its slice. What is within the guaranteed rate of a QER passes
    /// the limit of the slice.
    ///
    /// # Errors
    /// The reason why it may not.
    pub(crate) fn ask(
        &mut self,
        session: Seid,
        rules: &RuleSet,
        pdr: &Pdr,
        now: Time,
    ) -> Result<(), DropReason> {
        let direction = super::detection::direction(&pdr.pdi);
        check_gates(rules, pdr)?;
        let mut is_guaranteed = false;
        for owner in owners(session, rules, pdr) {
            let Some(meter) = self.qers.get_mut(&owner) else { continue };
            if meter.maximum.get_mut(&direction).is_some_and(|bucket| !bucket.allows(now)) {
                return Err(DropReason::MbrExceeded);
            }
            is_guaranteed |= meter.guaranteed.get_mut(&direction).is_some_and(|bucket| bucket.allows(now));
        }
        let slice = rules.slice.and_then(|slice| self.slices.get_mut(&(slice, direction)));
        let exceeds = slice.is_some_and(|bucket| !bucket.allows(now));
        if exceeds && !is_guaranteed { Err(DropReason::SliceRateExceeded) } else { Ok(()) }
    }

    /// Charges a packet that passes.
    pub(crate) fn charge(&mut self, session: Seid, rules: &RuleSet, pdr: &Pdr, octets: usize, now: Time) {
        let direction = super::detection::direction(&pdr.pdi);
        let slice = rules.slice.and_then(|slice| self.slices.get_mut(&(slice, direction)));
        slice.into_iter().for_each(|bucket| bucket.take(octets, now));
        for owner in owners(session, rules, pdr) {
            let Some(meter) = self.qers.get_mut(&owner) else { continue };
            meter.maximum.get_mut(&direction).into_iter().for_each(|bucket| bucket.take(octets, now));
            if let Some(bucket) = meter.guaranteed.get_mut(&direction)
                && bucket.allows(now)
            {
                bucket.take(octets, now);
            }
        }
    }
}

fn owners(session: Seid, rules: &RuleSet, pdr: &Pdr) -> Vec<Owner> {
    pdr.qers.iter().filter_map(|id| rules.qers.get(id)).map(|qer| owner(session, qer)).collect()
}

/// All gates of the PDR's direction are open.
///
/// # Errors
/// [`DropReason::GateClosed`]
pub(crate) fn check_gates(rules: &RuleSet, pdr: &Pdr) -> Result<(), DropReason> {
    let direction = super::detection::direction(&pdr.pdi);
    let mut qers = pdr.qers.iter().filter_map(|id| rules.qers.get(id));
    if qers.any(|qer| qer.gate(direction) == Gate::Closed) { Err(DropReason::GateClosed) } else { Ok(()) }
}

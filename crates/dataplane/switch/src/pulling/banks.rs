//! Counters by bank, and within each bank by the time at which they are needed, for URRs or because of their age.
//!
//! Requests for different banks run concurrently, so a pass takes as long as its largest request. If more counters are
//! due than a pass reads, the pass takes an even share of each bank.

use causeway_types::Time;

use super::wheel::{Slot, Wheel};
use crate::SwitchPdr;

/// One part in this many of a pass is for counters that are due only because of their age, if enough are due: traffic
/// without a prediction could otherwise reach a limit unnoticed.
const AGE_SHARE: usize = 4;

/// Why a counter is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cause {
    /// A limit or a time of a URR is near.
    Urr,
    /// The counter has not been read for a long time.
    Age,
}

/// The position of a waiting counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    bank: u16,
    cause: Cause,
    slot: Slot,
}

/// The counters of a partition.
#[derive(Clone, Debug, Default)]
pub(super) struct Banks(Vec<[Wheel; 2]>);

impl Banks {
    /// Adds a counter of a bank that is needed at this time.
    pub(super) fn insert(
        &mut self,
        number: SwitchPdr,
        bank: u16,
        cause: Cause,
        now: Time,
        needed: Time,
    ) -> Place {
        let index = usize::from(bank);
        if self.0.len() <= index {
            self.0.resize_with(index + 1, Default::default);
        }
        let slot = self.0[index][cause as usize].insert(number, now, needed);
        Place { bank, cause, slot }
    }

    /// Removes a counter. Another counter may move to its position: it is returned.
    pub(super) fn remove(&mut self, index: Place) -> Option<SwitchPdr> {
        self.0.get_mut(usize::from(index.bank))?[index.cause as usize].remove(index.slot)
    }

    /// The number of counters that are needed up to a time.
    pub(super) fn due(&self, until: Time) -> usize {
        self.0.iter().flatten().map(|wheel| wheel.due(until)).sum()
    }

    /// The counters that are needed up to a time, at most `budget`, those for URRs before others. In each bank the
    /// earliest comes first.
    pub(super) fn pick(&mut self, now: Time, until: Time, budget: usize) -> Vec<SwitchPdr> {
        self.0.iter_mut().flatten().for_each(|wheel| wheel.advance(now));
        let due = |cause: Cause| -> Vec<usize> {
            self.0.iter().map(|bank| bank[cause as usize].due(until)).collect()
        };
        let (for_urrs, for_age) = (due(Cause::Urr), due(Cause::Age));
        let kept = for_age.iter().sum::<usize>().min(budget / AGE_SHARE);
        let urrs = shares(&for_urrs, &vec![0; for_urrs.len()], budget - kept);
        let ages = shares(&for_age, &urrs, budget - urrs.iter().sum::<usize>());
        let mut picked = Vec::new();
        for (cause, shares) in [(Cause::Urr, urrs), (Cause::Age, ages)] {
            for (bank, share) in self.0.iter().zip(shares) {
                bank[cause as usize].pick(until, share, &mut picked);
            }
        }
        picked
    }
}

/// How many counters of each bank are read next, given how many are due and how many were taken already: as even as
/// possible.
fn shares(due: &[usize], taken: &[usize], budget: usize) -> Vec<usize> {
    if due.iter().sum::<usize>() <= budget {
        return due.to_vec();
    }
    let at =
        |level: usize| due.iter().zip(taken).map(move |(due, taken)| level.saturating_sub(*taken).min(*due));
    // Binary search for the highest level within the budget; the first value is below it, the second above.
    let (mut fits, mut is_too_much) = (0, budget + taken.iter().max().copied().unwrap_or_default() + 1);
    while is_too_much - fits > 1 {
        let level = fits.midpoint(is_too_much);
        if at(level).sum::<usize>() <= budget { fits = level } else { is_too_much = level }
    }
    let mut shares: Vec<usize> = at(fits).collect();
    let mut remaining = budget - shares.iter().sum::<usize>();
    for ((share, due), taken) in shares.iter_mut().zip(due).zip(taken) {
        let gets = remaining > 0 && *share < *due && *share + *taken <= fits;
        *share += usize::from(gets);
        remaining -= usize::from(gets);
    }
    shares
}

#[cfg(test)]
mod tests {
    use causeway_types::Span;

    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_secs(1000) + Span::from_millis(millis)
    }

    fn numbers(from: u32, many: u32) -> impl Iterator<Item = SwitchPdr> {
        (from..from + many).map(SwitchPdr)
    }

    // Input:  numbers of due and taken counters of each bank; budgets.
    // Output: all, where they are few; else what makes the banks even, to the last counter.
    #[test]
    fn banks_come_to_one_level() {
        assert_eq!(shares(&[5, 1, 3], &[0, 0, 0], 9), [5, 1, 3]);
        assert_eq!(shares(&[90, 1, 80], &[0, 0, 0], 41), [20, 1, 20]);
        assert_eq!(shares(&[90, 1, 80], &[0, 0, 0], 42), [21, 1, 20]);
        assert_eq!(shares(&[90, 90, 90], &[30, 0, 10], 20), [0, 15, 5]);
        assert_eq!(shares(&[9, 9, 9], &[4, 4, 4], 2), [1, 1, 0]);
        assert_eq!((shares(&[], &[], 3), shares(&[4], &[0], 0)), (vec![], vec![0]));
        assert_eq!(shares(&[usize::MAX / 4], &[0], usize::MAX / 8), [usize::MAX / 8]);
    }

    // Input:  three banks of a thousand counters each, all late because of their age, those of the first bank longest;
    //         then also counters for URRs: in the second bank more than a pass reads.
    // Output: a pass of 90 takes 30 of each bank; then three quarters of its readings for URRs are of the second bank,
    //         and the rest is of the other banks, which have fewer.
    #[test]
    fn a_pass_takes_its_share_of_each_bank() {
        let mut banks = Banks::default();
        for (bank, late) in [(0, 10), (1, 20), (2, 30)] {
            for number in numbers(u32::from(bank) * 1000, 1000) {
                banks.insert(number, bank, Cause::Age, at(0), at(late));
            }
        }
        let of_bank = |picked: &[SwitchPdr], bank: u32| {
            picked.iter().filter(|number| number.0 / 1000 % 10 == bank).count()
        };
        let picked = banks.pick(at(100), at(120), 90);
        assert_eq!([0, 1, 2].map(|bank| of_bank(&picked, bank)), [30, 30, 30]);
        for number in numbers(11_000, 200) {
            banks.insert(number, 1, Cause::Urr, at(100), at(110));
        }
        let picked = banks.pick(at(100), at(120), 80);
        assert_eq!(picked.iter().filter(|number| number.0 >= 11_000).count(), 60);
        assert_eq!([0, 1, 2].map(|bank| of_bank(&picked, bank)), [10, 60, 10]);
        assert!(picked[..60].iter().all(|number| number.0 >= 11_000), "they come first");
        assert_eq!((banks.due(at(15)), banks.due(at(120))), (1000, 3200));
    }
}

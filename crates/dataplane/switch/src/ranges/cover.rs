//! The fewest ranges for given minima (the decomposition step of HiP4-UPF appendix C, solved exactly).

/// The number of numbers that each template is given; its set bits are the sizes of its ranges.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cover {
    /// For each minimum, in order: the numbers given, at least the minimum. The set bits are its ranges.
    pub counts: Vec<u64>,
}

impl Cover {
    /// The number of ranges, which is the number of ternary entries.
    pub fn entries(&self) -> u64 {
        self.counts.iter().map(|count| u64::from(count.count_ones())).sum()
    }

    /// The sum of the numbers given.
    pub fn numbers(&self) -> u64 {
        self.counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count))
    }
}

/// One option for a minimum: a number of ranges, and their numbers in total.
#[derive(Clone, Copy)]
struct Choice {
    extra: usize,
    count: u64,
}

/// Covers each minimum with ranges whose sizes are powers of two, in `space` numbers together: with the fewest ranges
/// possible, and among those solutions with the fewest numbers. A minimum of zero gets no range.
///
/// `None` if the minima themselves exceed `space`; otherwise there is always a cover. Its time is in the order of
/// `minima x ranges beyond one each x 24`, and it uses a table of as many octets as the product of the first two.
///
/// With k ranges, the smallest cover of a minimum is its k - 1 highest set bits and the rest rounded up to a power of
/// two: all values between have more set bits than k. The remaining problem is a knapsack with at most one such choice
/// per set bit.
pub fn cover(minima: &[u64], space: u64) -> Option<Cover> {
    let least = minima.iter().try_fold(0_u64, |sum, minimum| sum.checked_add(*minimum));
    if least.is_none_or(|least| least > space) {
        return None;
    }
    let options: Vec<Vec<Choice>> = minima.iter().map(|minimum| options(*minimum)).collect();
    let most: usize = options.iter().filter_map(|options| options.last()).map(|option| option.extra).sum();
    let mut budget = 16;
    loop {
        if let Some(cover) = within(&options, space, budget.min(most)) {
            return Some(cover);
        }
        if budget >= most {
            return None;
        }
        budget *= 2;
    }
}

/// The choices for one minimum, with ever more ranges and ever fewer numbers.
fn options(minimum: u64) -> Vec<Choice> {
    let mut options: Vec<Choice> = Vec::new();
    let (mut kept, mut rest, mut ranges) = (0_u64, minimum, 0_usize);
    while rest != 0 {
        let count = kept.saturating_add(rest.checked_next_power_of_two().unwrap_or(u64::MAX));
        if options.last().is_none_or(|last| count < last.count) {
            options.push(Choice { extra: ranges, count });
        }
        let highest = 1 << rest.ilog2();
        (kept, rest, ranges) = (kept + highest, rest - highest, ranges + 1);
    }
    options
}

/// The best cover with at most `budget` ranges beyond one for each minimum.
fn within(options: &[Vec<Choice>], space: u64, budget: usize) -> Option<Cover> {
    let mut least = vec![0_u64; budget + 1];
    let mut choices: Vec<Vec<u8>> = Vec::with_capacity(options.len());
    for options in options {
        let (mut next, mut chosen) = (least.clone(), vec![0_u8; budget + 1]);
        for (used, (next, chosen)) in next.iter_mut().zip(&mut chosen).enumerate() {
            let best = options.iter().enumerate().filter_map(|(number, option)| {
                let before = least.get(used.checked_sub(option.extra)?)?;
                Some((before.saturating_add(option.count), number as u8))
            });
            if let Some(best) = best.min() {
                (*next, *chosen) = best;
            }
        }
        least = next;
        choices.push(chosen);
    }
    let used = least.iter().position(|count| *count <= space)?;
    Some(trace(options, &choices, used))
}

/// Walks back through the choices that led to `used` ranges.
fn trace(options: &[Vec<Choice>], choices: &[Vec<u8>], mut used: usize) -> Cover {
    let mut counts = vec![0; options.len()];
    for ((options, chosen), count) in options.iter().zip(choices).zip(&mut counts).rev() {
        let option = chosen.get(used).and_then(|number| options.get(usize::from(*number)));
        if let Some(option) = option {
            *count = option.count;
            used = used.saturating_sub(option.extra);
        }
    }
    Cover { counts }
}

//! Waiting that ends for want of progress, not when a time of day comes.

use std::thread;
use std::time::Duration;

/// The longest single wait. A pause of the process or of the machine, however long, counts as one.
pub(crate) const SLICE: Duration = Duration::from_millis(10);

/// How long a step waits without progress before it fails, on a busy machine too.
pub const QUIET: Duration = Duration::from_secs(10);

/// What is left of a wait. It is counted in short waits that the thread made itself: on a busy machine the other
/// threads get their turns meanwhile, and a clock that ran on while everything stood still uses nothing up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Patience {
    whole: Duration,
    left: Duration,
}

impl Patience {
    /// For a wait that ends after so long without progress.
    pub(crate) const fn new(quiet: Duration) -> Self {
        Self { whole: quiet, left: quiet }
    }

    /// The length of the next wait; `None` when nothing is left.
    pub(crate) fn next_wait(&mut self) -> Option<Duration> {
        let wait = self.left.min(SLICE);
        self.left -= wait;
        (!wait.is_zero()).then_some(wait)
    }

    /// There was progress: the wait begins anew.
    pub(crate) fn renew(&mut self) {
        self.left = self.whole;
    }
}

/// Looks at a value until it is enough, or has not changed for `quiet`. Returns the value seen last.
pub(crate) fn wait_while_changing<T: PartialEq, E>(
    quiet: Duration,
    mut look: impl FnMut() -> Result<T, E>,
    enough: impl Fn(&T) -> bool,
) -> Result<T, E> {
    let mut patience = Patience::new(quiet);
    let mut last = look()?;
    while !enough(&last) {
        let Some(wait) = patience.next_wait() else { break };
        thread::sleep(wait);
        let value = look()?;
        if value != last {
            patience.renew();
            last = value;
        }
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    // Input:  a wait of 25 ms, renewed after its first slice.
    // Output: slices that add up to the whole again, then none.
    #[test]
    fn progress_renews_a_wait() {
        let mut patience = Patience::new(Duration::from_millis(25));
        assert_eq!(patience.next_wait(), Some(SLICE));
        patience.renew();
        let slices: Vec<_> = std::iter::from_fn(|| patience.next_wait()).collect();
        assert_eq!(slices, [SLICE, SLICE, Duration::from_millis(5)]);
    }

    // Input:  a value that grows to 40, one at each look, and is waited for up to 30; one that stays at 3.
    // Output: 30, although that takes longer than one quiet time; 3, after the quiet time.
    #[test]
    fn a_value_that_changes_is_waited_for() {
        let mut value = 0;
        let mut grow = || {
            value += 1;
            Ok::<_, Infallible>(value.min(40))
        };
        let quiet = Duration::from_millis(40);
        assert_eq!(wait_while_changing(quiet, &mut grow, |value| *value >= 30), Ok(30));
        assert_eq!(wait_while_changing(quiet, || Ok::<_, Infallible>(3), |value| *value >= 30), Ok(3));
    }
}

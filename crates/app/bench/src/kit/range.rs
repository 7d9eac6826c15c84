//! Numbers of the command line within their ranges.

use std::ops::RangeInclusive;

use super::Count;
use crate::BenchError;

/// Milliseconds that a row may take, at most: an hour.
pub const MAX_TIME_MS: u64 = 3_600_000;

/// All are in the range, or the error names the option.
///
/// # Errors
/// [`BenchError::OutOfRange`] with the first that is not.
pub fn within(
    option: &'static str,
    values: impl IntoIterator<Item = u64>,
    range: RangeInclusive<u64>,
) -> Result<(), BenchError> {
    match values.into_iter().find(|value| !range.contains(value)) {
        Some(value) => {
            let [value, least, most] = [value, *range.start(), *range.end()].map(Count);
            Err(BenchError::OutOfRange { option, value, least, most })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  numbers at both ends of a range, and one beyond either.
    // Output: the first are legal; an error with the option, the number and the range.
    #[test]
    fn a_number_beyond_its_range_is_named() {
        assert!(within("--sessions", [1, 16_000_000], 1..=16_000_000).is_ok());
        for (wrong, says) in
            [(0, "--sessions is 0: from 1 to 16M"), (17_000_000, "--sessions is 17M: from 1 to 16M")]
        {
            let error = within("--sessions", [5, wrong], 1..=16_000_000).unwrap_err();
            assert_eq!(error.to_string(), says);
        }
    }
}

//! Numbers with thousands separators, and with unit prefixes: `10k`, `1M`.

use std::fmt;
use std::str::FromStr;

/// The number as text, such as `161,894`.
pub fn with_thousands_separators(number: impl Into<u64>) -> String {
    let digits = number.into().to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number that is read and written with `k` or `M` where it is round.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Count(pub u64);

/// Short for a [`Count`].
pub const fn count(value: u64) -> Count {
    Count(value)
}

/// A text that is no [`Count`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is no number such as 300, 10k or 1M")]
pub struct InvalidCount(pub String);

impl FromStr for Count {
    type Err = InvalidCount;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (digits, unit) = match text.char_indices().last() {
            Some((at, 'k')) => (&text[..at], 1000),
            Some((at, 'M')) => (&text[..at], 1_000_000),
            _ => (text, 1),
        };
        let value: Option<u64> = digits.parse().ok();
        let scaled = value.and_then(|value| value.checked_mul(unit));
        scaled.map(Self).ok_or_else(|| InvalidCount(text.to_owned()))
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            0 => "0".to_owned(),
            value if value % 1_000_000 == 0 => format!("{}M", value / 1_000_000),
            value if value % 1000 == 0 => format!("{}k", value / 1000),
            value => value.to_string(),
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  numbers with and without unit, and texts that are none.
    // Output: the numbers, written the same way again; errors.
    #[test]
    fn numbers_have_units() {
        for (text, value) in [("0", 0), ("999", 999), ("65k", 65_000), ("10M", 10_000_000)] {
            assert_eq!(text.parse(), Ok(Count(value)));
            assert_eq!(Count(value).to_string(), text);
        }
        for bad in ["", "k", "-1", "1.5M", "1G", "99999999999999999999", "18446744073709551615M"] {
            assert!(bad.parse::<Count>().is_err(), "{bad:?}");
        }
    }

    // Input:  numbers of one to seven digits.
    // Output: a comma before each group of three.
    #[test]
    fn thousands_are_apart() {
        assert_eq!(
            [0u32, 999, 1000, 161_894, 1_000_000].map(with_thousands_separators),
            ["0", "999", "1,000", "161,894", "1,000,000"]
        );
    }
}

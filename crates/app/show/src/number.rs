//! Numbers with thousands separators.

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

#[cfg(test)]
mod tests {
    use super::with_thousands_separators;

    #[test]
    fn thousands_are_apart() {
        assert_eq!(
            [0u32, 999, 1000, 161_894, 1_000_000].map(with_thousands_separators),
            ["0", "999", "1,000", "161,894", "1,000,000"]
        );
    }
}

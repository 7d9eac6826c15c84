//! Numbers in the encoding of P4Runtime: the shortest big-endian octets that hold the value.

/// The shortest octets that hold a value; one for zero.
pub(crate) fn canonical(value: u128) -> Vec<u8> {
    let octets = value.to_be_bytes();
    let zeros = octets.iter().take_while(|octet| **octet == 0).count().min(octets.len() - 1);
    octets.get(zeros..).unwrap_or_default().to_vec()
}

/// Octets that are not a number of this width: none at all, or a value that is too large.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum NotANumber {
    #[error("a number of no octets")]
    Empty,
    #[error("a number of more than {0} bits")]
    TooWide(u8),
}

/// The value of octets for a width of at most 128 bits. Leading zeros are ignored.
pub(crate) fn number(octets: &[u8], width: u8) -> Result<u128, NotANumber> {
    if octets.is_empty() {
        return Err(NotANumber::Empty);
    }
    let zeros = octets.iter().take_while(|octet| **octet == 0).count();
    let digits = octets.get(zeros..).unwrap_or_default();
    if digits.len() > 16 {
        return Err(NotANumber::TooWide(width));
    }
    let value = digits.iter().fold(0, |value: u128, octet| value << 8 | u128::from(*octet));
    let bits = 128 - value.leading_zeros();
    if bits > u32::from(width) { Err(NotANumber::TooWide(width)) } else { Ok(value) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // Input:  the examples of the specification, of valid and of invalid octets (section "Bytestrings").
    // Output: their values; octets that are too wide or empty are refused.
    #[test]
    fn the_examples_of_the_specification() {
        let valid: [(u8, &[u8], u128); 6] = [
            (8, &[0x63], 99),
            (16, &[0, 0x63], 99),
            (16, &[0x30, 0x64], 12388),
            (16, &[0, 0x30, 0x64], 12388),
            (12, &[0, 0x63], 99),
            (12, &[0, 0, 0x63], 99),
        ];
        for (width, octets, value) in valid {
            assert_eq!(number(octets, width), Ok(value), "{octets:?}");
        }
        let invalid: [(u8, &[u8]); 5] = [
            (8, &[1, 0x63]),
            (16, &[1, 0, 0x63]),
            (12, &[0x10, 0x63]),
            (12, &[1, 0, 0x63]),
            (12, &[0, 0x40, 0x63]),
        ];
        for (width, octets) in invalid {
            assert_eq!(number(octets, width), Err(NotANumber::TooWide(width)), "{octets:?}");
        }
        assert_eq!(number(&[], 8), Err(NotANumber::Empty));
        assert_eq!(number(&[1; 1000], 128), Err(NotANumber::TooWide(128)));
        assert_eq!((canonical(0), canonical(0x3064)), (vec![0], vec![0x30, 0x64]));
    }

    proptest! {
        // Input:  any number with any leading zeros.
        // Output: it is decoded to itself, and encoded without the zeros.
        #[test]
        fn what_is_written_is_read(value: u128, shift in 0_u32..128, zeros in 0_usize..300) {
            let value = value >> shift;
            let written = canonical(value);
            prop_assert!(written.len() == 1 || written[0] != 0);
            let padded: Vec<u8> = std::iter::repeat_n(0, zeros).chain(written).collect();
            prop_assert_eq!(number(&padded, 128), Ok(value));
        }
    }
}

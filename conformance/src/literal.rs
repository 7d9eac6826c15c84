//! Octets written by hand: `u8 5 u32 0x2001 ip 192.0.2.11`.

use std::net::IpAddr;

use crate::CaseError;
use crate::payload;
use crate::variables::Variables;

/// Turns a literal into octets, in network byte order.
///
/// Words come in pairs, a type and a value: `u8`, `u16`, `u24`, `u32`, `u40`, `u64` with a decimal or `0x` number,
/// `ip` with an IPv4 or IPv6 address, `hex` with octets, `str` with a word, `name` with a dotted name as DNS
/// labels, `words` with a text whose blanks are written `_`, `counted` with such a text behind two octets of its
/// length, `fill` with a number of zero octets, and `hello`, `query` and `get` with a name or URL: a TLS ClientHello,
/// a DNS query, an HTTP request. A number may be a variable, for example `$up-seid`. The empty literal has no octets.
///
/// # Errors
/// [`CaseError::Literal`] that names the word.
pub(crate) fn octets(literal: &str, variables: &Variables) -> Result<Vec<u8>, CaseError> {
    let mut out = Vec::new();
    let mut words = literal.split_whitespace();
    while let Some(kind) = words.next() {
        let bad = |reason: String| CaseError::Literal { literal: literal.to_owned(), reason };
        let value = words.next().ok_or_else(|| bad(format!("`{kind}` needs a value")))?;
        match kind {
            "ip" => match value.parse().map_err(|_| bad(format!("{value} is not an IP address")))? {
                IpAddr::V4(ip) => out.extend(ip.octets()),
                IpAddr::V6(ip) => out.extend(ip.octets()),
            },
            "hex" => out.extend(hex(value).ok_or_else(|| bad(format!("{value} is not hexadecimal")))?),
            "str" => out.extend(value.bytes()),
            "words" => out.extend(value.replace('_', " ").bytes()),
            "counted" => out.extend(payload::counted(value.replace('_', " ").as_bytes())),
            "fill" => out.resize(out.len() + number(value, variables)? as usize, 0),
            "hello" => out.extend(payload::client_hello(value)),
            "query" => out.extend(payload::dns_query(value)),
            "get" => out.extend(payload::http_get(value)),
            "name" => {
                for label in value.split('.') {
                    out.push(label.len() as u8);
                    out.extend(label.bytes());
                }
            }
            _ => {
                let width = width(kind).ok_or_else(|| bad(format!("`{kind}` is not a type")))?;
                let number = number(value, variables)?;
                let bytes = number.to_be_bytes();
                if width < 8 && number >> (8 * width) != 0 {
                    return Err(bad(format!("{value} does not fit {kind}")));
                }
                out.extend(&bytes[8 - width..]);
            }
        }
    }
    Ok(out)
}

/// A decimal or `0x` number, or a variable that holds one.
pub(crate) fn number(word: &str, variables: &Variables) -> Result<u64, CaseError> {
    if let Some(name) = word.strip_prefix('$') {
        return variables.value(name);
    }
    let parsed = match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => word.parse(),
    };
    parsed.map_err(|error| CaseError::Literal { literal: word.to_owned(), reason: error.to_string() })
}

fn width(kind: &str) -> Option<usize> {
    let bits: usize = kind.strip_prefix('u')?.parse().ok()?;
    (bits.is_multiple_of(8) && (8..=64).contains(&bits)).then_some(bits / 8)
}

fn hex(digits: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = digits.chars().map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    pairs.remainder().is_empty().then(|| pairs.map(|pair| (pair[0] * 16 + pair[1]) as u8).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_is_its_octets() {
        let bytes = octets("u8 5 u24 0x010203 ip 192.0.2.1 hex ff00 str ab name a.bc", &Variables::default());
        assert_eq!(bytes.unwrap(), [5, 1, 2, 3, 192, 0, 2, 1, 0xff, 0, b'a', b'b', 1, b'a', 2, b'b', b'c']);
    }

    #[test]
    fn texts_may_have_blanks_and_lengths() {
        let bytes = octets("words a_b counted c_d fill 2", &Variables::default());
        assert_eq!(bytes.unwrap(), b"a b\0\x03c d\0\0");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for literal in ["u8 256", "u7 1", "u8", "ip 1.2.3", "hex abc", "word 1", "u8 $unknown"] {
            assert!(octets(literal, &Variables::default()).is_err(), "{literal}");
        }
    }
}

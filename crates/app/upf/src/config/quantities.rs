//! Quantities with units: times, octets, bit rates. What is legal, and how they are written back.

use causeway_types::{Bitrate, Span};

use super::problem::Problem;
use super::values::wrong;

/// The longest time that may be given.
const LONGEST: Span = Span::from_secs(24 * 3600);

/// A time: `500ms`, `10s`, `2m`, `1h`; a number alone is seconds.
pub(super) fn span(text: &str) -> Result<Span, Problem> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits);
    let millis: Option<u64> = match unit {
        "ms" => Some(1),
        "" | "s" => Some(1000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let millis = millis.zip(digits.parse::<u64>().ok()).and_then(|(unit, n)| n.checked_mul(unit));
    let span = millis.map(Span::from_millis).filter(|span| *span <= LONGEST);
    span.ok_or_else(|| wrong(text, "a time of at most 24h, for example 500ms, 10s or 2m"))
}

/// A time that is not zero.
pub(super) fn positive_span(text: &str) -> Result<Span, Problem> {
    span(text)
        .and_then(|span| if span.is_zero() { Err(wrong(text, "a time longer than 0")) } else { Ok(span) })
}

/// A time of at least a second.
pub(super) fn second_or_more(text: &str) -> Result<Span, Problem> {
    span(text)
        .ok()
        .filter(|span| *span >= Span::from_secs(1))
        .ok_or_else(|| wrong(text, "a time from 1s to 24h"))
}

/// The time between two Echo Requests on a path: not less than a minute (TS 29.281 clause 7.2.1), or none at all.
pub(super) fn echo_interval(text: &str) -> Result<Span, Problem> {
    let legal = |span: &Span| span.is_zero() || *span >= Span::from_secs(60);
    span(text).ok().filter(legal).ok_or_else(|| wrong(text, "0, or a time from 60s to 24h"))
}

/// A time as [`span`] reads it.
pub(super) fn span_text(span: Span) -> String {
    if span.subsec_millis() == 0 { format!("{}s", span.as_secs()) } else { format!("{}ms", span.as_millis()) }
}

/// A number of octets: `1048576`, `512KiB`, `256MiB`, `1GiB`.
pub(super) fn octets(text: &str) -> Result<u64, Problem> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits);
    let shift = match unit {
        "" => Some(0),
        "KiB" => Some(10),
        "MiB" => Some(20),
        "GiB" => Some(30),
        _ => None,
    };
    let octets = shift.zip(digits.parse::<u64>().ok()).and_then(|(shift, n)| n.checked_mul(1 << shift));
    octets.ok_or_else(|| wrong(text, "a number of octets, for example 1048576, 256MiB or 1GiB"))
}

/// A number of octets as [`octets`] reads it.
pub(crate) fn octets_text(octets: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.iter().find(|(_, shift)| octets != 0 && octets.trailing_zeros() >= *shift) {
        Some((unit, shift)) => format!("{}{unit}", octets >> shift),
        None => octets.to_string(),
    }
}

/// The units of bit rates, in kbit/s.
const RATES: [(&str, u64); 4] = [("Tbps", 1_000_000_000), ("Gbps", 1_000_000), ("Mbps", 1000), ("kbps", 1)];

/// A bit rate: `500kbps`, `20Mbps`, `1Gbps`.
pub(super) fn bitrate(text: &str) -> Result<Bitrate, Problem> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits);
    let scale = RATES.iter().find(|(name, _)| *name == unit.trim_start()).map(|(_, scale)| *scale);
    let kbps = scale.zip(digits.parse::<u64>().ok()).and_then(|(scale, n)| n.checked_mul(scale));
    let rate = kbps.and_then(Bitrate::from_kbps);
    rate.ok_or_else(|| wrong(text, "a bit rate of at most 1099Tbps, for example 500kbps, 20Mbps or 1Gbps"))
}

/// A bit rate as [`bitrate`] reads it.
pub(super) fn bitrate_text(rate: Bitrate) -> String {
    let kbps = rate.kbps();
    let fits = |(_, scale): &&(&str, u64)| kbps != 0 && kbps.is_multiple_of(*scale);
    let (unit, scale) = RATES.iter().find(fits).copied().unwrap_or(("kbps", 1));
    format!("{}{unit}", kbps / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_units_and_written_back() {
        for (text, millis) in [("0", 0), ("500ms", 500), ("10", 10_000), ("10s", 10_000), ("2m", 120_000)] {
            assert_eq!(span(text).unwrap(), Span::from_millis(millis), "{text}");
        }
        assert_eq!(span("24h").unwrap(), LONGEST);
        for bad in ["", "s", "-1s", "1.5s", "10 s", "1d", "25h", "99999999999999999999h"] {
            assert!(span(bad).is_err(), "{bad}");
        }
        for span_in in [Span::from_millis(1500), Span::from_secs(7), Span::ZERO] {
            assert_eq!(span(&span_text(span_in)).unwrap(), span_in);
        }
    }

    #[test]
    fn octets_are_read_with_their_units() {
        assert_eq!(octets("256MiB").unwrap(), 256 << 20);
        assert_eq!(octets("10").unwrap(), 10);
        for octets_in in [0, 1, 1023, 1024, 3 << 20, 1 << 30, (1 << 40) + (1 << 20)] {
            assert_eq!(octets(&octets_text(octets_in)).unwrap(), octets_in);
        }
        for bad in ["256MB", "1.5GiB", "", "MiB", "99999999999GiB", "1 KiB"] {
            assert!(octets(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn bit_rates_are_read_with_their_units_and_written_back() {
        for (text, kbps) in [
            ("0kbps", 0),
            ("500kbps", 500),
            ("20 Mbps", 20_000),
            ("1Gbps", 1_000_000),
            ("2Tbps", 2_000_000_000),
        ] {
            assert_eq!(bitrate(text).unwrap().kbps(), kbps, "{text}");
            assert_eq!(bitrate(&bitrate_text(bitrate(text).unwrap())).unwrap().kbps(), kbps);
        }
        for bad in ["", "1", "1bps", "1.5Gbps", "-1kbps", "1100Tbps", "99999999999999999999kbps"] {
            assert!(bitrate(bad).is_err(), "{bad}");
        }
    }
}

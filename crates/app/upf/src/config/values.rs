//! Values of single keys: what is legal, and what to say when it is not.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::str::FromStr;

use causeway_rules::{FlowDescription, Pattern, Url};
use causeway_types::{Bitrate, IpNet, NodeId, Span};

use super::error::Problem;
use super::model::RedirectTo;

/// The longest time that may be given.
const LONGEST: Span = Span::from_secs(24 * 3600);

fn wrong(found: &str, expected: impl Into<String>) -> Problem {
    Problem::WrongValue { found: found.to_owned(), expected: expected.into() }
}

/// A whole number in a range.
pub(super) fn number<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, Problem>
where
    T: FromStr + PartialOrd + std::fmt::Display,
{
    move |text| {
        let number = text.replace('_', "").parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| wrong(text, format!("a whole number from {} to {}", range.start(), range.end())))
    }
}

/// Yes or no.
pub(super) fn flag(text: &str) -> Result<bool, Problem> {
    text.parse().map_err(|_| wrong(text, "true or false"))
}

/// A UDP or TCP port.
pub(super) fn port(text: &str) -> Result<u16, Problem> {
    text.parse().ok().filter(|port| *port != 0).ok_or_else(|| wrong(text, "a port from 1 to 65535"))
}

/// An IP address.
pub(super) fn address(text: &str) -> Result<IpAddr, Problem> {
    text.parse().map_err(|_| wrong(text, "an IPv4 or IPv6 address, for example 192.0.2.1 or 2001:db8::1"))
}

/// An IP address that can stand in a message as ours.
pub(super) fn own_address(text: &str) -> Result<IpAddr, Problem> {
    let address = address(text)?;
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    if address.is_unspecified() || address.is_multicast() || broadcast {
        return Err(Problem::NotUnicast { address });
    }
    Ok(address)
}

/// An address with or without a port: `192.0.2.1`, `192.0.2.1:8805`, `2001:db8::1`, `[2001:db8::1]:8805`.
pub(super) fn endpoint(text: &str, default_port: u16) -> Result<SocketAddr, Problem> {
    let bare = text.parse().map(|address| SocketAddr::new(address, default_port));
    let socket = bare.or_else(|_| text.parse()).ok().filter(|socket| socket.port() != 0);
    socket
        .ok_or_else(|| wrong(text, "an address or address:port, for example 192.0.2.1 or [2001:db8::1]:8805"))
}

/// `true` or `false`.
pub(super) fn yes_or_no(text: &str) -> Result<bool, Problem> {
    text.parse().map_err(|_| wrong(text, "true or false"))
}

/// A Forwarding Policy Identifier (TS 29.244 clause 8.2.23).
pub(super) fn policy_name(text: &str) -> Result<String, Problem> {
    let fits = (1..=255).contains(&text.len());
    if fits { Ok(text.to_owned()) } else { Err(wrong(text, "a name of 1 to 255 octets")) }
}

/// Where traffic is redirected to: an address, an address and a port, or a URL.
pub(super) fn redirect(text: &str) -> Result<RedirectTo, Problem> {
    let address = text.parse().map(RedirectTo::Address);
    let socket = || text.parse().ok().filter(|socket: &SocketAddr| socket.port() != 0);
    let url = || Url::new(text).filter(|url| url.as_str().contains("://")).map(RedirectTo::Url);
    let found = address.ok().or_else(|| socket().map(RedirectTo::Socket)).or_else(url);
    found.ok_or_else(|| {
        wrong(text, "a URL, an address, or address:port, for example http://192.0.2.80/ or 192.0.2.80")
    })
}

/// A prefix whose host bits are zero.
pub(super) fn subnet(text: &str) -> Result<IpNet, Problem> {
    let expected = "a prefix, for example 10.45.0.0/16 or 2001:db8:cafe::/48";
    let net: IpNet = text.parse().map_err(|_| wrong(text, expected))?;
    if net.trunc() != net {
        return Err(wrong(text, format!("a prefix, whose host bits are zero: {}", net.trunc())));
    }
    Ok(net)
}

/// Prefixes and addresses with commas between them.
pub(super) fn prefixes(text: &str) -> Result<Vec<IpNet>, Problem> {
    let one = |word: &str| word.parse::<IpAddr>().map(IpNet::from).or_else(|_| subnet(word));
    text.split(',').map(|word| one(word.trim())).collect()
}

/// Cores of the machine, with commas between them, none twice.
pub(super) fn cores(text: &str) -> Result<Vec<usize>, Problem> {
    let expected = || wrong(text, "numbers of cores, none twice, for example 2, 3");
    let cores: Result<Vec<usize>, _> = text.split(',').map(|word| word.trim().parse()).collect();
    let cores = cores.map_err(|_| expected())?;
    let is_once = |(n, core): (usize, &usize)| !cores[..n].contains(core);
    if cores.iter().enumerate().all(is_once) { Ok(cores) } else { Err(expected()) }
}

/// The name of a network interface.
pub(super) fn device(text: &str) -> Result<String, Problem> {
    let legal = |c: char| c.is_ascii_graphic() && !matches!(c, '/' | ':' | '%');
    let named = (1..=15).contains(&text.len()) && text.chars().all(legal) && text != "." && text != "..";
    let expected = "the name of an interface: 1 to 15 characters without `/`, `:`, `%` and blanks";
    if named { Ok(text.to_owned()) } else { Err(wrong(text, expected)) }
}

/// A DNN or network instance: labels of up to 63 characters, 100 in all (TS 23.003 clause 9.1).
pub(super) fn network(text: &str) -> Result<String, Problem> {
    let expected = "a network name: labels of letters, digits and hyphens with dots between them";
    if text.len() <= 100 && is_labels(text) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err(wrong(text, expected))
    }
}

/// The identity of an address pool, an octet string on the wire.
pub(super) fn pool_identity(text: &str) -> Result<String, Problem> {
    let named = (1..=64).contains(&text.len()) && text.chars().all(|c| c.is_ascii_graphic());
    if named { Ok(text.to_owned()) } else { Err(wrong(text, "1 to 64 characters without blanks")) }
}

/// A text that is not empty.
pub(super) fn text(text: &str) -> Result<String, Problem> {
    if text.is_empty() { Err(wrong(text, "a text")) } else { Ok(text.to_owned()) }
}

/// A flow description.
pub(super) fn flow(text: &str) -> Result<FlowDescription, Problem> {
    let example = "permit out 17 from 198.51.100.0/24 to assigned";
    text.parse().map_err(|error| wrong(text, format!("a flow description such as `{example}`: {error}")))
}

/// A URL or an expression for URLs.
pub(super) fn url(text: &str) -> Result<Pattern, Problem> {
    Pattern::url(text).map_err(|error| wrong(text, format!("a URL or a regular expression: {error}")))
}

/// A domain name or an expression for domain names.
pub(super) fn domain(text: &str) -> Result<Pattern, Problem> {
    Pattern::domain(text)
        .map_err(|error| wrong(text, format!("a domain name or a regular expression: {error}")))
}

/// An address or a host name.
pub(super) fn node_id(text: &str) -> Result<NodeId, Problem> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return own_address(text).map(|_| NodeId::Ip(address));
    }
    let has_letter = text.chars().any(|c| c.is_ascii_alphabetic());
    let expected = "an IPv4 or IPv6 address or a host name, for example upf1.example.org";
    if text.len() <= 253 && has_letter && is_labels(text) {
        Ok(NodeId::Fqdn(text.to_owned()))
    } else {
        Err(wrong(text, expected))
    }
}

fn is_labels(text: &str) -> bool {
    text.split('.').all(|label| {
        (1..=63).contains(&label.len())
            && label.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    })
}

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
pub(super) fn octets_text(octets: u64) -> String {
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

/// A Slice Differentiator: six hexadecimal digits (TS 23.003 clause 28.4.2), of which ffffff stands for none.
pub(super) fn slice_differentiator(text: &str) -> Result<String, Problem> {
    let is_hex = text.len() == 6 && text.chars().all(|c| c.is_ascii_hexdigit());
    let is_one = is_hex && !text.eq_ignore_ascii_case("ffffff");
    if is_one {
        Ok(text.to_ascii_lowercase())
    } else {
        Err(wrong(text, "six hexadecimal digits, for example 00a1b2"))
    }
}

/// One of a few words.
pub(super) trait Word: Copy + 'static {
    /// Every value.
    const WORDS: &[Self];

    /// The word that stands for it.
    fn spelling(self) -> &'static str;
}

/// Reads one of a few words.
pub(super) fn word<W: Word>(text: &str) -> Result<W, Problem> {
    let found = W::WORDS.iter().find(|value| value.spelling().eq_ignore_ascii_case(text));
    found.copied().ok_or_else(|| {
        let words: Vec<_> = W::WORDS.iter().map(|value| value.spelling()).collect();
        wrong(text, format!("one of {}", words.join(", ")))
    })
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

    #[test]
    fn an_endpoint_may_have_a_port() {
        assert_eq!(endpoint("192.0.2.1", 8805).unwrap().to_string(), "192.0.2.1:8805");
        assert_eq!(endpoint("192.0.2.1:9", 8805).unwrap().to_string(), "192.0.2.1:9");
        assert_eq!(endpoint("2001:db8::1", 8805).unwrap().to_string(), "[2001:db8::1]:8805");
        assert_eq!(endpoint("[2001:db8::1]:9", 8805).unwrap().to_string(), "[2001:db8::1]:9");
        assert!(endpoint("192.0.2.1:0", 8805).is_err());
        assert!(endpoint("localhost", 8805).is_err());
    }

    #[test]
    fn a_node_id_is_an_address_or_a_host_name() {
        assert_eq!(node_id("192.0.2.1").unwrap(), NodeId::Ip([192, 0, 2, 1].into()));
        assert_eq!(node_id("upf.Example.org").unwrap(), NodeId::Fqdn("upf.Example.org".into()));
        for bad in ["", "192.0.2", "0.0.0.0", "a..b", "a b", &"x.".repeat(200)] {
            assert!(node_id(bad).is_err(), "{bad}");
        }
    }
}

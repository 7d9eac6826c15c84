//! Parsers of single values, with their errors.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;

use causeway_model::{FlowDescription, Pattern, Url};
use causeway_types::{IpNet, MacAddr, NodeId};

use super::forwarding::RedirectTo;
use super::kind::Number;
use super::problem::Problem;

/// The problem of an unexpected value.
pub(super) fn wrong(found: &str, expected: impl Into<String>) -> Problem {
    Problem::WrongValue { found: found.to_owned(), expected: expected.into() }
}

/// A whole number in a range.
pub(super) fn number<T>(range: RangeInclusive<T>) -> Number<T> {
    Number(range)
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

/// An IP address that can be announced to peers.
pub(super) fn own_address(text: &str) -> Result<IpAddr, Problem> {
    let address = address(text)?;
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    if address.is_unspecified() || address.is_multicast() || broadcast {
        return Err(Problem::NotUnicast { address });
    }
    if matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local()) {
        return Err(Problem::LinkLocal { address });
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

/// A host, by name or address, and a port.
pub(super) fn host_and_port(text: &str) -> Result<String, Problem> {
    let parts = text
        .rsplit_once(':')
        .filter(|(host, _)| !host.is_empty() && (!host.contains(':') || is_bracketed(host)));
    let fits =
        parts.is_some_and(|(_, number)| port(number).is_ok()) && text.chars().all(|c| c.is_ascii_graphic());
    let expected = "a host and a port, for example 192.0.2.9:9559, [2001:db8::9]:9559 or switch.example:9559";
    if fits { Ok(text.to_owned()) } else { Err(wrong(text, expected)) }
}

fn is_bracketed(host: &str) -> bool {
    let inner = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.is_some_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok())
}

/// The MAC address of one station.
pub(super) fn mac(text: &str) -> Result<MacAddr, Problem> {
    let octets: Option<Vec<u8>> = text
        .split(':')
        .map(|octet| {
            u8::from_str_radix(octet, 16).ok().filter(|_| octet.len() == 2 && !octet.starts_with('+'))
        })
        .collect();
    let mac = octets.and_then(|octets| <[u8; 6]>::try_from(octets).ok()).map(MacAddr);
    let expected = "the MAC address of one station, for example 02:00:5e:00:53:01";
    mac.filter(|mac| !mac.is_multicast() && mac.0 != [0; 6]).ok_or_else(|| wrong(text, expected))
}

/// A Forwarding Policy Identifier (TS 29.244 clause 8.2.23).
pub(super) fn policy_name(text: &str) -> Result<String, Problem> {
    let fits = (1..=255).contains(&text.len());
    if fits { Ok(text.to_owned()) } else { Err(wrong(text, "a name of 1 to 255 octets")) }
}

/// A redirect target: an address, an address and a port, or a URL.
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

/// Comma-separated prefixes and addresses.
pub(super) fn prefixes(text: &str) -> Result<Vec<IpNet>, Problem> {
    let one = |word: &str| word.parse::<IpAddr>().map(IpNet::from).or_else(|_| subnet(word));
    text.split(',').map(|word| one(word.trim())).collect()
}

/// Comma-separated addresses that peers are told, at most one of each IP version.
pub(super) fn advertised(text: &str) -> Result<Vec<IpAddr>, Problem> {
    let all: Vec<IpAddr> = text.split(',').map(|word| own_address(word.trim())).collect::<Result<_, _>>()?;
    let is_twice = |v4: bool| all.iter().filter(|ip| ip.is_ipv4() == v4).count() > 1;
    if is_twice(true) || is_twice(false) {
        return Err(wrong(text, "an IPv4 address, an IPv6 address, or one of each"));
    }
    Ok(all)
}

/// Comma-separated IPv4 addresses of this host.
pub(super) fn ipv4_addresses(text: &str) -> Result<Vec<Ipv4Addr>, Problem> {
    let one = |word: &str| match own_address(word.trim())? {
        IpAddr::V4(ip) => Ok(ip),
        IpAddr::V6(_) => Err(wrong(text, "IPv4 addresses, comma-separated")),
    };
    text.split(',').map(one).collect()
}

/// Comma-separated names of interfaces.
pub(super) fn devices(text: &str) -> Result<Vec<String>, Problem> {
    text.split(',').map(|word| device(word.trim())).collect()
}

/// Comma-separated, distinct core numbers.
pub(super) fn cores(text: &str) -> Result<Vec<usize>, Problem> {
    let expected = || wrong(text, "a list of distinct core numbers, for example 2, 3");
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

/// An enumerated value.
pub(super) trait NamedValue: Copy + 'static {
    /// Every value.
    const WORDS: &[Self];

    /// The word in the file.
    fn spelling(self) -> &'static str;
}

/// Reads an enumerated value.
pub(super) fn word<W: NamedValue>(text: &str) -> Result<W, Problem> {
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

//! Which flows belong to a class, and which of their ends is the UE.

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::Path;
use std::str::FromStr;

use ipnet::IpNet;

use super::TrainingError;
use super::csv::{Csv, Record};

/// The ends of a flow, and its protocol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ends {
    /// Protocol number.
    pub protocol: u8,
    /// Source address and port; 0 without ports.
    pub source: (IpAddr, u16),
    /// Destination address and port.
    pub destination: (IpAddr, u16),
}

impl Ends {
    /// The other direction.
    pub const fn reversed(self) -> Self {
        Self { protocol: self.protocol, source: self.destination, destination: self.source }
    }
}

/// Where UEs are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Orientation {
    /// Prefixes of UE addresses.
    pub ues: Vec<IpNet>,
}

impl Orientation {
    fn is_ue(&self, (address, _): (IpAddr, u16)) -> bool {
        self.ues.iter().any(|prefix| prefix.contains(&address))
    }

    /// Whether one of these ends is a UE.
    pub fn has_ue(&self, ends: &Ends) -> bool {
        self.is_ue(ends.source) || self.is_ue(ends.destination)
    }

    /// Whether a packet with these ends is from the UE: its source is a UE and its destination is none. Where that decides nothing, the
    /// end with the greater port is the UE, and of equal ports the one with the lesser address.
    pub fn is_uplink(&self, ends: &Ends) -> bool {
        let (source, destination) = (self.is_ue(ends.source), self.is_ue(ends.destination));
        if source != destination {
            return source;
        }
        let ((one, from), (two, to)) = (ends.source, ends.destination);
        if from == to { one < two } else { from > to }
    }
}

/// An end of a flow: a prefix and ports, each of which may be any.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct EndRule {
    prefix: Option<IpNet>,
    ports: Option<RangeInclusive<u16>>,
}

impl EndRule {
    fn matches(&self, (address, port): (IpAddr, u16)) -> bool {
        self.prefix.is_none_or(|prefix| prefix.contains(&address))
            && self.ports.as_ref().is_none_or(|ports| ports.contains(&port))
    }
}

/// Flows of a class: a protocol, and what the ends must be, in either order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// The class.
    pub class: String,
    protocol: Option<u8>,
    one: EndRule,
    other: EndRule,
}

/// Why a rule cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleError(String);

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: give a protocol, a prefix, and `port N` or `port N-M`, for example `udp 192.0.2.0/24 port 1026-1118`",
            self.0
        )
    }
}

impl std::error::Error for RuleError {}

/// A rule without a class: the class is that of the command line.
impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let mut rule =
            Self { class: String::new(), protocol: None, one: EndRule::default(), other: EndRule::default() };
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            let wrong = || RuleError(format!("{word:?}"));
            if word == "port" {
                let ports = words.next().ok_or_else(wrong)?;
                rule.one.ports = Some(self::ports(ports).ok_or_else(wrong)?);
            } else if let Some(protocol) = protocol(word) {
                rule.protocol = Some(protocol);
            } else {
                rule.one.prefix = Some(prefix(word).ok_or_else(wrong)?);
            }
        }
        if rule.protocol.is_none() && rule.one == EndRule::default() {
            return Err(RuleError("an empty rule".into()));
        }
        Ok(rule)
    }
}

/// The number of a protocol.
pub(super) fn protocol(text: &str) -> Option<u8> {
    match text.to_lowercase().as_str() {
        "udp" => Some(17),
        "tcp" => Some(6),
        "icmp" => Some(1),
        number => number.parse().ok(),
    }
}

/// A prefix, or an address as a prefix of all its bits.
fn prefix(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

fn ports(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let ports = first.parse().ok()?..=last.parse().ok()?;
    (!ports.is_empty()).then_some(ports)
}

impl Rule {
    /// The rule of another class.
    #[must_use]
    pub fn of_class(self, class: &str) -> Self {
        Self { class: class.into(), ..self }
    }

    /// Whether a flow is of this class.
    pub fn matches(&self, ends: &Ends) -> bool {
        let is = |one, other| self.one.matches(one) && self.other.matches(other);
        self.protocol.is_none_or(|protocol| protocol == ends.protocol)
            && (is(ends.source, ends.destination) || is(ends.destination, ends.source))
    }

    /// Reads a table of rules: `class`, `protocol`, `address`, `port`, `other_address`, `other_port`. All but the class may be empty, and
    /// addresses may be prefixes.
    ///
    /// # Errors
    /// [`TrainingError`] with the line and the column.
    pub fn read_all(file: &Path, text: &str) -> Result<Vec<Self>, TrainingError> {
        let csv = Csv::parse(file, text)?;
        const COLUMNS: [&str; 6] = ["class", "protocol", "address", "port", "other_address", "other_port"];
        if let Some(unknown) = csv.head().iter().find(|column| !COLUMNS.contains(column)) {
            let problem = format!("unknown column {unknown:?}: {}", COLUMNS.join(", "));
            return Err(TrainingError::line(file, 1, problem));
        }
        csv.records().map(|record| Self::read(&csv, &record)).collect()
    }

    fn read(csv: &Csv<'_>, record: &Record<'_>) -> Result<Self, TrainingError> {
        let optional = |column: &'static str| {
            let text = if csv.has(&[column]) { record.text(column)? } else { "" };
            Ok::<_, TrainingError>(Some(text).filter(|text| !text.is_empty()))
        };
        let end = |address: &'static str, port: &'static str| {
            let wrong = |column: &str, what: &str, text| {
                record.wrong(column, format!("{text:?}: {what} is expected"))
            };
            let prefix = optional(address)?
                .map(|text| prefix(text).ok_or_else(|| wrong(address, "an address or a prefix", text)));
            let ports = optional(port)?.map(|text| ports(text).ok_or_else(|| wrong(port, "N or N-M", text)));
            Ok::<_, TrainingError>(EndRule { prefix: prefix.transpose()?, ports: ports.transpose()? })
        };
        let class = record.text("class")?;
        if class.is_empty() {
            return Err(record.wrong("class", "a name is expected"));
        }
        let protocol = optional("protocol")?.map(|text| {
            let wrong =
                || record.wrong("protocol", format!("{text:?}: udp, tcp, icmp or a number is expected"));
            protocol(text).ok_or_else(wrong)
        });
        Ok(Self {
            class: class.into(),
            protocol: protocol.transpose()?,
            one: end("address", "port")?,
            other: end("other_address", "other_port")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(protocol: u8, source: &str, from: u16, destination: &str, to: u16) -> Ends {
        let address = |text: &str| text.parse().unwrap();
        Ends { protocol, source: (address(source), from), destination: (address(destination), to) }
    }

    // Input:  a rule of a prefix, and flows with it at either end, with another protocol, and without it.
    // Output: it matches in either direction; protocol, prefix and port must be at one end.
    #[test]
    fn either_end_may_match() {
        let rule: Rule = "udp 13.104.0.0/16 port 1026-1118".parse().unwrap();
        let flow = ends(17, "10.0.0.1", 50_000, "13.104.1.1", 1036);
        assert!(rule.matches(&flow) && rule.matches(&flow.reversed()));
        assert!(!rule.matches(&Ends { protocol: 6, ..flow }));
        assert!(!rule.matches(&ends(17, "10.0.0.1", 1036, "13.104.1.1", 50_000)));
        assert!(!rule.matches(&ends(17, "10.0.0.1", 50_000, "13.105.1.1", 1036)));
        for wrong in ["", "port", "port 5-4", "udp nobody", "port x"] {
            assert!(wrong.parse::<Rule>().is_err(), "{wrong}");
        }
    }

    // Input:  a table of rules; tables with a wrong port, without a class, and with an unknown column.
    // Output: a rule of a whole 5-tuple; errors with line and column.
    #[test]
    fn tables_of_rules_are_read() {
        let file = Path::new("labels.csv");
        let head = "class,protocol,address,port,other_address,other_port\n";
        let read = |lines: &str| Rule::read_all(file, &format!("{head}{lines}"));
        let rules = read("call,udp,192.0.2.1,3478,10.0.0.1,50000\nvnc,tcp,,5900,,\n").unwrap();
        assert!(rules[0].matches(&ends(17, "10.0.0.1", 50_000, "192.0.2.1", 3478)));
        assert!(!rules[0].matches(&ends(17, "10.0.0.1", 50_001, "192.0.2.1", 3478)));
        assert!(rules[1].matches(&ends(6, "10.0.0.1", 50_001, "192.0.2.1", 5900)));
        assert_eq!(rules[1].class, "vnc");
        let says = |lines: &str| read(lines).unwrap_err().to_string();
        assert!(says("a,udp,,x,,\n").starts_with("labels.csv: line 2, column port: \"x\""));
        assert!(says("a,udp,,,,\n,udp,,,,\n").starts_with("labels.csv: line 3, column class"));
        assert!(Rule::read_all(file, "class,host\n").unwrap_err().to_string().contains("\"host\""));
    }

    // Input:  ends of which one is a UE, both are, none is, and equal ports.
    // Output: the UE decides, then the greater port, then the lesser address.
    #[test]
    fn the_ue_decides_the_direction() {
        let orientation = Orientation { ues: vec!["10.0.0.0/8".parse().unwrap()] };
        assert!(orientation.is_uplink(&ends(17, "10.0.0.1", 53, "192.0.2.1", 5000)));
        assert!(!orientation.is_uplink(&ends(17, "10.0.0.1", 53, "10.0.0.2", 5000)));
        assert!(orientation.is_uplink(&ends(17, "192.0.2.9", 5000, "192.0.2.1", 53)));
        assert!(!orientation.is_uplink(&ends(17, "192.0.2.9", 53, "192.0.2.1", 53)));
    }
}

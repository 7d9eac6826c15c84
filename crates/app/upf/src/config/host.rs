//! The keys of access to the host: by UEs, and by N4 and N3 peers.

use std::fmt;

use causeway_types::IpNet;
use serde::{Serialize, Serializer};

use super::enums::HostAddresses;
use super::problem::Problem;
use super::section::Section;
use super::serialize::prefixes;
use super::values;

/// The reachability of the host for UEs.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct HostReachability {
    /// The addresses that UEs cannot reach.
    pub addresses: HostAddresses,
    /// The exceptions: addresses that UEs can reach.
    #[serde(rename = "open", serialize_with = "prefixes", skip_serializing_if = "Vec::is_empty")]
    pub reachable: Vec<IpNet>,
}

impl HostReachability {
    pub(super) fn read(host: &mut Section<'_>) -> Self {
        Self {
            addresses: host.value("addresses", values::word).unwrap_or_default(),
            reachable: host.value("open", values::prefixes).unwrap_or_default(),
        }
    }
}

/// The interfaces from which a socket accepts datagrams.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum AcceptFrom {
    /// The interface that has the address, and the host itself. For an address of a loopback or dummy interface: all
    /// interfaces but those of the data networks.
    #[default]
    Auto,
    /// All interfaces.
    Any,
    /// These interfaces.
    Only(Vec<String>),
}

impl AcceptFrom {
    pub(super) fn read(text: &str) -> Result<Self, Problem> {
        match text {
            "auto" => Ok(Self::Auto),
            "any" => Ok(Self::Any),
            _ => text
                .split(',')
                .map(|name| values::device(name.trim()))
                .collect::<Result<_, _>>()
                .map(Self::Only),
        }
    }
}

impl fmt::Display for AcceptFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Any => f.write_str("any"),
            Self::Only(names) => f.write_str(&names.join(", ")),
        }
    }
}

impl Serialize for AcceptFrom {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

//! The kind of a session's user traffic.

use std::fmt;

/// The kind of a PDU session's user packets (PDN Type, TS 29.244 clause 8.2.79), fixed at its establishment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum PduSessionType {
    /// IPv4, IPv6 or both: user packets are IP packets.
    #[default]
    Ip,
    /// Ethernet: user packets are frames, starting with the destination address, without preamble and frame check
    /// sequence (TS 23.501 clause 5.6.10.2).
    Ethernet,
}

impl fmt::Display for PduSessionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ip => "IP",
            Self::Ethernet => "Ethernet",
        })
    }
}

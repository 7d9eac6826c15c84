//! Errors of parsing and writing packets.

use std::fmt;

/// The part of a packet with an error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Layer {
    /// Ethernet II or IEEE 802.3, with its VLAN tags.
    Ethernet,
    /// Neither an IPv4 nor an IPv6 packet: the version nibble decides between the two.
    Ip,
    /// IPv4 header.
    Ipv4,
    /// IPv6 fixed header.
    Ipv6,
    /// IPv6 extension headers.
    Ipv6Extension,
    /// UDP header.
    Udp,
    /// TCP header.
    Tcp,
    /// ICMP for IPv4.
    Icmpv4,
    /// ICMP for IPv6.
    Icmpv6,
    /// GTP-U header.
    Gtpu,
    /// GTP-U extension headers.
    GtpuExtension,
    /// PDU Session Container (TS 38.415).
    PduSession,
    /// GTP-U information elements.
    GtpuIe,
    /// InfiniBand transport headers of RoCEv2.
    Roce,
    /// VXLAN header.
    Vxlan,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ethernet => "Ethernet",
            Self::Ip => "IP",
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
            Self::Ipv6Extension => "IPv6 extension header",
            Self::Udp => "UDP",
            Self::Tcp => "TCP",
            Self::Icmpv4 => "ICMPv4",
            Self::Icmpv6 => "ICMPv6",
            Self::Gtpu => "GTP-U",
            Self::GtpuExtension => "GTP-U extension header",
            Self::PduSession => "PDU Session Container",
            Self::GtpuIe => "GTP-U information element",
            Self::Roce => "RoCEv2",
            Self::Vxlan => "VXLAN",
        })
    }
}

/// Why octets are not the expected packet. Nothing was changed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum ParseError {
    /// The octets end before the end that the header, or a length in it, declares.
    #[error("{layer}: {need} octets needed, {have} present")]
    Truncated {
        /// Where.
        layer: Layer,
        /// Octets needed.
        need: usize,
        /// Octets available.
        have: usize,
    },
    /// A version other than this protocol's.
    #[error("{layer}: version {found}")]
    Version {
        /// Where.
        layer: Layer,
        /// The version found.
        found: u8,
    },
    /// The length field is smaller than what it must cover.
    #[error("{layer}: length {found}, at least {minimum} expected")]
    LengthTooSmall {
        /// Where.
        layer: Layer,
        /// The length found, octets.
        found: usize,
        /// The smallest legal one, octets.
        minimum: usize,
    },
    /// More headers in a row than any regular sender writes.
    #[error("{layer}: more than {limit} in a row")]
    TooMany {
        /// Where.
        layer: Layer,
        /// The accepted number.
        limit: usize,
    },
    /// An IPv6 jumbogram (RFC 2675); no link of a UPF carries one.
    #[error("IPv6: jumbogram")]
    Jumbogram,
    /// IPv6 Hop-by-Hop Options anywhere but first (RFC 8200 clause 4.1).
    #[error("IPv6 extension header: hop-by-hop options not first")]
    HopByHopNotFirst,
    /// A second IPv6 Fragment header: a source fragments once.
    #[error("IPv6 extension header: fragment of a fragment")]
    NestedFragment,
    /// A fragment that would end beyond the largest IP packet.
    #[error("{layer}: fragment ends at octet {end}, beyond the largest packet")]
    FragmentOverrun {
        /// Where.
        layer: Layer,
        /// Offset of its end in the original packet, octets.
        end: usize,
    },
    /// An Ethernet type field of 1501 to 1535: neither a length nor a type.
    #[error("Ethernet: type {0:#06x} is neither a length nor a type")]
    EtherType(u16),
    /// The protocol type bit is that of GTP' (charging), not GTP (TS 29.281 clause 5.1).
    #[error("GTP-U: GTP' packet")]
    GtpPrime,
    /// A PDU type that TS 38.415 does not define.
    #[error("PDU Session Container: PDU type {0}")]
    PduSessionType(u8),
    /// A TV information element of unknown length: the next element cannot be found.
    #[error("GTP-U information element: type {0} has no known length")]
    UnknownTv(u8),
    /// A mandatory information element is missing.
    #[error("GTP-U information element: type {0} missing")]
    MissingIe(u8),
    /// A management datagram that is not one of the communication management (IBA clauses 12.6 and 13.4.2).
    #[error("RoCEv2: {what} {found:#x} of a management datagram")]
    RoceManagement {
        /// The field.
        what: &'static str,
        /// Its value.
        found: u16,
    },
    /// A syndrome of an acknowledgement that InfiniBand does not define (IBA clause 9.3.5).
    #[error("RoCEv2: syndrome {0:#04x}")]
    RoceSyndrome(u8),
    /// The flags of a VXLAN header lack the bit that the VNI is valid.
    #[error("VXLAN: flags {0:#04x} without a valid VNI")]
    VxlanFlags(u8),
    /// An address of neither 4 nor 16 octets.
    #[error("GTP-U information element: peer address of {0} octets")]
    AddressLength(usize),
}

/// Why a packet cannot be written. The output vector is unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum BuildError {
    /// The length field cannot hold the length.
    #[error("{layer}: length {length} is above {limit}")]
    TooLong {
        /// Where.
        layer: Layer,
        /// The length to write, octets.
        length: usize,
        /// The largest legal length, octets.
        limit: usize,
    },
    /// Options that do not fill whole 4-octet words.
    #[error("{layer}: options of {length} octets are not whole words")]
    Unaligned {
        /// Where.
        layer: Layer,
        /// Length of the options, octets.
        length: usize,
    },
    /// More headers than the parser accepts.
    #[error("{layer}: more than {limit} in a row")]
    TooMany {
        /// Where.
        layer: Layer,
        /// The accepted number.
        limit: usize,
    },
    /// An extension header of type zero, which means "none".
    #[error("GTP-U extension header: type zero")]
    NoExtensionType,
    /// Source and destination are of different address families.
    #[error("source and destination are of different address families")]
    MixedFamilies,
}

//! Codes that the program and its controller share.

/// Why a packet is dropped: an index of the counter `drops`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DropReason {
    /// The GTP-U header or an extension header is cut short or contradicts itself.
    MalformedGtpu = 1,
    /// The GTP version is not 1, or the protocol type is GTP'.
    UnsupportedGtpVersion = 2,
    /// An extension header that must be understood is not, or there are more than the parser walks.
    UnsupportedExtension = 3,
    /// The user packet is not a well-formed IP packet, or the checksum of its IPv4 header is wrong.
    MalformedIp = 4,
    /// The frame is no IP packet of a family that the program carries.
    UnsupportedFrame = 5,
    /// No PDR of any session is for this tunnel, QFI and packet.
    UnknownTeid = 6,
    /// No PDR of any session is for this UE address and packet.
    UnknownUe = 7,
    /// The source address of an uplink packet is not the UE's.
    SpoofedSource = 8,
    /// The FAR says DROP.
    FarDrop = 9,
    /// The gate of a QER is closed.
    GateClosed = 10,
    /// The meter of the packet's QER is red.
    MbrExceeded = 11,
    /// The network marked the outer header as congested, and the user packet cannot carry the mark.
    Congested = 12,
    /// No route leads to the packet's next address.
    NoEgress = 13,
    /// A PDR matched that has no forwarding data.
    NoForwarding = 14,
    /// A frame of the CPU port has an unknown command.
    BadCommand = 15,
    /// The FAR forwards, and a quota of the packet's rule is exhausted.
    QuotaExhausted = 16,
    /// The packet would be transmitted to a data network for an address of the UPF or of its host.
    LocalAddress = 17,
    /// The same for an address that belongs to no host.
    Unroutable = 18,
    /// The same for a link-local address or group.
    LinkLocal = 19,
    /// The operator's firewall denies a packet of a UE.
    FirewallUplink = 20,
    /// It denies a packet to a UE.
    FirewallDownlink = 21,
    /// No segment has the frame's VNI, other end and MAC address.
    UnknownSegment = 22,
    /// The VXLAN header does not say that its VNI is valid.
    MalformedVxlan = 23,
    /// The packet exceeds the MTU of the segment that it would be transmitted to.
    TooBig = 24,
}

impl DropReason {
    /// All, in the order of their numbers. Only programs with VXLAN or the firewall have those from 20 on.
    pub const ALL: [Self; 24] = [
        Self::MalformedGtpu,
        Self::UnsupportedGtpVersion,
        Self::UnsupportedExtension,
        Self::MalformedIp,
        Self::UnsupportedFrame,
        Self::UnknownTeid,
        Self::UnknownUe,
        Self::SpoofedSource,
        Self::FarDrop,
        Self::GateClosed,
        Self::MbrExceeded,
        Self::Congested,
        Self::NoEgress,
        Self::NoForwarding,
        Self::BadCommand,
        Self::QuotaExhausted,
        Self::LocalAddress,
        Self::Unroutable,
        Self::LinkLocal,
        Self::FirewallUplink,
        Self::FirewallDownlink,
        Self::UnknownSegment,
        Self::MalformedVxlan,
        Self::TooBig,
    ];

    /// Why UEs must not reach a destination, from the last two bits of the reason; zero: they may.
    pub(super) const fn of_closed(bits: u8) -> Option<Self> {
        match bits & 3 {
            1 => Some(Self::LocalAddress),
            2 => Some(Self::Unroutable),
            3 => Some(Self::LinkLocal),
            _ => None,
        }
    }

    /// The reason with this number in an entry's action; an unknown number counts as [`DropReason::FarDrop`].
    pub(super) fn of(number: u128) -> Self {
        Self::ALL.into_iter().find(|reason| *reason as u128 == number).unwrap_or(Self::FarDrop)
    }
}

/// Why a frame goes to the CPU port or the software UPF: `code` of its header.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Punt {
    /// A copy: the FAR has NOCP.
    Notify = 1,
    /// The FAR has BUFF.
    Buffer = 2,
    /// GTP-U signalling.
    Signalling = 3,
    /// Addressed to the UPF itself.
    Local = 4,
    /// The packet's last hop ends here.
    TtlExpired = 5,
    /// ARP.
    Arp = 6,
    /// A copy: the rule has become heavy. Programs with heavy hitters alone have it.
    HeavyHitter = 7,
    /// A copy: the session of the rule has another class. Programs with application classes alone have it.
    ApplicationClass = 15,
}

/// The command of a frame from the CPU port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Command {
    /// Treat the packet as received from a network.
    Process = 1,
    /// Route the packet, which has its tunnel.
    Route = 2,
    /// Transmit the frame on the port and queue of its header.
    Send = 3,
}

//! Why a packet was thrown away.

use std::fmt;

/// Defines the reasons with their metric labels.
macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $label:literal,)*) => {
        /// Why a packet was thrown away: one enum for every data plane, one counter for every reason.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum DropReason {
            $($(#[$doc])* $name,)*
        }

        impl DropReason {
            /// Every reason, in the order of their counters.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The label in metrics and logs.
            pub const fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }
        }
    };
}

reasons! {
    /// The GTP-U header or an extension header is cut short or contradicts itself (TS 29.281 clause 5).
    MalformedGtpu = "malformed_gtpu",
    /// The GTP version is not 1, or the protocol type is GTP'.
    UnsupportedGtpVersion = "unsupported_gtp_version",
    /// A GTP-U message type that a UPF does not handle.
    UnsupportedGtpMessage = "unsupported_gtp_message",
    /// An extension header that must be understood is not (TS 29.281 clause 5.2.1).
    UnsupportedExtension = "unsupported_extension",
    /// The user packet is not a well-formed IP packet.
    MalformedIp = "malformed_ip",
    /// The user packet is no well-formed Ethernet frame: cut short, more than two VLAN tags, or a group address
    /// as its source.
    MalformedFrame = "malformed_frame",
    /// The TEID is not in use at this address.
    UnknownTeid = "unknown_teid",
    /// No session has this UE address.
    UnknownUe = "unknown_ue",
    /// No Ethernet session of the network has this destination.
    UnknownMac = "unknown_mac",
    /// The session is known, but no PDR matches the packet.
    NoMatchingPdr = "no_matching_pdr",
    /// The source address of an uplink packet is not the UE's.
    SpoofedSource = "spoofed_source",
    /// The source of an uplink frame is a MAC address that another session of the network has.
    SpoofedMac = "spoofed_mac",
    /// The session has as many MAC addresses as one may have, or all sessions together have as many as there is memory for.
    MacTableFull = "mac_table_full",
    /// The destination of a frame is on the side it comes from.
    SameSide = "same_side",
    /// An uplink packet to an address of the UPF or of the machine that it runs on, which UEs do not reach.
    LocalAddress = "local_address",
    /// An uplink packet to an address that no other machine has: loopback, a group or all hosts, an unspecified or an IPv4-mapped
    /// address.
    Unroutable = "unroutable",
    /// An Error Indication that names another GTP-U peer than the one that sent it.
    ErrorIndicationMismatch = "error_indication_mismatch",
    /// The FAR says DROP.
    FarDrop = "far_drop",
    /// The gate of a QER is closed.
    GateClosed = "gate_closed",
    /// The packet exceeds the MBR of a QER.
    MbrExceeded = "mbr_exceeded",
    /// A quota of a URR is exhausted, and no FAR says what becomes of the packet.
    QuotaExhausted = "quota_exhausted",
    /// The packet exceeds the packet rate of a QER.
    PacketRateExceeded = "packet_rate_exceeded",
    /// The packet exceeds the bit rate of its network slice.
    SliceRateExceeded = "slice_rate_exceeded",
    /// The network marked the outer header as congested, and the user packet cannot carry that on (RFC 6040
    /// clause 4.2).
    Congested = "congested",
    /// The buffer of the session is full: this packet or, if configured so, the oldest one goes.
    BufferFull = "buffer_full",
    /// The buffers of the whole data plane are full: this packet or, if configured so, the oldest one goes.
    BufferMemoryFull = "buffer_memory_full",
    /// It waited for longer than a packet may, or than the SMF asked for.
    BufferExpired = "buffer_expired",
    /// It waited when the SMF asked to drop what waits (DROBU).
    BufferDropRequested = "buffer_drop_requested",
    /// It waited in the buffer until its PDR, FAR or session was removed, or the FAR turned to DROP.
    BufferDiscarded = "buffer_discarded",
    /// The outer header that the PDR removes is not the one the packet has.
    OuterHeaderMismatch = "outer_header_mismatch",
    /// The forwarding policy of the FAR drops it.
    PolicyDrop = "policy_drop",
    /// The FAR redirects to a URL, and the packet is no HTTP request or part of a connection for one.
    NotRedirectable = "not_redirectable",
    /// A fragment in a TCP connection whose requests were enriched: its sequence numbers cannot be followed.
    EnrichedFragment = "enriched_fragment",
    /// A fragment of a packet to our end of a tunnel over N6: such packets are not put together again.
    FragmentedOuter = "fragmented_outer",
    /// The FAR sends to a network or address family that is not configured.
    NoEgress = "no_egress",
    /// The packet belongs to the link of the UE, which ends here: neighbour discovery, DHCPv6 and other
    /// packets from or to link-local addresses, that no rule takes to the SMF.
    LinkLocal = "link_local",
    /// The last hop of the packet ends here; its sender is told (ICMP Time Exceeded).
    TtlExpired = "ttl_expired",
    /// The outer TTL or Hop Limit of a packet that goes on from one tunnel into another is used up: it may go round over several UPFs.
    OuterTtlExpired = "outer_ttl_expired",
    /// The packet is larger than its way, and must not be fragmented; its sender is told (ICMP Packet Too Big).
    MtuExceeded = "mtu_exceeded",
    /// The FAR forwards to the access, whose tunnel the SMF has not told yet.
    NoTunnel = "no_tunnel",
    /// With its outer header the packet is larger than any IP packet.
    TooBig = "too_big",
    /// It came in at one packet thread for a session of another, which did not keep up.
    WorkerBusy = "worker_busy",
    /// Its port brought more than the packet thread can handle, and more of it was this UE's or this gNB's than a fair share.
    FairShare = "fair_share",
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_unique() {
        let mut labels: Vec<_> = DropReason::ALL.iter().map(|reason| reason.label()).collect();
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), DropReason::ALL.len());
    }
}

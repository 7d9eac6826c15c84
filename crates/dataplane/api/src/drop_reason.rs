//! Drop reasons.

use std::fmt;

/// Defines the reasons with their metric labels.
macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $label:literal,)*) => {
        /// Why a packet was dropped: one enum for all data planes, one counter for each reason.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum DropReason {
            $($(#[$doc])* $name,)*
        }

        impl DropReason {
            /// All reasons, in the order of their counters.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The label in metrics and logs.
            pub const fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }
        }
    };
}

reasons! {
    /// The GTP-U header or an extension header is truncated or inconsistent (TS 29.281 clause 5).
    MalformedGtpu = "malformed_gtpu",
    /// The GTP version is not 1, or the protocol type is GTP'.
    UnsupportedGtpVersion = "unsupported_gtp_version",
    /// A GTP-U message type that a UPF does not handle.
    UnsupportedGtpMessage = "unsupported_gtp_message",
    /// An extension header that requires comprehension is not supported (TS 29.281 clause 5.2.1).
    UnsupportedExtension = "unsupported_extension",
    /// The user packet is not a well-formed IP packet.
    MalformedIp = "malformed_ip",
    /// The user packet is no well-formed Ethernet frame: truncated, more than two VLAN tags, or a group address as
    /// source.
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
    /// The source MAC address of an uplink frame belongs to another session of the network.
    SpoofedMac = "spoofed_mac",
    /// The session, or the whole data plane, has reached its maximum of MAC addresses.
    MacTableFull = "mac_table_full",
    /// The destination of a frame is on the side that the frame was received from.
    SameSide = "same_side",
    /// The destination of an uplink packet is an address of the UPF or of its host, which UEs cannot reach.
    LocalAddress = "local_address",
    /// The destination of an uplink packet is unroutable: loopback, multicast, broadcast, unspecified or IPv4-mapped.
    Unroutable = "unroutable",
    /// An Error Indication names a GTP-U peer other than its sender.
    ErrorIndicationMismatch = "error_indication_mismatch",
    /// The FAR has the action DROP.
    FarDrop = "far_drop",
    /// The gate of a QER is closed.
    GateClosed = "gate_closed",
    /// The packet exceeds the MBR of a QER.
    MbrExceeded = "mbr_exceeded",
    /// A quota of a URR is exhausted, and no FAR applies to packets beyond it.
    QuotaExhausted = "quota_exhausted",
    /// The packet exceeds the packet rate of a QER.
    PacketRateExceeded = "packet_rate_exceeded",
    /// The packet exceeds the bit rate of its network slice.
    SliceRateExceeded = "slice_rate_exceeded",
    /// The outer header is marked as congested (CE), and the user packet is not ECN-capable (RFC 6040 clause 4.2).
    Congested = "congested",
    /// The buffer of the session is full: this packet or, if configured so, the oldest one is dropped.
    BufferFull = "buffer_full",
    /// The buffers of the whole data plane are full: this packet or, if configured so, the oldest one is dropped.
    BufferMemoryFull = "buffer_memory_full",
    /// The packet was buffered for longer than the configured limit or the SMF's buffering duration.
    BufferExpired = "buffer_expired",
    /// The packet was buffered when the SMF requested to drop buffered packets (DROBU).
    BufferDropRequested = "buffer_drop_requested",
    /// The packet was buffered when its PDR, FAR or session was removed, or the FAR changed to DROP.
    BufferDiscarded = "buffer_discarded",
    /// The packet does not have the outer header that the PDR removes.
    OuterHeaderMismatch = "outer_header_mismatch",
    /// The forwarding policy of the FAR drops it.
    PolicyDrop = "policy_drop",
    /// The FAR redirects to a URL, and the packet is neither an HTTP request nor part of a connection that may carry
    /// one.
    NotRedirectable = "not_redirectable",
    /// A fragment in a TCP connection with enriched requests: its sequence numbers cannot be translated.
    EnrichedFragment = "enriched_fragment",
    /// A fragment of a packet to the local end of a tunnel over N6: such packets are not reassembled.
    FragmentedOuter = "fragmented_outer",
    /// The FAR forwards to a network or address family that is not configured.
    NoEgress = "no_egress",
    /// The packet belongs to the UE's link, which ends at the UPF: neighbour discovery, DHCPv6 and other link-local
    /// packets that no rule forwards to the SMF.
    LinkLocal = "link_local",
    /// The TTL or Hop Limit of the packet expired; the sender is sent an ICMP Time Exceeded.
    TtlExpired = "ttl_expired",
    /// The outer TTL or Hop Limit of a packet that is relayed from one tunnel into another expired: a loop over several
    /// UPFs is possible.
    OuterTtlExpired = "outer_ttl_expired",
    /// The packet exceeds the MTU of its path and must not be fragmented; the sender is sent an ICMP Packet Too Big.
    MtuExceeded = "mtu_exceeded",
    /// The FAR forwards to the access side, and the SMF has provided no tunnel yet.
    NoTunnel = "no_tunnel",
    /// With its outer header, the packet exceeds the largest IP packet.
    TooBig = "too_big",
    /// The packet was received by one packet thread for a session of another, whose ring was full.
    WorkerBusy = "worker_busy",
    /// The port received more than the packet thread can handle, and the packet exceeds the fair share of its UE or
    /// gNB.
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

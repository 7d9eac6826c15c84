//! Drop reasons.

use std::fmt;

/// Defines the reasons with their metric labels and remedies. The documentation is the meaning that operators read.
macro_rules! reasons {
    ($($(#[doc = $doc:literal])* $name:ident = $label:literal, $remedy:literal,)*) => {
        /// Why a packet was dropped: one enum for all data planes, one counter for each reason.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum DropReason {
            $($(#[doc = $doc])* $name,)*
        }

        impl DropReason {
            /// All reasons, in the order of their counters.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The label in metrics and logs.
            pub const fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }

            /// What it means, for operators.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc,)*).trim_ascii(),)* }
            }

            /// What an operator can do about it, whatever the configuration.
            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$name => $remedy,)* }
            }
        }
    };
}

reasons! {
    /// The GTP-U header or an extension header is truncated or inconsistent (TS 29.281 clause 5).
    MalformedGtpu = "malformed_gtpu", "Capture N3 and look for the sender; a gNB or another UPF sends broken GTP-U, or a middlebox cuts datagrams.",
    /// The GTP version is not 1, or the protocol type is GTP'.
    UnsupportedGtpVersion = "unsupported_gtp_version", "Find the sender of GTP version 0, 2 or GTP' on port 2152; its configuration names a wrong address or port.",
    /// A GTP-U message type that a UPF does not handle.
    UnsupportedGtpMessage = "unsupported_gtp_message", "Harmless in small numbers. Find the sender and its message type in a capture of N3.",
    /// An extension header that requires comprehension is not supported (TS 29.281 clause 5.2.1).
    UnsupportedExtension = "unsupported_extension", "Switch off the feature of the gNB or UPF that needs this extension header.",
    /// The user packet is not a well-formed IP packet.
    MalformedIp = "malformed_ip", "Capture the inner packets: a UE or an application sends broken IP packets, or the session should be of type Ethernet.",
    /// The user packet is no well-formed Ethernet frame: truncated, more than two VLAN tags, or a group address as
    /// source.
    MalformedFrame = "malformed_frame", "Capture the frames of the session: a station sends broken frames or more than two VLAN tags.",
    /// The TEID is not in use at this address.
    UnknownTeid = "unknown_teid", "Expected shortly after sessions end. If it lasts, a gNB uses tunnels that the SMF has released: compare its tunnels with `causeway sessions`.",
    /// No session has this UE address.
    UnknownUe = "unknown_ue", "Expected shortly after sessions end, and for scans of the UE pool. If it lasts, look for the address with `causeway session ADDRESS`, and check routes to the subnet.",
    /// No Ethernet session of the network has this destination.
    UnknownMac = "unknown_mac", "A station behind a UE has not sent a frame yet. Set `unknown_stations: flood` if stations only listen.",
    /// The session is known, but no PDR matches the packet.
    NoMatchingPdr = "no_matching_pdr", "Look at the PDRs with `causeway session`: source interface, network instance, QFI and filters must fit the packets.",
    /// The source address of an uplink packet is not the UE's, or is one that no host has: unspecified, loopback,
    /// multicast, broadcast or IPv4-mapped.
    SpoofedSource = "spoofed_source", "A UE sends from an address that is not its own: a host behind it without a framed route, or an attack. Provision Framed-Route in the SMF if the host is meant.",
    /// The source MAC address of an uplink frame belongs to another session of the network.
    SpoofedMac = "spoofed_mac", "Two sessions use one MAC address. Find the two stations; a station that moves is accepted after 300 s.",
    /// The session, or the whole data plane, has reached its maximum of MAC addresses.
    MacTableFull = "mac_table_full", "Raise upf.max_macs_per_session, or find the session that sends from many addresses.",
    /// The destination of a frame is on the side that the frame was received from.
    SameSide = "same_side", "Harmless in small numbers: a bridge or a routing loop sends frames back.",
    /// The destination of an uplink packet is an address of the UPF or of its host, which UEs cannot reach.
    LocalAddress = "local_address", "A UE tries to reach the UPF's host. Name addresses that UEs may reach in upf.host.open.",
    /// The destination of an uplink packet is unroutable: loopback, multicast, broadcast, unspecified or IPv4-mapped.
    Unroutable = "unroutable", "A UE sends to an address that is no destination. Harmless unless it is a flood.",
    /// The firewall denies the uplink packet: it matches a rule with `deny`, or none and the default is `deny`.
    FirewallUplink = "firewall_uplink", "Look at the rule with `causeway explain`. If the packets are meant to pass, permit them in upf.firewall.rules.",
    /// The firewall denies the downlink packet: it matches a rule with `deny`, or none and the default is `deny`.
    FirewallDownlink = "firewall_downlink", "Look at the rule with `causeway explain`. If the packets are meant to pass, permit them in upf.firewall.rules.",
    /// An Error Indication names a GTP-U peer other than its sender.
    ErrorIndicationMismatch = "error_indication_mismatch", "An Error Indication comes from another address than the tunnel's peer: a gNB with several addresses, or a forgery.",
    /// The FAR has the action DROP.
    FarDrop = "far_drop", "The SMF wants these packets dropped: see the FAR with `causeway session`.",
    /// The gate of a QER is closed.
    GateClosed = "gate_closed", "The SMF has closed the gate of this direction: see the QER with `causeway session`, and the PCC rule behind it.",
    /// The packet exceeds the MBR of a QER.
    MbrExceeded = "mbr_exceeded", "The subscriber uses the full bit rate. Raise the MBR or session AMBR in the PCF or UDM if more is meant.",
    /// A quota of a URR is exhausted, and no FAR applies to packets beyond it.
    QuotaExhausted = "quota_exhausted", "The SMF has not granted a further quota: look at the charging system, and at N4 for reports without an answer.",
    /// The packet exceeds the packet rate of a QER.
    PacketRateExceeded = "packet_rate_exceeded", "The subscriber uses the full packet rate that the SMF allows. Raise it there if more is meant.",
    /// The packet exceeds the bit rate of its network slice.
    SliceRateExceeded = "slice_rate_exceeded", "The slice uses its full rate. Raise upf.qos.slice, or move subscribers.",
    /// The outer header is marked as congested (CE), and the user packet is not ECN-capable (RFC 6040 clause 4.2).
    Congested = "congested", "A router between gNB and UPF is congested. Look for the bottleneck of the transport network.",
    /// The buffer of the session is full: this packet or, if configured so, the oldest one is dropped.
    BufferFull = "buffer_full", "An idle UE gets more than its buffer holds. Raise upf.buffering.packets_per_session, or check why paging takes long.",
    /// The buffers of the whole data plane are full: this packet or, if configured so, the oldest one is dropped.
    BufferMemoryFull = "buffer_memory_full", "All buffers together are full. Raise upf.buffering.packets and upf.buffering.memory, or check why paging fails.",
    /// The packet was buffered for longer than the configured limit or the SMF's buffering duration.
    BufferExpired = "buffer_expired", "Paging took too long or failed: look at the AMF and the gNBs; upf.buffering.time is the limit.",
    /// The packet was buffered when the SMF requested to drop buffered packets (DROBU).
    BufferDropRequested = "buffer_drop_requested", "The SMF asked for it, usually since paging failed: look at the AMF.",
    /// The packet was buffered when its PDR, FAR or session was removed, or the FAR changed to DROP.
    BufferDiscarded = "buffer_discarded", "Expected when sessions with idle UEs end. Otherwise look for sessions that the SMF deletes early.",
    /// The packet does not have the outer header that the PDR removes.
    OuterHeaderMismatch = "outer_header_mismatch", "The PDR removes another outer header than packets have: check the N3 address family and the Outer Header Removal of the SMF.",
    /// The forwarding policy of the FAR drops it.
    PolicyDrop = "policy_drop", "The forwarding policy drops it: see upf.forwarding_policy.",
    /// The FAR redirects to a URL, and the packet is neither an HTTP request nor part of a connection that may carry
    /// one.
    NotRedirectable = "not_redirectable", "Redirection works for plain HTTP only; other traffic of the UE is dropped until the SMF lifts it.",
    /// A fragment in a TCP connection with enriched requests: its sequence numbers cannot be translated.
    EnrichedFragment = "enriched_fragment", "Lower the MTU of the UE, so that its TCP segments are not fragmented.",
    /// A fragment of a packet to the local end of a tunnel over N6: such packets are not reassembled.
    FragmentedOuter = "fragmented_outer", "Lower the MTU on the way to the N6 tunnel, so that its packets arrive whole.",
    /// The FAR forwards to a network or address family that is not configured.
    NoEgress = "no_egress", "Add the network instance to upf.session, or an address of that family: the SMF names a network that is not configured.",
    /// The packet belongs to the UE's link, which ends at the UPF: neighbour discovery, DHCPv6 and other link-local
    /// packets that no rule forwards to the SMF.
    LinkLocal = "link_local", "Harmless: UEs send these on every link. With upf.routing.router_advertisement the UPF answers Router Solicitations.",
    /// The TTL or Hop Limit of the packet expired; the sender is sent an ICMP Time Exceeded.
    TtlExpired = "ttl_expired", "Expected for traceroute. In large numbers look for a routing loop on N6.",
    /// The outer TTL or Hop Limit of a packet that is relayed from one tunnel into another expired: a loop over several
    /// UPFs is possible.
    OuterTtlExpired = "outer_ttl_expired", "Several UPFs send a packet in a circle: compare the tunnels of the SMFs' sessions.",
    /// The packet exceeds the MTU of its path and must not be fragmented; the sender is sent an ICMP Packet Too Big.
    MtuExceeded = "mtu_exceeded", "Senders are told. If applications hang, let ICMP pass, or lower the MTU that UEs get.",
    /// The FAR forwards to the access side, and the SMF has provided no tunnel yet.
    NoTunnel = "no_tunnel", "The SMF has not given the gNB's tunnel yet: expected during setup; otherwise look at N2 between AMF and gNB.",
    /// With its outer header, the packet exceeds the largest IP packet.
    TooBig = "too_big", "Lower the MTU of the data network.",
    /// The packet was received by one packet thread for a session of another, whose ring was full.
    WorkerBusy = "worker_busy", "A packet thread is overloaded: see `causeway top`. Raise upf.workers.count, and pin the threads to free cores.",
    /// The port received more than the packet thread can handle, and the packet exceeds the fair share of its UE or
    /// gNB.
    FairShare = "fair_share", "A port is overloaded and a UE or gNB takes more than its share. See `causeway top`; limit that UE, or add packet threads.",
    /// External memory lost the packet, which waited there for its rule: the memory server or the network to it failed. Or the state of
    /// its session is in cold storage, which cannot be read.
    ExternalMemory = "external_memory", "With upf.dataplane xplane look at the memory server and the network to it: its log, its restarts, and lost packets of UDP port 4791. With upf.cold_storage look at the disk: the log names the error.",
}

impl DropReason {
    /// The same with this setting of `upf.routing.router_advertisement`.
    pub const fn remedy_with(self, router_advertisement: bool) -> &'static str {
        match self {
            Self::LinkLocal if router_advertisement => {
                "Harmless: UEs send these on every link. A Router Solicitation among them was not answered: the session has no IPv6 prefix, or no PDR and FAR that forward to the UE now."
            }
            _ => self.remedy(),
        }
    }
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

    // Input:  packets of the link that are dropped, with Router Advertisements and without.
    // Output: the setting is named only where it is not set.
    #[test]
    fn a_setting_that_is_set_is_no_remedy() {
        let names = |advertises| {
            DropReason::LinkLocal.remedy_with(advertises).contains("upf.routing.router_advertisement")
        };
        assert_eq!([false, true].map(names), [true, false]);
        assert_eq!(DropReason::TooBig.remedy_with(true), DropReason::TooBig.remedy());
    }

    // Input:  every reason.
    // Output: a meaning and a remedy of whole sentences, without marks of Rust documentation.
    #[test]
    fn every_reason_is_explained() {
        for reason in DropReason::ALL {
            for text in [reason.meaning(), reason.remedy(), reason.remedy_with(true)] {
                assert!(text.ends_with('.') && text.len() > 20, "{reason}: {text}");
                assert!(!text.contains("[`") && !text.contains("  "), "{reason}: {text}");
            }
        }
    }
}

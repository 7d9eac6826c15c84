// Parser states, included into the parser of each main, which extracts what its target puts in front and goes to `frame`.
//
// A packet that cannot be followed is accepted with a drop reason, so that it is counted under its name. Octets of extension
// headers need not be kept: what they stand in front of always leaves without its tunnel or in a new one, copies aside. GTP-U
// signalling and whatever else is for the UPF itself is kept as it came, for the CPU port.
//
// The target defines INGRESS_PORT, and three hooks for the checksum of the inner IPv4 header.

// TEIDs that this UPF gives out have these first eight bits; tables know the other 24.
#ifndef TEID_PREFIX
#define TEID_PREFIX 8w0
#endif

// Addresses of the UPF at which GTP-U arrives: first the whole IPv4 address, then the first 64 bits of the IPv6 address, a
// network that no UE has.
value_set<bit<32>>(SIZE_LOCAL) local_ipv4;
#ifdef UNDERLAY_IPV6
// The first 64 bits of the addresses in the underlay at which VXLAN arrives, a network that no UE has: the first half, and the second.
value_set<bit<32>>(SIZE_LOCAL) local_underlay_high;
value_set<bit<32>>(SIZE_LOCAL) local_underlay_low;
#elif defined(VXLAN)
value_set<bit<32>>(SIZE_LOCAL) local_underlay;
#endif
#ifdef OUTER_IPV6
value_set<bit<32>>(SIZE_LOCAL) local_ipv6_high;
value_set<bit<32>>(SIZE_LOCAL) local_ipv6_low;
#endif

state frame {
    pkt.extract(hdr.ethernet);
    transition select(hdr.ethernet.ether_type, INGRESS_PORT) {
        (ETHERTYPE_IPV4, _): ipv4;
        (ETHERTYPE_IPV6, _): ipv6;
        (ETHERTYPE_CPU, CPU_PORT): from_cpu;
        (ETHERTYPE_ARP, _): arp;
        default: unsupported_frame;
    }
}

state arp {
    meta.punt = PuntReason.ARP;
    transition accept;
}

state unsupported_frame {
    meta.drop_reason = DropReason.UNSUPPORTED_FRAME;
    transition accept;
}

state from_cpu {
    pkt.extract(hdr.cpu);
    meta.command = (CpuCommand)hdr.cpu.code;
    transition select(hdr.cpu.code, hdr.cpu.ether_type) {
        (1, ETHERTYPE_IPV4): ipv4;
        (1, ETHERTYPE_IPV6): ipv6;
#ifdef OUTER_IPV6
        (2, ETHERTYPE_IPV6): whole_packet;
#else
        (2, ETHERTYPE_IPV4): whole_packet;
#endif
        (1, _): unsupported_frame;
        (2, _): unsupported_frame;
        default: accept;
    }
}

// A packet of the control plane, complete with its tunnel.
state whole_packet {
#ifdef OUTER_IPV6
    pkt.extract(hdr.outer_ipv6);
#else
    pkt.extract(hdr.outer_ipv4);
#endif
    transition accept;
}

#ifdef UNDERLAY_IPV6
state ipv6 {
    ipv6_h front = pkt.lookahead<ipv6_h>();
    transition select(front.dst[127:96]) {
        local_underlay_high: underlay_low;
        default: ipv6_of_segment;
    }
}

state underlay_low {
    ipv6_h front = pkt.lookahead<ipv6_h>();
    transition select(front.dst[95:64]) {
        local_underlay_low: underlay_ipv6;
        default: ipv6_of_segment;
    }
}

state underlay_ipv6 {
    pkt.extract(hdr.underlay_ipv6);
    transition select(hdr.underlay_ipv6.next_header) {
        PROTOCOL_UDP: underlay_udp;
        default: local;
    }
}

#define IPV4_STATE ipv4
#define IPV6_STATE ipv6_of_segment
#elif defined(VXLAN)
state ipv4 {
    ipv4_h front = pkt.lookahead<ipv4_h>();
    transition select(front.dst) {
        local_underlay: underlay_ipv4;
        default: ipv4_of_segment;
    }
}

state underlay_ipv4 {
    pkt.extract(hdr.underlay_ipv4);
    transition select(
        hdr.underlay_ipv4.ihl, hdr.underlay_ipv4.flags, hdr.underlay_ipv4.fragment_offset, hdr.underlay_ipv4.protocol
    ) {
        (5, 0 &&& 1, 0, PROTOCOL_UDP): underlay_udp;
        default: local;
    }
}

#define IPV4_STATE ipv4_of_segment
#define IPV6_STATE ipv6
#else
#define IPV4_STATE ipv4
#define IPV6_STATE ipv6
#endif

#ifdef VXLAN
state underlay_udp {
    pkt.extract(hdr.underlay_udp);
    transition select(hdr.underlay_udp.dst) {
        PORT_VXLAN: vxlan;
        default: local;
    }
}

state vxlan {
    pkt.extract(hdr.vxlan);
    transition select(hdr.vxlan.flags) {
        8 &&& 8: segment_frame;
        default: malformed_vxlan;
    }
}

state malformed_vxlan {
    meta.drop_reason = DropReason.MALFORMED_VXLAN;
    transition accept;
}

state segment_frame {
    pkt.extract(hdr.segment_ethernet);
    transition select(hdr.segment_ethernet.ether_type) {
        ETHERTYPE_IPV4: IPV4_STATE;
        ETHERTYPE_IPV6: IPV6_STATE;
        ETHERTYPE_ARP: arp;
        default: unsupported_frame;
    }
}
#endif

state IPV4_STATE {
    ipv4_h front = pkt.lookahead<ipv4_h>();
    transition select(front.dst) {
        local_ipv4: outer_ipv4;
        default: network_ipv4;
    }
}

state outer_ipv4 {
    pkt.extract(hdr.outer_ipv4);
    transition select(hdr.outer_ipv4.ihl, hdr.outer_ipv4.flags, hdr.outer_ipv4.fragment_offset, hdr.outer_ipv4.protocol) {
        (5, 0 &&& 1, 0, PROTOCOL_UDP): outer_udp;
        default: local;
    }
}

state IPV6_STATE {
#ifdef OUTER_IPV6
    ipv6_h front = pkt.lookahead<ipv6_h>();
    transition select(front.dst[127:96]) {
        local_ipv6_high: ipv6_low;
        default: network_ipv6;
    }
#else
    transition network_ipv6;
#endif
}

#ifdef OUTER_IPV6
state ipv6_low {
    ipv6_h front = pkt.lookahead<ipv6_h>();
    transition select(front.dst[95:64]) {
        local_ipv6_low: outer_ipv6;
        default: network_ipv6;
    }
}

state outer_ipv6 {
    pkt.extract(hdr.outer_ipv6);
    transition select(hdr.outer_ipv6.next_header) {
        PROTOCOL_UDP: outer_udp;
        default: local;
    }
}
#endif

state local {
    meta.punt = PuntReason.LOCAL;
    transition accept;
}

state outer_udp {
    pkt.extract(hdr.outer_udp);
    meta.has_outer_udp = 1;
    transition select(hdr.outer_udp.dst) {
        PORT_GTPU: gtpu;
        default: local;
    }
}

state gtpu {
    pkt.extract(hdr.gtpu);
    transition select(hdr.gtpu.version, hdr.gtpu.protocol_type, hdr.gtpu.message_type) {
        (1, 1, GTPU_G_PDU): tunnel;
        (1, 1, _): signalling;
        default: unsupported_gtp_version;
    }
}

state signalling {
    meta.punt = PuntReason.SIGNALLING;
    transition accept;
}

state unsupported_gtp_version {
    meta.drop_reason = DropReason.UNSUPPORTED_GTP_VERSION;
    transition accept;
}

state malformed_gtpu {
    meta.drop_reason = DropReason.MALFORMED_GTPU;
    transition accept;
}

state unsupported_extension {
    meta.drop_reason = DropReason.UNSUPPORTED_EXTENSION;
    transition accept;
}

state unknown_teid {
    meta.drop_reason = DropReason.UNKNOWN_TEID;
    transition accept;
}

state tunnel {
    meta.teid_in = (rule_word_t)hdr.gtpu.teid;
#ifdef PROFILE_DIRECT
    meta.teid_high = hdr.gtpu.teid[23:16];
#ifdef FILTERS_PER_SESSION
    meta.teid_low = hdr.gtpu.teid[15:0];
#endif
#endif
    transition select(
        hdr.gtpu.teid[31:24], hdr.gtpu.has_extension, hdr.gtpu.has_sequence, hdr.gtpu.has_npdu
    ) {
        (TEID_PREFIX, 0, 0, 0): user_packet;
        (TEID_PREFIX, 1, _, _): gtpu_extended;
        (TEID_PREFIX, 0, _, _): gtpu_numbered;
        default: unknown_teid;
    }
}

// Sequence or N-PDU number: the type of the next extension header is there, and means nothing.
state gtpu_numbered {
    pkt.extract(hdr.gtpu_options);
    transition user_packet;
}

#include "extensions.p4"

// A header is taken for a user packet's only when it can be one, so tables need not ask again. The first octet of an IPv4
// header without options is 0x45.
state user_packet {
    meta.is_tunnelled = 1;
    bit<8> first = pkt.lookahead<bit<8>>();
    transition select(first) {
        0x45: inner_ipv4;
        0x46 &&& 0xfe: inner_ipv4;
        0x48 &&& 0xf8: inner_ipv4;
        0x60 &&& 0xf0: inner_ipv6;
        default: malformed_ip;
    }
}

state network_ipv4 {
    bit<8> first = pkt.lookahead<bit<8>>();
    transition select(first) {
        0x45: inner_ipv4;
        0x46 &&& 0xfe: inner_ipv4;
        0x48 &&& 0xf8: inner_ipv4;
        default: malformed_ip;
    }
}

state network_ipv6 {
    bit<8> first = pkt.lookahead<bit<8>>();
    transition select(first) {
        0x60 &&& 0xf0: inner_ipv6;
        default: malformed_ip;
    }
}

state malformed_ip {
    meta.drop_reason = DropReason.MALFORMED_IP;
    transition accept;
}

state inner_ipv4 {
    pkt.extract(hdr.inner_ipv4);
    meta.has_user_packet = 1;
    meta.length = hdr.inner_ipv4.length;
    INNER_IPV4_CHECKSUM_BEGIN
    transition select(hdr.inner_ipv4.ihl) {
        5: inner_ipv4_whole;
        default: inner_ipv4_options;
    }
}

state inner_ipv4_options {
    pkt.extract(hdr.inner_ipv4_options, (bit<32>)(hdr.inner_ipv4.ihl - 5) * 32);
    INNER_IPV4_CHECKSUM_OPTIONS
    transition inner_ipv4_whole;
}

// Only the first fragment of a packet has its ports.
state inner_ipv4_whole {
    INNER_IPV4_CHECKSUM_END
    transition select(hdr.inner_ipv4.fragment_offset, hdr.inner_ipv4.protocol) {
        (0, PROTOCOL_TCP): ports;
        (0, PROTOCOL_UDP): ports;
        (0, PROTOCOL_DCCP): ports;
        (0, PROTOCOL_SCTP): ports;
        (0, PROTOCOL_UDP_LITE): ports;
        default: accept;
    }
}

state inner_ipv6 {
#ifdef INNER_IPV6
    pkt.extract(hdr.inner_ipv6);
    meta.has_user_packet = 1;
    meta.length = hdr.inner_ipv6.length;
    transition select(hdr.inner_ipv6.next_header) {
        PROTOCOL_TCP: ports;
        PROTOCOL_UDP: ports;
        PROTOCOL_DCCP: ports;
        PROTOCOL_SCTP: ports;
        PROTOCOL_UDP_LITE: ports;
        default: accept;
    }
#else
    transition unsupported_frame;
#endif
}

state ports {
    pkt.extract(hdr.ports);
    meta.has_ports = 1;
    transition accept;
}

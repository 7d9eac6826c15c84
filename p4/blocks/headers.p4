// Headers on the wire, and the metadata that blocks pass to each other. Network byte order; lengths in octets.

#ifndef CAUSEWAY_HEADERS
#define CAUSEWAY_HEADERS

#include "../contract/reasons.p4"
#include "optional_metadata.p4"

#if defined(SOFTWARE_PORTS) && (!defined(PROFILE_HIP4) || defined(HEAVY_HITTERS))
#error "SOFTWARE_PORTS is for profile hip4 without other options than FIREWALL and VXLAN"
#endif
#if defined(VXLAN) && defined(OUTER_IPV6)
#error "VXLAN is for tunnels over IPv4"
#endif
#if defined(UNDERLAY_IPV6) && !defined(VXLAN)
#error "an underlay is for VXLAN"
#endif
#ifdef PROFILE_THESIS
// The width of a gNB's number.
#ifndef GNB_BITS
#define GNB_BITS 13
#endif
#define TENANT_BITS 8
#endif

typedef bit<48> mac_t;
typedef bit<32> teid_t;
typedef bit<24> rule_t;
#ifdef PROFILE_DIRECT
// The first eight bits mean nothing: for the index of a downlink session is found by a sum, which takes a whole word.
typedef bit<32> rule_word_t;
#else
typedef rule_t rule_word_t;
#endif
typedef bit<16> meter_index_t;
typedef bit<6> qfi_t;
// Zero is whoever comes without a segment.
typedef bit<8> tenant_t;
#ifdef APPLICATION_DETECTION
typedef bit<4> application_t;
#endif
typedef bit<5> queue_t;
#ifdef OUTER_IPV6
typedef bit<128> tunnel_address_t;
#else
typedef bit<32> tunnel_address_t;
#endif

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_ARP = 0x0806;
const bit<16> ETHERTYPE_IPV6 = 0x86dd;
// IEEE 802 local experimental EtherType 1: frames of the CPU port and of the software UPF's port.
const bit<16> ETHERTYPE_CPU = 0x88b5;
const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;
// Others whose header begins with ports.
const bit<8> PROTOCOL_DCCP = 33;
const bit<8> PROTOCOL_SCTP = 132;
const bit<8> PROTOCOL_UDP_LITE = 136;
const bit<16> PORT_GTPU = 2152;
#ifdef VXLAN
const bit<16> PORT_VXLAN = 4789;
// In front of an IP packet in a segment: UDP 8, VXLAN 8, Ethernet 14.
const bit<16> VXLAN_OCTETS = 30;
#endif
const bit<8> GTPU_G_PDU = 255;
const bit<8> EXTENSION_PDU_SESSION_CONTAINER = 0x85;
// Octets in front of the user packet in what we send: UDP 8, GTP-U 8, optional fields 4, PDU Session Container 4.
const bit<16> TUNNEL_OCTETS = 24;
const bit<16> IPV4_OCTETS = 20;
const bit<16> IPV6_OCTETS = 40;

header ethernet_h {
    mac_t dst;
    mac_t src;
    bit<16> ether_type;
}

// Behind the Ethernet header on the CPU port and the software UPF's port, in both directions; p4/README.md tells it.
header cpu_h {
    // PuntReason from the switch, CpuCommand to it.
    bit<8> code;
    // Bit 0: the packet is a copy, and its original goes its way.
    bit<8> flags;
    // The port the packet came by, or for SEND the one to leave by, or for HEAVY_HITTER the packets in the window.
    bit<16> port;
    // For SEND the queue, in the lower five bits. With VXLAN from the switch the tenant that the packet is of.
    bit<8> queue;
    // PDR_ID of the rule that matched, or zero.
    bit<24> rule;
    // EtherType of what follows.
    bit<16> ether_type;
}

header ipv4_h {
    bit<4> version;
    bit<4> ihl;
    bit<6> dscp;
    bit<2> ecn;
    bit<16> length;
    bit<16> identification;
    bit<3> flags;
    bit<13> fragment_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

header ipv4_options_h {
    varbit<320> options;
}

header ipv6_h {
    bit<4> version;
    bit<6> dscp;
    bit<2> ecn;
    bit<20> flow_label;
    bit<16> length;
    bit<8> next_header;
    bit<8> hop_limit;
    bit<128> src;
    bit<128> dst;
}

#if defined(OUTER_IPV6) || defined(UNDERLAY_IPV6)
// Version, DSCP, ECN and flow label are one field: Tofino writes a word from one field at a time.
header outer_ipv6_h {
    bit<32> first_word;
    bit<16> length;
    bit<8> next_header;
    bit<8> hop_limit;
    bit<128> src;
    bit<128> dst;
}
#endif

header udp_h {
    bit<16> src;
    bit<16> dst;
    bit<16> length;
    bit<16> checksum;
}

// The first four octets of TCP and UDP.
header ports_h {
    bit<16> src;
    bit<16> dst;
}

// TS 29.281 clause 5.1.
header gtpu_h {
    bit<3> version;
    bit<1> protocol_type;
    bit<1> spare;
    bit<1> has_extension;
    bit<1> has_sequence;
    bit<1> has_npdu;
    bit<8> message_type;
    bit<16> length;
    teid_t teid;
}

// There when any of the three flags is set.
header gtpu_options_h {
    bit<16> sequence;
    bit<8> npdu;
    bit<8> next_extension;
}

// The part of a PDU Session Container that every one has (TS 38.415 clause 5.5.2); its length counts units of four octets.
header psc_h {
    bit<8> length;
    bit<4> pdu_type;
    bit<4> type_flags;
    bit<2> flow_flags;
    qfi_t qfi;
}

// The last octet of an extension header.
header next_extension_h {
    bit<8> next;
}

// Octets of an extension header that mean nothing here.
header passed_h {
    varbit<120> octets;
}

#ifdef VXLAN
// RFC 7348 section 5.
header vxlan_h {
    // Bit 3: the VNI is valid.
    bit<8> flags;
    bit<24> reserved;
    bit<24> vni;
    bit<8> reserved_too;
}
#endif

// The target defines TARGET_HEADERS: what it puts in front.
struct headers_t {
    TARGET_HEADERS
    ethernet_h ethernet;
    cpu_h cpu;
#ifdef VXLAN
#ifdef UNDERLAY_IPV6
    outer_ipv6_h underlay_ipv6;
#else
    ipv4_h underlay_ipv4;
#endif
    udp_h underlay_udp;
    vxlan_h vxlan;
    ethernet_h segment_ethernet;
#endif
    ipv4_h outer_ipv4;
#ifdef OUTER_IPV6
    outer_ipv6_h outer_ipv6;
#endif
    udp_h outer_udp;
    gtpu_h gtpu;
    gtpu_options_h gtpu_options;
#ifdef KEEP_EXTENSIONS
    passed_h before;
    next_extension_h before_next;
#endif
    psc_h psc;
#ifdef KEEP_EXTENSIONS
    passed_h psc_rest;
#endif
    next_extension_h psc_next;
#ifdef KEEP_EXTENSIONS
    passed_h behind;
    next_extension_h behind_next;
#endif
    ipv4_h inner_ipv4;
    ipv4_options_h inner_ipv4_options;
#ifdef INNER_IPV6
    ipv6_h inner_ipv6;
#endif
    ports_h ports;
}

// How a matched packet leaves.
enum bit<2> Forward {
    NONE = 0,
    // Without a tunnel, to a data network.
    DECAPSULATE = 1,
    // In a new tunnel.
    ENCAPSULATE = 2
}

// The target defines KEPT_IN_COPY, for the fields that the header of a copy for the CPU port is made from, and its own metadata.
struct metadata_t {
    KEPT_IN_COPY bit<9> ingress_port;
    queue_t queue;
    // What becomes of the packet, once that is no longer forwarding.
    DropReason drop_reason;
    KEPT_IN_COPY PuntReason punt;
    CpuCommand command;
    // 1: it came in one of our tunnels, and the parser has come to the user packet; TEID and QFI are keys. QFI 0 stands for none.
    bit<1> is_tunnelled;
    rule_word_t teid_in;
    qfi_t qfi_in;
    // 1: the frame came with UDP behind one of our addresses.
    bit<1> has_outer_udp;
    // 1: the header of a user packet has been found, in a tunnel or not.
    bit<1> has_user_packet;
    // 1: the packet has the ports that its keys hold.
    bit<1> has_ports;
    // The checksum of the inner IPv4 header is wrong.
    bool bad_checksum;
    // 1: the frame ends before the headers do.
    bit<1> is_cut_short;
    // 1: the last hop of the user packet would end here.
    bit<1> is_expired;
    // 1: no route leads to the packet's next address.
    bit<1> has_no_route;
    // Why UEs do not reach the user packet's destination: the last two bits of the reason, zero if they do.
    bit<2> closed;
    // In which of the last bits the source's address and the TEID differ.
    bit<24> source_difference;
    // 1: the source is not that of the tunnel's UE.
    bit<1> is_spoofed;
    // 1: the outer header tells of congestion, and the user packet cannot.
    bit<1> is_congested;
    // Octets of the user packet.
    bit<16> length;
#ifdef APPLICATION_DETECTION
    // Which of the operator's applications the packet is of.
    application_t application;
#endif
    // What the PDR says.
    KEPT_IN_COPY rule_word_t rule;
    meter_index_t meter;
    teid_t teid_out;
    // What the FAR and QER say, wherever the profile keeps that.
    Forward forward;
    KEPT_IN_COPY bit<1> notify;
    bit<1> buffer;
    bit<1> mark_dscp;
    // DSCP of the outer header, or the mark of the user packet, and the user packet's ECN field.
#ifdef OUTER_IPV6
    bit<32> first_word;
#else
    bit<6> dscp;
    bit<2> ecn;
#endif
    tunnel_address_t tunnel;
    qfi_t qfi_out;
    bit<4> pdu_type;
    bit<8> color;
#ifdef PROFILE_DIRECT
    // The number of the session that the UE's address names, and bit 22.
    rule_word_t session;
    bit<1> has_session;
    // The second octet of the TEID, and the generation that is in it.
    bit<8> teid_high;
    bit<4> generation_in;
    // 1: the entry of the session's number has its simple rule, and that is for this packet.
    bit<1> is_simple;
    // 1: it is counted there.
    bit<1> is_counted;
    // The banks of counters of the session's number, 0 for none, and the index there in the last 17 bits.
    bit<8> pre_qos_bank;
    bit<8> post_qos_bank;
    bit<32> pre_qos_cell;
    bit<32> post_qos_cell;
    // 1: the entry's meter is not 0.
    bit<1> has_meter;
    // The meter that is asked behind rules with entries of their own.
    meter_index_t rule_meter;
    // What that entry says: uplink the generation, six bits of template and the QFI, downlink ten bits of template and six of zero. As
    // one field they take no more than 16 bits of it.
    bit<16> entry;
    bit<12> filter_class;
#ifdef RULES_APART
    // 1: a rule with an entry of its own has been found.
    bit<1> has_rule;
#endif
#ifdef FILTERS_PER_SESSION
    // The last bits of the TEID and of the session's number: which partition its rows with filters stand in.
    bit<16> teid_low;
    bit<16> session_low;
#endif
#endif
#ifdef VXLAN
    KEPT_IN_COPY tenant_t tenant;
    // 1: the frame is of no segment of ours.
    bit<1> is_unknown_segment;
    // The segment that the packet leaves to, 0 for none; octets of the IP packet in it, and how many more would be too many: 0 if it is too big.
    bit<8> segment;
    bit<16> segment_length;
    bit<16> segment_left;
    // The source port in the underlay.
    bit<16> flow_port;
#ifdef UNDERLAY_IPV6
    // Version, DSCP, ECN and flow label of the underlay.
    bit<32> underlay_word;
#endif
#endif
#ifdef FIREWALL
    // 1: the operator's firewall denies the packet.
    bit<1> is_denied;
#ifdef SOFTWARE_PORTS
    // 1: it does not show what a rule of the firewall is about: the software decides.
    bit<1> is_undecided;
#endif
#endif
#ifdef PROFILE_THESIS
    bit<GNB_BITS> gnb;
#endif
#ifdef SOFTWARE_PORTS
    bit<32> time;
    ARMED_METADATA
    // What the frame's port is linked to: 1 a port of the software, 2 one with N3 or N6; and the mirroring session of that port.
    bit<2> link;
    bit<16> linked_session;
    // 1: the software answers at the user packet's destination.
    bit<1> is_answered;
    // Octets that the packet has fewer than too many.
    bit<16> octets_allowed;
    // 1: the frame leaves as it came.
    KEPT_IN_COPY bit<1> leaves;
#endif
    // Sum of the parts of the inner IPv4 header that never change, for targets that update checksums from it.
    bit<16> checksum_residue;
    TARGET_METADATA
}

#endif

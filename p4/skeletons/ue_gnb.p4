// The block `ue_gnb` by itself, for either target: an IPv4 packet leaves by port 1 behind a header that says which tunnel its destination has. It shows how many
// UEs such a table holds.
//
// The compiler's target is chosen by SKELETON_TOFINO. UE_METHOD, GNB_BITS, TENANT_BITS and UES are those of the block. Two forms are here alone, to compare:
// UE_METHOD 0 is the thesis' first one, whose entry has the fields of the headers that a packet gets, constants too. UE_METHOD 4 is method 2 as its released
// program has it: the UE's entry says the gNB and nothing else, and the TEID is the gNB's, so all UEs of a gNB share one.

#include <core.p4>
#ifdef SKELETON_TOFINO
#include <tna.p4>
#include "../tofino/target.p4"
#else
#include <v1model.p4>
#include "../bmv2/target.p4"
#endif

#ifndef UES
#define UES 65536
#endif
#ifndef TENANT_BITS
#define TENANT_BITS 0
#endif
#ifndef UE_METHOD
#define UE_METHOD 2
#endif
#ifndef GNB_BITS
#define GNB_BITS 13
#endif

#define PORT_OUT 1

header frame_h {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
    // In a complete pipeline the segment says it; here the frame does.
    bit<8> tenant;
}

// What is known of the packet's tunnel.
header result_h {
    bit<8> has_ue;
#if GNB_BITS < 16
    bit<(16 - GNB_BITS)> padding;
#endif
    bit<GNB_BITS> gnb;
    bit<32> teid_out;
    bit<32> tunnel;
#if UE_METHOD == 0
    bit<32> source;
    bit<8> dscp;
    bit<8> ttl;
    bit<16> source_port;
    bit<16> destination_port;
    bit<8> flags;
    bit<8> message_type;
#endif
}

header ipv4_h {
    bit<96> front;
    bit<32> src;
    bit<32> dst;
}

struct headers_t {
    frame_h frame;
    result_h result;
    ipv4_h inner_ipv4;
}

struct metadata_t {
    bit<8> tenant;
    bit<32> ue;
    bit<1> has_number;
}

#define UE_OUT hdr.result
#define UE_FOUND hdr.result.has_ue = 1;
#if UE_METHOD == 0
control UeTunnels(inout headers_t hdr, inout metadata_t meta) {
    action encapsulate(
        bit<32> source, bit<32> address, bit<8> dscp, bit<8> ttl, bit<16> source_port, bit<16> destination_port, bit<8> flags,
        bit<8> message_type, bit<32> teid
    ) {
        hdr.result.has_ue = 1;
        hdr.result.source = source;
        hdr.result.tunnel = address;
        hdr.result.dscp = dscp;
        hdr.result.ttl = ttl;
        hdr.result.source_port = source_port;
        hdr.result.destination_port = destination_port;
        hdr.result.flags = flags;
        hdr.result.message_type = message_type;
        hdr.result.teid_out = teid;
    }

    table ue_tunnels {
        key = { hdr.inner_ipv4.dst : exact @name("ue_address"); }
        actions = { encapsulate; @defaultonly NoAction; }
        const default_action = NoAction();
        size = UES;
    }

    apply {
        ue_tunnels.apply();
    }
}
#elif UE_METHOD == 4
control UeTunnels(inout headers_t hdr, inout metadata_t meta) {
    action set_gnb(bit<GNB_BITS> gnb) {
        hdr.result.has_ue = 1;
        hdr.result.gnb = gnb;
    }

    table ue_tunnels {
        key = { hdr.inner_ipv4.dst : exact @name("ue_address"); }
        actions = { set_gnb; @defaultonly NoAction; }
        const default_action = NoAction();
        size = UES;
    }

    apply {
        ue_tunnels.apply();
    }
}

control GnbAddresses(inout result_h result) {
    action set_tunnel(bit<32> teid, bit<32> address) {
        result.teid_out = teid;
        result.tunnel = address;
    }

    table gnbs {
        key = { result.gnb : exact @name("gnb"); }
        actions = { set_tunnel; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 1 << GNB_BITS;
    }

    apply {
        gnbs.apply();
    }
}
#else
#include "../blocks/ue_gnb.p4"
#endif

// Where a gNB's number is looked up: on the egress side, whose tables share the stages' memory with those of the ingress side and need not stand behind them.
#if UE_METHOD <= 1
#define GNB_LOOKUP
#define GNB_APPLY
#elif UE_METHOD == 4
#define GNB_LOOKUP GnbAddresses() gnbs;
#define GNB_APPLY gnbs.apply(hdr.result);
#else
#define GNB_LOOKUP GnbAddresses() gnbs;
#define GNB_APPLY gnbs.apply(hdr.result.gnb, hdr.result.tunnel);
#endif

#ifdef SKELETON_TOFINO
parser SkeletonIngressParser(
    packet_in pkt, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t ig_intr_md
) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.frame);
        meta.tenant = hdr.frame.tenant;
        pkt.extract(hdr.inner_ipv4);
        transition accept;
    }
}

control SkeletonIngress(
    inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
    in ingress_intrinsic_metadata_from_parser_t from_parser, inout ingress_intrinsic_metadata_for_deparser_t deparser,
    inout ingress_intrinsic_metadata_for_tm_t traffic_manager
) {
    UeTunnels() tunnels;

    apply {
        hdr.result.setValid();
        tunnels.apply(hdr, meta);
        traffic_manager.ucast_egress_port = PORT_OUT;
    }
}

control SkeletonIngressDeparser(
    packet_out pkt, inout headers_t hdr, in metadata_t meta, in ingress_intrinsic_metadata_for_deparser_t deparser
) {
    apply {
        pkt.emit(hdr);
    }
}

struct egress_headers_t {
    frame_h frame;
    result_h result;
}

struct no_metadata_t {}

parser SkeletonEgressParser(
    packet_in pkt, out egress_headers_t hdr, out no_metadata_t meta, out egress_intrinsic_metadata_t eg_intr_md
) {
    state start {
        pkt.extract(eg_intr_md);
        pkt.extract(hdr.frame);
        pkt.extract(hdr.result);
        transition accept;
    }
}

control SkeletonEgress(
    inout egress_headers_t hdr, inout no_metadata_t meta, in egress_intrinsic_metadata_t eg_intr_md,
    in egress_intrinsic_metadata_from_parser_t from_parser, inout egress_intrinsic_metadata_for_deparser_t deparser,
    inout egress_intrinsic_metadata_for_output_port_t output_port
) {
    GNB_LOOKUP

    apply {
        GNB_APPLY
    }
}

control SkeletonEgressDeparser(
    packet_out pkt, inout egress_headers_t hdr, in no_metadata_t meta, in egress_intrinsic_metadata_for_deparser_t deparser
) {
    apply {
        pkt.emit(hdr);
    }
}

Pipeline(
    SkeletonIngressParser(), SkeletonIngress(), SkeletonIngressDeparser(), SkeletonEgressParser(), SkeletonEgress(),
    SkeletonEgressDeparser()
) pipe;

Switch(pipe) main;
#else
parser SkeletonParser(
    packet_in pkt, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata
) {
    state start {
        pkt.extract(hdr.frame);
        meta.tenant = hdr.frame.tenant;
        pkt.extract(hdr.inner_ipv4);
        transition accept;
    }
}

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control SkeletonIngress(
    inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata
) {
    UeTunnels() tunnels;

    apply {
        hdr.result.setValid();
        tunnels.apply(hdr, meta);
        standard_metadata.egress_spec = PORT_OUT;
    }
}

control SkeletonEgress(
    inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata
) {
    GNB_LOOKUP

    apply {
        GNB_APPLY
    }
}

control SkeletonDeparser(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr);
    }
}

V1Switch(SkeletonParser(), NoChecksum(), SkeletonIngress(), SkeletonEgress(), NoChecksum(), SkeletonDeparser()) main;
#endif

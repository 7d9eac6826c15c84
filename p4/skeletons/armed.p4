// The block `armed` by itself, for either target: a frame names its rule, and leaves by port 1 if the switch may forward it, by port 2 if it
// is for the software. It shows what registers take of a target before they stand in a pipeline.
//
// The compiler's target is chosen by SKELETON_TOFINO.

#include <core.p4>
#ifdef SKELETON_TOFINO
#include <tna.p4>
#include "../tofino/target.p4"
#else
#include <v1model.p4>
#include "../bmv2/target.p4"
#endif
#include "../blocks/optional_metadata.p4"

#define PORT_FORWARDED 1
#define PORT_SOFTWARE 2

header frame_h {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
    bit<8> padding;
    bit<24> rule;
}

struct headers_t {
    frame_h frame;
}

struct metadata_t {
    bit<24> rule;
    bit<32> time;
    ARMED_METADATA
}

#include "../blocks/armed.p4"

#ifdef SKELETON_TOFINO
parser SkeletonIngressParser(
    packet_in pkt, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t ig_intr_md
) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        meta.rule = 0;
        meta.time = 0;
        meta.armed_generation = 0;
        meta.armed_limit = 0;
        meta.armed_is_same = 0;
        meta.armed_passes = 0;
        meta.is_armed = 0;
        pkt.extract(hdr.frame);
        transition accept;
    }
}

control SkeletonIngress(
    inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
    in ingress_intrinsic_metadata_from_parser_t from_parser, inout ingress_intrinsic_metadata_for_deparser_t deparser,
    inout ingress_intrinsic_metadata_for_tm_t traffic_manager
) {
    ArmedRules() armed;

    apply {
        meta.time = TIME;
        meta.rule = hdr.frame.rule;
        armed.apply(meta);
        if (meta.is_armed == 1 && meta.armed_passes == 0) {
            traffic_manager.ucast_egress_port = PORT_SOFTWARE;
        } else {
            traffic_manager.ucast_egress_port = PORT_FORWARDED;
        }
    }
}

control SkeletonIngressDeparser(
    packet_out pkt, inout headers_t hdr, in metadata_t meta, in ingress_intrinsic_metadata_for_deparser_t deparser
) {
    apply {
        pkt.emit(hdr);
    }
}

struct no_headers_t {}
struct no_metadata_t {}

parser SkeletonEgressParser(
    packet_in pkt, out no_headers_t hdr, out no_metadata_t meta, out egress_intrinsic_metadata_t eg_intr_md
) {
    state start {
        pkt.extract(eg_intr_md);
        transition accept;
    }
}

control SkeletonEgress(
    inout no_headers_t hdr, inout no_metadata_t meta, in egress_intrinsic_metadata_t eg_intr_md,
    in egress_intrinsic_metadata_from_parser_t from_parser, inout egress_intrinsic_metadata_for_deparser_t deparser,
    inout egress_intrinsic_metadata_for_output_port_t output_port
) {
    apply {}
}

control SkeletonEgressDeparser(
    packet_out pkt, inout no_headers_t hdr, in no_metadata_t meta, in egress_intrinsic_metadata_for_deparser_t deparser
) {
    apply {}
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
        transition accept;
    }
}

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control SkeletonIngress(
    inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata
) {
    ArmedRules() armed;

    apply {
        meta.time = TIME;
        meta.rule = hdr.frame.rule;
        armed.apply(meta);
        if (meta.is_armed == 1 && meta.armed_passes == 0) {
            standard_metadata.egress_spec = PORT_SOFTWARE;
        } else {
            standard_metadata.egress_spec = PORT_FORWARDED;
        }
    }
}

control SkeletonEgress(
    inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata
) {
    apply {}
}

control SkeletonDeparser(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr);
    }
}

V1Switch(SkeletonParser(), NoChecksum(), SkeletonIngress(), SkeletonEgress(), NoChecksum(), SkeletonDeparser()) main;
#endif

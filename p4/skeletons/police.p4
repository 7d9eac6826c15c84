// The block `police` by itself, for either target: a frame names its session and the time that it takes at the rate, and leaves by port 1, or is
// dropped if it exceeds the rate. On Tofino 1 there is one for each direction, with 131,072 sessions.
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

#define PORT_FORWARDED 1
#define SIZE_POLICE 131072
#define POLICE_BITS 17

header frame_h {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
    bit<6> padding;
    bit<1> is_uplink;
    bit<17> session;
    bit<32> step;
}

struct headers_t {
    frame_h frame;
}

struct metadata_t {
    bit<32> time;
    bit<POLICE_BITS> police_index;
    bit<32> police_step;
    bit<32> police_gap;
    bit<32> police_change;
    bit<1> police_shrinks;
    bit<32> police_over;
}

#include "../blocks/police.p4"

#ifdef SKELETON_TOFINO
parser SkeletonIngressParser(
    packet_in pkt, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t ig_intr_md
) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        meta.time = 0;
        meta.police_index = 0;
        meta.police_step = 0;
        meta.police_gap = 0;
        meta.police_change = 0;
        meta.police_shrinks = 0;
        meta.police_over = 0;
        pkt.extract(hdr.frame);
        transition accept;
    }
}

control SkeletonIngress(
    inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
    in ingress_intrinsic_metadata_from_parser_t from_parser, inout ingress_intrinsic_metadata_for_deparser_t deparser,
    inout ingress_intrinsic_metadata_for_tm_t traffic_manager
) {
    Police() uplink;
    Police() downlink;

    apply {
        meta.time = TIME;
        meta.police_index = hdr.frame.session;
        meta.police_step = hdr.frame.step;
        if (hdr.frame.is_uplink == 1) {
            uplink.apply(meta);
        } else {
            downlink.apply(meta);
        }
        traffic_manager.ucast_egress_port = PORT_FORWARDED;
        if (meta.police_over == 1) {
            deparser.drop_ctl = 1;
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
    Police() uplink;
    Police() downlink;

    apply {
        meta.time = TIME;
        meta.police_index = hdr.frame.session;
        meta.police_step = hdr.frame.step;
        if (hdr.frame.is_uplink == 1) {
            uplink.apply(meta);
        } else {
            downlink.apply(meta);
        }
        standard_metadata.egress_spec = PORT_FORWARDED;
        if (meta.police_over == 1) {
            mark_to_drop(standard_metadata);
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

// The block `police` by itself, for either target: a frame names its session, its direction, the time and what it takes at the rate, and leaves by
// port 1, or is dropped if it exceeds the rate. 131,072 sessions.
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

#include "../blocks/police.p4"

header frame_h {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

struct headers_t {
    frame_h frame;
    police_h police;
}

struct metadata_t {
    bit<32> is_over;
}

#ifdef SKELETON_TOFINO
parser SkeletonIngressParser(
    packet_in pkt, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t ig_intr_md
) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        meta.is_over = 0;
        pkt.extract(hdr.frame);
        pkt.extract(hdr.police);
        transition accept;
    }
}

control SkeletonIngress(
    inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
    in ingress_intrinsic_metadata_from_parser_t from_parser, inout ingress_intrinsic_metadata_for_deparser_t deparser,
    inout ingress_intrinsic_metadata_for_tm_t traffic_manager
) {
    Police() police;

    apply {
        police.apply(hdr.police, meta.is_over);
        traffic_manager.ucast_egress_port = PORT_FORWARDED;
        if (meta.is_over == 1) {
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
        pkt.extract(hdr.police);
        transition accept;
    }
}

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control SkeletonIngress(
    inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata
) {
    Police() police;

    apply {
        police.apply(hdr.police, meta.is_over);
        standard_metadata.egress_spec = PORT_FORWARDED;
        if (meta.is_over == 1) {
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

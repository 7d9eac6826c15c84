// The block `heavy_hitter` by itself, for either target: a frame names its flow and what it counts, and leaves by port 1. A flow that has become heavy is
// a digest.
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

#define PORT_OUT 1

header frame_h {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
    bit<32> flow;
    bit<8> weight;
}

// In front of a frame that passes a second time. Tofino 1 has eight octets there.
header second_pass_h {
    bit<8> way;
    bit<8> weight;
    bit<48> padding;
}

// The event that a flow has become heavy.
struct heavy_flow_t {
    bit<32> flow;
    bit<16> units;
}

struct headers_t {
    second_pass_h second_pass;
    frame_h frame;
}

struct metadata_t {
    bit<32> time;
    HEAVY_METADATA
}

#include "../blocks/heavy_hitter.p4"

#ifdef SKELETON_TOFINO
parser SkeletonIngressParser(
    packet_in pkt, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t ig_intr_md
) {
    state start {
        pkt.extract(ig_intr_md);
        transition select(ig_intr_md.resubmit_flag) {
            1 : second_pass;
            default : first_pass;
        }
    }

    state first_pass {
        pkt.advance(PORT_METADATA_SIZE);
        transition frame;
    }

    state second_pass {
        pkt.extract(hdr.second_pass);
        transition frame;
    }

    state frame {
        pkt.extract(hdr.frame);
        transition accept;
    }
}

control SkeletonIngress(
    inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
    in ingress_intrinsic_metadata_from_parser_t from_parser, inout ingress_intrinsic_metadata_for_deparser_t deparser,
    inout ingress_intrinsic_metadata_for_tm_t traffic_manager
) {
    HeavyHitters() heavy;

    apply {
        meta.time = TIME;
        meta.heavy_key = hdr.frame.flow;
        if (hdr.second_pass.isValid()) {
            meta.is_heavy_second = 1;
            meta.heavy_way = hdr.second_pass.way[0:0];
            meta.heavy_weight = hdr.second_pass.weight;
            hdr.second_pass.setInvalid();
        } else {
            meta.heavy_weight = hdr.frame.weight;
        }
        heavy.apply(meta);
        if (meta.heavy_takes == 1) {
            deparser.resubmit_type = 1;
        }
        if (meta.heavy_reports == 1) {
            deparser.digest_type = 1;
        }
        traffic_manager.ucast_egress_port = PORT_OUT;
    }
}

control SkeletonIngressDeparser(
    packet_out pkt, inout headers_t hdr, in metadata_t meta, in ingress_intrinsic_metadata_for_deparser_t deparser
) {
    Resubmit(1) second_pass;
    Digest<heavy_flow_t>(1) heavy_flow;

    apply {
        if (deparser.resubmit_type == 1) {
            second_pass.emit<second_pass_h>({ 7w0 ++ meta.heavy_way, meta.heavy_weight, 0 });
        }
        if (deparser.digest_type == 1) {
            heavy_flow.pack({ meta.heavy_key, meta.heavy_units });
        }
        pkt.emit(hdr.frame);
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
    HeavyHitters() heavy;

    apply {
        meta.time = TIME;
        meta.heavy_key = hdr.frame.flow;
        if (meta.is_heavy_second == 0) {
            meta.heavy_weight = hdr.frame.weight;
        }
        heavy.apply(meta);
        if (meta.heavy_reports == 1) {
            digest<heavy_flow_t>(1, { meta.heavy_key, meta.heavy_units });
        }
        if (meta.heavy_takes == 1) {
            meta.is_heavy_second = 1;
            resubmit_preserving_field_list(2);
        }
        standard_metadata.egress_spec = PORT_OUT;
    }
}

control SkeletonEgress(
    inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata
) {
    apply {}
}

control SkeletonDeparser(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.frame);
    }
}

V1Switch(SkeletonParser(), NoChecksum(), SkeletonIngress(), SkeletonEgress(), NoChecksum(), SkeletonDeparser()) main;
#endif

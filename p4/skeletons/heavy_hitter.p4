// The block `heavy_hitter` by itself at egress, for either target: a frame names its flow and what it counts, and leaves by port 1. A copy of it is a second
// pass, or says that its flow has become heavy.
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
// Of copies.
#define COPY_SESSION 1

header frame_h {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
    bit<32> flow;
    bit<8> weight;
}

#ifdef SKELETON_TOFINO
// In front of a frame on its way to the egress side, and of a copy that egress makes.
header between_h {
    bit<32> flow;
    bit<8> weight;
    // Bits of HEAVY_SECOND_0, HEAVY_SECOND_1 and HEAVY_EVENT.
    @padding bit<2> padding;
    bit<1> is_counted;
    bit<1> is_second;
    bit<1> way;
    bit<1> is_event;
    @padding bit<2> padding_too;
    bit<16> units;
}

header copy_h {
    bit<32> flow;
    bit<8> weight;
    bit<8> what;
    bit<16> units;
}

struct headers_t {
    between_h between;
    frame_h frame;
}

struct no_metadata_t {}

struct metadata_t {
    between_h between;
    HEAVY_METADATA
    MirrorId_t copy_session;
}
#else
struct headers_t {
    frame_h frame;
}

struct metadata_t {
    HEAVY_METADATA
}
#endif

#define HEAVY_OWNER metadata_t
#include "../blocks/heavy_hitter.p4"

#ifdef SKELETON_TOFINO
parser SkeletonIngressParser(
    packet_in pkt, out headers_t hdr, out no_metadata_t meta, out ingress_intrinsic_metadata_t ig_intr_md
) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.frame);
        transition accept;
    }
}

control SkeletonIngress(
    inout headers_t hdr, inout no_metadata_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
    in ingress_intrinsic_metadata_from_parser_t from_parser, inout ingress_intrinsic_metadata_for_deparser_t deparser,
    inout ingress_intrinsic_metadata_for_tm_t traffic_manager
) {
    apply {
        hdr.between.setValid();
        hdr.between.flow = hdr.frame.flow;
        hdr.between.weight = hdr.frame.weight;
        hdr.between.is_counted = 1;
        hdr.between.is_second = 0;
        hdr.between.way = 0;
        hdr.between.is_event = 0;
        hdr.between.units = 0;
        traffic_manager.ucast_egress_port = PORT_OUT;
    }
}

control SkeletonIngressDeparser(
    packet_out pkt, inout headers_t hdr, in no_metadata_t meta, in ingress_intrinsic_metadata_for_deparser_t deparser
) {
    apply {
        pkt.emit(hdr);
    }
}

parser SkeletonEgressParser(
    packet_in pkt, out headers_t hdr, out metadata_t meta, out egress_intrinsic_metadata_t eg_intr_md
) {
    state start {
        pkt.extract(eg_intr_md);
        pkt.extract(meta.between);
        meta.heavy_weight = meta.between.weight;
        meta.copy_session = COPY_SESSION;
        pkt.extract(hdr.frame);
        transition accept;
    }
}

control SkeletonEgress(
    inout headers_t hdr, inout metadata_t meta, in egress_intrinsic_metadata_t eg_intr_md,
    in egress_intrinsic_metadata_from_parser_t from_parser, inout egress_intrinsic_metadata_for_deparser_t deparser,
    inout egress_intrinsic_metadata_for_output_port_t output_port
) {
    HeavyHitters() heavy;
    EGRESS_CLOCK(clock)

    apply {
        if (meta.between.is_second == 1) {
            deparser.drop_ctl = 1;
        }
        EGRESS_CLOCK_READ(clock, meta.heavy_time_0)
        heavy.apply(
            meta, meta.between.flow, meta.between.is_counted, meta.between.is_second, meta.between.way, deparser.mirror_type
        );
    }
}

control SkeletonEgressDeparser(
    packet_out pkt, inout headers_t hdr, in metadata_t meta, in egress_intrinsic_metadata_for_deparser_t deparser
) {
    Mirror() mirror;

    apply {
        if (deparser.mirror_type == 1) {
            mirror.emit<copy_h>(
                meta.copy_session, { meta.between.flow, meta.heavy_weight, meta.heavy_copy, meta.heavy_units }
            );
        }
        pkt.emit(hdr.frame);
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
        transition accept;
    }
}

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control SkeletonIngress(
    inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata
) {
    apply {
        standard_metadata.egress_spec = PORT_OUT;
    }
}

control SkeletonEgress(
    inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata
) {
    HeavyHitters() heavy;

    apply {
        bit<1> is_second = 0;
        bit<1> way = 0;
        bit<1> is_counted = 1;
        if (meta.heavy_copy == HEAVY_EVENT) {
            is_counted = 0;
        } else if (meta.heavy_copy != 0) {
            is_second = 1;
            if (meta.heavy_copy == HEAVY_SECOND_1) {
                way = 1;
            }
            mark_to_drop(standard_metadata);
        }
        bit<3> copies = 0;
        EGRESS_CLOCK_READ(clock, meta.heavy_time_0)
        meta.heavy_weight = hdr.frame.weight;
        heavy.apply(meta, hdr.frame.flow, is_counted, is_second, way, copies);
        if (copies == 1) {
            clone_preserving_field_list(CloneType.E2E, COPY_SESSION, 1);
        }
    }
}

control SkeletonDeparser(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.frame);
    }
}

V1Switch(SkeletonParser(), NoChecksum(), SkeletonIngress(), SkeletonEgress(), NoChecksum(), SkeletonDeparser()) main;
#endif

// The block `application_classes` by itself, for either target: a frame names its rule and the octets of its IP packet, and leaves by port 1. A copy of it
// says that the class of the rule's session has changed.
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
    bit<32> rule;
    bit<16> octets;
}

#ifdef SKELETON_TOFINO
// In front of a frame on its way to the egress side.
header between_h {
    bit<32> rule;
    bit<32> parts;
    bit<16> window;
}

// In front of a copy.
header copy_h {
    bit<32> rule;
    bit<8> class;
}

struct headers_t {
    between_h between;
    frame_h frame;
}

struct ingress_metadata_t {
    bit<16> window;
}

struct metadata_t {
    CLASS_METADATA
    bit<32> rule;
    MirrorId_t copy_session;
}
#else
const bit<32> INSTANCE_EGRESS_CLONE = 2;

struct headers_t {
    frame_h frame;
}

struct metadata_t {
    CLASS_METADATA
}
#endif

#define CLASS_OWNER metadata_t
#include "../blocks/application_classes.p4"

#ifdef SKELETON_TOFINO
parser SkeletonIngressParser(
    packet_in pkt, out headers_t hdr, out ingress_metadata_t meta, out ingress_intrinsic_metadata_t ig_intr_md
) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.frame);
        transition accept;
    }
}

control SkeletonIngress(
    inout headers_t hdr, inout ingress_metadata_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
    in ingress_intrinsic_metadata_from_parser_t from_parser, inout ingress_intrinsic_metadata_for_deparser_t deparser,
    inout ingress_intrinsic_metadata_for_tm_t traffic_manager
) {
    COPY(parts)
    ClassWindow() class_window;

    apply {
        class_window.apply(NANOSECONDS, meta.window);
        hdr.between.setValid();
        hdr.between.rule = hdr.frame.rule;
        COPY_OF(parts, hdr.between.parts, CLASS_PARTS(hdr.frame.octets))
        hdr.between.window = meta.window;
        traffic_manager.ucast_egress_port = PORT_OUT;
    }
}

control SkeletonIngressDeparser(
    packet_out pkt, inout headers_t hdr, in ingress_metadata_t meta, in ingress_intrinsic_metadata_for_deparser_t deparser
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
        pkt.extract(hdr.between);
        meta.class_window = hdr.between.window;
        meta.class_parts = hdr.between.parts;
        meta.rule = hdr.between.rule;
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
    ApplicationClasses() classes;

    apply {
        classes.apply(meta, hdr.between.rule, 1, deparser.mirror_type);
    }
}

control SkeletonEgressDeparser(
    packet_out pkt, inout headers_t hdr, in metadata_t meta, in egress_intrinsic_metadata_for_deparser_t deparser
) {
    Mirror() mirror;

    apply {
        if (deparser.mirror_type == 1) {
            mirror.emit<copy_h>(meta.copy_session, { meta.rule, meta.class_now });
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
    ClassWindow() class_window;

    apply {
        class_window.apply(NANOSECONDS, meta.class_window);
        meta.class_parts = CLASS_PARTS(hdr.frame.octets);
        standard_metadata.egress_spec = PORT_OUT;
    }
}

control SkeletonEgress(
    inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata
) {
    ApplicationClasses() classes;

    apply {
        bit<3> has_changed = 0;
        bit<1> is_counted = 1;
        if (standard_metadata.instance_type == INSTANCE_EGRESS_CLONE) {
            is_counted = 0;
        }
        classes.apply(meta, hdr.frame.rule, is_counted, has_changed);
        if (has_changed == 1) {
            clone_preserving_field_list(CloneType.E2E, COPY_SESSION, 1);
        }
    }
}

control SkeletonDeparser(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr);
    }
}

V1Switch(SkeletonParser(), NoChecksum(), SkeletonIngress(), SkeletonEgress(), NoChecksum(), SkeletonDeparser()) main;
#endif

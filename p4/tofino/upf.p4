// The UPF for Tofino 1: the blocks on TNA.

#include <core.p4>
#include <tna.p4>
#include "target.p4"
#include "../contract/sizes.p4"
#include "../blocks/headers.p4"
#include "../blocks/pipeline.p4"

// The mirroring session whose port is CPU_PORT: the control plane configures it.
const MirrorId_t CPU_SESSION = 1;
const bit<3> MIRROR_COPY = 1;
#if (defined(HEAVY_HITTERS) || defined(APPLICATION_CLASSES)) && !defined(PROFILE_DIRECT)
#define BRIDGE_RULE meta.bridge.rule[23:0]
#else
#define BRIDGE_RULE meta.bridge.rule
#endif
// What the header between both sides has behind the rule in profile `direct`.
#ifdef PROFILE_DIRECT
#define NO_CELL 0, 0,
#else
#define NO_CELL
#endif

// What the header of the CPU port says of a segment.
#ifdef VXLAN
#define OF_TENANT , meta.bridge.tenant
#define COPY_OF_TENANT , meta.tenant
#else
#define OF_TENANT
#define COPY_OF_TENANT
#endif

struct egress_headers_t {
    ethernet_h ethernet;
    cpu_h cpu;
}

struct egress_metadata_t {
    bridge_h bridge;
#ifdef HEAVY_HITTERS
    HEAVY_METADATA
    MirrorId_t copy_session;
#endif
#ifdef APPLICATION_CLASSES
    CLASS_METADATA
    bit<8> class_copy;
    MirrorId_t copy_session;
#endif
}

#ifdef HEAVY_HITTERS
#define HEAVY_OWNER egress_metadata_t
#include "../blocks/heavy_hitter.p4"
#endif
#ifdef APPLICATION_CLASSES
#define CLASS_OWNER egress_metadata_t
#include "../blocks/application_classes.p4"
#endif

parser UpfIngressParser(
    packet_in pkt, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t ig_intr_md
) {
    Checksum() inner_sum;
    Checksum() inner_residue;

#include "../blocks/parser.p4"

    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        meta.ingress_port = ig_intr_md.ingress_port;
        transition frame;
    }
}

#ifdef PROFILE_DIRECT
// Left alone, the compiler spreads what an entry by index says over more words than the entry has, and then places it in no stage.
@pa_container_size("ingress", "meta.entry", 16)
@pa_container_size("ingress", "meta.meter", 16)
@pa_container_size("ingress", "meta.teid_out", 32)
// What decides about counters and meters shares its bits with nothing that is needed before: it would have to wait for that.
@pa_no_overlay("ingress", "meta.is_cut_short")
@pa_no_overlay("ingress", "meta.is_spoofed")
@pa_no_overlay("ingress", "meta.is_congested")
@pa_no_overlay("ingress", "meta.is_simple")
@pa_no_overlay("ingress", "meta.has_meter")
@pa_no_overlay("ingress", "meta.is_counted")
@pa_no_overlay("ingress", "meta.pre_qos_bank")
@pa_no_overlay("ingress", "meta.post_qos_bank")
#endif
control UpfIngressMain(
    inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
    in ingress_intrinsic_metadata_from_parser_t from_parser, inout ingress_intrinsic_metadata_for_deparser_t deparser,
    inout ingress_intrinsic_metadata_for_tm_t traffic_manager
) {
    UpfIngress() upf;
#ifdef APPLICATION_CLASSES
    COPY(class_parts)
    ClassWindow() class_window;
#endif

    apply {
        if (from_parser.parser_err != PARSER_ERROR_OK) {
            meta.is_cut_short = 1;
        }
#ifdef SOFTWARE_PORTS
        meta.time = TIME;
#endif
#ifdef APPLICATION_CLASSES
        class_window.apply(NANOSECONDS, meta.class_window);
#endif
        upf.apply(hdr, meta, traffic_manager, deparser);
#ifdef SOFTWARE_PORTS
        if (meta.leaves == 1) {
            deparser.mirror_type = MIRROR_COPY;
            meta.copy_session = meta.linked_session[9:0];
            meta.copy_reason = (bit<8>)PuntReason.SOFTWARE;
        } else
#endif
        if (meta.notify == 1 && meta.is_cut_short == 0 IS_PERMITTED) {
            deparser.mirror_type = MIRROR_COPY;
            meta.copy_session = CPU_SESSION;
        }
        hdr.bridge.setValid();
        hdr.bridge.punt = meta.punt;
        hdr.bridge.is_original = 1;
        if (meta.command == CpuCommand.SEND) {
            hdr.bridge.is_sent = 1;
        } else {
            hdr.bridge.is_sent = 0;
        }
        hdr.bridge.ingress_port = meta.ingress_port;
#ifdef VXLAN
        hdr.bridge.tenant = meta.tenant;
#endif
#ifdef HEAVY_HITTERS
        hdr.bridge.rule = (bit<32>)meta.rule;
        if (meta.punt == PuntReason.NONE && meta.rule != 0) {
            hdr.bridge.is_heavy_counted = 1;
        } else {
            hdr.bridge.is_heavy_counted = 0;
        }
        hdr.bridge.is_heavy_second = 0;
        hdr.bridge.heavy_way = 0;
        hdr.bridge.is_heavy_event = 0;
        hdr.bridge.heavy_units = 0;
#elif defined(APPLICATION_CLASSES)
        hdr.bridge.rule = (bit<32>)meta.rule;
        if (meta.punt == PuntReason.NONE && meta.rule != 0) {
            hdr.bridge.is_class_counted = 1;
        } else {
            hdr.bridge.is_class_counted = 0;
        }
        hdr.bridge.is_class_event = 0;
        hdr.bridge.class_window = meta.class_window;
        COPY_OF(class_parts, hdr.bridge.class_parts, CLASS_PARTS(meta.length))
#else
        hdr.bridge.rule = meta.rule;
#endif
#ifdef PROFILE_DIRECT
        hdr.bridge.cell = meta.post_qos_cell;
        if (meta.is_counted == 1) {
            hdr.bridge.bank = meta.post_qos_bank;
        } else {
            hdr.bridge.bank = 0;
        }
#endif
    }
}

control UpfIngressDeparser(
    packet_out pkt, inout headers_t hdr, in metadata_t meta, in ingress_intrinsic_metadata_for_deparser_t deparser
) {
    Checksum() outer_checksum;
    Checksum() inner_checksum;
#if defined(VXLAN) && !defined(UNDERLAY_IPV6)
    Checksum() underlay_checksum;
#endif
    Mirror() mirror;

    apply {
        if (deparser.mirror_type == MIRROR_COPY) {
#if defined(HEAVY_HITTERS)
            mirror.emit<bridge_h>(
                meta.copy_session,
                {(PuntReason)0, (bit<32>)meta.rule, NO_CELL 0, 0, 0, 0, 0, 0, 0, meta.ingress_port, 0}
            );
#elif defined(APPLICATION_CLASSES)
            mirror.emit<bridge_h>(
                meta.copy_session,
                {(PuntReason)0, (bit<32>)meta.rule, NO_CELL 0, 0, 0, 0, 0, meta.ingress_port, 0, 0}
            );
#elif defined(SOFTWARE_PORTS)
            mirror.emit<bridge_h>(
                meta.copy_session, {(PuntReason)meta.copy_reason, meta.rule, 0, 0, 0, meta.ingress_port COPY_OF_TENANT}
            );
#else
            mirror.emit<bridge_h>(meta.copy_session, {(PuntReason)0, meta.rule, NO_CELL 0, 0, 0, meta.ingress_port COPY_OF_TENANT});
#endif
        }
        if (hdr.outer_ipv4.isValid()) {
            hdr.outer_ipv4.checksum = outer_checksum.update({
                hdr.outer_ipv4.version, hdr.outer_ipv4.ihl, hdr.outer_ipv4.dscp, hdr.outer_ipv4.ecn, hdr.outer_ipv4.length,
                hdr.outer_ipv4.identification, hdr.outer_ipv4.flags, hdr.outer_ipv4.fragment_offset, hdr.outer_ipv4.ttl,
                hdr.outer_ipv4.protocol, hdr.outer_ipv4.src, hdr.outer_ipv4.dst
            });
        }
#if defined(VXLAN) && !defined(UNDERLAY_IPV6)
        if (hdr.underlay_ipv4.isValid()) {
            hdr.underlay_ipv4.checksum = underlay_checksum.update({
                hdr.underlay_ipv4.version, hdr.underlay_ipv4.ihl, hdr.underlay_ipv4.dscp, hdr.underlay_ipv4.ecn, hdr.underlay_ipv4.length,
                hdr.underlay_ipv4.identification, hdr.underlay_ipv4.flags, hdr.underlay_ipv4.fragment_offset, hdr.underlay_ipv4.ttl,
                hdr.underlay_ipv4.protocol, hdr.underlay_ipv4.src, hdr.underlay_ipv4.dst
            });
        }
#endif
        // What changes, and the sum of what does not: so options need not be summed again.
        if (hdr.inner_ipv4.isValid()) {
            hdr.inner_ipv4.checksum = inner_checksum.update({
                hdr.inner_ipv4.version, hdr.inner_ipv4.ihl, hdr.inner_ipv4.dscp, hdr.inner_ipv4.ecn,
                hdr.inner_ipv4.ttl, hdr.inner_ipv4.protocol, meta.checksum_residue
            });
        }
        pkt.emit(hdr);
    }
}

parser UpfEgressParser(
    packet_in pkt, out egress_headers_t hdr, out egress_metadata_t meta, out egress_intrinsic_metadata_t eg_intr_md
) {
    state start {
        pkt.extract(eg_intr_md);
        pkt.extract(meta.bridge);
#ifdef HEAVY_HITTERS
        meta.heavy_weight = 1;
        meta.copy_session = CPU_SESSION;
#endif
#ifdef APPLICATION_CLASSES
        meta.class_window = meta.bridge.class_window;
        meta.class_parts = meta.bridge.class_parts;
        meta.class_copy = CLASS_EVENT;
        meta.copy_session = CPU_SESSION;
#endif
        pkt.extract(hdr.ethernet);
        transition accept;
    }
}

control UpfEgressMain(
    inout egress_headers_t hdr, inout egress_metadata_t meta, in egress_intrinsic_metadata_t eg_intr_md,
    in egress_intrinsic_metadata_from_parser_t from_parser, inout egress_intrinsic_metadata_for_deparser_t deparser,
    inout egress_intrinsic_metadata_for_output_port_t output_port
) {
    PostQosAccounting() post_qos;
    QueueCounting() queues;
    PushCpuHeader() push;
#ifdef HEAVY_HITTERS
    PushHeavyHitter() push_heavy;
    HeavyHitters() heavy;
    EGRESS_CLOCK(clock)
#endif
#ifdef APPLICATION_CLASSES
    PushApplicationClass() push_class;
    ApplicationClasses() classes;
#endif

    apply {
#ifdef HEAVY_HITTERS
        if (meta.bridge.is_heavy_event == 1) {
            push_heavy.apply(hdr.ethernet, hdr.cpu, meta.bridge.heavy_units, BRIDGE_RULE);
        } else if (meta.bridge.is_heavy_second == 1) {
            // A second pass is a copy, which has done what it is for.
            deparser.drop_ctl = 1;
        } else
#endif
#ifdef APPLICATION_CLASSES
        if (meta.bridge.is_class_event == 1) {
            push_class.apply(hdr.ethernet, hdr.cpu, meta.bridge.class_window, BRIDGE_RULE);
        } else
#endif
#ifdef SOFTWARE_PORTS
        if (meta.bridge.punt == PuntReason.SOFTWARE) {
            // As it came.
        } else
#endif
        if (meta.bridge.is_original == 0 || meta.bridge.punt != PuntReason.NONE) {
            push.apply(
                hdr.ethernet, hdr.cpu, meta.bridge.punt, meta.bridge.is_original, meta.bridge.ingress_port, BRIDGE_RULE OF_TENANT
            );
        } else {
            if (meta.bridge.is_sent == 0) {
                queues.apply(eg_intr_md.egress_qid);
            }
#ifdef PROFILE_DIRECT
            post_qos.apply(meta.bridge.rule, meta.bridge.bank, meta.bridge.cell);
#else
            post_qos.apply(BRIDGE_RULE);
#endif
        }
#ifdef HEAVY_HITTERS
        EGRESS_CLOCK_READ(clock, meta.heavy_time_0)
        // It sets MIRROR_COPY, 1.
        heavy.apply(
            meta, meta.bridge.rule, meta.bridge.is_heavy_counted, meta.bridge.is_heavy_second, meta.bridge.heavy_way, deparser.mirror_type
        );
#endif
#ifdef APPLICATION_CLASSES
        // It sets MIRROR_COPY, 1.
        classes.apply(meta, meta.bridge.rule, meta.bridge.is_class_counted, deparser.mirror_type);
#endif
    }
}

control UpfEgressDeparser(
    packet_out pkt, inout egress_headers_t hdr, in egress_metadata_t meta,
    in egress_intrinsic_metadata_for_deparser_t deparser
) {
#if defined(HEAVY_HITTERS) || defined(APPLICATION_CLASSES)
    Mirror() mirror;

#endif
    apply {
#ifdef HEAVY_HITTERS
        if (deparser.mirror_type == MIRROR_COPY) {
            mirror.emit<heavy_copy_h>(meta.copy_session, { 0, meta.bridge.rule, NO_CELL meta.heavy_copy, 0, meta.heavy_units });
        }
#endif
#ifdef APPLICATION_CLASSES
        if (deparser.mirror_type == MIRROR_COPY) {
            mirror.emit<class_copy_h>(
                meta.copy_session, { 0, meta.bridge.rule, NO_CELL meta.class_copy, 0, 0, meta.class_now, 0 }
            );
        }
#endif
        pkt.emit(hdr);
    }
}

Pipeline(
    UpfIngressParser(), UpfIngressMain(), UpfIngressDeparser(), UpfEgressParser(), UpfEgressMain(), UpfEgressDeparser()
) pipe;

Switch(pipe) main;

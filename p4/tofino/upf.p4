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
#ifdef HEAVY_HITTERS
const bit<3> HEAVY_SECOND_PASS = 1;
const bit<3> HEAVY_DIGEST = 1;
#endif

struct egress_headers_t {
    ethernet_h ethernet;
    cpu_h cpu;
}

struct egress_metadata_t {
    bridge_h bridge;
}

parser UpfIngressParser(
    packet_in pkt, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t ig_intr_md
) {
    Checksum() inner_sum;
    Checksum() inner_residue;

#include "../blocks/parser.p4"

#ifdef HEAVY_HITTERS
    state start {
        pkt.extract(ig_intr_md);
        meta.ingress_port = ig_intr_md.ingress_port;
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
        second_pass_h kept;
        pkt.extract(kept);
        meta.is_heavy_second = 1;
        meta.heavy_way = kept.way[0:0];
        meta.color = kept.color;
        transition frame;
    }
#else
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        meta.ingress_port = ig_intr_md.ingress_port;
        transition frame;
    }
#endif
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

    apply {
        if (from_parser.parser_err != PARSER_ERROR_OK) {
            meta.is_cut_short = 1;
        }
#ifdef HEAVY_HITTERS
        meta.time = TIME;
#endif
        upf.apply(hdr, meta, traffic_manager, deparser);
#ifdef HEAVY_HITTERS
        if (meta.heavy_reports == 1) {
            deparser.digest_type = HEAVY_DIGEST;
        }
        if (meta.heavy_takes == 1 && meta.drop_reason == DropReason.NONE) {
            deparser.resubmit_type = HEAVY_SECOND_PASS;
        } else
#endif
        if (meta.notify == 1 && meta.is_cut_short == 0) {
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
        hdr.bridge.rule = meta.rule;
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
#ifdef VXLAN
    Checksum() underlay_checksum;
#endif
    Mirror() mirror;
#ifdef HEAVY_HITTERS
    Resubmit(HEAVY_SECOND_PASS) second_pass;
    Digest<heavy_flow_t>(HEAVY_DIGEST) heavy_flow;
#endif

    apply {
#ifdef HEAVY_HITTERS
        if (deparser.resubmit_type == HEAVY_SECOND_PASS) {
            second_pass.emit<second_pass_h>({ 7w0 ++ meta.heavy_way, meta.heavy_weight, meta.color, 0 });
        }
        if (deparser.digest_type == HEAVY_DIGEST) {
            heavy_flow.pack({ meta.heavy_key, meta.heavy_units });
        }
#endif
        if (deparser.mirror_type == MIRROR_COPY) {
#ifdef PROFILE_DIRECT
            mirror.emit<bridge_h>(meta.copy_session, {(PuntReason)0, meta.rule, 0, 0, 0, 0, 0, meta.ingress_port});
#else
            mirror.emit<bridge_h>(meta.copy_session, {(PuntReason)0, meta.rule, 0, 0, 0, meta.ingress_port});
#endif
        }
        if (hdr.outer_ipv4.isValid()) {
            hdr.outer_ipv4.checksum = outer_checksum.update({
                hdr.outer_ipv4.version, hdr.outer_ipv4.ihl, hdr.outer_ipv4.dscp, hdr.outer_ipv4.ecn, hdr.outer_ipv4.length,
                hdr.outer_ipv4.identification, hdr.outer_ipv4.flags, hdr.outer_ipv4.fragment_offset, hdr.outer_ipv4.ttl,
                hdr.outer_ipv4.protocol, hdr.outer_ipv4.src, hdr.outer_ipv4.dst
            });
        }
#ifdef VXLAN
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

    apply {
        if (meta.bridge.is_original == 0 || meta.bridge.punt != PuntReason.NONE) {
            push.apply(
                hdr.ethernet, hdr.cpu, meta.bridge.punt, meta.bridge.is_original, meta.bridge.ingress_port, meta.bridge.rule
            );
        } else {
            if (meta.bridge.is_sent == 0) {
                queues.apply(eg_intr_md.egress_qid);
            }
#ifdef PROFILE_DIRECT
            post_qos.apply(meta.bridge.rule, meta.bridge.bank, meta.bridge.cell);
#else
            post_qos.apply(meta.bridge.rule);
#endif
        }
    }
}

control UpfEgressDeparser(
    packet_out pkt, inout egress_headers_t hdr, in egress_metadata_t meta,
    in egress_intrinsic_metadata_for_deparser_t deparser
) {
    apply {
        pkt.emit(hdr);
    }
}

Pipeline(
    UpfIngressParser(), UpfIngressMain(), UpfIngressDeparser(), UpfEgressParser(), UpfEgressMain(), UpfEgressDeparser()
) pipe;

Switch(pipe) main;

// Profile `accel` for Tofino 1: PFCP session messages that the switch answers, and user packets of their sessions.

#ifdef CHAIN
#error "CHAIN is for BMv2: fields of it have no container on Tofino 1 (docs/chain.md)"
#endif

#include <core.p4>
#include <tna.p4>
#include "target.p4"
#include "../blocks/headers.p4"
#include "../blocks/pfcp_headers.p4"
#include "../blocks/pfcp_state.p4"
const bit<3> SECOND_PASS = 1;
#define ASK_SECOND_PASS deparser.resubmit_type = SECOND_PASS;
#include "../blocks/pfcp_answer.p4"

// The octets of a message that are left, in the parser's counter.
#define PFCP_REST_SET(length) rest.set(length, 255, 0, 7, 0xf4);
#define PFCP_REST_LESS(octets) rest.decrement(octets);
#define PFCP_REST rest.is_zero()
#define PFCP_NOTHING true

parser AccelIngressParser(
    packet_in pkt, out accel_headers_t hdr, out accel_metadata_t meta, out ingress_intrinsic_metadata_t ig_intr_md
) {
    ParserCounter() rest;

#include "../blocks/accel_parser.p4"

    state start {
        pkt.extract(ig_intr_md);
        meta.ingress_port = ig_intr_md.ingress_port;
        meta.subject = 0;
        meta.kept_state = 0;
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
        second_accel_h kept;
        pkt.extract(kept);
        meta.subject = kept.subject;
        meta.kept_state = kept.expected;
        transition second;
    }
}

// Words that are added and compared as a whole.
@pa_container_size("ingress", "meta.before", 32)
@pa_container_size("ingress", "meta.index", 32)
@pa_container_size("ingress", "meta.doubled", 32)
@pa_container_size("ingress", "meta.teid_out", 32)
@pa_container_size("ingress", "meta.teid_rest", 32)
@pa_container_size("ingress", "meta.teid_more", 32)
@pa_container_size("ingress", "meta.seid_out", 32)
@pa_container_size("ingress", "meta.state_in", 32)
@pa_container_size("ingress", "meta.state_add", 32)
@pa_container_size("ingress", "meta.place", 32)
@pa_container_size("ingress", "meta.smf_more", 32)
@pa_container_size("ingress", "meta.smf", 32)
@pa_container_size("ingress", "meta.subject", 32)
@pa_container_size("ingress", "meta.kept_state", 32)
@pa_container_size("ingress", "hdr.pfcp.seid_high", 32)
@pa_container_size("ingress", "hdr.pfcp.seid_low", 32)
@pa_container_size("ingress", "meta.state_begins", 32)
@pa_container_size("ingress", "meta.state_ends", 32)
@pa_container_size("ingress", "hdr.gtpu.teid", 32)
@pa_container_size("ingress", "meta.pfcp.ue", 32)
@pa_container_size("ingress", "meta.named_difference", 32)
@pa_container_size("ingress", "meta.smf_difference", 32)
@pa_container_size("ingress", "meta.peer_teid", 32)
// What an array of 16 bits returns goes to containers of 16 bits alone.
@pa_container_size("ingress", "meta.uplink_far", 16)
@pa_container_size("ingress", "meta.downlink_far", 16)
@pa_container_size("ingress", "meta.is_uplink_far", 16)
@pa_container_size("ingress", "meta.is_downlink_far", 16)
@pa_container_size("ingress", "hdr.entry.uplink_far", 16)
@pa_container_size("ingress", "hdr.entry.downlink_far", 16)
control AccelIngress(
    inout accel_headers_t hdr, inout accel_metadata_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
    in ingress_intrinsic_metadata_from_parser_t from_parser, inout ingress_intrinsic_metadata_for_deparser_t deparser,
    inout ingress_intrinsic_metadata_for_tm_t traffic_manager
) {
    SessionState() sessions;
    Verdict() verdict;

    apply {
        // A frame that ends before its message does.
        if (from_parser.parser_err != PARSER_ERROR_OK) {
            meta.is_misfit = 1;
        }
        sessions.apply(hdr, meta);
        hdr.police.clock = TIME;
        verdict.apply(hdr, meta, traffic_manager, deparser);
    }
}

control AccelIngressDeparser(
    packet_out pkt, inout accel_headers_t hdr, in accel_metadata_t meta, in ingress_intrinsic_metadata_for_deparser_t deparser
) {
    Checksum() outer_checksum;
    Checksum() inner_checksum;
    Resubmit(SECOND_PASS) second_pass;

    apply {
        if (deparser.resubmit_type == SECOND_PASS) {
            second_pass.emit<second_accel_h>({ meta.subject, meta.kept_state });
        }
        if (hdr.outer_ipv4.isValid()) {
            hdr.outer_ipv4.checksum = outer_checksum.update({
                hdr.outer_ipv4.version, hdr.outer_ipv4.ihl, hdr.outer_ipv4.dscp, hdr.outer_ipv4.ecn, hdr.outer_ipv4.length,
                hdr.outer_ipv4.identification, hdr.outer_ipv4.flags, hdr.outer_ipv4.fragment_offset, hdr.outer_ipv4.ttl,
                hdr.outer_ipv4.protocol, hdr.outer_ipv4.src, hdr.outer_ipv4.dst
            });
        }
        if (hdr.inner_ipv4.isValid()) {
            hdr.inner_ipv4.checksum = inner_checksum.update({
                hdr.inner_ipv4.version, hdr.inner_ipv4.ihl, hdr.inner_ipv4.dscp, hdr.inner_ipv4.ecn, hdr.inner_ipv4.length,
                hdr.inner_ipv4.identification, hdr.inner_ipv4.flags, hdr.inner_ipv4.fragment_offset, hdr.inner_ipv4.ttl,
                hdr.inner_ipv4.protocol, hdr.inner_ipv4.src, hdr.inner_ipv4.dst
            });
        }
        pkt.emit(hdr);
    }
}

struct egress_headers_t {
    police_h police;
}

struct egress_metadata_t {
    bit<32> is_over;
}

parser AccelEgressParser(
    packet_in pkt, out egress_headers_t hdr, out egress_metadata_t meta, out egress_intrinsic_metadata_t eg_intr_md
) {
    state start {
        pkt.extract(eg_intr_md);
        pkt.extract(hdr.police);
        meta.is_over = 0;
        transition accept;
    }
}

control AccelEgress(
    inout egress_headers_t hdr, inout egress_metadata_t meta, in egress_intrinsic_metadata_t eg_intr_md,
    in egress_intrinsic_metadata_from_parser_t from_parser, inout egress_intrinsic_metadata_for_deparser_t deparser,
    inout egress_intrinsic_metadata_for_output_port_t output_port
) {
    Police() police;

    @id(171)
    COUNTER(policed, 2, bit<1>)

    apply {
        police.apply(hdr.police, meta.is_over);
        if (meta.is_over == 1) {
            COUNT(policed, bit<1>, hdr.police.kind[1:1])
            deparser.drop_ctl = 1;
        }
    }
}

// The packet goes on without the header.
control AccelEgressDeparser(
    packet_out pkt, inout egress_headers_t hdr, in egress_metadata_t meta, in egress_intrinsic_metadata_for_deparser_t deparser
) {
    apply {}
}

Pipeline(
    AccelIngressParser(), AccelIngress(), AccelIngressDeparser(), AccelEgressParser(), AccelEgress(), AccelEgressDeparser()
) pipe;

Switch(pipe) main;

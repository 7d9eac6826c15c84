// Profile `xplane` for Tofino 1: a flow table and the state of UEs in external memory.

#ifdef XPLANE_WALK
#error "XPLANE_WALK is for BMv2: docs/xplane.md says what it would take on Tofino 1"
#endif

#include <core.p4>
#include <tna.p4>
#include "target.p4"
#include "word_pairs.p4"
#include "../blocks/headers.p4"
// The front of a frame on its way to the egress side.
#define XPLANE_TARGET_HEADERS request_h request;
#define XPLANE_TARGET_TRAILERS
#define XPLANE_TARGET_METADATA MirrorId_t state_session;
#define REQUEST hdr.request
#define XPLANE_GROUP traffic_manager.mcast_grp_a
#include "../blocks/xplane_headers.p4"
#include "../blocks/xplane_flows.p4"
#include "../blocks/xplane_local_state.p4"
#include "../blocks/xplane_verdict.p4"

const bit<3> MIRROR_STATE = 1;

#define XPLANE_CHECK_USER \
    user_sum.add(hdr.user_ipv4); \
    meta.is_damaged = (bit<1>)user_sum.verify();
#define XPLANE_REST accept
#define XPLANE_REST_BEHIND_PORTS accept

parser XPlaneIngressParser(
    packet_in pkt, out xplane_headers_t hdr, out xplane_metadata_t meta, out ingress_intrinsic_metadata_t ig_intr_md
) {
    Checksum() user_sum;

#include "../blocks/xplane_parser.p4"

    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        meta.ingress_port = ig_intr_md.ingress_port;
        transition frame;
    }
}

// Sums take whole words, from words that begin where theirs do.
@pa_container_size("ingress", "meta.size", 16)
@pa_container_size("ingress", "hdr.outer_ipv4.length", 16)
@pa_container_size("ingress", "hdr.outer_udp.length", 16)
@pa_container_size("ingress", "hdr.gtpu.length", 16)
control XPlaneIngressMain(
    inout xplane_headers_t hdr, inout xplane_metadata_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
    in ingress_intrinsic_metadata_from_parser_t from_parser, inout ingress_intrinsic_metadata_for_deparser_t deparser,
    inout ingress_intrinsic_metadata_for_tm_t traffic_manager
) {
    XPlaneIngress() xplane;

    apply {
        xplane.apply(hdr, meta, traffic_manager, deparser);
        hdr.request.setValid();
        if (meta.is_last == 1) {
            deparser.mirror_type = MIRROR_STATE;
            meta.state_session = STATE_SESSION;
        }
    }
}

control XPlaneIngressDeparser(
    packet_out pkt, inout xplane_headers_t hdr, in xplane_metadata_t meta, in ingress_intrinsic_metadata_for_deparser_t deparser
) {
    Checksum() outer_checksum;
    Checksum() user_checksum;
    Mirror() mirror;

    apply {
        if (deparser.mirror_type == MIRROR_STATE) {
            mirror.emit<request_h>(meta.state_session, {
                meta.pair, meta.is_saved, 0, hdr.request.ue, 0, meta.packets_now, meta.octets_now
            });
        }
        if (hdr.outer_ipv4.isValid()) {
            hdr.outer_ipv4.checksum = outer_checksum.update({
                hdr.outer_ipv4.version_ihl, hdr.outer_ipv4.tos, hdr.outer_ipv4.length, hdr.outer_ipv4.identification,
                hdr.outer_ipv4.fragment, hdr.outer_ipv4.ttl, hdr.outer_ipv4.protocol, hdr.outer_ipv4.src, hdr.outer_ipv4.dst
            });
        }
        if (hdr.user_ipv4.isValid()) {
            hdr.user_ipv4.checksum = user_checksum.update({
                hdr.user_ipv4.version_ihl, hdr.user_ipv4.tos, hdr.user_ipv4.length, hdr.user_ipv4.identification,
                hdr.user_ipv4.fragment, hdr.user_ipv4.ttl, hdr.user_ipv4.protocol, hdr.user_ipv4.src, hdr.user_ipv4.dst
            });
        }
        pkt.emit(hdr.request);
        pkt.emit(hdr.ethernet);
        pkt.emit(hdr.cpu);
        pkt.emit(hdr.outer_ipv4);
        pkt.emit(hdr.outer_udp);
        pkt.emit(hdr.gtpu);
        pkt.emit(hdr.container);
        pkt.emit(hdr.bth);
        pkt.emit(hdr.aeth);
        pkt.emit(hdr.tag);
        pkt.emit(hdr.user_ipv4);
        pkt.emit(hdr.ports);
    }
}

struct xplane_requests_t {
    bit<16> copy;
    request_h request;
    bit<1> is_request;
    bit<1> is_unsent;
    bit<1> has_peer;
    bit<1> is_short;
    // Octets of the packet, those of the frame that may be its, and how many it lacks.
    bit<16> packet;
    bit<16> capacity;
    bit<16> lacking;
    bit<8> opcode;
    bit<32> a;
    bit<32> b;
    bit<32> c;
    bit<32> d;
    bit<32> octets;
    bit<32> more;
    bit<16> udp_octets;
    bit<16> udp_more;
    bit<32> ue_base;
    bit<32> flow_base;
    bit<32> packet_base;
    bit<32> base;
    bit<32> address;
    bit<32> psn;
    bit<1> is_dropped;
}

#define XPLANE_BTH_FLAGS 0x40
// Nothing can be added behind a packet.
#define XPLANE_CRC 0
#define XPLANE_PADDING
// What a frame to the egress side has beside its packet: what the ingress side has put in front, tag, and FCS, which the length of the frame counts.
#define XPLANE_FRAME 32
#define XPLANE_EGRESS_DROP meta.is_dropped = 1;
#include "../blocks/xplane_requests.p4"

parser XPlaneEgressParser(
    packet_in pkt, out xplane_headers_t hdr, out xplane_requests_t meta, out egress_intrinsic_metadata_t eg_intr_md
) {
    state start {
        pkt.extract(eg_intr_md);
        meta.copy = eg_intr_md.egress_rid;
        pkt.extract(meta.request);
        transition accept;
    }
}

control XPlaneEgressMain(
    inout xplane_headers_t hdr, inout xplane_requests_t meta, in egress_intrinsic_metadata_t eg_intr_md,
    in egress_intrinsic_metadata_from_parser_t from_parser, inout egress_intrinsic_metadata_for_deparser_t deparser,
    inout egress_intrinsic_metadata_for_output_port_t output_port
) {
    XPlaneRequests() requests;
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) packet_copy;

    action measure() {
        meta.packet = packet_copy.get({ meta.request.length });
        meta.capacity = eg_intr_md.pkt_length |-| XPLANE_FRAME;
    }

    action compare() {
        meta.lacking = meta.packet |-| meta.capacity;
    }

    apply {
        measure();
        compare();
        requests.apply(hdr, meta);
        if (meta.is_dropped == 1) {
            deparser.drop_ctl = 1;
        }
    }
}

control XPlaneEgressDeparser(
    packet_out pkt, inout xplane_headers_t hdr, in xplane_requests_t meta,
    in egress_intrinsic_metadata_for_deparser_t deparser
) {
    Checksum() outer_checksum;

    apply {
        if (hdr.outer_ipv4.isValid()) {
            hdr.outer_ipv4.checksum = outer_checksum.update({
                hdr.outer_ipv4.version_ihl, hdr.outer_ipv4.tos, hdr.outer_ipv4.length, hdr.outer_ipv4.identification,
                hdr.outer_ipv4.fragment, hdr.outer_ipv4.ttl, hdr.outer_ipv4.protocol, hdr.outer_ipv4.src, hdr.outer_ipv4.dst
            });
        }
        pkt.emit(hdr.ethernet);
        pkt.emit(hdr.outer_ipv4);
        pkt.emit(hdr.outer_udp);
        pkt.emit(hdr.bth);
        pkt.emit(hdr.reth);
        pkt.emit(hdr.counted);
    }
}

Pipeline(
    XPlaneIngressParser(), XPlaneIngressMain(), XPlaneIngressDeparser(), XPlaneEgressParser(), XPlaneEgressMain(),
    XPlaneEgressDeparser()
) pipe;

Switch(pipe) main;

// Profile `xplane` for BMv2's simple_switch: a flow table and the state of UEs in external memory.

#include <core.p4>
#include <v1model.p4>
#include "target.p4"
#include "word_pairs.p4"
#include "../blocks/headers.p4"
#define XPLANE_TARGET_HEADERS
// What is behind the headers of a user packet, the octets that fill a request up to a multiple of four, and the invariant CRC.
#define XPLANE_TARGET_TRAILERS \
    rest_h rest; \
    octet_h padding_1; \
    octet_h padding_2; \
    octet_h padding_3; \
    invariant_crc_h invariant_crc;
#define XPLANE_TARGET_METADATA \
    @field_list(1) request_t request;
#define REQUEST meta.request
#define XPLANE_GROUP standard_metadata.mcast_grp

header rest_h {
    varbit<16384> octets;
}

header invariant_crc_h {
    bit<32> crc;
}

#include "../blocks/xplane_headers.p4"
#include "../blocks/xplane_flows.p4"
#include "../blocks/xplane_local_state.p4"
#include "../blocks/xplane_paging.p4"
#include "../blocks/xplane_walk.p4"
#include "../blocks/xplane_verdict.p4"

#define XPLANE_CHECK_USER
#define XPLANE_REST whole_rest
#define XPLANE_REST_BEHIND_PORTS rest_behind_ports

parser XPlaneParser(
    packet_in pkt, out xplane_headers_t hdr, inout xplane_metadata_t meta, inout standard_metadata_t standard_metadata
) {
#include "../blocks/xplane_parser.p4"

    state start {
        meta.ingress_port = standard_metadata.ingress_port;
        transition frame;
    }

    state rest_behind_ports {
        pkt.extract(hdr.rest, ((bit<32>)hdr.user_ipv4.length - 24) << 3);
        transition accept;
    }

    state whole_rest {
        pkt.extract(hdr.rest, ((bit<32>)hdr.user_ipv4.length - 20) << 3);
        transition accept;
    }
}

control XPlaneVerifyChecksum(inout xplane_headers_t hdr, inout xplane_metadata_t meta) {
    apply {
        verify_checksum(
            hdr.user_ipv4.isValid() && hdr.user_ipv4.version_ihl == 0x45,
            {
                hdr.user_ipv4.version_ihl, hdr.user_ipv4.tos, hdr.user_ipv4.length, hdr.user_ipv4.identification,
                hdr.user_ipv4.fragment, hdr.user_ipv4.ttl, hdr.user_ipv4.protocol, hdr.user_ipv4.src, hdr.user_ipv4.dst
            },
            hdr.user_ipv4.checksum, HashAlgorithm.csum16
        );
    }
}

control XPlaneIngressMain(
    inout xplane_headers_t hdr, inout xplane_metadata_t meta, inout standard_metadata_t standard_metadata
) {
    XPlaneIngress() xplane;

    apply {
        // A frame that ends before its packet does, or a wrong checksum.
        if (standard_metadata.parser_error != error.NoError || standard_metadata.checksum_error == 1) {
            meta.is_damaged = 1;
        }
#ifdef XPLANE_WALK
        meta.now = (bit<64>)standard_metadata.ingress_global_timestamp * 1000;
#endif
        xplane.apply(hdr, meta, standard_metadata);
#ifdef XPLANE_WALK
        if (meta.is_last == 1 && meta.reads_next == 1) {
            clone_preserving_field_list(CloneType.I2E, STATE_PAGED_SESSION, 1);
        } else if (meta.reads_next == 1) {
            clone_preserving_field_list(CloneType.I2E, PAGED_SESSION, 1);
        } else
#endif
        if (meta.is_last == 1) {
            clone_preserving_field_list(CloneType.I2E, STATE_SESSION, 1);
        }
    }
}

struct xplane_requests_t {
    bit<16> copy;
    request_t request;
    bit<1> is_request;
    bit<1> is_unsent;
    bit<1> has_peer;
    bit<1> is_short;
    // Octets that the frame lacks of its packet. The ingress side has seen it here.
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
    bit<8> flags;
#ifdef XPLANE_WALK
    // Of the ring: the packet's position, how far ahead it is of the request's, its place in all rings, and its octets there.
    bit<16> queue;
    bit<32> position;
    bit<32> ahead;
    bit<32> ring_place;
    bit<1> is_of_page;
    bit<32> queued_length;
    bit<32> ring_base;
#endif
}

// Copies that have the packet.
#ifdef XPLANE_WALK
#define HAS_PACKET(copy) (copy == COPY_STORE || copy == COPY_QUEUE || copy == COPY_PAGE)
#define LACKS_PACKET(copy) (copy != COPY_STORE && copy != COPY_QUEUE && copy != COPY_PAGE)
#define IS_REQUEST(copy) (copy != 0 && copy != COPY_SOFTWARE)
#else
#define HAS_PACKET(copy) copy == COPY_STORE
#define LACKS_PACKET(copy) copy != COPY_STORE
#define IS_REQUEST(copy) copy != 0
#endif

#define XPLANE_BTH_FLAGS meta.flags
// With XPLANE_BARE requests are those of Tofino 1: neither pad octets nor a CRC.
#ifdef XPLANE_BARE
#define XPLANE_CRC 0
#define XPLANE_PADDING meta.flags = 0x40;
#else
#define XPLANE_CRC 4
// Octets up to a multiple of four: their number is in the flags, behind the state of path migration.
#define XPLANE_PADDING \
    meta.flags = 0x40; \
    if (HAS_PACKET(meta.copy)) { \
        bit<16> missing = (16w0 - meta.request.length) & 3; \
        meta.udp_octets = meta.udp_octets + missing; \
        meta.flags = 0x40 | (bit<8>)(missing << 4); \
    }
#endif
#define XPLANE_EGRESS_DROP meta.is_dropped = 1;
#include "../blocks/xplane_requests.p4"

// The invariant CRC (IBA clause 7.8.1), whose octets are in the opposite order: fields that routers change are ones.
#define CRC_FRONT \
    64w0xffffffffffffffff, hdr.outer_ipv4.version_ihl, 8w0xff, hdr.outer_ipv4.length, hdr.outer_ipv4.identification, \
    hdr.outer_ipv4.fragment, 8w0xff, hdr.outer_ipv4.protocol, 16w0xffff, hdr.outer_ipv4.src, hdr.outer_ipv4.dst, \
    hdr.outer_udp.src, hdr.outer_udp.dst, hdr.outer_udp.length, 16w0xffff, hdr.bth.opcode, hdr.bth.flags, hdr.bth.partition, \
    8w0xff, hdr.bth.queue_pair, hdr.bth.psn, \
    hdr.reth.address_high, hdr.reth.address_low, hdr.reth.key, hdr.reth.length
#define CRC_OF_USER \
    hdr.tag.kind, hdr.tag.qfi, hdr.tag.network, hdr.tag.word, \
    hdr.user_ipv4.version_ihl, hdr.user_ipv4.tos, hdr.user_ipv4.length, hdr.user_ipv4.identification, \
    hdr.user_ipv4.fragment, hdr.user_ipv4.ttl, hdr.user_ipv4.protocol, hdr.user_ipv4.checksum, hdr.user_ipv4.src, hdr.user_ipv4.dst
#ifdef XPLANE_WALK
#define CRC_OF_ENTRY \
    hdr.entry.generation_high, hdr.entry.generation_low, hdr.entry.ue_head, hdr.entry.ue_word, hdr.entry.ue_zero, hdr.entry.ue_prefix, \
    hdr.entry.ue_local, hdr.entry.flags, hdr.entry.protocol, hdr.entry.dscp, hdr.entry.qfi, hdr.entry.src_port, hdr.entry.dst_port, \
    hdr.entry.src_zero, hdr.entry.src_prefix, hdr.entry.src, hdr.entry.dst_zero, hdr.entry.dst_prefix, hdr.entry.dst, \
    hdr.entry.used_high, hdr.entry.used_low, hdr.entry.has_rule, hdr.entry.rule, hdr.rule_action.octets, hdr.entry_end.zero
#endif
#define CRC(...) hash(crc, HashAlgorithm.crc32, (bit<32>)0, { __VA_ARGS__ }, (bit<64>)0x100000000);

control XPlaneEgressMain(
    inout xplane_headers_t hdr, inout xplane_metadata_t meta, inout standard_metadata_t standard_metadata
) {
    XPlaneRequests() requests;
    xplane_requests_t request;
    bit<32> crc;

    action without_user_packet() {
        hdr.tag.setInvalid();
        hdr.user_ipv4.setInvalid();
        hdr.ports.setInvalid();
        hdr.rest.setInvalid();
    }

    apply {
        if (IS_REQUEST(standard_metadata.egress_rid)) {
            request.copy = standard_metadata.egress_rid;
            request.request = meta.request;
            request.is_request = 0;
            request.is_unsent = 0;
            request.has_peer = 0;
            request.is_short = 0;
            request.lacking = 0;
            request.is_dropped = 0;
#ifdef XPLANE_WALK
            request.is_of_page = 0;
            request.position = 0;
            request.ahead = 0;
            if (request.copy != COPY_ENTRY) {
                hdr.entry.setInvalid();
                hdr.rule_action.setInvalid();
                hdr.entry_end.setInvalid();
            }
#endif
            requests.apply(hdr, request);
            hdr.cpu.setInvalid();
            hdr.gtpu.setInvalid();
            hdr.container.setInvalid();
            hdr.aeth.setInvalid();
            if (request.is_dropped == 1) {
                mark_to_drop(standard_metadata);
            }
#ifdef XPLANE_BARE
            if (LACKS_PACKET(request.copy)) {
                without_user_packet();
            }
#else
            if (HAS_PACKET(request.copy)) {
                if (request.flags == 0x40) {
                    if (hdr.ports.isValid()) {
                        CRC(CRC_FRONT, CRC_OF_USER, hdr.ports.src, hdr.ports.dst, hdr.rest.octets)
                    } else {
                        CRC(CRC_FRONT, CRC_OF_USER, hdr.rest.octets)
                    }
                } else if (request.flags == 0x50) {
                    hdr.padding_1.setValid();
                    hdr.padding_1.octet = 0;
                    if (hdr.ports.isValid()) {
                        CRC(CRC_FRONT, CRC_OF_USER, hdr.ports.src, hdr.ports.dst, hdr.rest.octets, 8w0)
                    } else {
                        CRC(CRC_FRONT, CRC_OF_USER, hdr.rest.octets, 8w0)
                    }
                } else if (request.flags == 0x60) {
                    hdr.padding_1.setValid();
                    hdr.padding_1.octet = 0;
                    hdr.padding_2.setValid();
                    hdr.padding_2.octet = 0;
                    if (hdr.ports.isValid()) {
                        CRC(CRC_FRONT, CRC_OF_USER, hdr.ports.src, hdr.ports.dst, hdr.rest.octets, 16w0)
                    } else {
                        CRC(CRC_FRONT, CRC_OF_USER, hdr.rest.octets, 16w0)
                    }
                } else {
                    hdr.padding_1.setValid();
                    hdr.padding_1.octet = 0;
                    hdr.padding_2.setValid();
                    hdr.padding_2.octet = 0;
                    hdr.padding_3.setValid();
                    hdr.padding_3.octet = 0;
                    if (hdr.ports.isValid()) {
                        CRC(CRC_FRONT, CRC_OF_USER, hdr.ports.src, hdr.ports.dst, hdr.rest.octets, 24w0)
                    } else {
                        CRC(CRC_FRONT, CRC_OF_USER, hdr.rest.octets, 24w0)
                    }
                }
            } else {
                without_user_packet();
#ifdef XPLANE_WALK
                if (request.copy == COPY_ENTRY) {
                    CRC(CRC_FRONT, CRC_OF_ENTRY)
                } else
#endif
                if (request.copy == COPY_SAVE) {
#ifdef XPLANE_WALK
                    CRC(CRC_FRONT, hdr.counted.budget, hdr.counted.idle_limit, hdr.counted.packets, hdr.counted.octets,
                        hdr.counted.dropped_packets, hdr.counted.dropped_octets, hdr.counted.last_arrival, hdr.counted.last_pass)
#else
                    CRC(CRC_FRONT, hdr.counted.packets_high, hdr.counted.packets_low, hdr.counted.octets_high, hdr.counted.octets_low)
#endif
                } else {
                    CRC(CRC_FRONT)
                }
            }
            hdr.invariant_crc.setValid();
            hdr.invariant_crc.crc = crc[7:0] ++ crc[15:8] ++ crc[23:16] ++ crc[31:24];
#endif
            // What the parser left of a response.
            truncate((bit<32>)hdr.outer_ipv4.length + 14);
        } else if (hdr.rest.isValid() && meta.kind == KIND_BUCKET) {
            if (hdr.outer_ipv4.isValid()) {
                truncate((bit<32>)hdr.outer_ipv4.length + 14);
            } else {
                truncate((bit<32>)hdr.user_ipv4.length + 14);
            }
        } else if (hdr.rest.isValid() && hdr.tag.isValid()) {
#ifdef XPLANE_WALK
            hdr.tag.network = 0;
#endif
            truncate((bit<32>)hdr.user_ipv4.length + 32);
        }
    }
}

control XPlaneComputeChecksum(inout xplane_headers_t hdr, inout xplane_metadata_t meta) {
    apply {
        update_checksum(
            hdr.outer_ipv4.isValid(),
            {
                hdr.outer_ipv4.version_ihl, hdr.outer_ipv4.tos, hdr.outer_ipv4.length, hdr.outer_ipv4.identification,
                hdr.outer_ipv4.fragment, hdr.outer_ipv4.ttl, hdr.outer_ipv4.protocol, hdr.outer_ipv4.src, hdr.outer_ipv4.dst
            },
            hdr.outer_ipv4.checksum, HashAlgorithm.csum16
        );
        update_checksum(
            hdr.user_ipv4.isValid() && meta.outcome == OUTCOME_FORWARDED,
            {
                hdr.user_ipv4.version_ihl, hdr.user_ipv4.tos, hdr.user_ipv4.length, hdr.user_ipv4.identification,
                hdr.user_ipv4.fragment, hdr.user_ipv4.ttl, hdr.user_ipv4.protocol, hdr.user_ipv4.src, hdr.user_ipv4.dst
            },
            hdr.user_ipv4.checksum, HashAlgorithm.csum16
        );
    }
}

control XPlaneDeparser(packet_out pkt, in xplane_headers_t hdr) {
    apply {
        pkt.emit(hdr.ethernet);
        pkt.emit(hdr.cpu);
        pkt.emit(hdr.outer_ipv4);
        pkt.emit(hdr.outer_udp);
        pkt.emit(hdr.gtpu);
        pkt.emit(hdr.container);
        pkt.emit(hdr.bth);
        pkt.emit(hdr.reth);
        pkt.emit(hdr.aeth);
        pkt.emit(hdr.counted);
#ifdef XPLANE_WALK
        pkt.emit(hdr.entry);
        pkt.emit(hdr.rule_action);
        pkt.emit(hdr.entry_end);
#endif
        pkt.emit(hdr.tag);
        pkt.emit(hdr.user_ipv4);
        pkt.emit(hdr.ports);
        pkt.emit(hdr.rest);
        pkt.emit(hdr.padding_1);
        pkt.emit(hdr.padding_2);
        pkt.emit(hdr.padding_3);
        pkt.emit(hdr.invariant_crc);
    }
}

V1Switch(
    XPlaneParser(), XPlaneVerifyChecksum(), XPlaneIngressMain(), XPlaneEgressMain(), XPlaneComputeChecksum(), XPlaneDeparser()
) main;

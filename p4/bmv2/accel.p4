// Profile `accel` for BMv2's simple_switch: PFCP session messages that the switch answers, and user packets of their sessions.

#include <core.p4>
#include <v1model.p4>
#include "target.p4"
#include "../contract/reasons.p4"
#include "../blocks/headers.p4"
#include "../blocks/pfcp_headers.p4"
#include "../blocks/pfcp_state.p4"
#define ASK_SECOND_PASS meta.asks_second = 1;
#define ASK_SECOND_PASS_IF(is_primary) meta.asks_second = is_primary;
#include "../blocks/pfcp_answer.p4"

// The octets of a message that are left.
#define PFCP_REST_SET(length) rest = length - 12;
#define PFCP_REST_LESS(octets) rest = rest - octets;
#define PFCP_REST rest
#define PFCP_NOTHING 0

parser AccelParser(
    packet_in pkt, out accel_headers_t hdr, inout accel_metadata_t meta, inout standard_metadata_t standard_metadata
) {
    bit<8> rest;

#include "../blocks/accel_parser.p4"

    state start {
        transition select(meta.subject) {
            0: first_pass;
            default: second;
        }
    }

    // A resubmitted packet does not say its port.
    state first_pass {
        meta.ingress_port = standard_metadata.ingress_port;
        transition frame;
    }
}

control NoChecksum(inout accel_headers_t hdr, inout accel_metadata_t meta) {
    apply {}
}

control AccelIngress(
    inout accel_headers_t hdr, inout accel_metadata_t meta, inout standard_metadata_t standard_metadata
) {
    SessionState() sessions;
    Verdict() verdict;

    apply {
        // A frame that ends before its message does.
        if (standard_metadata.parser_error != error.NoError) {
            meta.is_misfit = 1;
        }
        sessions.apply(hdr, meta);
        hdr.police.clock = TIME;
        verdict.apply(hdr, meta, standard_metadata);
        if (meta.asks_second != 0) {
            resubmit_preserving_field_list(2);
        }
    }
}

control AccelEgress(
    inout accel_headers_t hdr, inout accel_metadata_t meta, inout standard_metadata_t standard_metadata
) {
    Police() police;
    bit<32> is_over = 0;

    @id(171)
    COUNTER(policed, 2, bit<1>)

    apply {
        police.apply(hdr.police, is_over);
        if (is_over == 1) {
            COUNT(policed, bit<1>, hdr.police.kind[1:1])
            DROP_PACKET
        }
        hdr.police.setInvalid();
    }
}

control AccelComputeChecksum(inout accel_headers_t hdr, inout accel_metadata_t meta) {
    apply {
        update_checksum(
            hdr.outer_ipv4.isValid(),
            {
                hdr.outer_ipv4.version, hdr.outer_ipv4.ihl, hdr.outer_ipv4.dscp, hdr.outer_ipv4.ecn, hdr.outer_ipv4.length,
                hdr.outer_ipv4.identification, hdr.outer_ipv4.flags, hdr.outer_ipv4.fragment_offset, hdr.outer_ipv4.ttl,
                hdr.outer_ipv4.protocol, hdr.outer_ipv4.src, hdr.outer_ipv4.dst
            },
            hdr.outer_ipv4.checksum, HashAlgorithm.csum16
        );
        update_checksum(
            hdr.inner_ipv4.isValid(),
            {
                hdr.inner_ipv4.version, hdr.inner_ipv4.ihl, hdr.inner_ipv4.dscp, hdr.inner_ipv4.ecn, hdr.inner_ipv4.length,
                hdr.inner_ipv4.identification, hdr.inner_ipv4.flags, hdr.inner_ipv4.fragment_offset, hdr.inner_ipv4.ttl,
                hdr.inner_ipv4.protocol, hdr.inner_ipv4.src, hdr.inner_ipv4.dst
            },
            hdr.inner_ipv4.checksum, HashAlgorithm.csum16
        );
    }
}

control AccelDeparser(packet_out pkt, in accel_headers_t hdr) {
    apply {
        pkt.emit(hdr);
    }
}

V1Switch(
    AccelParser(), NoChecksum(), AccelIngress(), AccelEgress(), AccelComputeChecksum(), AccelDeparser()
) main;

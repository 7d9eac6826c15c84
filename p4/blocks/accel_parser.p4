// Parser states of profile `accel`, included into the parser of each main, which goes to `frame`, or on a second pass to `second`.

value_set<bit<32>>(8) local_ipv4;

state frame {
    ACCEL_CLEAR
    pkt.extract(hdr.ethernet);
    transition select(hdr.ethernet.ether_type) {
        ETHERTYPE_IPV4: ipv4;
        ETHERTYPE_ARP: arp;
#ifdef CHAIN
        ETHERTYPE_CHAIN: record;
#endif
        default: accept;
    }
}

#ifdef CHAIN
// The message behind a record is parsed as any other: what becomes of it, the tables of the chain say.
state record {
    pkt.extract(hdr.chain);
    pkt.extract(hdr.entry);
    transition select(hdr.chain.ether_type) {
        ETHERTYPE_IPV4: outer_ipv4;
        default: accept;
    }
}
#endif

// A message on its second pass is not parsed: it goes to the software as it came.
state second {
    ACCEL_CLEAR
    pkt.extract(hdr.ethernet);
    meta.kind = KIND_SECOND;
    transition accept;
}

state arp {
    meta.punt = (bit<8>)PuntReason.ARP;
    transition accept;
}

state ipv4 {
    ipv4_h front = pkt.lookahead<ipv4_h>();
    transition select(front.dst) {
        local_ipv4: outer_ipv4;
        default: downlink;
    }
}

state outer_ipv4 {
    pkt.extract(hdr.outer_ipv4);
    transition select(hdr.outer_ipv4.ihl, hdr.outer_ipv4.flags, hdr.outer_ipv4.fragment_offset, hdr.outer_ipv4.protocol) {
        (5, 0 &&& 1, 0, PROTOCOL_UDP): outer_udp;
        default: local;
    }
}

state local {
    meta.punt = (bit<8>)PuntReason.LOCAL;
    transition accept;
}

state outer_udp {
    pkt.extract(hdr.outer_udp);
    transition select(hdr.outer_udp.dst) {
        PORT_PFCP: pfcp;
        PORT_GTPU: gtpu;
        default: local;
    }
}

// With SEID, with or without a priority; a body of at most 255 octets, which are 12 less than its length says.
state pfcp {
    pkt.extract(hdr.pfcp);
    meta.kind = KIND_PFCP;
    PFCP_REST_SET(hdr.pfcp.length_low)
    transition select(hdr.pfcp.flags, hdr.pfcp.length_high) {
        (0x21 &&& 0xfd, 0): pfcp_body;
        default: pfcp_misfit;
    }
}

#include "pfcp_parser.p4"

state gtpu {
    pkt.extract(hdr.gtpu);
    transition select(hdr.gtpu.version, hdr.gtpu.protocol_type, hdr.gtpu.message_type, hdr.gtpu.has_extension,
        hdr.gtpu.has_sequence, hdr.gtpu.has_npdu) {
        (1, 1, GTPU_G_PDU, 0, 0, 0): uplink;
        (1, 1, GTPU_G_PDU, 1, _, _): gtpu_extended;
        default: signalling;
    }
}

state signalling {
    meta.punt = (bit<8>)PuntReason.SIGNALLING;
    transition accept;
}

// A PDU Session Container of four octets alone.
state gtpu_extended {
    pkt.extract(hdr.gtpu_options);
    pkt.extract(hdr.psc);
    meta.qfi_in = hdr.psc.qfi;
    pkt.extract(hdr.psc_next);
    transition select(hdr.gtpu_options.next_extension, hdr.psc.length, hdr.psc_next.next) {
        (EXTENSION_PDU_SESSION_CONTAINER, 1, 0): uplink;
        default: signalling;
    }
}

state uplink {
    pkt.extract(hdr.inner_ipv4);
    meta.kind = KIND_UPLINK;
    meta.pfcp.ue = hdr.inner_ipv4.src;
    meta.next = hdr.inner_ipv4.dst;
    meta.length = hdr.inner_ipv4.length;
    transition select(hdr.inner_ipv4.version, hdr.inner_ipv4.ihl) {
        (4, 5): accept;
        default: options;
    }
}

state downlink {
    pkt.extract(hdr.inner_ipv4);
    meta.kind = KIND_DOWNLINK;
    meta.pfcp.ue = hdr.inner_ipv4.dst;
    meta.length = hdr.inner_ipv4.length;
    transition select(hdr.inner_ipv4.version, hdr.inner_ipv4.ihl) {
        (4, 5): accept;
        default: options;
    }
}

// User packets with options are the software's.
state options {
    meta.punt = (bit<8>)PuntReason.LOCAL;
    transition accept;
}

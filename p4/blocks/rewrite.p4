// The packet as it leaves: one hop less where it enters or leaves the tunnels, DSCP marking, the old tunnel away or the new one
// around it. Checksums are the target's, in its deparser.
//
// Nothing here waits for another part of it, so a target with stages does it all in one.

// The packet gets a new tunnel. One that stays in the tunnels, from one to another, is not routed: it keeps its hops.
#define STAYS_IN_TUNNELS \
    (meta.forward == Forward.ENCAPSULATE && (meta.is_tunnelled == 1 || meta.is_expired == 0))

// What later blocks ask of the user packet.
control UserPacket(inout headers_t hdr, inout metadata_t meta) {
    apply {
        if (hdr.inner_ipv4.isValid()) {
            meta.ecn = hdr.inner_ipv4.ecn;
            if (hdr.inner_ipv4.ttl <= 1) {
                meta.is_expired = 1;
            }
        }
#ifdef INNER_IPV6
        else if (hdr.inner_ipv6.isValid()) {
            meta.ecn = hdr.inner_ipv6.ecn;
            meta.length = meta.length + IPV6_OCTETS;
            if (hdr.inner_ipv6.hop_limit <= 1) {
                meta.is_expired = 1;
            }
        }
#endif
    }
}

control Rewrite(inout headers_t hdr, inout metadata_t meta) {
    // The parser may have gone over extension headers: nothing leaves in the tunnel that it came in, not even for the CPU.
    action take_tunnel_away() {
        hdr.outer_ipv4.setInvalid();
#ifdef OUTER_IPV6
        hdr.outer_ipv6.setInvalid();
#endif
        hdr.outer_udp.setInvalid();
        hdr.gtpu.setInvalid();
        hdr.gtpu_options.setInvalid();
        hdr.psc.setInvalid();
        hdr.psc_next.setInvalid();
#ifdef KEEP_EXTENSIONS
        hdr.before.setInvalid();
        hdr.before_next.setInvalid();
        hdr.psc_rest.setInvalid();
        hdr.behind.setInvalid();
        hdr.behind_next.setInvalid();
#endif
    }

    // PDU Session Container of four octets; UDP without a checksum (RFC 768; for IPv6 as RFC 6935 allows for tunnels).
    action put_gtpu() {
        hdr.outer_udp.setValid();
        hdr.outer_udp.src = PORT_GTPU;
        hdr.outer_udp.dst = PORT_GTPU;
        hdr.outer_udp.length = meta.length + TUNNEL_OCTETS;
        hdr.outer_udp.checksum = 0;
        hdr.gtpu.setValid();
        hdr.gtpu.version = 1;
        hdr.gtpu.protocol_type = 1;
        hdr.gtpu.spare = 0;
        hdr.gtpu.has_extension = 1;
        hdr.gtpu.has_sequence = 0;
        hdr.gtpu.has_npdu = 0;
        hdr.gtpu.message_type = GTPU_G_PDU;
        hdr.gtpu.length = meta.length + 8;
        hdr.gtpu.teid = meta.teid_out;
        hdr.gtpu_options.setValid();
        hdr.gtpu_options.sequence = 0;
        hdr.gtpu_options.npdu = 0;
        hdr.gtpu_options.next_extension = EXTENSION_PDU_SESSION_CONTAINER;
        hdr.psc.setValid();
        hdr.psc.length = 1;
        hdr.psc.pdu_type = meta.pdu_type;
        hdr.psc.type_flags = 0;
        hdr.psc.flow_flags = 0;
        hdr.psc.qfi = meta.qfi_out;
        hdr.psc_next.setValid();
        hdr.psc_next.next = 0;
#ifdef KEEP_EXTENSIONS
        hdr.before.setInvalid();
        hdr.before_next.setInvalid();
        hdr.psc_rest.setInvalid();
        hdr.behind.setInvalid();
        hdr.behind_next.setInvalid();
#endif
    }

#ifdef OUTER_IPV6
    action put_outer() {
        hdr.ethernet.ether_type = ETHERTYPE_IPV6;
        hdr.outer_ipv6.setValid();
        hdr.outer_ipv6.version = 6;
        hdr.outer_ipv6.dscp = meta.dscp;
        hdr.outer_ipv6.ecn = meta.ecn;
        hdr.outer_ipv6.flow_label = 0;
        hdr.outer_ipv6.length = meta.length + TUNNEL_OCTETS;
        hdr.outer_ipv6.next_header = PROTOCOL_UDP;
        hdr.outer_ipv6.hop_limit = 64;
        hdr.outer_ipv6.dst = meta.tunnel;
        hdr.outer_ipv4.setInvalid();
    }
#else
    action put_outer() {
        hdr.ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.outer_ipv4.setValid();
        hdr.outer_ipv4.version = 4;
        hdr.outer_ipv4.ihl = 5;
        hdr.outer_ipv4.dscp = meta.dscp;
        hdr.outer_ipv4.ecn = meta.ecn;
        hdr.outer_ipv4.length = meta.length + (TUNNEL_OCTETS + IPV4_OCTETS);
        hdr.outer_ipv4.identification = 0;
        hdr.outer_ipv4.flags = 2;
        hdr.outer_ipv4.fragment_offset = 0;
        hdr.outer_ipv4.ttl = 64;
        hdr.outer_ipv4.protocol = PROTOCOL_UDP;
        hdr.outer_ipv4.dst = meta.tunnel;
    }
#endif

    action to_buffer() {
        meta.punt = PuntReason.BUFFER;
    }

    action expire() {
        meta.punt = PuntReason.TTL_EXPIRED;
    }

    action hop_ipv4() {
        hdr.inner_ipv4.ttl = hdr.inner_ipv4.ttl - 1;
    }

    action mark_ipv4() {
        hdr.inner_ipv4.dscp = meta.dscp;
    }

#ifdef INNER_IPV6
    action hop_ipv6() {
        hdr.inner_ipv6.hop_limit = hdr.inner_ipv6.hop_limit - 1;
    }

    action mark_ipv6() {
        hdr.inner_ipv6.dscp = meta.dscp;
    }
#endif

    apply {
        if (meta.buffer == 1) {
            to_buffer();
        } else if (meta.forward == Forward.DECAPSULATE || (meta.forward == Forward.ENCAPSULATE && meta.is_tunnelled == 0)) {
            if (meta.is_expired == 1) {
                expire();
            } else if (hdr.inner_ipv4.isValid()) {
                hop_ipv4();
            }
#ifdef INNER_IPV6
            else if (hdr.inner_ipv6.isValid()) {
                hop_ipv6();
            }
#endif
        }
        if (STAYS_IN_TUNNELS) {
            put_gtpu();
            put_outer();
        } else if (meta.forward != Forward.NONE || meta.buffer == 1) {
            take_tunnel_away();
            if (hdr.inner_ipv4.isValid()) {
                hdr.ethernet.ether_type = ETHERTYPE_IPV4;
            }
#ifdef INNER_IPV6
            else if (hdr.inner_ipv6.isValid()) {
                hdr.ethernet.ether_type = ETHERTYPE_IPV6;
            }
#endif
        }
        if (meta.forward == Forward.DECAPSULATE && meta.mark_dscp == 1 && meta.is_expired == 0) {
            if (hdr.inner_ipv4.isValid()) {
                mark_ipv4();
            }
#ifdef INNER_IPV6
            else if (hdr.inner_ipv6.isValid()) {
                mark_ipv6();
            }
#endif
        }
    }
}

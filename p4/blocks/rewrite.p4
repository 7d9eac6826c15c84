// The packet as it leaves: one hop less where it enters or leaves the tunnels, DSCP marking, the old tunnel away or the new one
// around it. Checksums are the target's, in its deparser.
//
// One table says it all: nothing waits for another part of it, and a target with stages has room for so many tables in each.

// The packet gets a new tunnel. One that stays in the tunnels, from one to another, is not routed: it keeps its hops.
#define STAYS_IN_TUNNELS \
    (meta.forward == Forward.ENCAPSULATE && (meta.is_tunnelled == 1 || meta.is_expired == 0))

// What later blocks ask of the user packet.
control UserPacket(inout headers_t hdr, inout metadata_t meta) {
    apply {
        if (hdr.inner_ipv4.isValid()) {
            META_ECN = hdr.inner_ipv4.ecn;
            if (hdr.inner_ipv4.ttl <= 1) {
                meta.is_expired = 1;
            }
        }
#ifdef INNER_IPV6
        else if (hdr.inner_ipv6.isValid()) {
            META_ECN = hdr.inner_ipv6.ecn;
#ifdef SOFTWARE_PORTS
            // A length that is too large stays so.
            meta.length = meta.length |+| IPV6_OCTETS;
#else
            meta.length = meta.length + IPV6_OCTETS;
#endif
            if (hdr.inner_ipv6.hop_limit <= 1) {
                meta.is_expired = 1;
            }
        }
#endif
    }
}

#ifdef KEEP_EXTENSIONS
#define TAKE_EXTENSIONS_AWAY \
    hdr.before.setInvalid(); \
    hdr.before_next.setInvalid(); \
    hdr.psc_rest.setInvalid(); \
    hdr.behind.setInvalid(); \
    hdr.behind_next.setInvalid();
#else
#define TAKE_EXTENSIONS_AWAY
#endif

#ifdef OUTER_IPV6
#define TAKE_OUTER_AWAY \
    hdr.outer_ipv4.setInvalid(); \
    hdr.outer_ipv6.setInvalid();
#define PUT_OUTER \
    hdr.ethernet.ether_type = ETHERTYPE_IPV6; \
    hdr.outer_ipv6.setValid(); \
    hdr.outer_ipv6.first_word = meta.first_word; \
    hdr.outer_ipv6.length = meta.length + TUNNEL_OCTETS; \
    hdr.outer_ipv6.next_header = PROTOCOL_UDP; \
    hdr.outer_ipv6.hop_limit = 64; \
    hdr.outer_ipv6.dst = meta.tunnel; \
    hdr.outer_ipv4.setInvalid();
#else
#define TAKE_OUTER_AWAY hdr.outer_ipv4.setInvalid();
#define PUT_OUTER \
    hdr.ethernet.ether_type = ETHERTYPE_IPV4; \
    hdr.outer_ipv4.setValid(); \
    hdr.outer_ipv4.version = 4; \
    hdr.outer_ipv4.ihl = 5; \
    hdr.outer_ipv4.dscp = meta.dscp; \
    hdr.outer_ipv4.ecn = meta.ecn; \
    hdr.outer_ipv4.length = meta.length + (TUNNEL_OCTETS + IPV4_OCTETS); \
    hdr.outer_ipv4.identification = 0; \
    hdr.outer_ipv4.flags = 2; \
    hdr.outer_ipv4.fragment_offset = 0; \
    hdr.outer_ipv4.ttl = 64; \
    hdr.outer_ipv4.protocol = PROTOCOL_UDP; \
    hdr.outer_ipv4.dst = meta.tunnel;
#endif

// The parser may have gone over extension headers: nothing leaves in the tunnel that it came in, not even for the CPU.
#define TAKE_TUNNEL_AWAY(family) \
    TAKE_OUTER_AWAY \
    hdr.outer_udp.setInvalid(); \
    hdr.gtpu.setInvalid(); \
    hdr.gtpu_options.setInvalid(); \
    hdr.psc.setInvalid(); \
    hdr.psc_next.setInvalid(); \
    TAKE_EXTENSIONS_AWAY \
    hdr.ethernet.ether_type = family;

// PDU Session Container of four octets; UDP without a checksum (RFC 768; for IPv6 as RFC 6935 allows for tunnels).
#define PUT_TUNNEL \
    PUT_OUTER \
    hdr.outer_udp.setValid(); \
    hdr.outer_udp.src = PORT_GTPU; \
    hdr.outer_udp.dst = PORT_GTPU; \
    hdr.outer_udp.length = meta.length + TUNNEL_OCTETS; \
    hdr.outer_udp.checksum = 0; \
    hdr.gtpu.setValid(); \
    hdr.gtpu.version = 1; \
    hdr.gtpu.protocol_type = 1; \
    hdr.gtpu.spare = 0; \
    hdr.gtpu.has_extension = 1; \
    hdr.gtpu.has_sequence = 0; \
    hdr.gtpu.has_npdu = 0; \
    hdr.gtpu.message_type = GTPU_G_PDU; \
    hdr.gtpu.length = meta.length + 8; \
    hdr.gtpu.teid = meta.teid_out; \
    hdr.gtpu_options.setValid(); \
    hdr.gtpu_options.sequence = 0; \
    hdr.gtpu_options.npdu = 0; \
    hdr.gtpu_options.next_extension = EXTENSION_PDU_SESSION_CONTAINER; \
    hdr.psc.setValid(); \
    hdr.psc.length = 1; \
    hdr.psc.pdu_type = meta.pdu_type; \
    hdr.psc.type_flags = 0; \
    hdr.psc.flow_flags = 0; \
    hdr.psc.qfi = meta.qfi_out; \
    hdr.psc_next.setValid(); \
    hdr.psc_next.next = 0; \
    TAKE_EXTENSIONS_AWAY

control Rewrite(inout headers_t hdr, inout metadata_t meta) {
    @hidden
    action leave_packet() {}

    // To the control plane or the software UPF.
    @hidden
    action punt_packet(bit<8> reason, bit<16> family) {
        meta.punt = (PuntReason)reason;
        TAKE_TUNNEL_AWAY(family)
    }

    @hidden
    action move_to_tunnel() {
        PUT_TUNNEL
    }

    @hidden
    action enter_tunnel_ipv4() {
        hdr.inner_ipv4.ttl = hdr.inner_ipv4.ttl - 1;
        PUT_TUNNEL
    }

    @hidden
    action leave_tunnel_ipv4() {
        hdr.inner_ipv4.ttl = hdr.inner_ipv4.ttl - 1;
        TAKE_TUNNEL_AWAY(ETHERTYPE_IPV4)
    }

    @hidden
    action leave_tunnel_marked_ipv4() {
        hdr.inner_ipv4.ttl = hdr.inner_ipv4.ttl - 1;
        hdr.inner_ipv4.dscp = META_DSCP;
        TAKE_TUNNEL_AWAY(ETHERTYPE_IPV4)
    }

#ifdef INNER_IPV6
    @hidden
    action enter_tunnel_ipv6() {
        hdr.inner_ipv6.hop_limit = hdr.inner_ipv6.hop_limit - 1;
        PUT_TUNNEL
    }

    @hidden
    action leave_tunnel_ipv6() {
        hdr.inner_ipv6.hop_limit = hdr.inner_ipv6.hop_limit - 1;
        TAKE_TUNNEL_AWAY(ETHERTYPE_IPV6)
    }

    @hidden
    action leave_tunnel_marked_ipv6() {
        hdr.inner_ipv6.hop_limit = hdr.inner_ipv6.hop_limit - 1;
        hdr.inner_ipv6.dscp = META_DSCP;
        TAKE_TUNNEL_AWAY(ETHERTYPE_IPV6)
    }
#endif

    // First row first; numbers are those of Forward, PuntReason and EtherTypes.
    @hidden
    table rewriting {
        key = {
            hdr.inner_ipv4.isValid() : ternary;
            meta.buffer : ternary;
            meta.forward : ternary;
            meta.is_tunnelled : ternary;
            meta.is_expired : ternary;
            meta.mark_dscp : ternary;
        }
        actions = {
            leave_packet;
            punt_packet;
            move_to_tunnel;
            enter_tunnel_ipv4;
            leave_tunnel_ipv4;
            leave_tunnel_marked_ipv4;
#ifdef INNER_IPV6
            enter_tunnel_ipv6;
            leave_tunnel_ipv6;
            leave_tunnel_marked_ipv6;
#endif
        }
        const default_action = leave_packet();
        const entries = {
            // ipv4, buffer, forward, tunnelled, expired, mark
            (true, 1, _, _, _, _) : punt_packet(2, 0x0800);
            (_, _, (Forward)2, 1, _, _) : move_to_tunnel();
            (true, _, (Forward)1, _, 1, _) : punt_packet(5, 0x0800);
            (true, _, (Forward)2, _, 1, _) : punt_packet(5, 0x0800);
            (true, _, (Forward)1, _, _, 0) : leave_tunnel_ipv4();
            (true, _, (Forward)1, _, _, 1) : leave_tunnel_marked_ipv4();
            (true, _, (Forward)2, _, _, _) : enter_tunnel_ipv4();
#ifdef INNER_IPV6
            (false, 1, _, _, _, _) : punt_packet(2, 0x86dd);
            (false, _, (Forward)1, _, 1, _) : punt_packet(5, 0x86dd);
            (false, _, (Forward)2, _, 1, _) : punt_packet(5, 0x86dd);
            (false, _, (Forward)1, _, _, 0) : leave_tunnel_ipv6();
            (false, _, (Forward)1, _, _, 1) : leave_tunnel_marked_ipv6();
            (false, _, (Forward)2, _, _, _) : enter_tunnel_ipv6();
#endif
        }
        size = 16;
    }

    apply {
        rewriting.apply();
    }
}

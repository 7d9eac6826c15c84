// VXLAN (RFC 7348) on every side: frames of a segment come and leave in UDP between two addresses of an underlay of IPv4, or of IPv6 (UNDERLAY_IPV6). A segment says the tenant, so the
// same UE address in two tenants is never the same UE. docs/vxlan-and-firewall.md says what it means; the software does the same.
//
// The parser (parser.p4) goes on to the frame in the segment. The UPF's addresses in the underlay are in the value set `local_underlay`, and are none of
// those at which GTP-U arrives.

#ifdef VXLAN

#ifdef UNDERLAY_IPV6
#define UNDERLAY hdr.underlay_ipv6
#define UNDERLAY_ECN hdr.underlay_ipv6.first_word[21:20]
#define UNDERLAY_ADDRESS bit<128>
#else
#define UNDERLAY hdr.underlay_ipv4
#define UNDERLAY_ECN hdr.underlay_ipv4.ecn
#define UNDERLAY_ADDRESS bit<32>
#endif

// Segments of gNBs have this tenant, or 0. With this one what comes without a tunnel is for no UE.
#define TENANT_OF_ACCESS 255

// Where a frame comes from: by its VNI, the other end, and the address that it is for in the segment. What has no row is of no segment of ours.
control VxlanRemoval(inout headers_t hdr, inout metadata_t meta) {
    action set_tenant(tenant_t tenant) {
        meta.tenant = tenant;
    }

    action refuse_segment() {
        meta.is_unknown_segment = 1;
    }

    @id(3)
    table vxlan_arrivals {
        key = {
            hdr.vxlan.vni : exact @name("vni");
            UNDERLAY.src : exact @name("remote");
            hdr.segment_ethernet.dst : exact @name("mac");
        }
        actions = { set_tenant; @defaultonly refuse_segment; }
        const default_action = refuse_segment();
        size = SIZE_SEGMENTS;
    }

    apply {
        if (hdr.vxlan.isValid()) {
            vxlan_arrivals.apply();
            // GTP-U comes by the segments of gNBs alone: a tenant's data network sends nothing in the name of a UE.
            if (meta.has_outer_udp == 1 && meta.tenant != 0 && meta.tenant != TENANT_OF_ACCESS) {
                meta.is_unknown_segment = 1;
            }
        }
    }
}

// What the underlay's header says of congestion goes into the packet in the segment (RFC 6040), before that one's goes into the user packet.
control UnderlayCongestion(inout headers_t hdr, inout metadata_t meta) {
    action keep_mark() {}

    action lose_mark() {
        meta.is_congested = 1;
    }

    action mark_outer(bit<2> ecn) {
        hdr.outer_ipv4.ecn = ecn;
    }

    action mark_ipv4(bit<2> ecn) {
        hdr.inner_ipv4.ecn = ecn;
    }

    ECN_TABLE(ecn_underlay_outer, UNDERLAY_ECN, hdr.outer_ipv4.ecn, keep_mark, mark_outer, lose_mark)
    ECN_TABLE(ecn_underlay_ipv4, UNDERLAY_ECN, hdr.inner_ipv4.ecn, keep_mark, mark_ipv4, lose_mark)

#ifdef INNER_IPV6
    action mark_ipv6(bit<2> ecn) {
        hdr.inner_ipv6.ecn = ecn;
    }

    ECN_TABLE(ecn_underlay_ipv6, UNDERLAY_ECN, hdr.inner_ipv6.ecn, keep_mark, mark_ipv6, lose_mark)
#endif

    apply {
        if (hdr.vxlan.isValid() && meta.has_user_packet == 1) {
            if (meta.is_tunnelled == 1) {
                ecn_underlay_outer.apply();
            } else if (hdr.inner_ipv4.isValid()) {
                ecn_underlay_ipv4.apply();
            }
#ifdef INNER_IPV6
            else if (hdr.inner_ipv6.isValid()) {
                ecn_underlay_ipv6.apply();
            }
#endif
        }
    }
}

// The user packet leaves the segment, whatever becomes of it. What is for the UPF itself stays as it came.
#define TAKE_SEGMENT_AWAY \
    UNDERLAY.setInvalid(); \
    hdr.underlay_udp.setInvalid(); \
    hdr.vxlan.setInvalid(); \
    hdr.segment_ethernet.setInvalid();

// The UDP source port says the UE: 0xc000 and the last 14 bits of its address. So the underlay can spread UEs over paths, and each UE's packets keep their order.
control FlowPort(inout headers_t hdr, inout metadata_t meta) {
    apply {
        if (hdr.inner_ipv4.isValid()) {
            if (meta.is_tunnelled == 1) {
                meta.flow_port = 2w3 ++ hdr.inner_ipv4.src[13:0];
            } else {
                meta.flow_port = 2w3 ++ hdr.inner_ipv4.dst[13:0];
            }
        }
#ifdef INNER_IPV6
        else if (hdr.inner_ipv6.isValid()) {
            if (meta.is_tunnelled == 1) {
                meta.flow_port = 2w3 ++ hdr.inner_ipv6.src[77:64];
            } else {
                meta.flow_port = 2w3 ++ hdr.inner_ipv6.dst[77:64];
            }
        }
#endif
        else {
            meta.flow_port = 0xc000;
        }
    }
}

// The frame enters the segment that its route says, and is routed to that segment's other end. `too_big` is one more than the MTU of the segment, for IP packets in
// it; outer packets are not fragmented (RFC 7348 section 4.3).
control VxlanAddition(inout headers_t hdr, inout metadata_t meta TARGET_PARAMS) {
    action no_segment() {
        meta.has_no_route = 1;
    }

    // UDP has no checksum (RFC 7348; over IPv6 as RFC 6935 allows for tunnels).
    action enter_segment(bit<9> port, mac_t source, mac_t neighbour, bit<24> vni, UNDERLAY_ADDRESS local, UNDERLAY_ADDRESS remote,
        bit<16> too_big) {
        EGRESS_PORT = port;
        hdr.segment_ethernet.setValid();
        hdr.segment_ethernet.dst = hdr.ethernet.dst;
        hdr.segment_ethernet.src = hdr.ethernet.src;
        hdr.segment_ethernet.ether_type = hdr.ethernet.ether_type;
        hdr.ethernet.dst = neighbour;
        hdr.ethernet.src = source;
#ifdef UNDERLAY_IPV6
        hdr.ethernet.ether_type = ETHERTYPE_IPV6;
        hdr.underlay_ipv6.setValid();
        hdr.underlay_ipv6.first_word = meta.underlay_word;
        hdr.underlay_ipv6.length = meta.segment_length + VXLAN_OCTETS;
        hdr.underlay_ipv6.next_header = PROTOCOL_UDP;
        hdr.underlay_ipv6.hop_limit = 64;
        hdr.underlay_ipv6.src = local;
        hdr.underlay_ipv6.dst = remote;
#else
        hdr.ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.underlay_ipv4.setValid();
        hdr.underlay_ipv4.version = 4;
        hdr.underlay_ipv4.ihl = 5;
        hdr.underlay_ipv4.dscp = 0;
        hdr.underlay_ipv4.ecn = meta.ecn;
        hdr.underlay_ipv4.length = meta.segment_length + VXLAN_OCTETS + IPV4_OCTETS;
        hdr.underlay_ipv4.identification = 0;
        hdr.underlay_ipv4.flags = 2;
        hdr.underlay_ipv4.fragment_offset = 0;
        hdr.underlay_ipv4.ttl = 64;
        hdr.underlay_ipv4.protocol = PROTOCOL_UDP;
        hdr.underlay_ipv4.src = local;
        hdr.underlay_ipv4.dst = remote;
#endif
        hdr.underlay_udp.setValid();
        hdr.underlay_udp.src = meta.flow_port;
        hdr.underlay_udp.dst = PORT_VXLAN;
        hdr.underlay_udp.length = meta.segment_length + VXLAN_OCTETS;
        hdr.underlay_udp.checksum = 0;
        hdr.vxlan.setValid();
        hdr.vxlan.flags = 8;
        hdr.vxlan.reserved = 0;
        hdr.vxlan.vni = vni;
        hdr.vxlan.reserved_too = 0;
        meta.segment_left = too_big |-| meta.segment_length;
    }

    @id(77)
    table vxlan_departures {
        key = { meta.segment : exact @name("segment"); }
        actions = { enter_segment; @defaultonly no_segment; }
        const default_action = no_segment();
        size = SIZE_SEGMENTS;
    }

    apply {
#ifdef UNDERLAY_IPV6
        meta.underlay_word = 0x60000000;
        meta.underlay_word[21:20] = meta.ecn;
#endif
        if (meta.segment != 0) {
            vxlan_departures.apply();
        }
    }
}

#endif

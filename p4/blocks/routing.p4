// The port and neighbour that a packet leaves by: one pair of tables for tunnels, by the outer destination, and one for what
// leaves them, by the user packet's. They are asked side by side, as in HiP4-UPF appendix B.

control Routing(inout headers_t hdr, inout metadata_t meta TARGET_PARAMS) {
    action no_route() {
        meta.has_no_route = 1;
    }

#ifdef VXLAN
// The segment that the packet leaves to, 0 for none; the port is the segment's then.
#define SEGMENT_PARAM , bit<8> segment
#define LEAVE_TO_SEGMENT(octets) \
    meta.segment = segment; \
    meta.segment_length = octets;
#else
#define SEGMENT_PARAM
#define LEAVE_TO_SEGMENT(octets)
#endif

    action hop(bit<9> port, mac_t source, mac_t neighbour SEGMENT_PARAM) {
        LEAVE_TO_SEGMENT(meta.length)
        EGRESS_PORT = port;
        hdr.ethernet.src = source;
        hdr.ethernet.dst = neighbour;
    }

    // `address` is the UPF's own on that way.
    action tunnel_hop(bit<9> port, mac_t source, mac_t neighbour, tunnel_address_t address SEGMENT_PARAM) {
        LEAVE_TO_SEGMENT(hdr.outer_ipv4.length)
        EGRESS_PORT = port;
        hdr.ethernet.src = source;
        hdr.ethernet.dst = neighbour;
#ifdef OUTER_IPV6
        hdr.outer_ipv6.src = address;
#else
        hdr.outer_ipv4.src = address;
#endif
    }

    @id(70)
    table tunnel_exact {
        key = { meta.tunnel : exact @name("destination"); }
        actions = { tunnel_hop; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_ROUTE_EXACT;
    }

    @id(71)
    table tunnel_lpm {
        key = { meta.tunnel : lpm @name("destination"); }
        actions = { tunnel_hop; @defaultonly no_route; }
        const default_action = no_route();
        size = SIZE_ROUTE_LPM;
    }

    @id(72)
    table network_exact {
        key = { TENANT_KEY hdr.inner_ipv4.dst : exact @name("destination"); }
        actions = { hop; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_ROUTE_EXACT;
    }

    @id(73)
    table network_lpm {
        key = { TENANT_KEY hdr.inner_ipv4.dst : lpm @name("destination"); }
        actions = { hop; @defaultonly no_route; }
        const default_action = no_route();
        size = SIZE_ROUTE_LPM;
    }

#ifdef INNER_IPV6
    @id(74)
    table network_lpm_ipv6 {
        key = { TENANT_KEY hdr.inner_ipv6.dst : lpm @name("destination"); }
        actions = { hop; @defaultonly no_route; }
        const default_action = no_route();
        size = SIZE_IPV6_ROUTE;
    }
#endif

    apply {
        if (STAYS_IN_TUNNELS || meta.command == CpuCommand.ROUTE) {
            if (tunnel_exact.apply().miss) {
                tunnel_lpm.apply();
            }
        } else if (meta.forward == Forward.DECAPSULATE && meta.is_expired == 0) {
            if (hdr.inner_ipv4.isValid()) {
                if (network_exact.apply().miss) {
                    network_lpm.apply();
                }
            }
#ifdef INNER_IPV6
            else if (hdr.inner_ipv6.isValid()) {
                network_lpm_ipv6.apply();
            }
#endif
        }
    }
}

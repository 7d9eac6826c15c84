// The operator's firewall: one for all UEs and tenants, in each direction. Rows are rules, in the order of their priorities: the first that matches decides. A row
// of the lowest priority that matches everything is the direction's default. Without rows all packets pass.
//
// It is asked beside the rules of sessions. A packet that it denies is for no rule: it is neither metered nor counted, and an unknown tunnel or UE keeps that reason.
// Ports are those of packets that show them: not of later fragments, and none behind IPv6 extension headers. The control plane has rows for the latter: where a
// rule that denies asks for a protocol or ports, one that denies each packet with an extension header, too. With software behind the switch such a packet is the
// software's to decide (`ask_software`).

#ifdef FIREWALL

#ifdef SOFTWARE_PORTS
#define UNDECIDED ask_software;
#else
#define UNDECIDED
#endif

#define FIREWALL_TABLE(id_, name_, ip, protocol_field, size_) \
    @id(id_) \
    table name_ { \
        key = { \
            hdr.ip.src : ternary @name("source_address"); \
            hdr.ip.dst : ternary @name("destination_address"); \
            hdr.ip.protocol_field : ternary @name("protocol"); \
            hdr.ports.src : ternary @name("source_port"); \
            hdr.ports.dst : ternary @name("destination_port"); \
            meta.has_ports : ternary @name("has_ports"); \
        } \
        actions = { permit; deny; UNDECIDED } \
        const default_action = permit(); \
        size = size_; \
    }

control Firewall(in headers_t hdr, inout metadata_t meta) {
    action permit() {}

    action deny() {
        meta.is_denied = 1;
    }

#ifdef SOFTWARE_PORTS
    // A frame of a port without software behind it is denied.
    action ask_software() {
        meta.is_denied = 1;
        meta.is_undecided = 1;
    }
#endif

    FIREWALL_TABLE(4, firewall_uplink, inner_ipv4, protocol, SIZE_FIREWALL)
    FIREWALL_TABLE(5, firewall_downlink, inner_ipv4, protocol, SIZE_FIREWALL)
#ifdef INNER_IPV6
    FIREWALL_TABLE(6, firewall_uplink_ipv6, inner_ipv6, next_header, SIZE_FIREWALL_IPV6)
    FIREWALL_TABLE(7, firewall_downlink_ipv6, inner_ipv6, next_header, SIZE_FIREWALL_IPV6)
#endif

    apply {
        if (hdr.inner_ipv4.isValid()) {
            if (meta.is_tunnelled == 1) {
                firewall_uplink.apply();
            } else {
                firewall_downlink.apply();
            }
        }
#ifdef INNER_IPV6
        else if (hdr.inner_ipv6.isValid()) {
            if (meta.is_tunnelled == 1) {
                firewall_uplink_ipv6.apply();
            } else {
                firewall_downlink_ipv6.apply();
            }
        }
#endif
    }
}

#endif

// PDR matching with seven tables, by direction and interface (HiP4-UPF section 4.2): profiles `red-spt` and `hip4`. IPv6 has rows
// of its own where addresses are keys.
//
// Precedence is that of PFCP, exactly:
// - Rules with filters of one session and direction stand in one table, in the priority of their PDRs: in `ul_to_n6_complex`
//   when all of them lead to a data network, else all in `ul_to_n9_n3_complex`, whose rows can say either. That the
//   tables are asked one after the other decides nothing then.
// - A simple row fits every packet of its tunnel and QFI, or of its UE. What comes behind it in precedence never matches, so the
//   control plane writes none of it; what comes before it has filters, and those tables are asked first.

control PdrMatching(inout headers_t hdr, inout metadata_t meta) {
#ifdef PROFILE_HIP4
    action set_rule(rule_t rule) {
        meta.rule = rule;
    }

    action set_rule_and_tunnel(rule_t rule, teid_t teid) {
        meta.rule = rule;
        meta.teid_out = teid;
    }
#define N6_ACTIONS set_rule;
#define MIXED_ACTIONS set_rule_and_tunnel;
#define TUNNEL_ACTIONS set_rule_and_tunnel;
#else
    action decapsulate(rule_t rule, meter_index_t meter_index, bit<1> mark, bit<6> dscp, bit<1> notify) {
        meta.rule = rule;
        meta.meter = meter_index;
        DO_DECAPSULATE(mark, dscp, notify)
    }

    action encapsulate(
        rule_t rule, meter_index_t meter_index, teid_t teid, tunnel_address_t tunnel, qfi_t qfi, bit<4> pdu_type, bit<6> dscp,
        bit<1> notify
    ) {
        meta.rule = rule;
        meta.meter = meter_index;
        meta.teid_out = teid;
        DO_ENCAPSULATE(tunnel, qfi, pdu_type, dscp, notify)
    }

    action buffer(rule_t rule, bit<1> notify) {
        meta.rule = rule;
        DO_BUFFER(notify)
    }

    action drop(rule_t rule, DropReason reason, bit<1> notify) {
        meta.rule = rule;
        DO_DROP(reason, notify)
    }
#define N6_ACTIONS decapsulate; drop;
#define MIXED_ACTIONS decapsulate; encapsulate; drop;
#define TUNNEL_ACTIONS encapsulate; buffer; drop;
#endif

    @id(20)
    table ul_to_n6_complex {
        key = {
            hdr.inner_ipv4.isValid() : exact @name("is_ipv4");
            TUNNEL_KEYS_TERNARY
            FILTER_KEYS_IPV4(hdr.inner_ipv4.dst)
        }
        actions = { N6_ACTIONS @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_COMPLEX;
    }

    @id(21)
    table ul_to_n9_n3_complex {
        key = {
            hdr.inner_ipv4.isValid() : exact @name("is_ipv4");
            TUNNEL_KEYS_TERNARY
            FILTER_KEYS_IPV4(hdr.inner_ipv4.dst)
        }
        actions = { MIXED_ACTIONS @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_COMPLEX;
    }

    @id(22)
    table ul_to_n6_simple {
        key = { TUNNEL_KEYS }
        actions = { N6_ACTIONS @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_N6_SIMPLE;
    }

    @id(23)
    table ul_to_n9_n3_simple {
        key = { TUNNEL_KEYS }
        actions = { TUNNEL_ACTIONS @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_N9_SIMPLE;
    }

    @id(24)
    table dl_from_n9_simple {
        key = { TUNNEL_KEYS }
        actions = { TUNNEL_ACTIONS @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_DL_FROM_N9_SIMPLE;
    }

    @id(25)
    table dl_from_n6_complex {
        key = {
            TENANT_KEY
            hdr.inner_ipv4.dst : exact @name("ue_address");
            FILTER_KEYS_IPV4(hdr.inner_ipv4.src)
        }
        actions = { TUNNEL_ACTIONS @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_COMPLEX;
    }

    @id(26)
    table dl_from_n6_simple {
        key = { TENANT_KEY hdr.inner_ipv4.dst : exact @name("ue_address"); }
        actions = { TUNNEL_ACTIONS @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_N6_SIMPLE;
    }

#ifdef INNER_IPV6
    @id(30)
    table ul_to_n6_complex_ipv6 {
        key = {
            hdr.inner_ipv6.isValid() : exact @name("is_ipv6");
            TUNNEL_KEYS_TERNARY
            FILTER_KEYS_IPV6(hdr.inner_ipv6.dst)
        }
        actions = { N6_ACTIONS @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_IPV6_COMPLEX;
    }

    @id(31)
    table ul_to_n9_n3_complex_ipv6 {
        key = {
            hdr.inner_ipv6.isValid() : exact @name("is_ipv6");
            TUNNEL_KEYS_TERNARY
            FILTER_KEYS_IPV6(hdr.inner_ipv6.dst)
        }
        actions = { MIXED_ACTIONS @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_IPV6_COMPLEX;
    }

    @id(32)
    table dl_from_n6_complex_ipv6 {
        key = {
            TENANT_KEY
            hdr.inner_ipv6.dst[127:64] : exact @name("ue_prefix");
            FILTER_KEYS_IPV6(hdr.inner_ipv6.src)
        }
        actions = { TUNNEL_ACTIONS @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_IPV6_COMPLEX;
    }

    @id(33)
    table dl_from_n6_simple_ipv6 {
        key = { TENANT_KEY hdr.inner_ipv6.dst[127:64] : exact @name("ue_prefix"); }
        actions = { TUNNEL_ACTIONS @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_IPV6_SIMPLE;
    }
#endif

    apply {
        if (meta.is_tunnelled == 1) {
            if (ul_to_n6_complex.apply().miss) {
                if (ul_to_n9_n3_complex.apply().miss) {
#ifdef INNER_IPV6
                    if (ul_to_n6_complex_ipv6.apply().miss)
                    if (ul_to_n9_n3_complex_ipv6.apply().miss)
#endif
                    if (ul_to_n6_simple.apply().miss) {
                        if (ul_to_n9_n3_simple.apply().miss) {
                            dl_from_n9_simple.apply();
                        }
                    }
                }
            }
        } else if (hdr.inner_ipv4.isValid()) {
            if (dl_from_n6_complex.apply().miss) {
                dl_from_n6_simple.apply();
            }
        }
#ifdef INNER_IPV6
        else if (hdr.inner_ipv6.isValid()) {
            if (dl_from_n6_complex_ipv6.apply().miss) {
                dl_from_n6_simple_ipv6.apply();
            }
        }
#endif
    }
}

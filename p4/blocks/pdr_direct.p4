// PDR matching by index: profile `direct`. The UPF gives out TEIDs and knows its UEs' addresses, so neither need be stored.
//
// A TEID is a generation, six bits, and the number of a session, 18 bits. The address of a UE is the start of its pool and the
// same number, less where the pool's numbers begin. Tunnels to and from another UPF, and all QoS flows of a session but one, have
// rows of their own, which come first; numbers from 0x30000 on are for tunnels that have nothing else. An entry that was never
// written is all zero: its template 0 forwards nothing, so such a packet is dropped as one of an unknown tunnel or UE. A late
// packet of a former session carries the generation of then, and is dropped alike.
//
// Filters are held once. `filters_*` say which class a packet is of; classes do not overlap: where filters do, the control
// plane writes a row for their intersection, before both. Which rule of a session a class belongs to is an exact
// look-up, and the control plane has chosen it by the precedence of the session's PDRs; a session without a row for
// the class takes its simple rule. Class 0 is no filter's. So precedence is exact, whatever other sessions ask for.

control PdrMatching(inout headers_t hdr, inout metadata_t meta) {
    action unknown_teid() {
        meta.drop_reason = DropReason.UNKNOWN_TEID;
        meta.rule = 0;
    }

    action unknown_ue() {
        meta.drop_reason = DropReason.UNKNOWN_UE;
        meta.rule = 0;
    }

    // `qfi` 0: every QFI.
    action set_uplink(bit<6> generation, qfi_t qfi, bit<10> template, meter_index_t meter_index) {
        meta.generation = generation;
        meta.qfi_wanted = qfi;
        meta.template = template;
        meta.meter = meter_index;
        meta.rule = 6w0 ++ meta.teid_in[17:0];
    }

    action set_downlink(teid_t teid, bit<10> template, meter_index_t meter_index) {
        meta.teid_out = teid;
        meta.template = template;
        meta.meter = meter_index;
        meta.rule = 6w1 ++ meta.session;
    }

    // A row of its own has the whole TEID as its key: nothing is left to check.
    action set_tunnel(rule_t rule, bit<10> template, meter_index_t meter_index, teid_t teid) {
        meta.generation = meta.teid_in[23:18];
        meta.rule = rule;
        meta.template = template;
        meta.meter = meter_index;
        meta.teid_out = teid;
    }

    action set_class(bit<12> filter_class) {
        meta.filter_class = filter_class;
    }

    action set_rule(rule_t rule, bit<10> template, meter_index_t meter_index) {
        meta.qfi_wanted = 0;
        meta.rule = rule;
        meta.template = template;
        meta.meter = meter_index;
    }

    action set_rule_and_tunnel(rule_t rule, bit<10> template, meter_index_t meter_index, teid_t teid) {
        meta.qfi_wanted = 0;
        meta.rule = rule;
        meta.template = template;
        meta.meter = meter_index;
        meta.teid_out = teid;
    }

    action set_session_ipv4(bit<18> offset) {
        meta.session = hdr.inner_ipv4.dst[17:0] + offset;
    }

    @id(20)
    table ue_pools {
        key = { hdr.inner_ipv4.dst : ternary @name("ue_address"); }
        actions = { set_session_ipv4; @defaultonly unknown_ue; }
        const default_action = unknown_ue();
        size = 64;
    }

    @id(21)
    table ul_sessions_low {
        key = { meta.teid_in[16:0] : exact @name("session"); }
        actions = { set_uplink; }
        const default_action = set_uplink(0, 0, 0, 0);
        size = 131072;
    }

    @id(22)
    table dl_sessions_low {
        key = { meta.session[16:0] : exact @name("session"); }
        actions = { set_downlink; }
        const default_action = set_downlink(0, 0, 0);
        size = 131072;
    }

#if SIMPLE_UES > 131072
    @id(23)
    table ul_sessions_high {
        key = { meta.teid_in[15:0] : exact @name("session"); }
        actions = { set_uplink; }
        const default_action = set_uplink(0, 0, 0, 0);
        size = 65536;
    }

    @id(24)
    table dl_sessions_high {
        key = { meta.session[15:0] : exact @name("session"); }
        actions = { set_downlink; }
        const default_action = set_downlink(0, 0, 0);
        size = 65536;
    }
#endif

    @id(25)
    table ul_to_n9_n3_simple {
        key = { TUNNEL_KEYS }
        actions = { set_tunnel; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_N9_SIMPLE;
    }

    @id(26)
    table dl_from_n9_simple {
        key = { TUNNEL_KEYS }
        actions = { set_tunnel; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_DL_FROM_N9_SIMPLE;
    }

    @id(27)
    table filters_ul {
        key = {
            hdr.inner_ipv4.isValid() : exact @name("is_ipv4");
            FILTER_KEYS_IPV4(hdr.inner_ipv4.dst)
        }
        actions = { set_class; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_FILTERS;
    }

    @id(28)
    table filters_dl {
        key = {
            hdr.inner_ipv4.isValid() : exact @name("is_ipv4");
            FILTER_KEYS_IPV4(hdr.inner_ipv4.src)
        }
        actions = { set_class; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_FILTERS;
    }

    @id(29)
    table ul_to_n6_rules {
        key = {
            meta.teid_in[17:0] : exact @name("session");
            meta.qfi_in : exact @name("qfi");
            meta.filter_class : exact @name("filter_class");
        }
        actions = { set_rule; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_COMPLEX;
    }

    @id(30)
    table ul_to_n9_n3_rules {
        key = {
            meta.teid_in : exact @name("teid");
            meta.qfi_in : exact @name("qfi");
            meta.filter_class : exact @name("filter_class");
        }
        actions = { set_rule_and_tunnel; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_COMPLEX;
    }

    @id(31)
    table dl_from_n6_rules {
        key = {
            meta.session : exact @name("session");
            meta.filter_class : exact @name("filter_class");
        }
        actions = { set_rule; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_COMPLEX;
    }

#ifdef INNER_IPV6
    action set_session_ipv6(bit<18> offset) {
        meta.session = hdr.inner_ipv6.dst[81:64] + offset;
    }

    @id(32)
    table ue_pools_ipv6 {
        key = { hdr.inner_ipv6.dst[127:64] : ternary @name("ue_prefix"); }
        actions = { set_session_ipv6; @defaultonly unknown_ue; }
        const default_action = unknown_ue();
        size = 64;
    }

    @id(33)
    table filters_ul_ipv6 {
        key = {
            hdr.inner_ipv6.isValid() : exact @name("is_ipv6");
            FILTER_KEYS_IPV6(hdr.inner_ipv6.dst)
        }
        actions = { set_class; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_IPV6_COMPLEX;
    }

    @id(34)
    table filters_dl_ipv6 {
        key = {
            hdr.inner_ipv6.isValid() : exact @name("is_ipv6");
            FILTER_KEYS_IPV6(hdr.inner_ipv6.src)
        }
        actions = { set_class; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_IPV6_COMPLEX;
    }
#endif

    apply {
        if (meta.is_tunnelled == 1) {
            if (ul_to_n9_n3_simple.apply().miss) {
                if (dl_from_n9_simple.apply().miss) {
                    if (meta.teid_in[17:17] == 0) {
                        ul_sessions_low.apply();
                    }
#if SIMPLE_UES > 131072
                    else if (meta.teid_in[16:16] == 0) {
                        ul_sessions_high.apply();
                    }
#endif
                }
            }
            if (filters_ul.apply().miss) {
#ifdef INNER_IPV6
                filters_ul_ipv6.apply();
#endif
            }
            if (meta.filter_class != 0) {
                if (ul_to_n6_rules.apply().miss) {
                    ul_to_n9_n3_rules.apply();
                }
            }
            if (meta.template == 0 || meta.generation != meta.teid_in[23:18]) {
                unknown_teid();
            } else if (meta.qfi_wanted != 0 && meta.qfi_wanted != meta.qfi_in) {
                unknown_teid();
            }
        } else {
            if (hdr.inner_ipv4.isValid()) {
                ue_pools.apply();
            }
#ifdef INNER_IPV6
            else if (hdr.inner_ipv6.isValid()) {
                ue_pools_ipv6.apply();
            }
#endif
            if (meta.drop_reason == DropReason.NONE) {
                if (meta.session[17:17] == 0) {
                    dl_sessions_low.apply();
                }
#if SIMPLE_UES > 131072
                else if (meta.session[16:16] == 0) {
                    dl_sessions_high.apply();
                }
#endif
                if (filters_dl.apply().miss) {
#ifdef INNER_IPV6
                    filters_dl_ipv6.apply();
#endif
                }
                if (meta.filter_class != 0) {
                    dl_from_n6_rules.apply();
                }
                if (meta.template == 0) {
                    unknown_ue();
                }
            }
        }
    }
}

// PDR matching with three tables, as in HiP4-UPF section 2.2: profiles `baseline` and `red`.
//
// Precedence: rows of `complex` have the priority of their PDRs. A simple row stands for a PDR that fits every packet of its
// tunnel and QFI, or of its UE: the PDRs behind it never match, so the control plane writes none of them, and those before
// it are in `complex`, which is asked first.

control PdrMatching(inout headers_t hdr, inout metadata_t meta) {
#ifdef PROFILE_BASELINE
    action set_rule(rule_t rule) {
        meta.rule = rule;
    }
#define UNSPLIT_ACTIONS set_rule;
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
#define UNSPLIT_ACTIONS decapsulate; encapsulate; buffer; drop;
#endif

    @id(10)
    table complex {
        key = {
            meta.is_tunnelled : exact @name("is_uplink");
            hdr.inner_ipv4.isValid() : exact @name("is_ipv4");
            meta.teid_in[23:0] : ternary @name("teid");
            meta.qfi_in : ternary @name("qfi");
            hdr.inner_ipv4.src : ternary @name("source_address");
            hdr.inner_ipv4.dst : ternary @name("destination_address");
            hdr.inner_ipv4.protocol : ternary @name("protocol");
            hdr.inner_ipv4.dscp : ternary @name("dscp");
            hdr.ports.src : ternary @name("source_port");
            hdr.ports.dst : ternary @name("destination_port");
            meta.has_ports : ternary @name("has_ports");
        }
        actions = { UNSPLIT_ACTIONS @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_ALL_COMPLEX;
    }

    @id(11)
    table ul_simple {
        key = { TUNNEL_KEYS }
        actions = { UNSPLIT_ACTIONS @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIMPLE_UES;
    }

    @id(12)
    table dl_simple {
        key = { hdr.inner_ipv4.dst : exact @name("ue_address"); }
        actions = { UNSPLIT_ACTIONS @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIMPLE_UES;
    }

#ifdef INNER_IPV6
    @id(13)
    table complex_ipv6 {
        key = {
            meta.is_tunnelled : exact @name("is_uplink");
            hdr.inner_ipv6.isValid() : exact @name("is_ipv6");
            meta.teid_in[23:0] : ternary @name("teid");
            meta.qfi_in : ternary @name("qfi");
            hdr.inner_ipv6.src : ternary @name("source_address");
            hdr.inner_ipv6.dst : ternary @name("destination_address");
            hdr.inner_ipv6.next_header : ternary @name("protocol");
            hdr.inner_ipv6.dscp : ternary @name("dscp");
            hdr.ports.src : ternary @name("source_port");
            hdr.ports.dst : ternary @name("destination_port");
            meta.has_ports : ternary @name("has_ports");
        }
        actions = { UNSPLIT_ACTIONS @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_IPV6_COMPLEX;
    }

    @id(14)
    table dl_simple_ipv6 {
        key = { hdr.inner_ipv6.dst[127:64] : exact @name("ue_prefix"); }
        actions = { UNSPLIT_ACTIONS @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_IPV6_SIMPLE;
    }
#endif

    apply {
        if (complex.apply().miss) {
#ifdef INNER_IPV6
            if (complex_ipv6.apply().miss)
#endif
            {
                if (meta.is_tunnelled == 1) {
                    ul_simple.apply();
                } else if (hdr.inner_ipv4.isValid()) {
                    dl_simple.apply();
                }
#ifdef INNER_IPV6
                else if (hdr.inner_ipv6.isValid()) {
                    dl_simple_ipv6.apply();
                }
#endif
            }
        }
    }
}

// What the FAR and the QER ask for, where the PDR's entry does not say it itself.
//
// - `baseline`: two tables keyed by PDR_ID, one entry per rule (HiP4-UPF appendix B).
// - `hip4`: three tables of action templates, each row for a range of PDR_IDs (section 4.3).
// - `direct`: a table of templates for each direction, by the number in the session's entry; rules with entries of their own have it all.
// - `red`, `red-spt`: nothing, the rules have it all.
// - `thesis`: nothing but whether there is an address to send to.
//
// PDR_ID 0 is no rule.

control Forwarding(inout metadata_t meta) {
#if defined(PROFILE_BASELINE)
    action decapsulate(bit<1> mark, bit<6> dscp, bit<1> notify) {
        DO_DECAPSULATE(mark, dscp, notify)
    }

    action encapsulate(teid_t teid, tunnel_address_t tunnel, qfi_t qfi, bit<4> pdu_type, bit<6> dscp, bit<1> notify) {
        meta.teid_out = teid;
        DO_ENCAPSULATE(tunnel, qfi, pdu_type, dscp, notify)
    }

    action buffer(bit<1> notify) {
        DO_BUFFER(notify)
    }

    action drop(DropReason reason, bit<1> notify) {
        DO_DROP(reason, notify)
    }

    action missing() {
        meta.drop_reason = DropReason.NO_FORWARDING;
    }

    action set_meter(meter_index_t meter_index) {
        meta.meter = meter_index;
    }

    @id(40)
    table far {
        key = { meta.rule : exact @name("rule"); }
        actions = { decapsulate; encapsulate; buffer; drop; @defaultonly missing; }
        const default_action = missing();
        size = RULES;
    }

    @id(41)
    table meter_lookup {
        key = { meta.rule : exact @name("rule"); }
        actions = { set_meter; @defaultonly NoAction; }
        const default_action = NoAction();
        size = RULES;
    }

    apply {
        if (meta.rule != 0) {
            far.apply();
            meter_lookup.apply();
        }
    }
#elif defined(PROFILE_HIP4) || defined(PROFILE_DIRECT)
    action decapsulate(bit<1> mark, bit<6> dscp, bit<1> notify) {
        DO_DECAPSULATE(mark, dscp, notify)
    }

    action encapsulate(tunnel_address_t tunnel, qfi_t qfi, bit<4> pdu_type, bit<6> dscp, bit<1> notify) {
        DO_ENCAPSULATE(tunnel, qfi, pdu_type, dscp, notify)
    }

    action buffer(bit<1> notify) {
        DO_BUFFER(notify)
    }

    action drop(DropReason reason, bit<1> notify) {
        DO_DROP(reason, notify)
    }

    action missing() {
        meta.drop_reason = DropReason.NO_FORWARDING;
    }

#ifdef PROFILE_DIRECT
    @id(42)
    table ul_template {
        key = { UL_TEMPLATE : exact @name("template"); }
        actions = { decapsulate; buffer; drop; @defaultonly missing; }
        const default_action = missing();
        size = 64;
    }

    @id(44)
    table dl_template {
        key = { DL_TEMPLATE : exact @name("template"); }
        actions = { encapsulate; buffer; drop; @defaultonly missing; }
        const default_action = missing();
        size = SIZE_DL_TEMPLATE;
    }

    apply {
        if (meta.is_tunnelled == 1) {
            ul_template.apply();
        } else {
            dl_template.apply();
        }
    }
#else
#define HAS_RULE (meta.rule != 0)

    @id(42)
    table ul_to_n6_template {
        key = { meta.rule : ternary @name("rule"); }
        actions = { decapsulate; drop; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_UL_TO_N6_TEMPLATE;
    }

#ifdef APPLICATION_DETECTION
#define HAS_NO_N9_TEMPLATE true
#else
#define HAS_NO_N9_TEMPLATE ul_to_n9_n3_template.apply().miss
    @id(43)
    table ul_to_n9_n3_template {
        key = { meta.rule : ternary @name("rule"); }
        actions = { encapsulate; drop; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_UL_TO_N9_N3_TEMPLATE;
    }
#endif

    @id(44)
    table dl_template {
        key = { meta.rule : ternary @name("rule"); }
        actions = { encapsulate; buffer; drop; @defaultonly missing; }
        const default_action = missing();
        size = SIZE_DL_TEMPLATE;
    }

    apply {
        if (HAS_RULE) {
            if (ul_to_n6_template.apply().miss) {
                if (HAS_NO_N9_TEMPLATE) {
                    dl_template.apply();
                }
            }
        }
    }
#endif
#elif defined(PROFILE_THESIS)
    // The UE's entry names a gNB without an address.
    apply {
        if (meta.forward == Forward.ENCAPSULATE && meta.tunnel == 0) {
            meta.drop_reason = DropReason.NO_FORWARDING;
        }
    }
#else
    apply {}
#endif
}

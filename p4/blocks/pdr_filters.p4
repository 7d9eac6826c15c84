// Rules with filters, and those of tunnels to and from another UPF, for profile `direct`: each says what the rule does.
//
// Filters are held once. `filters_*` say which class a packet is of; classes do not overlap: where filters do, the control plane
// writes a row for their intersection, before both. Which rule of a session a class belongs to is an exact look-up, and
// the control plane has chosen it by the precedence of the session's PDRs; a session without a row for the class takes its simple
// rule, which stands in `*_simple`. Class 0 is no filter's. So precedence is exact, whatever other sessions ask for.
//
// FILTERS_PER_SESSION is for networks whose sessions share no filters: each row is one rule of one session then, in the
// priority of its PDR. All rows of a session and direction stand in one table, in `ul_to_n6_complex` when all lead to a data
// network, else in `ul_to_n9_n3_complex`. On Tofino these are algorithmic TCAM: the last bits of the session's number say in which
// of 4,096 partitions its rows stand, and a partition has as many rows as are read and compared at once, with their masks, from
// SRAM. The control plane gives out numbers so that partitions fill alike: an eighth more rows than rules are there for that.

#ifdef FILTERS_PER_SESSION
#define PARTITIONS 4096
#define SIZE_PARTITIONED (PARTITIONS * (SIZE_COMPLEX * 9 / 8 / PARTITIONS + 1))
#define PARTITIONED(field) @atcam_partition_index(field) @atcam_number_partitions(PARTITIONS)
#define TUNNEL_KEYS_PARTITIONED \
    meta.teid_in[23:12] : exact @name("teid_high"); \
    meta.teid_low[11:0] : exact @name("teid_low"); \
    meta.qfi_in : ternary @name("qfi");
#endif

#ifdef RULES_APART
#define RULE_IS_FOUND meta.has_rule = 1;
#else
#define RULE_IS_FOUND
#endif

control RuleMatching(inout headers_t hdr, inout metadata_t meta) {
#ifdef RULES_APART
    Forwarding() forwarding;
#endif

    // The entry of the session's number, if it has one, is not for this packet.
    action unknown() {
        meta.rule = 0;
    }

    action decapsulate_by_rule(rule_t rule, meter_index_t meter_index, bit<1> mark, bit<6> dscp, bit<1> notify) {
        meta.rule = (rule_word_t)rule;
        RULE_IS_FOUND
        meta.rule_meter = meter_index;
        DO_DECAPSULATE(mark, dscp, notify)
    }

    action encapsulate_by_rule(
        rule_t rule, meter_index_t meter_index, teid_t teid, tunnel_address_t tunnel, qfi_t qfi, bit<4> pdu_type, bit<6> dscp,
        bit<1> notify
    ) {
        meta.rule = (rule_word_t)rule;
        RULE_IS_FOUND
        meta.rule_meter = meter_index;
        meta.teid_out = teid;
        DO_ENCAPSULATE(tunnel, qfi, pdu_type, dscp, notify)
    }

    action buffer_by_rule(rule_t rule, bit<1> notify) {
        meta.rule = (rule_word_t)rule;
        RULE_IS_FOUND
        DO_BUFFER(notify)
    }

    action drop_by_rule(rule_t rule, DropReason reason, bit<1> notify) {
        meta.rule = (rule_word_t)rule;
        RULE_IS_FOUND
        DO_DROP(reason, notify)
    }

    @id(25)
    PLACE_ul_to_n9_n3_simple
    table ul_to_n9_n3_simple {
        key = { TUNNEL_KEYS }
        actions = { encapsulate_by_rule; buffer_by_rule; drop_by_rule; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_N9_SIMPLE;
    }

    // Simple rules of sessions that have filters, too, or several QoS flows.
    @id(38)
    PLACE_ul_to_n6_simple
    table ul_to_n6_simple {
        key = { TUNNEL_KEYS }
        actions = { decapsulate_by_rule; drop_by_rule; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_COMPLEX;
    }

    @id(39)
    PLACE_dl_from_n6_simple
    table dl_from_n6_simple {
        key = { meta.session[23:0] : exact @name("session"); }
        actions = { encapsulate_by_rule; buffer_by_rule; drop_by_rule; @defaultonly unknown; }
        const default_action = unknown();
        size = SIZE_COMPLEX;
    }

    @id(26)
    PLACE_dl_from_n9_simple
    table dl_from_n9_simple {
        key = { TUNNEL_KEYS }
        actions = { encapsulate_by_rule; buffer_by_rule; drop_by_rule; @defaultonly unknown; }
        const default_action = unknown();
        size = SIZE_DL_FROM_N9_SIMPLE;
    }

#ifdef FILTERS_PER_SESSION
    @id(35)
    PARTITIONED("teid_low")
    table ul_to_n6_complex {
        key = {
            IS_IPV4_KEY
            TUNNEL_KEYS_PARTITIONED
            FILTER_KEYS_IPV4(hdr.inner_ipv4.dst)
        }
        actions = { decapsulate_by_rule; drop_by_rule; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_PARTITIONED;
    }

    @id(36)
    PARTITIONED("teid_low")
    table ul_to_n9_n3_complex {
        key = {
            IS_IPV4_KEY
            TUNNEL_KEYS_PARTITIONED
            FILTER_KEYS_IPV4(hdr.inner_ipv4.dst)
        }
        actions = { decapsulate_by_rule; encapsulate_by_rule; drop_by_rule; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_PARTITIONED;
    }

    @id(37)
    PARTITIONED("session_low")
    table dl_from_n6_complex {
        key = {
            IS_IPV4_KEY
            meta.session[23:12] : exact @name("session_high");
            meta.session_low[11:0] : exact @name("session_low");
            FILTER_KEYS_IPV4(hdr.inner_ipv4.src)
        }
        actions = { encapsulate_by_rule; buffer_by_rule; drop_by_rule; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_PARTITIONED;
    }

    apply {
        if (meta.is_tunnelled == 1) {
            if (ul_to_n6_complex.apply().miss) {
                if (ul_to_n9_n3_complex.apply().miss) {
                    if (ul_to_n6_simple.apply().miss) {
                        if (ul_to_n9_n3_simple.apply().miss) {
                            dl_from_n9_simple.apply();
                        }
                    }
                }
            }
        } else {
            if (dl_from_n6_complex.apply().miss) {
                dl_from_n6_simple.apply();
            }
        }
    }
#else
    @id(29)
    PLACE_ul_to_n6_rules
    table ul_to_n6_rules {
        key = {
            TUNNEL_KEYS
            meta.filter_class : exact @name("filter_class");
        }
        actions = { decapsulate_by_rule; drop_by_rule; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_COMPLEX;
    }

    @id(30)
    PLACE_ul_to_n9_n3_rules
    table ul_to_n9_n3_rules {
        key = {
            TUNNEL_KEYS
            meta.filter_class : exact @name("filter_class");
        }
        actions = { decapsulate_by_rule; encapsulate_by_rule; drop_by_rule; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_COMPLEX;
    }

    @id(31)
    PLACE_dl_from_n6_rules
    table dl_from_n6_rules {
        key = {
            meta.session[23:0] : exact @name("session");
            meta.filter_class : exact @name("filter_class");
        }
        actions = { encapsulate_by_rule; buffer_by_rule; drop_by_rule; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_COMPLEX;
    }

#ifdef RULES_APART
    // Four groups, each of one stage: what stands in these stages besides need not wait for the last one.
    apply {
        if (!IS_SIMPLE && meta.is_tunnelled == 1) {
            if (ul_to_n6_rules.apply().miss) {
                ul_to_n9_n3_rules.apply();
            }
        }
        if (!IS_SIMPLE && meta.is_tunnelled == 0) {
            dl_from_n6_rules.apply();
        } else if (!IS_SIMPLE && meta.has_rule == 0) {
            ul_to_n6_simple.apply();
        }
        if (!IS_SIMPLE && meta.has_rule == 0) {
            if (meta.is_tunnelled == 1) {
                ul_to_n9_n3_simple.apply();
            } else {
                dl_from_n6_simple.apply();
            }
        }
        if (IS_SIMPLE) {
            if (IS_SOUND) {
                forwarding.apply(meta);
            }
        } else if (meta.has_rule == 0 && meta.is_tunnelled == 1) {
            dl_from_n9_simple.apply();
        }
    }
#else
    apply {
        if (meta.is_tunnelled == 1) {
            if (ul_to_n6_rules.apply().miss) {
                if (ul_to_n9_n3_rules.apply().miss) {
                    if (ul_to_n6_simple.apply().miss) {
                        if (ul_to_n9_n3_simple.apply().miss) {
                            dl_from_n9_simple.apply();
                        }
                    }
                }
            }
        } else {
            if (dl_from_n6_rules.apply().miss) {
                dl_from_n6_simple.apply();
            }
        }
    }
#endif
#endif
}

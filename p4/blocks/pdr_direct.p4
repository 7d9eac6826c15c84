// PDR matching by index: profile `direct`. The UPF gives out TEIDs and knows its UEs' addresses, so neither need be stored.
//
// The last 18 bits of a TEID are the number of a session, the four before them a generation, and the two first zero. The address of
// a UE is the start of its pool and the same number, less where the pool's numbers begin. So a session's two simple rules are
// entries of tables without keys, that every packet hits: `template` says what is done, and an entry that was never written is
// all zero, which is nobody's TEID and template 0, no rule. A late packet of a former session has the TEID of then, and is
// dropped alike. The PDR_ID of the uplink is the TEID, that of the downlink 0x400000 and the number.
//
// Sessions with filters, and packets of any QoS flow but the entry's, have `template` CLASSIFIED: their rules stand in tables of
// their own, which no other packet asks (pdr_filters.p4). So do tunnels to and from another UPF; their numbers are from 0x30000
// on, and they have no entries.
//
// Templates 1 to 15 drop or buffer, those from 16 on forward: so what is counted is known before the template is.
#define TEMPLATE_FORWARDS (meta.entry[15:10] != 0)
const bit<10> CLASSIFIED = 1023;

// The entry has the session's simple rule, and this is the packet's if it is of the QoS flow that the entry names, 0 for every one.
#define HAS_SIMPLE_ENTRY (ENTRY_TEMPLATE != 0 && ENTRY_TEMPLATE != CLASSIFIED && meta.stale == 0)
#define IS_SIMPLE (meta.is_simple == 1 && (ENTRY_QFI == 0 || ENTRY_QFI == meta.qfi_in))

control SessionIndex(inout headers_t hdr, inout metadata_t meta) {
    // `qfi` 0: every QFI.
    action set_uplink(bit<24> teid, qfi_t qfi, bit<10> template, meter_index_t meter_index) {
        meta.stale = meta.teid_in[23:0] ^ teid;
        meta.entry = template ++ qfi;
        meta.meter = meter_index;
        meta.rule = meta.teid_in;
    }

    action set_downlink(teid_t teid, bit<10> template, meter_index_t meter_index) {
        meta.teid_out = teid;
        ENTRY_TEMPLATE = template;
        meta.meter = meter_index;
        meta.rule = meta.session;
    }

    // The last 24 bits of the sum are the session's downlink PDR_ID.
    action set_session_ipv4(bit<24> offset) {
        meta.session = hdr.inner_ipv4.dst + (bit<32>)offset;
        meta.has_session = 1;
    }

    @id(20)
    table ue_pools {
        key = { hdr.inner_ipv4.dst : ternary @name("ue_address"); }
        actions = { set_session_ipv4; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 64;
    }

    @id(21)
    @use_hash_action(1)
    table ul_sessions_low {
        key = { meta.teid_in[16:0] : exact @name("session"); }
        actions = { set_uplink; }
        const default_action = set_uplink(0, 0, 0, 0);
        size = 131072;
    }

    @id(22)
    @use_hash_action(1)
    table dl_sessions_low {
        key = { meta.session[16:0] : exact @name("session"); }
        actions = { set_downlink; }
        const default_action = set_downlink(0, 0, 0);
        size = 131072;
    }

#if SESSIONS > 131072
    @id(23)
    @use_hash_action(1)
    table ul_sessions_high {
        key = { meta.teid_in[15:0] : exact @name("session"); }
        actions = { set_uplink; }
        const default_action = set_uplink(0, 0, 0, 0);
        size = 65536;
    }

    @id(24)
    @use_hash_action(1)
    table dl_sessions_high {
        key = { meta.session[15:0] : exact @name("session"); }
        actions = { set_downlink; }
        const default_action = set_downlink(0, 0, 0);
        size = 65536;
    }
#endif

#ifdef INNER_IPV6
    action set_session_ipv6(bit<24> offset) {
        meta.session = hdr.inner_ipv6.dst[95:64] + (bit<32>)offset;
        meta.has_session = 1;
    }

    @id(32)
    table ue_pools_ipv6 {
        key = { hdr.inner_ipv6.dst[127:64] : ternary @name("ue_prefix"); }
        actions = { set_session_ipv6; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 64;
    }
#endif

    apply {
        if (meta.is_tunnelled == 1) {
            if (meta.teid_in[17:17] == 0) {
                ul_sessions_low.apply();
            }
#if SESSIONS > 131072
            else if (meta.teid_in[16:16] == 0) {
                ul_sessions_high.apply();
            }
#endif
        } else {
            if (hdr.inner_ipv4.isValid()) {
                ue_pools.apply();
            }
#ifdef INNER_IPV6
            else if (hdr.inner_ipv6.isValid()) {
                ue_pools_ipv6.apply();
            }
#endif
            if (meta.has_session == 1) {
                if (meta.session[17:17] == 0) {
                    dl_sessions_low.apply();
                }
#if SESSIONS > 131072
                else if (meta.session[16:16] == 0) {
                    dl_sessions_high.apply();
                }
#endif
            }
        }
    }
}

// PDR matching by index: profile `direct`. The UPF gives out TEIDs and knows its UEs' addresses, so neither need be stored.
//
// The last 18 bits of a TEID are the number of a session, the four before them a generation, and the two first zero. The address of
// a UE is the start of its pool and the same number, less where the pool's numbers begin. So a session's two simple rules are
// entries of tables without keys, that every packet hits: `template` says what is done, and an entry that was never written is
// all zero, which is template 0, no rule. Of the TEID the uplink's entry has the generation, for the number is its index: a late packet
// of a former session has the generation of then, and is dropped. So the entry is a word of 32 bits. The PDR_ID of the uplink is the TEID, that of the downlink 0x400000 and the number.
//
// Sessions with filters, and packets of any QoS flow but the entry's, have `template` CLASSIFIED: their rules stand in tables of
// their own, which no other packet asks (pdr_filters.p4). So do tunnels to and from another UPF; their numbers are from 0x30000
// on, and they have no entries.
//
// Templates 1 to 14 drop or buffer, those from 16 on forward: so what is counted is known before the template is. Uplink and
// downlink have templates of their own, of six and of ten bits.
//
// A table has 65,536 entries of 64 bits, or 131,072 of 32: that is 32 of a stage's 80 blocks of SRAM, which are beside those that
// can be counters.
const bit<6> UL_CLASSIFIED = 15;
const bit<10> DL_CLASSIFIED = 15;

#define IS_SIMPLE (meta.is_simple == 1)
// The TEID is of the entry's generation, and the packet of the QoS flow that the entry names, 0 for every one.
#define IS_OF_GENERATION (ENTRY_GENERATION == meta.generation_in)
#define IS_OF_FLOW (ENTRY_QFI == 0 || ENTRY_QFI == meta.qfi_in)
#define UL_FORWARDS (UL_TEMPLATE[5:4] != 0)
#define DL_FORWARDS (DL_TEMPLATE[9:4] != 0)

control SessionIndex(inout headers_t hdr, inout metadata_t meta) {
    // `qfi` 0: every QFI.
    action set_uplink(bit<4> generation, bit<6> template, qfi_t qfi, meter_index_t meter_index) {
        meta.entry = generation ++ template ++ qfi;
        // Beside the entry, so that Tofino compares the same bits of two octets.
        meta.generation_in = meta.teid_high[5:2];
        meta.meter = meter_index;
        meta.rule = meta.teid_in;
    }

    action set_downlink(teid_t teid, bit<10> template, meter_index_t meter_index) {
        meta.teid_out = teid;
        DL_TEMPLATE = template;
        meta.meter = meter_index;
        meta.rule = meta.session;
    }

    // The last 24 bits of the sum are the session's downlink PDR_ID.
    action set_session_ipv4(bit<24> offset) {
#ifdef FILTERS_PER_SESSION
        meta.session_low = hdr.inner_ipv4.dst[15:0] + offset[15:0];
#endif
        meta.session = hdr.inner_ipv4.dst + (bit<32>)offset;
        meta.has_session = 1;
    }

    @id(20)
    table ue_pools {
        key = { TENANT_KEY hdr.inner_ipv4.dst : ternary @name("ue_address"); }
        actions = { set_session_ipv4; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 64;
    }

    @id(21)
    @use_hash_action(1)
    PLACE_ul_sessions_low
    table ul_sessions_low {
        key = { meta.teid_in[16:0] : exact @name("session"); }
        actions = { set_uplink; }
        const default_action = set_uplink(0, 0, 0, 0);
        size = 131072;
    }

    @id(22)
    @use_hash_action(1)
    PLACE_dl_sessions_low
    table dl_sessions_low {
        key = { meta.session[15:0] : exact @name("session"); }
        actions = { set_downlink; }
        const default_action = set_downlink(0, 0, 0);
        size = 65536;
    }

    @id(40)
    @use_hash_action(1)
    PLACE_dl_sessions_middle
    table dl_sessions_middle {
        key = { meta.session[15:0] : exact @name("session"); }
        actions = { set_downlink; }
        const default_action = set_downlink(0, 0, 0);
        size = 65536;
    }

#if SESSIONS > 131072
    @id(23)
    @use_hash_action(1)
    PLACE_ul_sessions_high
    table ul_sessions_high {
        key = { meta.teid_in[15:0] : exact @name("session"); }
        actions = { set_uplink; }
        const default_action = set_uplink(0, 0, 0, 0);
        size = 65536;
    }

    @id(24)
    @use_hash_action(1)
    PLACE_dl_sessions_high
    table dl_sessions_high {
        key = { meta.session[15:0] : exact @name("session"); }
        actions = { set_downlink; }
        const default_action = set_downlink(0, 0, 0);
        size = 65536;
    }
#endif

#ifdef INNER_IPV6
    action set_session_ipv6(bit<24> offset) {
#ifdef FILTERS_PER_SESSION
        meta.session_low = hdr.inner_ipv6.dst[79:64] + offset[15:0];
#endif
        meta.session = hdr.inner_ipv6.dst[95:64] + (bit<32>)offset;
        meta.has_session = 1;
    }

    @id(32)
    table ue_pools_ipv6 {
        key = { TENANT_KEY hdr.inner_ipv6.dst[127:64] : ternary @name("ue_prefix"); }
        actions = { set_session_ipv6; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 64;
    }
#endif

    apply {
        if (meta.is_tunnelled == 1) {
            if (meta.teid_in[23:22] == 0 && meta.teid_in[17:17] == 0) {
                ul_sessions_low.apply();
            }
#if SESSIONS > 131072
            else if (meta.teid_in[23:22] == 0 && meta.teid_in[16:16] == 0) {
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
        }
        // Each by itself: what stands in other stages between these need not wait for the last.
        if (meta.has_session == 1 && meta.session[17:16] == 0) {
            dl_sessions_low.apply();
        }
        if (meta.has_session == 1 && meta.session[17:16] == 1) {
            dl_sessions_middle.apply();
        }
#if SESSIONS > 131072
        if (meta.has_session == 1 && meta.session[17:16] == 2) {
            dl_sessions_high.apply();
        }
#endif
    }
}

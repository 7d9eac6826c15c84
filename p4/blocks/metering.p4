// QER enforcement by trTCM meters (RFC 2698): PIR is the MBR, CIR the GBR. Green and yellow go on, to queues by colour; red is
// dropped. A rule without MBR has meter 0, which is not asked.
//
// Meters are in two halves where there are many: the first has those with even numbers.
//
// In `hip4` the few rules that have a meter have a row that names it, so that no PDR's entry has to. The table asks the meter itself:
// that takes no stage more.

#define HALVES_FROM 16384

#if SIZE_METERS > HALVES_FROM && !defined(PROFILE_DIRECT)
#define HAS_HALVES
#endif

#ifdef PROFILE_HIP4
#define METERED(meter_id, meters, asks, table_id, rules, entries, rows) \
    @id(meter_id) \
    METER(meters, entries, bit<16>) \
    action asks(meter_index_t meter_index) { METER_EXECUTE(meters, meter_index, meta.color) } \
    @id(table_id) \
    table rules { \
        key = { meta.rule : exact @name("rule"); } \
        actions = { asks; @defaultonly NoAction; } \
        const default_action = NoAction(); \
        size = rows; \
    }

control Metering(inout metadata_t meta) {
#ifdef HAS_HALVES
    METERED(50, rule_meters_even, ask_even, 57, metered_rules_even, SIZE_METERS / 2, SIZE_METERED_RULES / 2)
    METERED(51, rule_meters_odd, ask_odd, 58, metered_rules_odd, SIZE_METERS / 2, SIZE_METERED_RULES / 2)

    apply {
        if (metered_rules_even.apply().miss) {
            metered_rules_odd.apply();
        }
    }
#else
    METERED(50, rule_meters, ask, 57, metered_rules, SIZE_METERS, SIZE_METERED_RULES)

    apply {
        metered_rules.apply();
    }
#endif
}
#else
control Metering(inout metadata_t meta) {
#ifdef HAS_HALVES
    @id(50)
    METER(rule_meters_even, SIZE_METERS / 2, bit<15>)

    @id(51)
    METER(rule_meters_odd, SIZE_METERS / 2, bit<15>)

    apply {
        if (meta.meter != 0) {
            if (meta.meter[0:0] == 0) {
                METER_EXECUTE(rule_meters_even, meta.meter[15:1], meta.color)
            } else {
                METER_EXECUTE(rule_meters_odd, meta.meter[15:1], meta.color)
            }
        }
    }
#else
    @id(50)
#ifdef PROFILE_DIRECT
    METER(rule_meters, SIZE_RULE_METERS, bit<16>)
#else
    METER(rule_meters, SIZE_METERS, bit<16>)
#endif

    apply {
        if (meta.meter != 0) {
            METER_EXECUTE(rule_meters, meta.meter, meta.color)
        }
    }
#endif
}
#endif

#ifdef PROFILE_DIRECT
// Those of sessions' simple rules.
control SessionMetering(inout metadata_t meta) {
#if SIZE_SESSION_METERS > HALVES_FROM
    @id(52)
    METER(session_meters_even, SIZE_SESSION_METERS / 2, bit<15>)

    @id(53)
    METER(session_meters_odd, SIZE_SESSION_METERS / 2, bit<15>)

    apply {
        if (IS_SIMPLE && IS_SOUND && meta.meter != 0 && meta.meter[0:0] == 0) {
            METER_EXECUTE(session_meters_even, meta.meter[15:1], meta.color)
        }
        if (IS_SIMPLE && IS_SOUND && meta.meter[0:0] == 1) {
            METER_EXECUTE(session_meters_odd, meta.meter[15:1], meta.color)
        }
    }
#else
    @id(52)
    METER(session_meters, SIZE_SESSION_METERS, bit<16>)

    apply {
        if (IS_SIMPLE && IS_SOUND && meta.meter != 0) {
            METER_EXECUTE(session_meters, meta.meter, meta.color)
        }
    }
#endif
}
#endif

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
#define METER_OF_RULE meta.rule_meter
    METER(rule_meters, SIZE_RULE_METERS + SIZE_SESSION_METERS_BEHIND, bit<16>)
#else
#define METER_OF_RULE meta.meter
    METER(rule_meters, SIZE_METERS, bit<16>)
#endif

    apply {
        if (METER_OF_RULE != 0) {
            METER_EXECUTE(rule_meters, METER_OF_RULE, meta.color)
        }
    }
#endif
}
#endif

#ifdef PROFILE_DIRECT
// Those of sessions' simple rules: numbers below 24,576 are in three banks, those from 32,768 on in a large one, and 24,576 and more are in `rule_meters`,
// behind those of rules. A meter begins in an odd row of a stage's map RAMs on Tofino 1, and an even one has its colours: one of 8,192 takes two rows
// with its spare block, one of 18,432 four.
#define METER_TABLE(id_, name, size_, bits_) \
    @id(id_) \
    METER(name, size_, bit<bits_>) \
    @hidden \
    action execute_##name() { \
        METER_EXECUTE(name, (bit<bits_>)meta.meter, meta.color) \
    } \
    @hidden \
    PLACE_##name \
    table metering_##name { \
        actions = { execute_##name; } \
        const default_action = execute_##name(); \
        size = 1; \
    }

control SessionMetering(inout metadata_t meta) {
    METER_TABLE(110, session_meters_0, SIZE_SESSION_METERS_0, 13)
#if SIZE_SESSION_METERS > 8192
    METER_TABLE(111, session_meters_1, SIZE_SESSION_METERS_1, 13)
#endif
#if SIZE_SESSION_METERS > 16384
    METER_TABLE(112, session_meters_2, SIZE_SESSION_METERS_2, 13)
#endif
#if SIZE_SESSION_METERS > 24576
    METER_TABLE(113, session_meters_large, SIZE_SESSION_METERS_LARGE, 15)
#endif

    // Each by itself, for pre-QoS counters stand between them.
    apply {
#if SIZE_SESSION_METERS > 8192
        if (IS_SIMPLE && IS_SOUND && meta.meter[15:13] == 1) {
            metering_session_meters_1.apply();
        }
#endif
#if SIZE_SESSION_METERS > 16384
        if (IS_SIMPLE && IS_SOUND && meta.meter[15:13] == 2) {
            metering_session_meters_2.apply();
        }
#endif
        if (IS_SIMPLE && IS_SOUND && meta.has_meter == 1 && meta.meter[15:13] == 0) {
            metering_session_meters_0.apply();
        }
#if SIZE_SESSION_METERS > 24576
        if (IS_SIMPLE && IS_SOUND && meta.meter[15:15] == 1) {
            metering_session_meters_large.apply();
        }
#endif
    }
}
#endif

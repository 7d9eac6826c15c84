// Usage of each rule, before and after QoS enforcement, for profile `direct`: the PDR_ID is the index of its counter. Nothing is
// ever inserted or moved, so the control plane reads whenever it likes. Only what is forwarded is counted.
//
// PDR_IDs below 0x400000 are sessions' uplink, below 0x800000 their downlink, with the session's number in the last 18 bits: sessions
// without filters have the lowest numbers, and only they are counted here. From 0x800000 on are rules with an entry of their own. A bank
// has 32,768 counters; what is left is in banks of 8,192, for a stage of Tofino 1 has room for two of each. No bank is asked inside
// a condition on another, so that each stands where there is room.

#define COUNTED_SESSIONS SIZE_N6_SIMPLE
#define WHOLE_BANKS (COUNTED_SESSIONS / 32768)
#define REST_OF_BANKS (COUNTED_SESSIONS % 32768)

// A table of its own, so that it can be told where to stand.
#define COUNTER_TABLE(name, size_, bits_, index) \
    USAGE_COUNTER(name, size_, bit<bits_>) \
    @hidden \
    action count_##name() { \
        COUNT(name, bit<bits_>, index) \
    } \
    @hidden \
    PLACE_##name \
    table counting_##name { \
        actions = { count_##name; } \
        const default_action = count_##name(); \
        size = 1; \
    }
#define BANK(name, index) COUNTER_TABLE(name, 32768, 15, index[14:0])
#define COUNT_IN_BANK(name, is_of_way, index, number) if (is_of_way && index[17:15] == number) { counting_##name.apply(); }
#define SMALL_BANK(name, index) COUNTER_TABLE(name, 8192, 13, index[12:0])
#define COUNT_IN_SMALL_BANK(name, is_of_way, index, number) \
    if (is_of_way && index[17:13] == 4 * WHOLE_BANKS + number) { counting_##name.apply(); }

#if COUNTED_SESSIONS >= 32768
#define BANK_0(way, index) BANK(way##_0, index)
#define COUNT_0(way, is_of_way, index) COUNT_IN_BANK(way##_0, is_of_way, index, 0)
#else
#define BANK_0(way, index)
#define COUNT_0(way, is_of_way, index)
#endif
#if COUNTED_SESSIONS >= 65536
#define BANK_1(way, index) BANK(way##_1, index)
#define COUNT_1(way, is_of_way, index) COUNT_IN_BANK(way##_1, is_of_way, index, 1)
#else
#define BANK_1(way, index)
#define COUNT_1(way, is_of_way, index)
#endif
#if COUNTED_SESSIONS >= 98304
#define BANK_2(way, index) BANK(way##_2, index)
#define COUNT_2(way, is_of_way, index) COUNT_IN_BANK(way##_2, is_of_way, index, 2)
#else
#define BANK_2(way, index)
#define COUNT_2(way, is_of_way, index)
#endif
#if COUNTED_SESSIONS >= 131072
#define BANK_3(way, index) BANK(way##_3, index)
#define COUNT_3(way, is_of_way, index) COUNT_IN_BANK(way##_3, is_of_way, index, 3)
#else
#define BANK_3(way, index)
#define COUNT_3(way, is_of_way, index)
#endif
#if COUNTED_SESSIONS >= 163840
#define BANK_4(way, index) BANK(way##_4, index)
#define COUNT_4(way, is_of_way, index) COUNT_IN_BANK(way##_4, is_of_way, index, 4)
#else
#define BANK_4(way, index)
#define COUNT_4(way, is_of_way, index)
#endif
#if COUNTED_SESSIONS >= 196608
#define BANK_5(way, index) BANK(way##_5, index)
#define COUNT_5(way, is_of_way, index) COUNT_IN_BANK(way##_5, is_of_way, index, 5)
#else
#define BANK_5(way, index)
#define COUNT_5(way, is_of_way, index)
#endif
#if REST_OF_BANKS > 0
#define SMALL_BANK_0(way, index) SMALL_BANK(way##_small_0, index)
#define COUNT_SMALL_0(way, is_of_way, index) COUNT_IN_SMALL_BANK(way##_small_0, is_of_way, index, 0)
#else
#define SMALL_BANK_0(way, index)
#define COUNT_SMALL_0(way, is_of_way, index)
#endif
#if REST_OF_BANKS > 8192
#define SMALL_BANK_1(way, index) SMALL_BANK(way##_small_1, index)
#define COUNT_SMALL_1(way, is_of_way, index) COUNT_IN_SMALL_BANK(way##_small_1, is_of_way, index, 1)
#else
#define SMALL_BANK_1(way, index)
#define COUNT_SMALL_1(way, is_of_way, index)
#endif
#if REST_OF_BANKS > 16384
#define SMALL_BANK_2(way, index) SMALL_BANK(way##_small_2, index)
#define COUNT_SMALL_2(way, is_of_way, index) COUNT_IN_SMALL_BANK(way##_small_2, is_of_way, index, 2)
#else
#define SMALL_BANK_2(way, index)
#define COUNT_SMALL_2(way, is_of_way, index)
#endif
#if REST_OF_BANKS > 24576
#define SMALL_BANK_3(way, index) SMALL_BANK(way##_small_3, index)
#define COUNT_SMALL_3(way, is_of_way, index) COUNT_IN_SMALL_BANK(way##_small_3, is_of_way, index, 3)
#else
#define SMALL_BANK_3(way, index)
#define COUNT_SMALL_3(way, is_of_way, index)
#endif

#if RULES_WITH_ENTRIES > 32768
#define MORE_RULE_BANKS(side, index) COUNTER_TABLE(side##_rules_1, RULES_WITH_ENTRIES - 32768, 15, index[14:0])
#define COUNT_MORE_RULES(side, rule) counting_##side##_rules_1.apply();
#define SIZE_RULES_BANK 32768
#else
#define MORE_RULE_BANKS(side, index)
#define COUNT_MORE_RULES(side, rule)
#define SIZE_RULES_BANK RULES_WITH_ENTRIES
#endif

#define BANKS(way, index) \
    BANK_0(way, index) BANK_1(way, index) BANK_2(way, index) BANK_3(way, index) BANK_4(way, index) BANK_5(way, index) \
    SMALL_BANK_0(way, index) SMALL_BANK_1(way, index) SMALL_BANK_2(way, index) SMALL_BANK_3(way, index)
#define COUNT_SESSION(way, is_of_way, index) \
    COUNT_0(way, is_of_way, index) COUNT_1(way, is_of_way, index) COUNT_2(way, is_of_way, index) COUNT_3(way, is_of_way, index) COUNT_4(way, is_of_way, index) \
    COUNT_5(way, is_of_way, index) COUNT_SMALL_0(way, is_of_way, index) COUNT_SMALL_1(way, is_of_way, index) COUNT_SMALL_2(way, is_of_way, index) \
    COUNT_SMALL_3(way, is_of_way, index)

// By the numbers themselves, which are known before the rule is.
control PreQosAccounting(in metadata_t meta) {
    BANKS(pre_qos_ul, meta.teid_in)
    BANKS(pre_qos_dl, meta.session)
    apply {
        COUNT_SESSION(pre_qos_ul, meta.is_counted_ul == 1, meta.teid_in)
        COUNT_SESSION(pre_qos_dl, meta.is_counted_dl == 1, meta.session)
    }
}

control PreQosRules(in metadata_t meta) {
    COUNTER_TABLE(pre_qos_rules_0, SIZE_RULES_BANK, 15, meta.rule[14:0])
    MORE_RULE_BANKS(pre_qos, meta.rule)

    apply {
        if (IS_SOUND && meta.rule[23:23] == 1 && meta.forward != Forward.NONE) {
            if (meta.rule[15:15] == 0) {
                counting_pre_qos_rules_0.apply();
            } else {
                COUNT_MORE_RULES(pre_qos, meta.rule)
            }
        }
    }
}

control PostQosAccounting(in rule_word_t rule) {
    BANKS(post_qos_ul, rule)
    BANKS(post_qos_dl, rule)
    COUNTER_TABLE(post_qos_rules_0, SIZE_RULES_BANK, 15, rule[14:0])
    MORE_RULE_BANKS(post_qos, rule)

    apply {
        COUNT_SESSION(post_qos_ul, rule[23:22] == 0, rule)
        COUNT_SESSION(post_qos_dl, rule[23:22] == 1, rule)
        if (rule[23:23] == 1) {
            if (rule[15:15] == 0) {
                counting_post_qos_rules_0.apply();
            } else {
                COUNT_MORE_RULES(post_qos, rule)
            }
        }
    }
}

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

#define BANK(name) USAGE_COUNTER(name, 32768, bit<15>)
#define COUNT_IN_BANK(name, is_of_way, index, number) if (is_of_way && index[17:15] == number) { COUNT(name, bit<15>, index[14:0]) }
#define SMALL_BANK(name) USAGE_COUNTER(name, 8192, bit<13>)
#define COUNT_IN_SMALL_BANK(name, is_of_way, index, number) \
    if (is_of_way && index[17:13] == 4 * WHOLE_BANKS + number) { COUNT(name, bit<13>, index[12:0]) }

#if COUNTED_SESSIONS >= 32768
#define BANK_0(way) BANK(way##_0)
#define COUNT_0(way, is_of_way, index) COUNT_IN_BANK(way##_0, is_of_way, index, 0)
#else
#define BANK_0(way)
#define COUNT_0(way, is_of_way, index)
#endif
#if COUNTED_SESSIONS >= 65536
#define BANK_1(way) BANK(way##_1)
#define COUNT_1(way, is_of_way, index) COUNT_IN_BANK(way##_1, is_of_way, index, 1)
#else
#define BANK_1(way)
#define COUNT_1(way, is_of_way, index)
#endif
#if COUNTED_SESSIONS >= 98304
#define BANK_2(way) BANK(way##_2)
#define COUNT_2(way, is_of_way, index) COUNT_IN_BANK(way##_2, is_of_way, index, 2)
#else
#define BANK_2(way)
#define COUNT_2(way, is_of_way, index)
#endif
#if COUNTED_SESSIONS >= 131072
#define BANK_3(way) BANK(way##_3)
#define COUNT_3(way, is_of_way, index) COUNT_IN_BANK(way##_3, is_of_way, index, 3)
#else
#define BANK_3(way)
#define COUNT_3(way, is_of_way, index)
#endif
#if COUNTED_SESSIONS >= 163840
#define BANK_4(way) BANK(way##_4)
#define COUNT_4(way, is_of_way, index) COUNT_IN_BANK(way##_4, is_of_way, index, 4)
#else
#define BANK_4(way)
#define COUNT_4(way, is_of_way, index)
#endif
#if COUNTED_SESSIONS >= 196608
#define BANK_5(way) BANK(way##_5)
#define COUNT_5(way, is_of_way, index) COUNT_IN_BANK(way##_5, is_of_way, index, 5)
#else
#define BANK_5(way)
#define COUNT_5(way, is_of_way, index)
#endif
#if REST_OF_BANKS > 0
#define SMALL_BANK_0(way) SMALL_BANK(way##_small_0)
#define COUNT_SMALL_0(way, is_of_way, index) COUNT_IN_SMALL_BANK(way##_small_0, is_of_way, index, 0)
#else
#define SMALL_BANK_0(way)
#define COUNT_SMALL_0(way, is_of_way, index)
#endif
#if REST_OF_BANKS > 8192
#define SMALL_BANK_1(way) SMALL_BANK(way##_small_1)
#define COUNT_SMALL_1(way, is_of_way, index) COUNT_IN_SMALL_BANK(way##_small_1, is_of_way, index, 1)
#else
#define SMALL_BANK_1(way)
#define COUNT_SMALL_1(way, is_of_way, index)
#endif
#if REST_OF_BANKS > 16384
#define SMALL_BANK_2(way) SMALL_BANK(way##_small_2)
#define COUNT_SMALL_2(way, is_of_way, index) COUNT_IN_SMALL_BANK(way##_small_2, is_of_way, index, 2)
#else
#define SMALL_BANK_2(way)
#define COUNT_SMALL_2(way, is_of_way, index)
#endif
#if REST_OF_BANKS > 24576
#define SMALL_BANK_3(way) SMALL_BANK(way##_small_3)
#define COUNT_SMALL_3(way, is_of_way, index) COUNT_IN_SMALL_BANK(way##_small_3, is_of_way, index, 3)
#else
#define SMALL_BANK_3(way)
#define COUNT_SMALL_3(way, is_of_way, index)
#endif

#if RULES_WITH_ENTRIES > 32768
#define MORE_RULE_BANKS(side) USAGE_COUNTER(side##_rules_1, RULES_WITH_ENTRIES - 32768, bit<15>)
#define COUNT_MORE_RULES(side, rule) COUNT(side##_rules_1, bit<15>, rule[14:0])
#define SIZE_RULES_BANK 32768
#else
#define MORE_RULE_BANKS(side)
#define COUNT_MORE_RULES(side, rule)
#define SIZE_RULES_BANK RULES_WITH_ENTRIES
#endif

#define BANKS(way) \
    BANK_0(way) BANK_1(way) BANK_2(way) BANK_3(way) BANK_4(way) BANK_5(way) \
    SMALL_BANK_0(way) SMALL_BANK_1(way) SMALL_BANK_2(way) SMALL_BANK_3(way)
#define COUNT_SESSION(way, is_of_way, index) \
    COUNT_0(way, is_of_way, index) COUNT_1(way, is_of_way, index) COUNT_2(way, is_of_way, index) COUNT_3(way, is_of_way, index) COUNT_4(way, is_of_way, index) \
    COUNT_5(way, is_of_way, index) COUNT_SMALL_0(way, is_of_way, index) COUNT_SMALL_1(way, is_of_way, index) COUNT_SMALL_2(way, is_of_way, index) \
    COUNT_SMALL_3(way, is_of_way, index)

// By the numbers themselves, which are known before the rule is.
control PreQosAccounting(in metadata_t meta) {
    BANKS(pre_qos_ul)
    BANKS(pre_qos_dl)
    apply {
        COUNT_SESSION(pre_qos_ul, meta.is_counted_ul == 1, meta.teid_in)
        COUNT_SESSION(pre_qos_dl, meta.is_counted_dl == 1, meta.session)
    }
}

control PreQosRules(in metadata_t meta) {
    USAGE_COUNTER(pre_qos_rules_0, SIZE_RULES_BANK, bit<15>)
    MORE_RULE_BANKS(pre_qos)

    apply {
        if (IS_SOUND && meta.rule[23:23] == 1 && meta.forward != Forward.NONE) {
            if (meta.rule[15:15] == 0) {
                COUNT(pre_qos_rules_0, bit<15>, meta.rule[14:0])
            } else {
                COUNT_MORE_RULES(pre_qos, meta.rule)
            }
        }
    }
}

control PostQosAccounting(in rule_word_t rule) {
    BANKS(post_qos_ul)
    BANKS(post_qos_dl)
    USAGE_COUNTER(post_qos_rules_0, SIZE_RULES_BANK, bit<15>)
    MORE_RULE_BANKS(post_qos)

    apply {
        COUNT_SESSION(post_qos_ul, rule[23:22] == 0, rule)
        COUNT_SESSION(post_qos_dl, rule[23:22] == 1, rule)
        if (rule[23:23] == 1) {
            if (rule[15:15] == 0) {
                COUNT(post_qos_rules_0, bit<15>, rule[14:0])
            } else {
                COUNT_MORE_RULES(post_qos, rule)
            }
        }
    }
}

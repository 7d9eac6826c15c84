// Usage of each rule, before and after QoS enforcement, for profile `direct`: the PDR_ID is the index of its counter. Nothing is
// ever inserted or moved, so the control plane reads whenever it likes.
//
// PDR_IDs 0x00000 to 0x2ffff are sessions' uplink, 0x40000 to 0x6ffff their downlink, from 0x80000 rules with an entry of
// their own. Each bank has 65,536 counters, the most that Tofino 1 places as one. Only what is forwarded is counted.

#if SIMPLE_UES > 131072
#define BANKS_OF_MORE_SESSIONS(side) \
    USAGE_COUNTER(side##_ul_2, 65536, bit<16>) \
    USAGE_COUNTER(side##_dl_2, 65536, bit<16>)
#define COUNT_MORE_SESSIONS(side, index) \
    else if (rule[23:16] == 2) { COUNT(side##_ul_2, bit<16>, index) } \
    else if (rule[23:16] == 6) { COUNT(side##_dl_2, bit<16>, index) }
#else
#define BANKS_OF_MORE_SESSIONS(side)
#define COUNT_MORE_SESSIONS(side, index)
#endif

#if RULES_WITH_ENTRIES > 65536
#define BANKS_OF_MORE_RULES(side) USAGE_COUNTER(side##_rules_1, 65536, bit<16>)
#define COUNT_MORE_RULES(side, index) else if (rule[23:16] == 9) { COUNT(side##_rules_1, bit<16>, index) }
#else
#define BANKS_OF_MORE_RULES(side)
#define COUNT_MORE_RULES(side, index)
#endif

#define BANKS(side) \
    USAGE_COUNTER(side##_ul_0, 65536, bit<16>) \
    USAGE_COUNTER(side##_ul_1, 65536, bit<16>) \
    USAGE_COUNTER(side##_dl_0, 65536, bit<16>) \
    USAGE_COUNTER(side##_dl_1, 65536, bit<16>) \
    BANKS_OF_MORE_SESSIONS(side) \
    USAGE_COUNTER(side##_rules_0, SIZE_RULES_BANK, bit<16>) \
    BANKS_OF_MORE_RULES(side)

#define COUNT_IN_BANK(side, index) \
    if (rule[23:16] == 0) { COUNT(side##_ul_0, bit<16>, index) } \
    else if (rule[23:16] == 1) { COUNT(side##_ul_1, bit<16>, index) } \
    else if (rule[23:16] == 4) { COUNT(side##_dl_0, bit<16>, index) } \
    else if (rule[23:16] == 5) { COUNT(side##_dl_1, bit<16>, index) } \
    COUNT_MORE_SESSIONS(side, index) \
    else if (rule[23:16] == 8) { COUNT(side##_rules_0, bit<16>, index) } \
    COUNT_MORE_RULES(side, index)

control PreQosAccounting(in rule_t rule) {
    BANKS(pre_qos)

    apply {
        COUNT_IN_BANK(pre_qos, rule[15:0])
    }
}

control PostQosAccounting(in rule_t rule) {
    BANKS(post_qos)

    apply {
        COUNT_IN_BANK(post_qos, rule[15:0])
    }
}

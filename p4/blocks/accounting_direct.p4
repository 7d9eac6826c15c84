// Usage of each rule, before and after QoS enforcement, for profile `direct`: the PDR_ID is the index of its counter. Nothing is
// ever inserted or moved, so the control plane reads whenever it likes. Only what is forwarded is counted.
//
// PDR_IDs below 0x400000 are sessions' uplink, below 0x800000 their downlink, with the session's number in the last 18 bits: sessions
// without filters have the lowest numbers, and only they are counted here. From 0x800000 on are rules with an entry of their own.
//
// Banks are not powers of two (contract/banks.p4). So `CounterIndex` finds the bank of a session's number, and takes off where the bank begins. Each bank
// is asked by itself, outside any other condition but its own, so that it stands where there is room.

#define IF_1(...) __VA_ARGS__
#define IF_0(...)
#define IF_THERE(has, ...) IF_THERE_(has, __VA_ARGS__)
#define IF_THERE_(has, ...) IF_##has(__VA_ARGS__)

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
#define COUNT_IF(name, condition) if (condition) { counting_##name.apply(); }

#define LEFT_FROM(name) (COUNTERS_OF_SESSIONS - FIRST_##name)
#define SIZE_OF(name) (LEFT_FROM(name) > MOST_##name ? MOST_##name : LEFT_FROM(name))
#define BANK(name, cell) IF_THERE(HAS_##name, COUNTER_TABLE(name, SIZE_OF(name), 17, cell[16:0]))
#define COUNT_IN(name, bank, number) IF_THERE(HAS_##name, COUNT_IF(name, IS_COUNTED && bank == number))

#define PRE_QOS_BANKS(cell) \
    BANK(pre_qos_0, cell) BANK(pre_qos_1, cell) BANK(pre_qos_2, cell) BANK(pre_qos_3, cell) BANK(pre_qos_4, cell) BANK(pre_qos_5, cell) \
    BANK(pre_qos_6, cell)
#define POST_QOS_BANKS(cell) \
    BANK(post_qos_0, cell) BANK(post_qos_1, cell) BANK(post_qos_2, cell) BANK(post_qos_3, cell) BANK(post_qos_4, cell) BANK(post_qos_5, cell) \
    BANK(post_qos_6, cell) BANK(post_qos_7, cell) BANK(post_qos_8, cell) BANK(post_qos_9, cell)

// Where banks begin in units of 1,024 numbers of sessions, for numbers of which there are up to 256 units.
#define UNIT(first) (((first) < 0 ? 0 : ((first) > 261120 ? 261120 : (first))) / 1024)
#define UPLINK(side, number) UNIT(FIRST_##side##_##number) .. 255 : set_##side##_uplink(number + 1, (bit<17>)(-FIRST_##side##_##number));
#define DOWNLINK(side, number) \
    UNIT(FIRST_##side##_##number - FIRST_OF_DOWNLINK) .. 255 : \
        set_##side##_downlink(number + 1, (bit<17>)(FIRST_OF_DOWNLINK - FIRST_##side##_##number));
#define PRE_QOS_ROWS(way) way(pre_qos, 6) way(pre_qos, 5) way(pre_qos, 4) way(pre_qos, 3) way(pre_qos, 2) way(pre_qos, 1) way(pre_qos, 0)
#define POST_QOS_ROWS(way) \
    way(post_qos, 9) way(post_qos, 8) way(post_qos, 7) way(post_qos, 6) way(post_qos, 5) way(post_qos, 4) way(post_qos, 3) way(post_qos, 2) \
    way(post_qos, 1) way(post_qos, 0)

// Rows are looked at in their order, and the last bank has the first. Numbers that are not counted are in no bank.
#define INDEX_TABLE(side, way, number, rows) \
    @hidden \
    action set_##side##_##way(bit<8> bank, bit<17> addend) { \
        meta.side##_bank = bank; \
        meta.side##_cell = number + (bit<32>)addend; \
    } \
    @hidden \
    PLACE_##way##_counter_index \
    table side##_index_##way { \
        key = { number[17:10] : range; } \
        actions = { set_##side##_##way; @defaultonly NoAction; } \
        const default_action = NoAction(); \
        const entries = { \
            FIRST_OF_DOWNLINK / 1024 .. 255 : set_##side##_##way(0, 0); \
            rows \
        } \
        size = 11; \
    }

// The bank of a session's number on each side, 0 for none, and in 17 bits its index there.
control CounterIndex(inout metadata_t meta) {
    INDEX_TABLE(pre_qos, uplink, meta.teid_in, PRE_QOS_ROWS(UPLINK))
    INDEX_TABLE(post_qos, uplink, meta.teid_in, POST_QOS_ROWS(UPLINK))
    INDEX_TABLE(pre_qos, downlink, meta.session, PRE_QOS_ROWS(DOWNLINK))
    INDEX_TABLE(post_qos, downlink, meta.session, POST_QOS_ROWS(DOWNLINK))

    apply {
        if (meta.is_tunnelled == 1) {
            pre_qos_index_uplink.apply();
            post_qos_index_uplink.apply();
        } else {
            pre_qos_index_downlink.apply();
            post_qos_index_downlink.apply();
        }
    }
}

// What is counted: packets that the entry forwards.
control Counted(inout metadata_t meta) {
    @hidden
    action count() {
        meta.is_counted = 1;
    }

    @hidden
    PLACE_counted
    table counted_uplink {
        actions = { count; }
        const default_action = count();
        size = 1;
    }

    @hidden
    PLACE_counted
    table counted_downlink {
        actions = { count; }
        const default_action = count();
        size = 1;
    }

    apply {
        if (meta.is_tunnelled == 1) {
            if (IS_SOUND && IS_OF_GENERATION && UL_FORWARDS) {
                if (IS_OF_FLOW) {
                    counted_uplink.apply();
                }
            }
        } else if (meta.is_cut_short == 0 && DL_FORWARDS) {
            counted_downlink.apply();
        }
    }
}

// Rules with an entry of their own: in banks whose sizes are powers of two, as nothing is taken off their numbers.
#define BANK_OF_RULES(side, number, rule) \
    IF_THERE(HAS_##side##_rules_##number, COUNTER_TABLE(side##_rules_##number, RULES_LEFT(side, number), BITS_OF_##side, rule[BITS_OF_##side - 1:0]))
#define RULES_LEFT(side, number) \
    (RULES_WITH_ENTRIES > ((number) + 1) * RULES_IN(side) ? RULES_IN(side) : RULES_WITH_ENTRIES - (number) * RULES_IN(side))
#define COUNT_RULE(side, number, condition, rule) \
    IF_THERE(HAS_##side##_rules_##number, COUNT_IF(side##_rules_##number, condition && rule[BITS_OF_##side + 1:BITS_OF_##side] == number))

control PreQosAccounting(in metadata_t meta) {
    PRE_QOS_BANKS(meta.pre_qos_cell)

#define IS_COUNTED meta.is_counted == 1
    apply {
        COUNT_IN(pre_qos_0, meta.pre_qos_bank, 1)
        COUNT_IN(pre_qos_1, meta.pre_qos_bank, 2)
        COUNT_IN(pre_qos_2, meta.pre_qos_bank, 3)
        COUNT_IN(pre_qos_3, meta.pre_qos_bank, 4)
        COUNT_IN(pre_qos_4, meta.pre_qos_bank, 5)
        COUNT_IN(pre_qos_5, meta.pre_qos_bank, 6)
        COUNT_IN(pre_qos_6, meta.pre_qos_bank, 7)
    }
}

#define IS_COUNTED_RULE (IS_SOUND && meta.rule[23:23] == 1 && meta.forward != Forward.NONE)

control PreQosRules(in metadata_t meta) {
    BANK_OF_RULES(pre_qos, 0, meta.rule) BANK_OF_RULES(pre_qos, 1, meta.rule) BANK_OF_RULES(pre_qos, 2, meta.rule)

    apply {
        COUNT_RULE(pre_qos, 0, IS_COUNTED_RULE, meta.rule)
        COUNT_RULE(pre_qos, 1, IS_COUNTED_RULE, meta.rule)
        COUNT_RULE(pre_qos, 2, IS_COUNTED_RULE, meta.rule)
    }
}

control PostQosAccounting(in rule_word_t rule, in bit<8> bank, in bit<32> cell) {
    POST_QOS_BANKS(cell)
    BANK_OF_RULES(post_qos, 0, rule) BANK_OF_RULES(post_qos, 1, rule) BANK_OF_RULES(post_qos, 2, rule)

#undef IS_COUNTED
#define IS_COUNTED true
    apply {
        COUNT_IN(post_qos_0, bank, 1)
        COUNT_IN(post_qos_1, bank, 2)
        COUNT_IN(post_qos_2, bank, 3)
        COUNT_IN(post_qos_3, bank, 4)
        COUNT_IN(post_qos_4, bank, 5)
        COUNT_IN(post_qos_5, bank, 6)
        COUNT_IN(post_qos_6, bank, 7)
        COUNT_IN(post_qos_7, bank, 8)
        COUNT_IN(post_qos_8, bank, 9)
        COUNT_IN(post_qos_9, bank, 10)
        COUNT_RULE(post_qos, 0, rule[23:23] == 1, rule)
        COUNT_RULE(post_qos, 1, rule[23:23] == 1, rule)
        COUNT_RULE(post_qos, 2, rule[23:23] == 1, rule)
    }
}

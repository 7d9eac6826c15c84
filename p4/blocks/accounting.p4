// Usage of each rule, before and after QoS enforcement: packets and octets of frames.
//
// A rule has an entry in one partition of each side, and only while its FAR forwards: one that drops or buffers is given a
// PDR_ID without entries, so nothing is counted and no stage has to ask. A packet that is counted here on the ingress side has
// matched its rule; what the meter or a full queue drops is missing on the egress side only.
//
// Octets are those of the frame at that point. All frames of a rule have the same headers around the user packet there, but for
// GTP-U extension headers beyond a PDU Session Container of four octets, so the control plane takes packets times that
// constant away (p4/README.md).

#define PARTITION(table_id, partition, usage, count_one, entries) \
    DIRECT_COUNTER(usage) \
    action count_one() { DIRECT_COUNT(usage) } \
    @id(table_id) \
    table partition { \
        key = { rule : exact @name("rule"); } \
        actions = { count_one; @defaultonly NoAction; } \
        const default_action = NoAction(); \
        counters = usage; \
        size = entries; \
    }

control PreQosAccounting(in rule_t rule) {
    PARTITION(60, pre_qos_a, pre_qos_usage_a, count_pre_a, SIZE_ACCOUNTING)
#if ACCOUNTING_PARTITIONS == 2
    PARTITION(61, pre_qos_b, pre_qos_usage_b, count_pre_b, SIZE_ACCOUNTING)
#endif

    apply {
        pre_qos_a.apply();
#if ACCOUNTING_PARTITIONS == 2
        pre_qos_b.apply();
#endif
    }
}

control PostQosAccounting(in rule_t rule) {
    PARTITION(62, post_qos_a, post_qos_usage_a, count_post_a, SIZE_ACCOUNTING)
#if ACCOUNTING_PARTITIONS == 2
    PARTITION(63, post_qos_b, post_qos_usage_b, count_post_b, SIZE_ACCOUNTING)
#endif

    apply {
        post_qos_a.apply();
#if ACCOUNTING_PARTITIONS == 2
        post_qos_b.apply();
#endif
    }
}

// Profile `direct`: banks of counters by index, as large as a stage of Tofino 1 has room for beside its other tables.
//
// The counters of a side stand in a row: those of sessions' uplink, in the order of their numbers, then those of their downlink, which begin at
// the next number that 1,024 divides. Banks cut the row in pieces: each has as many as is told here, and the last that is needed has what
// is left. A counter reaches six of a stage's rows of map RAMs, the first of which is an even one. So a bank of 71,680 with its spare block takes six rows and
// leaves one for a bank of 10,240; below a meter of two rows there is room for one of 59,392, and in stage 0, beside entries by index, for one of 47,104.

#ifdef PROFILE_DIRECT
#define COUNTED_SESSIONS SIZE_N6_SIMPLE
#define FIRST_OF_DOWNLINK ((COUNTED_SESSIONS + 1023) / 1024 * 1024)
#define COUNTERS_OF_SESSIONS (FIRST_OF_DOWNLINK + COUNTED_SESSIONS)

#ifdef RULES_APART
#define FIRST_pre_qos_0 0
#define MOST_pre_qos_0 55296
#define FIRST_pre_qos_1 55296
#define MOST_pre_qos_1 55296
#define FIRST_pre_qos_2 110592
#define MOST_pre_qos_2 59392
#define FIRST_pre_qos_3 169984
#define MOST_pre_qos_3 34816
#define FIRST_pre_qos_4 204800
#define MOST_pre_qos_4 71680
#define FIRST_pre_qos_5 276480
#define MOST_pre_qos_5 71680
#define FIRST_pre_qos_6 348160
#define MOST_pre_qos_6 65536
#define FIRST_post_qos_0 0
#define MOST_post_qos_0 71680
#define FIRST_post_qos_1 71680
#define MOST_post_qos_1 71680
#define FIRST_post_qos_2 143360
#define MOST_post_qos_2 71680
#define FIRST_post_qos_3 215040
#define MOST_post_qos_3 49152
#define FIRST_post_qos_4 264192
#define MOST_post_qos_4 10240
#define FIRST_post_qos_5 274432
#define MOST_post_qos_5 10240
#define FIRST_post_qos_6 284672
#define MOST_post_qos_6 10240
#define FIRST_post_qos_7 294912
#define MOST_post_qos_7 10240
#define FIRST_post_qos_8 305152
#define MOST_post_qos_8 10240
#define FIRST_post_qos_9 315392
#define MOST_post_qos_9 65536
#else
#define FIRST_pre_qos_0 0
#define MOST_pre_qos_0 59392
#define FIRST_pre_qos_1 59392
#define MOST_pre_qos_1 59392
#define FIRST_pre_qos_2 118784
#define MOST_pre_qos_2 59392
#define FIRST_pre_qos_3 178176
#define MOST_pre_qos_3 59392
#define FIRST_pre_qos_4 237568
#define MOST_pre_qos_4 71680
#define FIRST_pre_qos_5 309248
#define MOST_pre_qos_5 71680
#define FIRST_pre_qos_6 380928
#define MOST_pre_qos_6 65536
#define FIRST_post_qos_0 0
#define MOST_post_qos_0 71680
#define FIRST_post_qos_1 71680
#define MOST_post_qos_1 71680
#define FIRST_post_qos_2 143360
#define MOST_post_qos_2 71680
#define FIRST_post_qos_3 215040
#define MOST_post_qos_3 71680
#define FIRST_post_qos_4 286720
#define MOST_post_qos_4 47104
#define FIRST_post_qos_5 333824
#define MOST_post_qos_5 10240
#define FIRST_post_qos_6 344064
#define MOST_post_qos_6 10240
#define FIRST_post_qos_7 354304
#define MOST_post_qos_7 10240
#define FIRST_post_qos_8 364544
#define MOST_post_qos_8 10240
#define FIRST_post_qos_9 374784
#define MOST_post_qos_9 65536
#endif

#if COUNTERS_OF_SESSIONS > FIRST_pre_qos_0
#define HAS_pre_qos_0 1
#else
#define HAS_pre_qos_0 0
#endif
#if COUNTERS_OF_SESSIONS > FIRST_pre_qos_1
#define HAS_pre_qos_1 1
#else
#define HAS_pre_qos_1 0
#endif
#if COUNTERS_OF_SESSIONS > FIRST_pre_qos_2
#define HAS_pre_qos_2 1
#else
#define HAS_pre_qos_2 0
#endif
#if COUNTERS_OF_SESSIONS > FIRST_pre_qos_3
#define HAS_pre_qos_3 1
#else
#define HAS_pre_qos_3 0
#endif
#if COUNTERS_OF_SESSIONS > FIRST_pre_qos_4
#define HAS_pre_qos_4 1
#else
#define HAS_pre_qos_4 0
#endif
#if COUNTERS_OF_SESSIONS > FIRST_pre_qos_5
#define HAS_pre_qos_5 1
#else
#define HAS_pre_qos_5 0
#endif
#if COUNTERS_OF_SESSIONS > FIRST_pre_qos_6
#define HAS_pre_qos_6 1
#else
#define HAS_pre_qos_6 0
#endif
#if COUNTERS_OF_SESSIONS > FIRST_post_qos_0
#define HAS_post_qos_0 1
#else
#define HAS_post_qos_0 0
#endif
#if COUNTERS_OF_SESSIONS > FIRST_post_qos_1
#define HAS_post_qos_1 1
#else
#define HAS_post_qos_1 0
#endif
#if COUNTERS_OF_SESSIONS > FIRST_post_qos_2
#define HAS_post_qos_2 1
#else
#define HAS_post_qos_2 0
#endif
#if COUNTERS_OF_SESSIONS > FIRST_post_qos_3
#define HAS_post_qos_3 1
#else
#define HAS_post_qos_3 0
#endif
#if COUNTERS_OF_SESSIONS > FIRST_post_qos_4
#define HAS_post_qos_4 1
#else
#define HAS_post_qos_4 0
#endif
#if COUNTERS_OF_SESSIONS > FIRST_post_qos_5
#define HAS_post_qos_5 1
#else
#define HAS_post_qos_5 0
#endif
#if COUNTERS_OF_SESSIONS > FIRST_post_qos_6
#define HAS_post_qos_6 1
#else
#define HAS_post_qos_6 0
#endif
#if COUNTERS_OF_SESSIONS > FIRST_post_qos_7
#define HAS_post_qos_7 1
#else
#define HAS_post_qos_7 0
#endif
#if COUNTERS_OF_SESSIONS > FIRST_post_qos_8
#define HAS_post_qos_8 1
#else
#define HAS_post_qos_8 0
#endif
#if COUNTERS_OF_SESSIONS > FIRST_post_qos_9
#define HAS_post_qos_9 1
#else
#define HAS_post_qos_9 0
#endif

// Rules with entries of their own have one bank, but where stages are full: two of a row each before QoS enforcement, or three of 32,768.
#if RULES_WITH_ENTRIES > 59392
#define BITS_OF_pre_qos 15
#define BITS_OF_post_qos 15
#else
#if RULES_WITH_ENTRIES > 10240 && RULES_WITH_ENTRIES <= 16384
#define BITS_OF_pre_qos 13
#else
#define BITS_OF_pre_qos 16
#endif
#define BITS_OF_post_qos 16
#endif
#define RULES_IN(side) (1 << BITS_OF_##side)
#define HAS_pre_qos_rules_0 1
#define HAS_post_qos_rules_0 1
#if RULES_WITH_ENTRIES > 1 * RULES_IN(pre_qos)
#define HAS_pre_qos_rules_1 1
#else
#define HAS_pre_qos_rules_1 0
#endif
#if RULES_WITH_ENTRIES > 2 * RULES_IN(pre_qos)
#define HAS_pre_qos_rules_2 1
#else
#define HAS_pre_qos_rules_2 0
#endif
#if RULES_WITH_ENTRIES > 1 * RULES_IN(post_qos)
#define HAS_post_qos_rules_1 1
#else
#define HAS_post_qos_rules_1 0
#endif
#if RULES_WITH_ENTRIES > 2 * RULES_IN(post_qos)
#define HAS_post_qos_rules_2 1
#else
#define HAS_post_qos_rules_2 0
#endif
#endif

// Where banks of counters and entries by index stand on Tofino 1, profile `direct`, in stages: for sizes that need all twelve, and where
// the compiler's own order needs one more. It puts small banks into the first stages, so that large ones find no room in any.
//
// A bank takes whole rows of a stage, of which a counter reaches seven: three for 32,768, one for 8,192. So a stage is full with two
// large banks and a small one. What is counted behind QoS enforcement needs nothing of the ingress side and fills the first stages, beside entries,
// which take the columns that counters cannot have.

#ifdef PROFILE_DIRECT
#if 8 * COMPLEX_UES > SIMPLE_UES
// Many rules with filters: their tables stand from stage 5 to 8.
#define PLACE_dl_sessions_low @stage(1)
#define PLACE_dl_sessions_middle @stage(2)
#define PLACE_post_qos_dl_0 @stage(0)
#define PLACE_post_qos_dl_1 @stage(0)
#define PLACE_post_qos_dl_small_0 @stage(0)
#define PLACE_post_qos_ul_small_1 @stage(1)
#define PLACE_post_qos_dl_2 @stage(1)
#define PLACE_post_qos_ul_2 @stage(1)
#define PLACE_post_qos_ul_0 @stage(2)
#define PLACE_post_qos_ul_1 @stage(2)
#define PLACE_post_qos_ul_small_0 @stage(2)
#define PLACE_post_qos_dl_small_1 @stage(3)
#define PLACE_post_qos_dl_small_2 @stage(3)
#define PLACE_post_qos_ul_small_2 @stage(4)
#define PLACE_post_qos_rules_0 @stage(3)
#define PLACE_post_qos_rules_1 @stage(3)
#define PLACE_pre_qos_dl_small_2 @stage(4)
#define PLACE_pre_qos_dl_small_1 @stage(5)
#define PLACE_pre_qos_dl_small_0 @stage(5)
#define PLACE_pre_qos_dl_0 @stage(8)
#define PLACE_pre_qos_ul_2 @stage(8)
#define PLACE_pre_qos_rules_1 @stage(9)
#define PLACE_pre_qos_rules_0 @stage(9)
#define PLACE_pre_qos_ul_small_2 @stage(8)
#define PLACE_pre_qos_dl_1 @stage(10)
#define PLACE_pre_qos_dl_2 @stage(10)
#define PLACE_pre_qos_ul_small_0 @stage(11)
#define PLACE_pre_qos_ul_0 @stage(11)
#define PLACE_pre_qos_ul_1 @stage(11)
#define PLACE_pre_qos_ul_small_1 @stage(8)
#elif SIZE_N6_SIMPLE > 131072
#define PLACE_dl_sessions_low @stage(1)
#define PLACE_dl_sessions_middle @stage(2)
#define PLACE_dl_sessions_high @stage(3)
#define PLACE_post_qos_ul_0 @stage(1)
#define PLACE_post_qos_ul_1 @stage(1)
#define PLACE_post_qos_ul_2 @stage(2)
#define PLACE_post_qos_ul_3 @stage(2)
#define PLACE_post_qos_dl_0 @stage(3)
#define PLACE_post_qos_dl_1 @stage(3)
#define PLACE_post_qos_dl_2 @stage(4)
#define PLACE_post_qos_dl_3 @stage(4)
#define PLACE_post_qos_dl_small_0 @stage(0)
#define PLACE_post_qos_dl_small_1 @stage(0)
#define PLACE_post_qos_dl_small_2 @stage(0)
#define PLACE_post_qos_ul_small_2 @stage(2)
#define PLACE_post_qos_ul_small_1 @stage(3)
#define PLACE_post_qos_ul_small_0 @stage(4)
#define PLACE_pre_qos_dl_3 @stage(7)
#define PLACE_pre_qos_dl_2 @stage(7)
#define PLACE_pre_qos_dl_1 @stage(8)
#define PLACE_pre_qos_dl_0 @stage(9)
#define PLACE_pre_qos_ul_3 @stage(10)
#define PLACE_pre_qos_ul_2 @stage(10)
#define PLACE_pre_qos_ul_1 @stage(11)
#define PLACE_pre_qos_ul_0 @stage(11)
#define PLACE_pre_qos_dl_small_2 @stage(5)
#define PLACE_pre_qos_dl_small_1 @stage(6)
#define PLACE_pre_qos_dl_small_0 @stage(8)
#define PLACE_pre_qos_ul_small_2 @stage(8)
#define PLACE_pre_qos_ul_small_1 @stage(10)
#define PLACE_pre_qos_ul_small_0 @stage(11)
#define PLACE_post_qos_rules_0 @stage(0)
#endif
#endif

// The others stand where the compiler puts them.
#ifndef PLACE_post_qos_rules_1
#define PLACE_post_qos_rules_1
#endif
#ifndef PLACE_pre_qos_rules_1
#define PLACE_pre_qos_rules_1
#endif
#ifndef PLACE_post_qos_rules_0
#define PLACE_post_qos_rules_0
#endif
#ifndef PLACE_pre_qos_rules_0
#define PLACE_pre_qos_rules_0
#endif
#ifndef PLACE_post_qos_ul_0
#define PLACE_post_qos_ul_0
#endif
#ifndef PLACE_post_qos_ul_1
#define PLACE_post_qos_ul_1
#endif
#ifndef PLACE_post_qos_ul_2
#define PLACE_post_qos_ul_2
#endif
#ifndef PLACE_post_qos_ul_3
#define PLACE_post_qos_ul_3
#endif
#ifndef PLACE_post_qos_ul_4
#define PLACE_post_qos_ul_4
#endif
#ifndef PLACE_post_qos_ul_5
#define PLACE_post_qos_ul_5
#endif
#ifndef PLACE_post_qos_ul_small_0
#define PLACE_post_qos_ul_small_0
#endif
#ifndef PLACE_post_qos_ul_small_1
#define PLACE_post_qos_ul_small_1
#endif
#ifndef PLACE_post_qos_ul_small_2
#define PLACE_post_qos_ul_small_2
#endif
#ifndef PLACE_post_qos_ul_small_3
#define PLACE_post_qos_ul_small_3
#endif
#ifndef PLACE_post_qos_dl_0
#define PLACE_post_qos_dl_0
#endif
#ifndef PLACE_post_qos_dl_1
#define PLACE_post_qos_dl_1
#endif
#ifndef PLACE_post_qos_dl_2
#define PLACE_post_qos_dl_2
#endif
#ifndef PLACE_post_qos_dl_3
#define PLACE_post_qos_dl_3
#endif
#ifndef PLACE_post_qos_dl_4
#define PLACE_post_qos_dl_4
#endif
#ifndef PLACE_post_qos_dl_5
#define PLACE_post_qos_dl_5
#endif
#ifndef PLACE_post_qos_dl_small_0
#define PLACE_post_qos_dl_small_0
#endif
#ifndef PLACE_post_qos_dl_small_1
#define PLACE_post_qos_dl_small_1
#endif
#ifndef PLACE_post_qos_dl_small_2
#define PLACE_post_qos_dl_small_2
#endif
#ifndef PLACE_post_qos_dl_small_3
#define PLACE_post_qos_dl_small_3
#endif
#ifndef PLACE_pre_qos_ul_0
#define PLACE_pre_qos_ul_0
#endif
#ifndef PLACE_pre_qos_ul_1
#define PLACE_pre_qos_ul_1
#endif
#ifndef PLACE_pre_qos_ul_2
#define PLACE_pre_qos_ul_2
#endif
#ifndef PLACE_pre_qos_ul_3
#define PLACE_pre_qos_ul_3
#endif
#ifndef PLACE_pre_qos_ul_4
#define PLACE_pre_qos_ul_4
#endif
#ifndef PLACE_pre_qos_ul_5
#define PLACE_pre_qos_ul_5
#endif
#ifndef PLACE_pre_qos_ul_small_0
#define PLACE_pre_qos_ul_small_0
#endif
#ifndef PLACE_pre_qos_ul_small_1
#define PLACE_pre_qos_ul_small_1
#endif
#ifndef PLACE_pre_qos_ul_small_2
#define PLACE_pre_qos_ul_small_2
#endif
#ifndef PLACE_pre_qos_ul_small_3
#define PLACE_pre_qos_ul_small_3
#endif
#ifndef PLACE_pre_qos_dl_0
#define PLACE_pre_qos_dl_0
#endif
#ifndef PLACE_pre_qos_dl_1
#define PLACE_pre_qos_dl_1
#endif
#ifndef PLACE_pre_qos_dl_2
#define PLACE_pre_qos_dl_2
#endif
#ifndef PLACE_pre_qos_dl_3
#define PLACE_pre_qos_dl_3
#endif
#ifndef PLACE_pre_qos_dl_4
#define PLACE_pre_qos_dl_4
#endif
#ifndef PLACE_pre_qos_dl_5
#define PLACE_pre_qos_dl_5
#endif
#ifndef PLACE_pre_qos_dl_small_0
#define PLACE_pre_qos_dl_small_0
#endif
#ifndef PLACE_pre_qos_dl_small_1
#define PLACE_pre_qos_dl_small_1
#endif
#ifndef PLACE_pre_qos_dl_small_2
#define PLACE_pre_qos_dl_small_2
#endif
#ifndef PLACE_pre_qos_dl_small_3
#define PLACE_pre_qos_dl_small_3
#endif
#ifndef PLACE_ul_sessions_low
#define PLACE_ul_sessions_low
#endif
#ifndef PLACE_ul_sessions_high
#define PLACE_ul_sessions_high
#endif
#ifndef PLACE_dl_sessions_low
#define PLACE_dl_sessions_low
#endif
#ifndef PLACE_dl_sessions_middle
#define PLACE_dl_sessions_middle
#endif
#ifndef PLACE_dl_sessions_high
#define PLACE_dl_sessions_high
#endif

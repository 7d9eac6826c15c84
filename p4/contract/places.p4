// Where tables, meters, and banks of counters stand on Tofino 1, profile `direct`, in stages: for sizes that need all twelve, and where the compiler's own
// order would need more. It puts small banks into the first stages, so that large ones find no room in any.
//
// What is counted behind QoS enforcement needs nothing of the ingress side and fills stages 0 to 4, beside entries, which take the columns that
// counters cannot have. Counters before it follow from stage 5 on, where the entry is known, below a meter of two rows each. Meters stand one behind the
// other, as each writes the colour; the large one takes four rows.

#ifdef PROFILE_DIRECT
#if 8 * COMPLEX_UES <= SIMPLE_UES && SIZE_N6_SIMPLE > 131072
#define PLACE_ul_sessions_low @stage(0)
#define PLACE_ul_sessions_high @stage(0)
#define PLACE_dl_sessions_low @stage(1)
#define PLACE_dl_sessions_middle @stage(2)
#define PLACE_dl_sessions_high @stage(3)
#define PLACE_post_qos_0 @stage(1)
#define PLACE_post_qos_1 @stage(2)
#define PLACE_post_qos_2 @stage(3)
#define PLACE_post_qos_3 @stage(4)
#define PLACE_post_qos_4 @stage(0)
#define PLACE_post_qos_5 @stage(1)
#define PLACE_post_qos_6 @stage(2)
#define PLACE_post_qos_7 @stage(3)
#define PLACE_post_qos_8 @stage(4)
#define PLACE_post_qos_9 @stage(0)
#define PLACE_post_qos_rules_0 @stage(8)
#define PLACE_filters_ul @stage(4)
#define PLACE_filters_dl @stage(4)
#define PLACE_uplink_counter_index @stage(4)
#define PLACE_downlink_counter_index @stage(4)
#define PLACE_counted @stage(4)
#define PLACE_pre_qos_0 @stage(5)
#define PLACE_pre_qos_1 @stage(6)
#define PLACE_pre_qos_2 @stage(7)
#define PLACE_pre_qos_3 @stage(9)
#define PLACE_pre_qos_4 @stage(10)
#define PLACE_pre_qos_5 @stage(11)
#define PLACE_pre_qos_rules_0 @stage(8)
#define PLACE_pre_qos_rules_1 @stage(10)
#define PLACE_session_meters_1 @stage(5)
#define PLACE_session_meters_2 @stage(6)
#define PLACE_session_meters_0 @stage(7)
#define PLACE_session_meters_large @stage(8)
#endif
#ifdef RULES_APART
#define PLACE_ul_sessions_low @stage(0)
#define PLACE_ul_sessions_high @stage(0)
#define PLACE_dl_sessions_low @stage(1)
#define PLACE_dl_sessions_middle @stage(2)
#define PLACE_dl_sessions_high @stage(3)
#define PLACE_post_qos_0 @stage(1)
#define PLACE_post_qos_1 @stage(2)
#define PLACE_post_qos_2 @stage(3)
#define PLACE_post_qos_3 @stage(4)
#define PLACE_post_qos_4 @stage(1)
#define PLACE_post_qos_5 @stage(2)
#define PLACE_post_qos_6 @stage(3)
#define PLACE_post_qos_7 @stage(0)
#define PLACE_post_qos_rules_0 @stage(0)
#define PLACE_post_qos_rules_1 @stage(4)
#define PLACE_post_qos_rules_2 @stage(5)
#define PLACE_filters_ul @stage(4)
#define PLACE_filters_dl @stage(4)
#define PLACE_uplink_counter_index @stage(4)
#define PLACE_downlink_counter_index @stage(4)
#define PLACE_counted @stage(4)
#define PLACE_pre_qos_0 @stage(5)
#define PLACE_pre_qos_1 @stage(6)
#define PLACE_pre_qos_2 @stage(7)
#define PLACE_pre_qos_3 @stage(8)
#define PLACE_pre_qos_4 @stage(10)
#define PLACE_pre_qos_5 @stage(11)
#define PLACE_pre_qos_rules_0 @stage(9)
#define PLACE_pre_qos_rules_1 @stage(11)
#define PLACE_pre_qos_rules_2 @stage(11)
#define PLACE_session_meters_1 @stage(5)
#define PLACE_session_meters_2 @stage(6)
#define PLACE_session_meters_0 @stage(7)
#define PLACE_session_meters_large @stage(8)
#define PLACE_ul_to_n6_rules @stage(5)
#define PLACE_ul_to_n9_n3_rules @stage(5)
#define PLACE_dl_from_n6_rules @stage(6)
#define PLACE_ul_to_n6_simple @stage(6)
#define PLACE_dl_from_n6_simple @stage(7)
#define PLACE_ul_to_n9_n3_simple @stage(7)
#define PLACE_dl_from_n9_simple @stage(8)
#endif
#endif

// The others stand where the compiler puts them.
#ifndef PLACE_post_qos_0
#define PLACE_post_qos_0
#endif
#ifndef PLACE_post_qos_1
#define PLACE_post_qos_1
#endif
#ifndef PLACE_post_qos_2
#define PLACE_post_qos_2
#endif
#ifndef PLACE_post_qos_3
#define PLACE_post_qos_3
#endif
#ifndef PLACE_post_qos_4
#define PLACE_post_qos_4
#endif
#ifndef PLACE_post_qos_5
#define PLACE_post_qos_5
#endif
#ifndef PLACE_post_qos_6
#define PLACE_post_qos_6
#endif
#ifndef PLACE_post_qos_7
#define PLACE_post_qos_7
#endif
#ifndef PLACE_post_qos_8
#define PLACE_post_qos_8
#endif
#ifndef PLACE_post_qos_9
#define PLACE_post_qos_9
#endif
#ifndef PLACE_post_qos_rules_0
#define PLACE_post_qos_rules_0
#endif
#ifndef PLACE_post_qos_rules_1
#define PLACE_post_qos_rules_1
#endif
#ifndef PLACE_post_qos_rules_2
#define PLACE_post_qos_rules_2
#endif
#ifndef PLACE_pre_qos_0
#define PLACE_pre_qos_0
#endif
#ifndef PLACE_pre_qos_1
#define PLACE_pre_qos_1
#endif
#ifndef PLACE_pre_qos_2
#define PLACE_pre_qos_2
#endif
#ifndef PLACE_pre_qos_3
#define PLACE_pre_qos_3
#endif
#ifndef PLACE_pre_qos_4
#define PLACE_pre_qos_4
#endif
#ifndef PLACE_pre_qos_5
#define PLACE_pre_qos_5
#endif
#ifndef PLACE_pre_qos_6
#define PLACE_pre_qos_6
#endif
#ifndef PLACE_pre_qos_rules_0
#define PLACE_pre_qos_rules_0
#endif
#ifndef PLACE_pre_qos_rules_1
#define PLACE_pre_qos_rules_1
#endif
#ifndef PLACE_pre_qos_rules_2
#define PLACE_pre_qos_rules_2
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
#ifndef PLACE_filters_ul
#define PLACE_filters_ul
#endif
#ifndef PLACE_filters_dl
#define PLACE_filters_dl
#endif
#ifndef PLACE_uplink_counter_index
#define PLACE_uplink_counter_index
#endif
#ifndef PLACE_downlink_counter_index
#define PLACE_downlink_counter_index
#endif
#ifndef PLACE_counted
#define PLACE_counted
#endif
#ifndef PLACE_ul_to_n6_rules
#define PLACE_ul_to_n6_rules
#endif
#ifndef PLACE_ul_to_n9_n3_rules
#define PLACE_ul_to_n9_n3_rules
#endif
#ifndef PLACE_dl_from_n6_rules
#define PLACE_dl_from_n6_rules
#endif
#ifndef PLACE_ul_to_n6_simple
#define PLACE_ul_to_n6_simple
#endif
#ifndef PLACE_dl_from_n6_simple
#define PLACE_dl_from_n6_simple
#endif
#ifndef PLACE_ul_to_n9_n3_simple
#define PLACE_ul_to_n9_n3_simple
#endif
#ifndef PLACE_dl_from_n9_simple
#define PLACE_dl_from_n9_simple
#endif
#ifndef PLACE_session_meters_0
#define PLACE_session_meters_0
#endif
#ifndef PLACE_session_meters_1
#define PLACE_session_meters_1
#endif
#ifndef PLACE_session_meters_2
#define PLACE_session_meters_2
#endif
#ifndef PLACE_session_meters_large
#define PLACE_session_meters_large
#endif

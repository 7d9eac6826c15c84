// How many entries each table has, from the numbers of UEs that a build is made for.
//
// The model is that of HiP4-UPF section 6.1: SIMPLE_UES have one rule per direction; COMPLEX_UES have two rules with filters in
// each program without split tables, and half of them behind N9 in those with; 2,048 UEs are behind another UPF.

#ifndef CAUSEWAY_SIZES
#define CAUSEWAY_SIZES

#ifndef SIMPLE_UES
#ifdef PROFILE_DIRECT
// As many as its tables hold, whose size is a power of two.
#define SIMPLE_UES 129024
#else
#define SIMPLE_UES 20480
#endif
#endif
// APPLICATION_DETECTION: no UE has filters of its own, and none is behind another UPF.
#ifdef APPLICATION_DETECTION
#define COMPLEX_UES 0
#define N9_UES 0
// Rows that tell applications apart, in each direction.
#ifndef SIZE_APPLICATIONS
#define SIZE_APPLICATIONS 512
#endif
#endif
#ifndef COMPLEX_UES
#define COMPLEX_UES 2048
#endif
// UEs whose simple rules lead to or come from another UPF, or another gNB.
#ifndef N9_UES
#define N9_UES 2048
#endif
// Accounting tables on each side: two for pendulum access, where one is read while the other takes entries.
#ifndef ACCOUNTING_PARTITIONS
#define ACCOUNTING_PARTITIONS 2
#endif

// Split tables.
#define SIZE_N6_SIMPLE (SIMPLE_UES - N9_UES)
#define SIZE_N9_SIMPLE N9_UES
#define SIZE_COMPLEX (COMPLEX_UES / 2)
#define SIZE_DL_FROM_N9_SIMPLE (N9_UES + COMPLEX_UES / 2)

// Tables that are not split.
#define SIZE_ALL_COMPLEX (2 * COMPLEX_UES)

// Profile `direct`: sessions with an entry of their number, of which those without filters have the lowest numbers.
#define SESSIONS (SIZE_N6_SIMPLE + SIZE_COMPLEX)

// Profile `direct`: distinct filters of each direction, intersections included, and rules that are not addressed by their session.
#ifndef SIZE_FILTERS
#define SIZE_FILTERS 512
#endif
#define RULES_WITH_ENTRIES (SIZE_N9_SIMPLE + SIZE_DL_FROM_N9_SIMPLE + 3 * SIZE_COMPLEX)

// Profile `thesis`: UEs, in all tenants, and its rules: one for each tenant and direction, with a meter each.
#ifndef UES
#define UES 524288
#endif

// Rules of all kinds: what an accounting table must hold when there is but one on each side.
#if defined(PROFILE_THESIS)
#define RULES 512
#elif defined(PROFILE_BASELINE) || defined(PROFILE_RED)
#define RULES (2 * SIMPLE_UES + SIZE_ALL_COMPLEX)
#else
#define RULES (2 * SIZE_N6_SIMPLE + SIZE_N9_SIMPLE + SIZE_DL_FROM_N9_SIMPLE + 3 * SIZE_COMPLEX)
#endif

// With two partitions each takes half of the rules and an eighth more, for rules come when they come.
#if ACCOUNTING_PARTITIONS == 1
#define SIZE_ACCOUNTING RULES
#else
#define SIZE_ACCOUNTING (RULES / 2 + RULES / 8)
#endif

// One rule in eight has a meter; cell 0 is for rules without one. Tofino 1 places no more than about 36,000 as one, so
// there are two of half the size where more are wanted.
#ifdef PROFILE_THESIS
#define SIZE_METERS RULES
#else
#define SIZE_METERS (RULES / 8)
#endif
// Profile `hip4`: rules with a meter; more than meters where rules share one.
#ifndef SIZE_METERED_RULES
#define SIZE_METERED_RULES SIZE_METERS
#endif
// Profile `direct`: those of sessions' simple rules apart from the others'.
#define SIZE_SESSION_METERS (2 * SIZE_N6_SIMPLE / 8)
#define SIZE_RULE_METERS (RULES_WITH_ENTRIES / 8)
// In three banks, a large one, and behind those of rules.
#if SIZE_SESSION_METERS > 8192
#define SIZE_SESSION_METERS_0 8192
#else
#define SIZE_SESSION_METERS_0 SIZE_SESSION_METERS
#endif
#if SIZE_SESSION_METERS > 16384
#define SIZE_SESSION_METERS_1 8192
#else
#define SIZE_SESSION_METERS_1 (SIZE_SESSION_METERS - 8192)
#endif
#if SIZE_SESSION_METERS > 24576
#define SIZE_SESSION_METERS_2 8192
#else
#define SIZE_SESSION_METERS_2 (SIZE_SESSION_METERS - 16384)
#endif
#if SIZE_SESSION_METERS > 43008
#define SIZE_SESSION_METERS_LARGE 18432
#define SIZE_SESSION_METERS_BEHIND (SIZE_SESSION_METERS - 43008)
#else
#define SIZE_SESSION_METERS_LARGE (SIZE_SESSION_METERS - 24576)
#define SIZE_SESSION_METERS_BEHIND 0
#endif

#define SIZE_UL_TO_N6_TEMPLATE 2048
#define SIZE_UL_TO_N9_N3_TEMPLATE 1024
#define SIZE_DL_TEMPLATE 2048
#define SIZE_ROUTE_EXACT 2048
#define SIZE_ROUTE_LPM 512
#define SIZE_SOURCE_GUARD 64
#define SIZE_QUEUES 192
// Addresses that UEs do not reach, as prefixes; for each IP version.
#define SIZE_CLOSED 512
#ifdef SOFTWARE_PORTS
// Two for each link.
#define SIZE_SOFTWARE_PORTS 64
#endif
// VXLAN: segments with their tenants. Firewall: rows in each direction, as in the thesis' measurements.
#define SIZE_SEGMENTS 256
#define SIZE_FIREWALL 1024
#define SIZE_FIREWALL_IPV6 256
// Profile `thesis`: rows that say the QoS flow.
#define SIZE_FLOWS 512

// IPv6 inside: rows of their own, for their keys are four times as wide.
#define SIZE_IPV6_SIMPLE 1024
#define SIZE_IPV6_COMPLEX 128
#define SIZE_IPV6_ROUTE 256

// Addresses of the UPF that GTP-U is received at.
#define SIZE_LOCAL 8

// Profile `direct`: many rules with filters, whose tables take four stages.
#if 8 * COMPLEX_UES > SIMPLE_UES && SIZE_N6_SIMPLE > 131072 && !defined(FILTERS_PER_SESSION)
#define RULES_APART
#endif

#include "banks.p4"
#include "places.p4"

#endif

// Heavy hitters: counts in sub-windows of a sliding window, in two ways of places (`crates/dataplane/traffic/src/sliding/switch.rs` is the same in
// software, `crates/dataplane/switch/src/heavy_hitters` in the model).
//
// A way has an array of owners, and for each of four sub-windows one of pairs {epoch, count}: three sub-windows are a window, the fourth is the oldest, of
// which a part still counts. A pair counts only if its epoch is the expected one, so nothing is ever reset. A packet accesses each array once. One without a
// place may take the one with the smaller estimate; then a copy of it passes a second time, which writes the same arrays.
//
// Without an entry of `heavy_limits` nothing is counted. The control plane fills `heavy_gone_0` and `_1`, what of the oldest count has left the window, and
// `heavy_chances_0` and `_1`, the greatest random number with which a weight takes a place with an estimate.
//
// A sub-window has 2^28 ns, 268 ms. Sub-window n stands in array n modulo 4, with epoch n / 4 modulo 256. The clock has units of 64 ns: its upper eight bits
// are the epoch, two bits below the array, and four below these the place in the sub-window. Less a sub-windows, its upper bits are the epoch that array a has
// if its count is worth something.
//
// It stands at egress: a rule is known there from the first stage on, and the stages of egress are free. A flow is a number of 32 bits. What counts is said
// by `is_counted`; a second pass is a copy with `is_second` and its way. Of the fields of HEAVY_METADATA these are set before: `heavy_time_0`, the clock, and
// `heavy_weight`, what the packet counts. It sets `copies` to 1 and `heavy_copy`, what a copy is for: HEAVY_SECOND_0 or _1, to pass once more, and end; or
// HEAVY_EVENT, to say that the flow has become heavy, with `heavy_units` in its window. HEAVY_OWNER is the struct that has the fields.

// Estimates for which there is a chance to take a place, for all weights together: a window has at most 1,020 units.
#ifndef SIZE_HEAVY_CHANCES
#define SIZE_HEAVY_CHANCES 2048
#endif

// The owners of a way, and whether the packet's flow is one. The place is hashed in the stage of the register itself, so that they can stand in the first
// one; what comes behind has the place as a field.
#define HEAVY_OWNERS(way, register_id, place) \
    HEAVY_PLACE_HASH_##way(owner_hash_##way, bit<HEAVY_BITS>) \
    @id(register_id) \
    REGISTER(heavy_owners_##way, SIZE_HEAVY, bit<HEAVY_BITS>, bit<16>) \
    REGISTER_ACTION(heavy_owners_##way, compare_owner_##way, bit<HEAVY_BITS>, bit<16>, \
        if (cell == HEAVY_IDENTITY) { result = 1; } else { result = 0; } \
    ) \
    REGISTER_ACTION(heavy_owners_##way, set_owner_##way, bit<HEAVY_BITS>, bit<16>, \
        cell = HEAVY_IDENTITY; \
        result = 1; \
    ) \
    @hidden \
    action find_##way() { \
        REGISTER_EXECUTE_HASHED(compare_owner_##way, owner_hash_##way, flow, place, meta.heavy_own_##way) \
    } \
    @hidden \
    action take_##way() { \
        REGISTER_EXECUTE_HASHED(set_owner_##way, owner_hash_##way, flow, place, meta.heavy_own_##way) \
    } \
    @hidden \
    @stage(0) \
    table heavy_owning_##way { \
        key = { \
            is_counted : exact; \
            is_second : exact; \
            second_way : exact; \
        } \
        actions = { find_##way; take_##way; NoAction; } \
        const default_action = NoAction(); \
        const entries = { \
            (1, 0, 0) : find_##way(); \
            (1, 1, way) : take_##way(); \
        } \
        size = 2; \
    }

// The counts of a sub-window in a way. The packet counts in the current sub-window of its own place; in others it reads.
#define HEAVY_COUNTS(way, array, register_id, place, is_own_0, is_own_1) \
    @id(register_id) \
    REGISTER_PAIRS(heavy_counts_##way##_##array, SIZE_HEAVY, bit<HEAVY_BITS>) \
    REGISTER_PAIR_ACTION(heavy_counts_##way##_##array, read_count_##way##_##array, bit<HEAVY_BITS>, \
        if (cell.first == meta.heavy_time_##array[31:24]) { result = (bit<16>)cell.second; } else { result = 0; } \
    ) \
    REGISTER_PAIR_ACTION(heavy_counts_##way##_##array, add_count_##way##_##array, bit<HEAVY_BITS>, \
        if (cell.first == meta.heavy_time_##array[31:24]) { \
            cell.second = cell.second |+| meta.heavy_weight; \
        } else { \
            cell.second = meta.heavy_weight; \
        } \
        cell.first = meta.heavy_time_##array[31:24]; \
        result = (bit<16>)cell.second; \
    ) \
    REGISTER_PAIR_ACTION(heavy_counts_##way##_##array, begin_count_##way##_##array, bit<HEAVY_BITS>, \
        cell.first = meta.heavy_time_##array[31:24]; \
        cell.second = meta.heavy_weight; \
        result = (bit<16>)cell.second; \
    ) \
    REGISTER_PAIR_ACTION(heavy_counts_##way##_##array, reset_count_##way##_##array, bit<HEAVY_BITS>, \
        cell.second = 0; \
        result = 0; \
    ) \
    @hidden \
    action read_##way##_##array() { \
        REGISTER_EXECUTE(read_count_##way##_##array, place, meta.heavy_count_##way##_##array) \
    } \
    @hidden \
    action add_##way##_##array() { \
        REGISTER_EXECUTE(add_count_##way##_##array, place, meta.heavy_count_##way##_##array) \
    } \
    @hidden \
    action begin_##way##_##array() { \
        REGISTER_EXECUTE(begin_count_##way##_##array, place, meta.heavy_count_##way##_##array) \
    } \
    @hidden \
    action reset_##way##_##array() { \
        REGISTER_EXECUTE(reset_count_##way##_##array, place, meta.heavy_count_##way##_##array) \
    } \
    @hidden \
    table heavy_counting_##way##_##array { \
        key = { \
            is_second : ternary; \
            second_way : ternary; \
            meta.is_heavy_asked : ternary; \
            meta.heavy_own_0 : ternary; \
            meta.heavy_own_1 : ternary; \
            HEAVY_PHASE : ternary; \
        } \
        actions = { read_##way##_##array; add_##way##_##array; begin_##way##_##array; reset_##way##_##array; NoAction; } \
        const default_action = NoAction(); \
        const entries = { \
            (1, way, 1, _, _, array) : begin_##way##_##array(); \
            (1, way, 1, _, _, _) : reset_##way##_##array(); \
            (0, _, 1, is_own_0, is_own_1, array) : add_##way##_##array(); \
            (0, _, 1, _, _, _) : read_##way##_##array(); \
        } \
        size = 4; \
    }

// The estimate of a way, which stands in its count 0 then: all counts, less what of the oldest one has left the window. The table has that as a
// number to add modulo 2^16, since Tofino subtracts no parameter.
#define HEAVY_ESTIMATE(way, gone_id, chances_id) \
    @hidden \
    action sum_##way##_0() { \
        meta.heavy_oldest_##way = meta.heavy_count_##way##_1; \
        meta.heavy_count_##way##_0 = meta.heavy_count_##way##_0 + meta.heavy_count_##way##_1; \
        meta.heavy_count_##way##_2 = meta.heavy_count_##way##_2 + meta.heavy_count_##way##_3; \
    } \
    @hidden \
    action sum_##way##_1() { \
        meta.heavy_oldest_##way = meta.heavy_count_##way##_2; \
        meta.heavy_count_##way##_0 = meta.heavy_count_##way##_0 + meta.heavy_count_##way##_1; \
        meta.heavy_count_##way##_2 = meta.heavy_count_##way##_2 + meta.heavy_count_##way##_3; \
    } \
    @hidden \
    action sum_##way##_2() { \
        meta.heavy_oldest_##way = meta.heavy_count_##way##_3; \
        meta.heavy_count_##way##_0 = meta.heavy_count_##way##_0 + meta.heavy_count_##way##_1; \
        meta.heavy_count_##way##_2 = meta.heavy_count_##way##_2 + meta.heavy_count_##way##_3; \
    } \
    @hidden \
    action sum_##way##_3() { \
        meta.heavy_oldest_##way = meta.heavy_count_##way##_0; \
        meta.heavy_count_##way##_0 = meta.heavy_count_##way##_0 + meta.heavy_count_##way##_1; \
        meta.heavy_count_##way##_2 = meta.heavy_count_##way##_2 + meta.heavy_count_##way##_3; \
    } \
    @hidden \
    table heavy_sums_##way { \
        key = { HEAVY_PHASE : exact; } \
        actions = { sum_##way##_0; sum_##way##_1; sum_##way##_2; sum_##way##_3; NoAction; } \
        const default_action = NoAction(); \
        const entries = { \
            0 : sum_##way##_0(); \
            1 : sum_##way##_1(); \
            2 : sum_##way##_2(); \
            3 : sum_##way##_3(); \
        } \
        size = 4; \
    } \
    @hidden \
    action add_sums_##way() { \
        meta.heavy_count_##way##_0 = meta.heavy_count_##way##_0 + meta.heavy_count_##way##_2; \
    } \
    action subtract_gone_##way(bit<16> negative) { \
        meta.heavy_count_##way##_0 = meta.heavy_count_##way##_0 + negative; \
    } \
    @id(gone_id) \
    table heavy_gone_##way { \
        key = { \
            HEAVY_POSITION : exact @name("position"); \
            meta.heavy_oldest_##way[7:0] : exact @name("oldest"); \
        } \
        actions = { subtract_gone_##way; @defaultonly NoAction; } \
        const default_action = NoAction(); \
        size = 4096; \
    } \
    action set_chance_##way(bit<16> chance) { \
        meta.heavy_chance_##way = chance; \
        meta.has_heavy_chance_##way = 1; \
    } \
    @id(chances_id) \
    table heavy_chances_##way { \
        key = { \
            meta.heavy_weight : exact @name("weight"); \
            meta.heavy_count_##way##_0 : exact @name("estimate"); \
        } \
        actions = { set_chance_##way; @defaultonly NoAction; } \
        const default_action = NoAction(); \
        size = SIZE_HEAVY_CHANCES; \
    }

// Rules have 24 bits: two with the same last 16 have other places in each way, since both CRCs map the first eight to as many places.
#define HEAVY_IDENTITY flow[15:0]
#define HEAVY_PLACE_HASH_0 HASH_CRC32_PLACE
#define HEAVY_PLACE_HASH_1 HASH_CRC16_PLACE
#define HEAVY_PHASE meta.heavy_time_0[23:22]
#define HEAVY_POSITION meta.heavy_time_0[21:18]
#define HEAVY_PLACE_0 meta.heavy_hash_0[HEAVY_BITS - 1:0]
#define HEAVY_PLACE_1 meta.heavy_hash_1[HEAVY_BITS - 1:0]

control HeavyHitters(
    inout HEAVY_OWNER meta, in bit<32> flow, in bit<1> is_counted, in bit<1> is_second, in bit<1> second_way, inout bit<3> copies
) {
    HASH_CRC32_PLACE(place_hash_0, bit<16>)
    HASH_CRC16(place_hash_1)
    RANDOM(chance_random)

    // The units in a window from which on a flow is heavy, and half of them. Without an entry nothing is counted.
    action look_for(bit<16> full, bit<16> half) {
        meta.heavy_full = full;
        meta.heavy_half = half;
        meta.is_heavy_asked = 1;
    }

    @id(130)
    table heavy_limits {
        key = { is_second : ternary @name("is_second"); }
        actions = { look_for; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 1;
    }

    @hidden
    action hash_places() {
        HASH_CRC32_PLACE_OF(place_hash_0, meta.heavy_hash_0, flow)
        HASH_CRC16_OF(place_hash_1, meta.heavy_hash_1, flow)
    }

    @hidden
    action draw() {
        RANDOM_DRAW(chance_random, meta.heavy_random)
    }

    @hidden
    action subtract_arrays() {
        meta.heavy_time_1 = meta.heavy_time_0 - 0x400000;
        meta.heavy_time_2 = meta.heavy_time_0 - 0x800000;
        meta.heavy_time_3 = meta.heavy_time_0 - 0xc00000;
    }

    HEAVY_OWNERS(0, 130, HEAVY_PLACE_0)
    HEAVY_OWNERS(1, 131, HEAVY_PLACE_1)
    HEAVY_COUNTS(0, 0, 132, HEAVY_PLACE_0, 1, _)
    HEAVY_COUNTS(0, 1, 133, HEAVY_PLACE_0, 1, _)
    HEAVY_COUNTS(0, 2, 134, HEAVY_PLACE_0, 1, _)
    HEAVY_COUNTS(0, 3, 135, HEAVY_PLACE_0, 1, _)
    HEAVY_COUNTS(1, 0, 136, HEAVY_PLACE_1, 0, 1)
    HEAVY_COUNTS(1, 1, 137, HEAVY_PLACE_1, 0, 1)
    HEAVY_COUNTS(1, 2, 138, HEAVY_PLACE_1, 0, 1)
    HEAVY_COUNTS(1, 3, 139, HEAVY_PLACE_1, 0, 1)
    HEAVY_ESTIMATE(0, 131, 133)
    HEAVY_ESTIMATE(1, 132, 134)

    // The place of the flow's flag.
    @hidden
    action flag_place_0() {
        meta.heavy_flag_place = 1w0 ++ HEAVY_PLACE_0;
    }

    @hidden
    action flag_place_1() {
        meta.heavy_flag_place = 1w1 ++ HEAVY_PLACE_1;
    }

    // The flow's own units.
    @hidden
    action units_0() {
        meta.heavy_units = meta.heavy_count_0_0;
    }

    @hidden
    action units_1() {
        meta.heavy_units = meta.heavy_count_1_0;
    }

    // Differences whose signs decide: of each way to the threshold and to half of it, and between both ways. The counts are in the sums.
    @hidden
    action compare() {
        meta.heavy_count_0_1 = meta.heavy_count_0_0 - meta.heavy_full;
        meta.heavy_count_0_2 = meta.heavy_count_0_0 - meta.heavy_half;
        meta.heavy_count_1_1 = meta.heavy_count_1_0 - meta.heavy_full;
        meta.heavy_count_1_2 = meta.heavy_count_1_0 - meta.heavy_half;
        meta.heavy_count_0_3 = meta.heavy_count_1_0 - meta.heavy_count_0_0;
    }

    // Whether the flow of a place is heavy: of both ways, for a packet has one place.
    @id(140)
    REGISTER(heavy_flags, 2 * SIZE_HEAVY, bit<HEAVY_FLAG_BITS>, bit<8>)

    REGISTER_ACTION(heavy_flags, raise_flag, bit<HEAVY_FLAG_BITS>, bit<8>,
        result = cell;
        cell = 1;
    )

    // The flag is that of the flow which had the place before.
    REGISTER_ACTION(heavy_flags, begin_flag, bit<HEAVY_FLAG_BITS>, bit<8>,
        result = 0;
        cell = 1;
    )

    REGISTER_ACTION(heavy_flags, clear_flag, bit<HEAVY_FLAG_BITS>, bit<8>,
        result = 1;
        cell = 0;
    )

    @hidden
    action raise() {
        REGISTER_EXECUTE(raise_flag, meta.heavy_flag_place, meta.heavy_before)
    }

    @hidden
    action begin() {
        REGISTER_EXECUTE(begin_flag, meta.heavy_flag_place, meta.heavy_before)
    }

    @hidden
    action clear() {
        REGISTER_EXECUTE(clear_flag, meta.heavy_flag_place, meta.heavy_before)
    }

    // By the signs of the differences: below the threshold, below half of it. Between both the flag stays.
    @hidden
    table heavy_flagging {
        key = {
            meta.is_heavy_asked : ternary;
            is_second : ternary;
            meta.heavy_own_0 : ternary;
            meta.heavy_own_1 : ternary;
            meta.heavy_count_0_1[15:15] : ternary;
            meta.heavy_count_0_2[15:15] : ternary;
            meta.heavy_count_1_1[15:15] : ternary;
            meta.heavy_count_1_2[15:15] : ternary;
        }
        actions = { raise; begin; clear; NoAction; }
        const default_action = NoAction();
        const entries = {
            (1, 0, 1, _, 0, _, _, _) : raise();
            (1, 0, 1, _, 1, 1, _, _) : clear();
            (1, 0, 0, 1, _, _, 0, _) : raise();
            (1, 0, 0, 1, _, _, 1, 1) : clear();
            (1, 1, 1, _, 0, _, _, _) : begin();
            (1, 1, 1, _, 1, _, _, _) : clear();
            (1, 1, 0, 1, _, _, 0, _) : begin();
            (1, 1, 0, 1, _, _, 1, _) : clear();
        }
        size = 8;
    }

    // A chance is the greatest random number with which the packet takes the place.
    @hidden
    action compare_chances() {
        meta.heavy_chance_0 = meta.heavy_random |-| meta.heavy_chance_0;
        meta.heavy_chance_1 = meta.heavy_random |-| meta.heavy_chance_1;
    }

    @hidden
    action make_copy(bit<8> what) {
        meta.heavy_copy = what;
        copies = 1;
    }

    // A flow that has become heavy. A packet without a place: the way with the smaller estimate, the first of equal ones, if there is a chance for it.
    @hidden
    table heavy_copying {
        key = {
            meta.heavy_before : ternary;
            meta.is_heavy_asked : ternary;
            meta.heavy_own_0 : ternary;
            meta.heavy_own_1 : ternary;
            meta.heavy_count_0_3[15:15] : ternary;
            meta.has_heavy_chance_0 : ternary;
            meta.has_heavy_chance_1 : ternary;
            meta.heavy_chance_0 : ternary;
            meta.heavy_chance_1 : ternary;
        }
        actions = { make_copy; NoAction; }
        const default_action = NoAction();
        const entries = {
            (0, _, _, _, _, _, _, _, _) : make_copy(HEAVY_EVENT);
            (_, 1, 0, 0, 0, 1, _, 0, _) : make_copy(HEAVY_SECOND_0);
            (_, 1, 0, 0, 1, _, 1, _, 0) : make_copy(HEAVY_SECOND_1);
        }
        size = 3;
    }

    // No table but that of limits stands under a condition: the compiler would give it a stage of its own.
    apply {
        hash_places();
        draw();
        if (is_counted == 1) {
            heavy_limits.apply();
        }
        heavy_owning_0.apply();
        heavy_owning_1.apply();
        subtract_arrays();
        meta.heavy_before = 1;
        if (meta.heavy_own_0 == 1) {
            flag_place_0();
        } else {
            flag_place_1();
        }
        heavy_counting_0_0.apply();
        heavy_counting_0_1.apply();
        heavy_counting_0_2.apply();
        heavy_counting_0_3.apply();
        heavy_counting_1_0.apply();
        heavy_counting_1_1.apply();
        heavy_counting_1_2.apply();
        heavy_counting_1_3.apply();
        heavy_sums_0.apply();
        heavy_sums_1.apply();
        add_sums_0();
        add_sums_1();
        heavy_gone_0.apply();
        heavy_gone_1.apply();
        heavy_chances_0.apply();
        heavy_chances_1.apply();
        if (meta.heavy_own_0 == 1) {
            units_0();
        } else {
            units_1();
        }
        compare();
        heavy_flagging.apply();
        compare_chances();
        heavy_copying.apply();
    }
}

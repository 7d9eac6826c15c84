// What optional blocks add to the metadata: the macros stand before `metadata_t`, the blocks behind it.

#ifndef CAUSEWAY_OPTIONAL_METADATA
#define CAUSEWAY_OPTIONAL_METADATA

#if defined(HEAVY_HITTERS) && defined(APPLICATION_CLASSES)
#error "HEAVY_HITTERS and APPLICATION_CLASSES are not for one program: the headers of copies carry the fields of one of them"
#endif

// Of `armed.p4`.
#define ARMED_METADATA \
    bit<32> armed_generation; \
    bit<32> armed_limit; \
    bit<32> armed_is_same; \
    bit<32> armed_passes; \
    bit<1> is_armed;

// Of `heavy_hitter.p4`. What a copy of a packet is for, as bits of the octet that the header between both sides of Tofino has behind the rule: a second
// pass that takes the place of a way, or the message that the flow has become heavy.
#define HEAVY_SECOND_0 0x30
#define HEAVY_SECOND_1 0x38
#define HEAVY_EVENT 0x04
// Places of a way:
#ifndef SIZE_HEAVY
#define SIZE_HEAVY 4096
#define HEAVY_BITS 12
#define HEAVY_FLAG_BITS 13
#endif
#define HEAVY_METADATA \
    bit<32> heavy_time_0; \
    bit<32> heavy_time_1; \
    bit<32> heavy_time_2; \
    bit<32> heavy_time_3; \
    bit<8> heavy_weight; \
    KEPT_IN_COPY bit<8> heavy_copy; \
    KEPT_IN_COPY bit<16> heavy_units; \
    bit<1> is_heavy_asked; \
    bit<16> heavy_full; \
    bit<16> heavy_half; \
    bit<16> heavy_hash_0; \
    bit<16> heavy_hash_1; \
    bit<16> heavy_own_0; \
    bit<16> heavy_own_1; \
    bit<16> heavy_count_0_0; \
    bit<16> heavy_count_0_1; \
    bit<16> heavy_count_0_2; \
    bit<16> heavy_count_0_3; \
    bit<16> heavy_count_1_0; \
    bit<16> heavy_count_1_1; \
    bit<16> heavy_count_1_2; \
    bit<16> heavy_count_1_3; \
    bit<16> heavy_oldest_0; \
    bit<16> heavy_oldest_1; \
    bit<16> heavy_random; \
    bit<16> heavy_chance_0; \
    bit<16> heavy_chance_1; \
    bit<1> has_heavy_chance_0; \
    bit<1> has_heavy_chance_1; \
    bit<HEAVY_FLAG_BITS> heavy_flag_place; \
    bit<8> heavy_before;

// Of `application_classes.p4`. Sessions that are measured at once:
#ifndef SIZE_CLASSES
#define SIZE_CLASSES 16384
#define CLASS_BITS 14
#endif
#define CLASS_METADATA \
    bit<16> class_window; \
    bit<32> class_parts; \
    bit<32> class_place; \
    bit<1> class_direction; \
    bit<1> is_class_measured; \
    bit<16> is_class_closed; \
    bit<16> class_last; \
    bit<8> class_pause; \
    int<32> class_part_up_0; \
    int<32> class_part_up_1; \
    int<32> class_part_down_0; \
    int<32> class_part_down_1; \
    bit<16> class_up; \
    bit<16> class_down; \
    REGISTER_SIGNED_RESULT class_up_0; \
    REGISTER_SIGNED_RESULT class_up_1; \
    REGISTER_SIGNED_RESULT class_down_0; \
    REGISTER_SIGNED_RESULT class_down_1; \
    bit<8> class_code_up; \
    bit<8> class_code_down; \
    bit<8> class_of_window; \
    bit<8> class_even; \
    bit<8> class_odd; \
    bit<1> is_class_agreed; \
    KEPT_IN_COPY bit<8> class_now;

#endif

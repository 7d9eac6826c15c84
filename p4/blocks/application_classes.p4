// Application classes: what the packets of a session look like in a window, the class that a decision tree gives them, and whether the session's class
// changes (`crates/dataplane/traffic/src/classes` is the same in software, `crates/dataplane/switch/src/classes` in the model).
//
// A session that is measured has a place, which the controller chooses: nothing collides. Window n is a time's bits, so that all sessions have the
// same windows. The first packet after a window, uplink or downlink, ends it for both, and begins the next.
//
// Nothing is divided. A packet count is a register. A mean size is compared with a threshold t, in sixteenths of an octet, by the sum of 16 times the size
// less t + 1 over the window's packets: it is negative exactly if the mean, rounded down, is at most t. There are two thresholds for each direction.
//
// The controller fills `class_windows` (the length of windows) and `class_limits` (thresholds; without its entry nothing is measured), `class_members`
// (rules with their direction and place), `class_ranges_*` (codes of packet counts), `class_cells` (the class of codes and signs; without an entry class 0),
// and `class_verdicts` (the class of the session by its windows).
//
// Classes of even and of odd windows have an array each, so that the classes of both windows before are read at once. A window without packets has class 0. After two
// of them or more, nothing of the ones before counts.
//
// It stands at egress, where what is forwarded comes and rules are known; `ClassWindow` is at ingress. Fields of CLASS_METADATA that are set before:
// `class_window`, and `class_parts`, the octets of the IP packet times 16. It sets `has_changed` to 1: the session's class is `class_now` from now on. On Tofino that is the
// type of the mirrored copy itself, so that it takes no stage of its own. CLASS_OWNER is the struct that has the fields.

#ifndef SIZE_CLASS_MEMBERS
#define SIZE_CLASS_MEMBERS (4 * SIZE_CLASSES)
#endif
#ifndef SIZE_CLASS_RANGES
#define SIZE_CLASS_RANGES 128
#endif
#ifndef SIZE_CLASS_CELLS
#define SIZE_CLASS_CELLS 2048
#endif
#ifndef SIZE_CLASS_VERDICTS
#define SIZE_CLASS_VERDICTS 2048
#endif

// What a copy of a packet is that says the class, as bits of the octet that the header between both sides of Tofino has behind the rule.
#define CLASS_EVENT 0x10

// The octets of an IP packet, times 16.
#define CLASS_PARTS(octets) (12w0 ++ octets ++ 4w0)

#define CLASS_PLACE meta.class_place[CLASS_BITS - 1:0]
#define CLASS_UPLINK 0
#define CLASS_DOWNLINK 1

// The window of now, of 268, 537 or 1,074 ms: 16 bits of the time in nanoseconds. Tofino cuts them out by hashes, of which one table takes two.
control ClassWindow(in bit<48> nanos, inout bit<16> class_window) {
    CUT(bits_268)
    CUT(bits_537)
    CUT(bits_1074)
    bit<16> of_268;
    bit<16> of_537;
    bit<16> of_1074;

    @hidden
    action cut_268() {
        CUT_OF(bits_268, of_268, nanos[43:28])
    }

    @hidden
    action cut_537() {
        CUT_OF(bits_537, of_537, nanos[44:29])
    }

    @hidden
    action cut_1074() {
        CUT_OF(bits_1074, of_1074, nanos[45:30])
    }

    action window_268() {
        class_window = of_268;
    }

    action window_537() {
        class_window = of_537;
    }

    action window_1074() {
        class_window = of_1074;
    }

    @id(200)
    table class_windows {
        key = { class_window : ternary @name("window"); }
        actions = { window_268; window_537; window_1074; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 1;
    }

    apply {
        cut_268();
        cut_537();
        cut_1074();
        class_windows.apply();
    }
}

// A register of a direction: a packet of the direction adds, or begins with its own; one of the other ends it, if it is the first of a window.
#define CLASS_COUNTING(what, own, other) \
    @hidden \
    table class_counting_##what { \
        key = { \
            meta.is_class_measured : exact; \
            meta.class_direction : exact; \
            meta.is_class_closed : exact; \
        } \
        actions = { add_##what; begin_##what; end_##what; NoAction; } \
        const default_action = NoAction(); \
        const entries = { \
            (1, own, 0) : add_##what(); \
            (1, own, 1) : begin_##what(); \
            (1, other, 1) : end_##what(); \
        } \
        size = 3; \
    }

#define CLASS_ACTIONS(what) \
    @hidden \
    action add_##what() { \
        REGISTER_EXECUTE(add_to_##what, CLASS_PLACE, meta.class_##what) \
    } \
    @hidden \
    action begin_##what() { \
        REGISTER_EXECUTE(begin_with_##what, CLASS_PLACE, meta.class_##what) \
    } \
    @hidden \
    action end_##what() { \
        REGISTER_EXECUTE(end_of_##what, CLASS_PLACE, meta.class_##what) \
    }

#define CLASS_PACKETS(what, register_id, own, other) \
    @id(register_id) \
    REGISTER(class_counts_##what, SIZE_CLASSES, bit<CLASS_BITS>, bit<16>) \
    REGISTER_ACTION(class_counts_##what, add_to_##what, bit<CLASS_BITS>, bit<16>, \
        cell = cell |+| 1; \
        result = 0; \
    ) \
    REGISTER_ACTION(class_counts_##what, begin_with_##what, bit<CLASS_BITS>, bit<16>, \
        result = cell; \
        cell = 1; \
    ) \
    REGISTER_ACTION(class_counts_##what, end_of_##what, bit<CLASS_BITS>, bit<16>, \
        result = cell; \
        cell = 0; \
    ) \
    CLASS_ACTIONS(what) \
    CLASS_COUNTING(what, own, other)

#define CLASS_SIZES(what, register_id, own, other) \
    @id(register_id) \
    REGISTER_SIGNED(class_sums_##what, SIZE_CLASSES, bit<CLASS_BITS>) \
    REGISTER_SIGNED_ACTION(class_sums_##what, add_to_##what, bit<CLASS_BITS>, \
        cell = cell |+| meta.class_part_##what; \
        result = 0; \
    ) \
    REGISTER_SIGNED_ACTION(class_sums_##what, begin_with_##what, bit<CLASS_BITS>, \
        result = cell; \
        cell = meta.class_part_##what; \
    ) \
    REGISTER_SIGNED_ACTION(class_sums_##what, end_of_##what, bit<CLASS_BITS>, \
        result = cell; \
        cell = 0; \
    ) \
    CLASS_ACTIONS(what) \
    CLASS_COUNTING(what, own, other)

// The code of a packet count; 0 for one that is too small to say anything.
#define CLASS_RANGES(what, table_id) \
    action set_code_##what(bit<8> code) { \
        meta.class_code_##what = code; \
    } \
    @id(table_id) \
    table class_ranges_##what { \
        key = { meta.class_##what : ternary @name("packets"); } \
        actions = { set_code_##what; @defaultonly NoAction; } \
        const default_action = NoAction(); \
        size = SIZE_CLASS_RANGES; \
    }

// Classes of windows with that last bit. The window that has ended is of this array, unless an empty one is; the other array is read then.
#define CLASS_HISTORY(what, register_id, parity, other_parity) \
    @id(register_id) \
    REGISTER(class_history_##what, SIZE_CLASSES, bit<CLASS_BITS>, bit<8>) \
    REGISTER_ACTION(class_history_##what, put_in_##what, bit<CLASS_BITS>, bit<8>, \
        result = cell; \
        cell = meta.class_of_window; \
    ) \
    REGISTER_ACTION(class_history_##what, read_##what, bit<CLASS_BITS>, bit<8>, \
        result = cell; \
    ) \
    REGISTER_ACTION(class_history_##what, put_none_in_##what, bit<CLASS_BITS>, bit<8>, \
        result = cell; \
        cell = 0; \
    ) \
    REGISTER_ACTION(class_history_##what, forget_##what, bit<CLASS_BITS>, bit<8>, \
        result = 0; \
        cell = 0; \
    ) \
    @hidden \
    action put_##what() { \
        REGISTER_EXECUTE(put_in_##what, CLASS_PLACE, meta.class_##what) \
    } \
    @hidden \
    action look_##what() { \
        REGISTER_EXECUTE(read_##what, CLASS_PLACE, meta.class_##what) \
    } \
    @hidden \
    action put_none_##what() { \
        REGISTER_EXECUTE(put_none_in_##what, CLASS_PLACE, meta.class_##what) \
    } \
    @hidden \
    action clear_##what() { \
        REGISTER_EXECUTE(forget_##what, CLASS_PLACE, meta.class_##what) \
    } \
    @hidden \
    table class_history_of_##what { \
        key = { \
            meta.class_pause : exact; \
            meta.class_window[0:0] : exact; \
        } \
        actions = { put_##what; look_##what; put_none_##what; clear_##what; NoAction; } \
        const default_action = NoAction(); \
        const entries = { \
            (1, other_parity) : put_##what(); \
            (1, parity) : look_##what(); \
            (2, parity) : put_##what(); \
            (2, other_parity) : put_none_##what(); \
            (3, parity) : clear_##what(); \
            (3, other_parity) : clear_##what(); \
        } \
        size = 6; \
    }

control ApplicationClasses(inout CLASS_OWNER meta, in bit<32> rule, in bit<1> is_counted, inout bit<3> has_changed) {
    // The rule's packets are uplink packets of the session with this place; or downlink packets.
    action uplink_of(bit<32> place) {
        meta.class_place = place;
        meta.class_direction = CLASS_UPLINK;
        meta.is_class_measured = 1;
    }

    action downlink_of(bit<32> place) {
        meta.class_place = place;
        meta.class_direction = CLASS_DOWNLINK;
        meta.is_class_measured = 1;
    }

    @id(201)
    table class_members {
        key = { rule : exact @name("rule"); }
        actions = { uplink_of; downlink_of; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_CLASS_MEMBERS;
    }

    // What is added for a size: 16 times the size, less a threshold and 1, as a number to add.
    action compare_with(bit<32> up_0, bit<32> up_1, bit<32> down_0, bit<32> down_1) {
        meta.class_part_up_0 = (int<32>)(meta.class_parts + up_0);
        meta.class_part_up_1 = (int<32>)(meta.class_parts + up_1);
        meta.class_part_down_0 = (int<32>)(meta.class_parts + down_0);
        meta.class_part_down_1 = (int<32>)(meta.class_parts + down_1);
    }

    @id(202)
    table class_limits {
        key = { is_counted : ternary @name("is_counted"); }
        actions = { compare_with; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 1;
    }

    // The window of the session's last packet, twice: whether it has ended, and which it was.
    @id(200)
    REGISTER(class_closings, SIZE_CLASSES, bit<CLASS_BITS>, bit<16>)

    REGISTER_ACTION(class_closings, close_window, bit<CLASS_BITS>, bit<16>,
        if (cell == meta.class_window) { result = 0; } else { result = 1; }
        cell = meta.class_window;
    )

    @id(201)
    REGISTER(class_last_windows, SIZE_CLASSES, bit<CLASS_BITS>, bit<16>)

    REGISTER_ACTION(class_last_windows, exchange_window, bit<CLASS_BITS>, bit<16>,
        result = cell;
        cell = meta.class_window;
    )

    @hidden
    action close() {
        REGISTER_EXECUTE(close_window, CLASS_PLACE, meta.is_class_closed)
    }

    @hidden
    table class_closing {
        key = { meta.is_class_measured : exact; }
        actions = { close; NoAction; }
        const default_action = NoAction();
        const entries = { 1 : close(); }
        size = 1;
    }

    @hidden
    action exchange() {
        REGISTER_EXECUTE(exchange_window, CLASS_PLACE, meta.class_last)
    }

    @hidden
    table class_exchanging {
        key = { meta.is_class_measured : exact; }
        actions = { exchange; NoAction; }
        const default_action = NoAction();
        const entries = { 1 : exchange(); }
        size = 1;
    }

    @hidden
    action windows_since() {
        meta.class_last = meta.class_window - meta.class_last;
    }

    @hidden
    action set_pause(bit<8> pause) {
        meta.class_pause = pause;
    }

    // 1: a window has ended and the next has begun. 2: there is an empty one between. 3: there are more.
    @hidden
    table class_pauses {
        key = {
            meta.is_class_measured : ternary;
            meta.class_last : ternary;
        }
        actions = { set_pause; NoAction; }
        const default_action = NoAction();
        const entries = {
            (1, 0) : set_pause(0);
            (1, 1) : set_pause(1);
            (1, 2) : set_pause(2);
            (1, _) : set_pause(3);
        }
        size = 4;
    }

    CLASS_PACKETS(up, 202, CLASS_UPLINK, CLASS_DOWNLINK)
    CLASS_PACKETS(down, 203, CLASS_DOWNLINK, CLASS_UPLINK)
    CLASS_SIZES(up_0, 204, CLASS_UPLINK, CLASS_DOWNLINK)
    CLASS_SIZES(up_1, 205, CLASS_UPLINK, CLASS_DOWNLINK)
    CLASS_SIZES(down_0, 206, CLASS_DOWNLINK, CLASS_UPLINK)
    CLASS_SIZES(down_1, 207, CLASS_DOWNLINK, CLASS_UPLINK)
    CLASS_RANGES(up, 203)
    CLASS_RANGES(down, 204)

    action set_application_class(bit<8> class) {
        meta.class_of_window = class;
    }

    // Signs are 1 for a mean up to the threshold.
    @id(205)
    table class_cells {
        key = {
            meta.class_code_up : exact @name("uplink_code");
            meta.class_code_down : exact @name("downlink_code");
            meta.class_up_0[31:31] : exact @name("uplink_0");
            meta.class_up_1[31:31] : exact @name("uplink_1");
            meta.class_down_0[31:31] : exact @name("downlink_0");
            meta.class_down_1[31:31] : exact @name("downlink_1");
        }
        actions = { set_application_class; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_CLASS_CELLS;
    }

    CLASS_HISTORY(even, 208, 0, 1)
    CLASS_HISTORY(odd, 209, 1, 0)

    action agree(bit<8> class) {
        meta.class_now = class;
        meta.is_class_agreed = 1;
    }

    // The class that windows agree about: two of three, and empty ones after them.
    @id(206)
    table class_verdicts {
        key = {
            meta.class_pause : exact @name("pause");
            meta.class_window[0:0] : exact @name("parity");
            meta.class_of_window : exact @name("class");
            meta.class_even : exact @name("even");
            meta.class_odd : exact @name("odd");
        }
        actions = { agree; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_CLASS_VERDICTS;
    }

    @id(210)
    REGISTER(class_of_sessions, SIZE_CLASSES, bit<CLASS_BITS>, bit<8>)

    REGISTER_ACTION(class_of_sessions, change_class, bit<CLASS_BITS>, bit<8>,
        if (cell == meta.class_now) { result = 0; } else { result = 1; }
        cell = meta.class_now;
    )

    @hidden
    action change() {
        REGISTER_EXECUTE_BITS(change_class, CLASS_PLACE, has_changed)
    }

    @hidden
    table class_changing {
        key = { meta.is_class_agreed : exact; }
        actions = { change; NoAction; }
        const default_action = NoAction();
        const entries = { 1 : change(); }
        size = 1;
    }

    apply {
        if (is_counted == 1) {
            class_members.apply();
        }
        class_limits.apply();
        class_closing.apply();
        class_exchanging.apply();
        windows_since();
        class_pauses.apply();
        class_counting_up.apply();
        class_counting_down.apply();
        class_counting_up_0.apply();
        class_counting_up_1.apply();
        class_counting_down_0.apply();
        class_counting_down_1.apply();
        class_ranges_up.apply();
        class_ranges_down.apply();
        class_cells.apply();
        class_history_of_even.apply();
        class_history_of_odd.apply();
        class_verdicts.apply();
        class_changing.apply();
    }
}

// Policing of a bit rate for each session and direction, without the control plane: registers, since a data plane cannot set up a meter.
//
// The debt of a session is the time that its packets so far take at the rate of its policy, less the time that has passed. A packet that finds more
// than the tolerance is dropped, and adds nothing. Otherwise it adds its own time, `police_step`. Two registers: a stateful ALU of Tofino 1 adds
// no two fields of a packet, has two of them, and writes a word in two ways at most. One has the time of the last packet, the other the debt, which
// grows by the step less the gap, or shrinks by the gap less the step, but not below zero.
//
// So a session whose debt is less than a gap may begin again with up to one packet more than its rate allows. Times have 32 bits of nanoseconds and wrap after
// 4.3 s: a longer gap may count as a shorter one, so that a debt outlasts it. A step is less than 2^30 ns: at 1,500 octets a rate above 11.2 kbit/s.
//
// It uses these fields of the metadata, of 32 bits: `police_step` and `time`, which are set before, and its own `police_gap`, `police_change`
// and `police_over`; `police_shrinks`, of one bit; and `police_index`, the index of the session.

// Nanoseconds of debt that are tolerated: 10 ms.
#define POLICE_TOLERANCE 10000000
// The longest gap that counts.
#define POLICE_PAUSE 0x40000000

control Police(inout metadata_t meta) {
    REGISTER(police_times, SIZE_POLICE, bit<POLICE_BITS>, bit<32>)

    REGISTER(police_debts, SIZE_POLICE, bit<POLICE_BITS>, bit<32>)

    REGISTER_ACTION(police_times, note_time, bit<POLICE_BITS>, bit<32>,
        result = cell;
        cell = meta.time;
    )

    REGISTER_ACTION(police_debts, owe_more, bit<POLICE_BITS>, bit<32>,
        if ((int<32>)(cell - meta.police_gap) > POLICE_TOLERANCE) {
            result = 1;
            cell = cell |-| meta.police_gap;
        } else {
            result = 0;
            cell = cell + meta.police_change;
        }
    )

    REGISTER_ACTION(police_debts, owe_less, bit<POLICE_BITS>, bit<32>,
        if ((int<32>)(cell - meta.police_gap) > POLICE_TOLERANCE) {
            result = 1;
            cell = cell |-| meta.police_gap;
        } else {
            result = 0;
            cell = cell |-| meta.police_change;
        }
    )

    @hidden
    action note() {
        REGISTER_EXECUTE(note_time, meta.police_index, meta.police_gap)
    }

    @hidden
    table police_note {
        actions = { note; }
        const default_action = note();
        size = 1;
    }

    @hidden
    action measure() {
        meta.police_gap = meta.time - meta.police_gap;
    }

    @hidden
    table police_measure {
        actions = { measure; }
        const default_action = measure();
        size = 1;
    }

    @hidden
    action shorten() {
        meta.police_gap = POLICE_PAUSE;
    }

    @hidden
    table police_pause {
        key = { meta.police_gap[31:30] : ternary; }
        actions = { shorten; NoAction; }
        const default_action = shorten();
        const entries = { 0 : NoAction(); }
        size = 1;
    }

    @hidden
    action compare() {
        meta.police_change = meta.police_step - meta.police_gap;
    }

    @hidden
    table police_compare {
        actions = { compare; }
        const default_action = compare();
        size = 1;
    }

    @hidden
    action shrink() {
        meta.police_change = 0 - meta.police_change;
        meta.police_shrinks = 1;
    }

    @hidden
    action grow() {
        meta.police_shrinks = 0;
    }

    @hidden
    table police_sign {
        key = { meta.police_change[31:31] : ternary; }
        actions = { shrink; grow; }
        const default_action = grow();
        const entries = { 1 : shrink(); }
        size = 1;
    }

    @hidden
    action charge_more() {
        REGISTER_EXECUTE(owe_more, meta.police_index, meta.police_over)
    }

    @hidden
    action charge_less() {
        REGISTER_EXECUTE(owe_less, meta.police_index, meta.police_over)
    }

    @hidden
    table police_charge {
        key = { meta.police_shrinks : exact; }
        actions = { charge_more; charge_less; NoAction; }
        const default_action = NoAction();
        const entries = {
            0 : charge_more();
            1 : charge_less();
        }
        size = 2;
    }

    apply {
        police_note.apply();
        police_measure.apply();
        police_pause.apply();
        police_compare.apply();
        police_sign.apply();
        police_charge.apply();
    }
}

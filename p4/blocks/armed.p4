// Armed rules: their packets go to the software behind the switch until there was a gap between two of them, so that none that the
// switch forwards overtakes one that is still in the software (`crates/dataplane/switch/src/armed.rs` is the same in the model).
//
// One register has which arming last had a packet in the cell, the other the time of the last packet for the software. The cell is that of the last
// bits of the arming's number, which the controller counts up. A rule that has flipped leaves the time as it is: the gap only grows.
//
// It uses these fields of the metadata: `rule`, those of ARMED_METADATA, and `time`, which is set before.

#ifndef SIZE_ARMED
#define SIZE_ARMED 4096
#define ARMED_BITS 12
#endif

control ArmedRules(inout metadata_t meta) {
    @id(120)
    REGISTER(armed_generations, SIZE_ARMED, bit<ARMED_BITS>, bit<32>)

    @id(121)
    REGISTER(armed_times, SIZE_ARMED, bit<ARMED_BITS>, bit<32>)

    REGISTER_ACTION(armed_generations, note_generation, bit<ARMED_BITS>, bit<32>,
        if (cell == meta.armed_generation) { result = 1; } else { result = 0; }
        cell = meta.armed_generation;
    )

    // The limit is the time less the gap. Times wrap: a difference is a signed number.
    REGISTER_ACTION(armed_times, observe_time, bit<ARMED_BITS>, bit<32>,
        if ((int<32>)(cell - meta.armed_limit) <= 0) { result = 1; } else { result = 0; cell = meta.time; }
    )

    REGISTER_ACTION(armed_times, begin_time, bit<ARMED_BITS>, bit<32>,
        result = 0;
        cell = meta.time;
    )

    action arm(bit<32> generation, bit<32> gap) {
        meta.armed_generation = generation;
        meta.armed_limit = gap;
        meta.is_armed = 1;
    }

    // Tofino subtracts no parameter of an entry, but a field.
    @hidden
    action begin_gap() {
        meta.armed_limit = meta.time - meta.armed_limit;
    }

    @id(120)
    table armed_rules {
        key = { meta.rule : exact @name("rule"); }
        actions = { arm; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_ARMED;
    }

    @hidden
    action note() {
        REGISTER_EXECUTE(note_generation, meta.armed_generation[ARMED_BITS - 1:0], meta.armed_is_same)
    }

    @hidden
    table armed_noting {
        key = { meta.is_armed : exact; }
        actions = { note; NoAction; }
        const default_action = NoAction();
        const entries = { 1 : note(); }
        size = 1;
    }

    @hidden
    action observe() {
        REGISTER_EXECUTE(observe_time, meta.armed_generation[ARMED_BITS - 1:0], meta.armed_passes)
    }

    @hidden
    action begin() {
        REGISTER_EXECUTE(begin_time, meta.armed_generation[ARMED_BITS - 1:0], meta.armed_passes)
    }

    // Both actions of the register in one table, by what they wait for.
    @hidden
    table armed_timing {
        key = {
            meta.is_armed : exact;
            meta.armed_is_same : exact;
        }
        actions = { observe; begin; NoAction; }
        const default_action = NoAction();
        const entries = {
            (1, 1) : observe();
            (1, 0) : begin();
        }
        size = 2;
    }

    apply {
        armed_rules.apply();
        begin_gap();
        armed_noting.apply();
        armed_timing.apply();
    }
}

// Profile `xplane`, ingress: the local state table (X-PLANE section 5.1). While packets of a UE are in flight, what its first account counts is here.
//
// The first packet of a UE asks for the front of its record, and each for the bucket of its flow. The front's response loads packets and octets, and a packet
// that its rule forwards adds to them. The last response of a UE leaves the place to it: it writes them back, and reads the record's header behind that on
// the same queue pair. The header's response acknowledges the write and ends the entry, unless the UE has sent more by then; it names the UE, which an
// acknowledgement does not, and none stands for two.
//
// An entry whose response is lost stays until the control plane, which sees the same count of packets in flight for longer than a response may take,
// writes its packets and octets into memory and zeroes it.
//
// With XPLANE_WALK all words of the account are loaded and written back, and a packet passes within its budget and its inactivity time.

#ifndef CAUSEWAY_XPLANE_LOCAL_STATE
#define CAUSEWAY_XPLANE_LOCAL_STATE

// No account is loaded: above the last count from which packets are counted.
const bit<32> NOT_LOADED = 0xffffffff;
const bit<32> COUNT_END = 0x80000000;

control LocalState(inout xplane_headers_t hdr, inout xplane_metadata_t meta) {
#ifndef XPLANE_WALK
    WORD_PAIRS(responses, 1 << QUEUE_BITS, bit<QUEUE_BITS>)
#endif
    // The second half of the UE's key, and its packets in flight.
    WORD_PAIRS(flights, 1 << LOCAL_BITS, local_index_t)
#ifdef XPLANE_WALK
    // 1: the account is loaded.
    REGISTER(loads, 1 << LOCAL_BITS, local_index_t, bit<32>)
    REGISTER(budgets, 1 << LOCAL_BITS, local_index_t, bit<64>)
    REGISTER(idle_limits, 1 << LOCAL_BITS, local_index_t, bit<64>)
    REGISTER(packets, 1 << LOCAL_BITS, local_index_t, bit<64>)
    REGISTER(octets, 1 << LOCAL_BITS, local_index_t, bit<64>)
    REGISTER(dropped_packets, 1 << LOCAL_BITS, local_index_t, bit<64>)
    REGISTER(dropped_octets, 1 << LOCAL_BITS, local_index_t, bit<64>)
    REGISTER(last_arrivals, 1 << LOCAL_BITS, local_index_t, bit<64>)
    REGISTER(last_passes, 1 << LOCAL_BITS, local_index_t, bit<64>)
#else
    REGISTER(octets, 1 << LOCAL_BITS, local_index_t, bit<32>)
    REGISTER(packets, 1 << LOCAL_BITS, local_index_t, bit<32>)

#include "xplane_order.p4"
#endif

    // The UE has the place, or takes it: how many are in flight now; else zero.
    WORD_PAIR_ACTION(flights, arrive, local_index_t,
        if (cell.first == meta.ue_word || cell.second == 0) { cell.first = meta.ue_word; cell.second = cell.second + 1; result = cell.second; }
    )

    // How many were in flight; the last stays in flight as the write.
    WORD_PAIR_ACTION(flights, leave, local_index_t,
        result = cell.second;
        if (cell.second > 1) { cell.second = cell.second - 1; }
    )

    WORD_PAIR_ACTION(flights, end, local_index_t,
        result = cell.second;
        if (cell.first == meta.ue_word && cell.second != 0) { cell.second = cell.second - 1; }
    )

    action do_arrive() {
        REGISTER_EXECUTE(arrive, meta.ue[LOCAL_BITS - 1:0], meta.flights)
    }

    action do_leave() {
        REGISTER_EXECUTE(leave, meta.ue[LOCAL_BITS - 1:0], meta.flights)
    }

    action do_end() {
        REGISTER_EXECUTE(end, meta.ue[LOCAL_BITS - 1:0], meta.flights)
    }

    table flying {
        key = {
            meta.kind : exact;
            meta.is_foreign : ternary;
            meta.is_damaged : ternary;
            meta.order : ternary;
        }
        actions = { do_arrive; do_leave; do_end; NoAction; }
        const default_action = NoAction();
        const entries = {
            (KIND_USER, _, 1, _) : NoAction();
            (KIND_USER, _, _, _) : do_arrive();
            (KIND_BUCKET, 0, 0, 0 &&& 2) : do_leave();
            (KIND_HEADER, 0, 0, 0 &&& 2) : do_end();
        }
    }

#ifdef XPLANE_WALK
#define EACH_OF_ACCOUNT(DO) \
    DO(budgets, budget) \
    DO(idle_limits, idle_limit) \
    DO(packets, packets) \
    DO(octets, octets) \
    DO(dropped_packets, dropped_packets) \
    DO(dropped_octets, dropped_octets) \
    DO(last_arrivals, last_arrival) \
    DO(last_passes, last_pass)
#define AT_STATE (bit<32>)meta.ue[LOCAL_BITS - 1:0]
#define STATE_READ(register, field) register.read(meta.state.field, AT_STATE);
#define STATE_WRITE(register, field) register.write(AT_STATE, meta.state.field);
#define STATE_LOADED(register, field) meta.state.field = hdr.loaded.field;

    // The account is one value in several registers: whether a packet passes depends on two of them, and changes both. Here they are read, and written behind that.
    action read_state() {
        EACH_OF_ACCOUNT(STATE_READ)
    }

    action write_state() {
        EACH_OF_ACCOUNT(STATE_WRITE)
    }

    // A packet passes, as in the crate.
    action pass() {
        meta.state.budget = meta.state.budget - (bit<64>)meta.octets;
        meta.state.packets = meta.state.packets |+| 1;
        meta.state.octets = meta.state.octets |+| (bit<64>)meta.octets;
        meta.state.last_arrival = meta.now;
        meta.state.last_pass = meta.now;
    }

    apply {
        flying.apply();
        if (meta.kind == KIND_USER && meta.is_damaged == 0 && meta.flights == 1) {
            loads.write(AT_STATE, 0);
        } else if (meta.kind == KIND_FRONT && meta.is_sound == 1 && meta.is_countable == 1) {
            EACH_OF_ACCOUNT(STATE_LOADED)
            write_state();
            loads.write(AT_STATE, 1);
        } else if (meta.kind == KIND_BUCKET && meta.is_sound == 1) {
            loads.read(meta.is_loaded, AT_STATE);
            read_state();
            meta.is_saved = (bit<8>)meta.is_loaded;
            if (meta.is_loaded == 0) {
                meta.octets_before = NOT_LOADED;
            } else if (meta.is_counted == 1 && meta.order == 0) {
                // A time before the last pass is none.
                if (meta.state.budget >= (bit<64>)meta.octets && (meta.now |-| meta.state.last_pass) < meta.state.idle_limit) {
                    pass();
                    write_state();
                } else {
                    meta.octets_before = NOT_LOADED;
                }
            }
        }
    }
#else
    REGISTER_ACTION(octets, begin_octets, local_index_t, bit<32>,
        cell = NOT_LOADED;
        result = 0;
    )

    REGISTER_ACTION(octets, load_octets, local_index_t, bit<32>,
        cell = hdr.loaded.octets_low;
        result = 0;
    )

    REGISTER_ACTION(octets, add_octets, local_index_t, bit<32>,
        result = cell;
        if (cell < COUNT_END) { cell = cell + meta.octets; }
    )

    REGISTER_ACTION(octets, see_octets, local_index_t, bit<32>,
        result = cell;
    )

    action do_see_octets() {
        REGISTER_EXECUTE(see_octets, meta.ue[LOCAL_BITS - 1:0], meta.octets_before)
    }

    action do_begin_octets() {
        REGISTER_EXECUTE(begin_octets, meta.ue[LOCAL_BITS - 1:0], meta.octets_before)
    }

    action do_load_octets() {
        REGISTER_EXECUTE(load_octets, meta.ue[LOCAL_BITS - 1:0], meta.octets_before)
    }

    action do_add_octets() {
        REGISTER_EXECUTE(add_octets, meta.ue[LOCAL_BITS - 1:0], meta.octets_before)
    }

    table counting_octets {
        key = {
            meta.kind : exact;
            meta.is_foreign : ternary;
            meta.is_damaged : ternary;
            meta.order : ternary;
            meta.flights : ternary;
            meta.is_countable : ternary;
            meta.is_counted : ternary;
        }
        actions = { do_begin_octets; do_load_octets; do_add_octets; do_see_octets; NoAction; }
        const default_action = NoAction();
        const entries = {
            (KIND_USER, _, 0, _, 1, _, _) : do_begin_octets();
            (KIND_FRONT, 0, 0, 0 &&& 2, _, 1, _) : do_load_octets();
            (KIND_BUCKET, 0, 0, 0, _, _, 1) : do_add_octets();
            (KIND_BUCKET, 0, 0, 0 &&& 2, _, _, _) : do_see_octets();
        }
    }

    REGISTER_ACTION(packets, load_packets, local_index_t, bit<32>,
        cell = hdr.loaded.packets_low;
        result = cell;
    )

    REGISTER_ACTION(packets, add_packet, local_index_t, bit<32>,
        cell = cell + 1;
        result = cell;
    )

    REGISTER_ACTION(packets, see_packets, local_index_t, bit<32>,
        result = cell;
    )

    action do_load_packets() {
        REGISTER_EXECUTE(load_packets, meta.ue[LOCAL_BITS - 1:0], meta.packets_now)
    }

    action do_add_packet() {
        REGISTER_EXECUTE(add_packet, meta.ue[LOCAL_BITS - 1:0], meta.packets_now)
    }

    action do_see_packets() {
        REGISTER_EXECUTE(see_packets, meta.ue[LOCAL_BITS - 1:0], meta.packets_now)
    }

    table counting_packets {
        key = {
            meta.kind : exact;
            meta.is_foreign : ternary;
            meta.is_damaged : ternary;
            meta.order : ternary;
            meta.is_countable : ternary;
            meta.is_counted : ternary;
            meta.octets_before : ternary;
        }
        actions = { do_load_packets; do_add_packet; do_see_packets; NoAction; }
        const default_action = NoAction();
        const entries = {
            (KIND_FRONT, 0, 0, 0 &&& 2, 1, _, _) : do_load_packets();
            (KIND_BUCKET, 0, 0, 0, _, 1, 0 &&& COUNT_END) : do_add_packet();
            (KIND_BUCKET, 0, 0, 0 &&& 2, _, _, _) : do_see_packets();
        }
    }

    action sum() {
        meta.octets_now = meta.octets_before + meta.octets;
        meta.is_saved = 1;
    }

    action same() {
        meta.octets_now = meta.octets_before;
        meta.is_saved = 1;
    }

    action nothing() {
        meta.is_saved = 0;
    }

    table sums {
        key = {
            meta.octets_before : ternary;
            meta.is_counted : ternary;
            meta.order : ternary;
        }
        actions = { sum; same; nothing; }
        const default_action = same();
        const entries = {
            (NOT_LOADED, _, _) : nothing();
            (0 &&& COUNT_END, 1, 0) : sum();
        }
    }

    apply {
        response_numbers.apply();
        orders.apply();
        flying.apply();
        counting_octets.apply();
        sums.apply();
        counting_packets.apply();
    }
#endif
}

#endif

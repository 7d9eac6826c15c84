// Profile `xplane` with XPLANE_WALK, ingress: flows without an entry are looked up in the UE table, and an entry is written (docs/xplane.md).
//
// A packet whose flow has no entry takes a walk, chosen by the flow's hash, and is written into the walk's ring in external memory. Responses come by the walk's
// queue pairs, whose numbers are that of the walk. Its steps, each a READ whose response leads to the next one:
//
// 1. the fields of the packet, which are kept in registers;
// 2. the header of the UE's record: it must be that UE's, and of its generation, which is kept;
// 3. blocks of five PDRs, until one matches;
// 4. the action of its rule, which makes a WRITE of the flow's entry;
// 5. the packets of the ring, READ_AHEAD of them at a time. Each is looked up again as a packet that comes, with a mark, and finds the entry.
//
// Packets of the flow that come while the walk lasts enter the ring behind the others, also those that find the entry: none passes another. The walk ends when the last of
// them has been looked up again. The header is read before the blocks: a change of rules raises the generation before it changes the record, so that an entry
// that was made from blocks of after it has a generation of before, and is a miss. Where no rule is found, the packets leave without an entry, and are the
// software's.
//
// Two flows with one hash share a walk; the entry is of the first one, and packets of the other one find none.

#ifndef CAUSEWAY_XPLANE_WALK
#define CAUSEWAY_XPLANE_WALK

#ifdef XPLANE_WALK

const bit<32> FULL = 0xffffffff;
const bit<32> RING = 1 << RING_BITS;

typedef bit<WALK_BITS> walk_index_t;
#define AT_WALK meta.walk[WALK_BITS - 1:0]

control ResponseOrder(inout xplane_headers_t hdr, inout xplane_metadata_t meta) {
    WORD_PAIRS(responses, 1 << QUEUE_BITS, bit<QUEUE_BITS>)

#include "xplane_order.p4"

    apply {
        response_numbers.apply();
        orders.apply();
        if (meta.is_foreign == 0 && meta.is_damaged == 0 && meta.order != 2) {
            meta.is_sound = 1;
        }
    }
}

// A word that one step of a walk writes, and others read.
#define KEPT(name, value, to) \
    REGISTER(name, 1 << WALK_BITS, walk_index_t, bit<32>) \
    REGISTER_ACTION(name, name##_write, walk_index_t, bit<32>, cell = value; result = cell;) \
    REGISTER_ACTION(name, name##_read, walk_index_t, bit<32>, result = cell;) \
    action keep_##name() { REGISTER_EXECUTE(name##_write, AT_WALK, to) } \
    action see_##name() { REGISTER_EXECUTE(name##_read, AT_WALK, to) }

#define MASKS(name, length, to) \
    action name##_set(bit<32> mask) { \
        to = mask; \
    } \
    table name { \
        key = { length : exact; } \
        actions = { name##_set; } \
        const default_action = name##_set(0xffffffff); \
        const entries = { \
            0 : name##_set(0x0); \
            1 : name##_set(0x80000000); \
            2 : name##_set(0xc0000000); \
            3 : name##_set(0xe0000000); \
            4 : name##_set(0xf0000000); \
            5 : name##_set(0xf8000000); \
            6 : name##_set(0xfc000000); \
            7 : name##_set(0xfe000000); \
            8 : name##_set(0xff000000); \
            9 : name##_set(0xff800000); \
            10 : name##_set(0xffc00000); \
            11 : name##_set(0xffe00000); \
            12 : name##_set(0xfff00000); \
            13 : name##_set(0xfff80000); \
            14 : name##_set(0xfffc0000); \
            15 : name##_set(0xfffe0000); \
            16 : name##_set(0xffff0000); \
            17 : name##_set(0xffff8000); \
            18 : name##_set(0xffffc000); \
            19 : name##_set(0xffffe000); \
            20 : name##_set(0xfffff000); \
            21 : name##_set(0xfffff800); \
            22 : name##_set(0xfffffc00); \
            23 : name##_set(0xfffffe00); \
            24 : name##_set(0xffffff00); \
            25 : name##_set(0xffffff80); \
            26 : name##_set(0xffffffc0); \
            27 : name##_set(0xffffffe0); \
            28 : name##_set(0xfffffff0); \
            29 : name##_set(0xfffffff8); \
            30 : name##_set(0xfffffffc); \
            31 : name##_set(0xfffffffe); \
            32 : name##_set(0xffffffff); \
        } \
    }

// Ends become their differences under the mask; ports how far they are outside of the range. Flags of a PDR: 2 protocol, 4 QFI, 8 remote ports, 16 local ports,
// 64 IPv6 alone.
#define PDR_TABLES(n) \
    MASKS(remote_masks##n, hdr.remote_length##n.octet, meta.remote_mask##n) \
    MASKS(local_masks##n, hdr.local_length##n.octet, meta.local_mask##n) \
    action differ##n() { \
        hdr.remote##n.word = hdr.remote##n.word ^ meta.remote; \
        hdr.local##n.word = hdr.local##n.word ^ meta.local; \
        hdr.remote_first##n.half = hdr.remote_first##n.half |-| meta.remote_port; \
        hdr.remote_last##n.half = meta.remote_port |-| hdr.remote_last##n.half; \
        hdr.local_first##n.half = hdr.local_first##n.half |-| meta.local_port; \
        hdr.local_last##n.half = meta.local_port |-| hdr.local_last##n.half; \
        hdr.protocol##n.octet = hdr.protocol##n.octet ^ meta.rest[31:24]; \
        hdr.qfi##n.octet = hdr.qfi##n.octet ^ meta.rest[23:16]; \
        hdr.class##n.octet = hdr.class##n.octet ^ meta.rest[15:8]; \
    } \
    action cut##n() { \
        hdr.remote##n.word = hdr.remote##n.word & meta.remote_mask##n; \
        hdr.local##n.word = hdr.local##n.word & meta.local_mask##n; \
        hdr.class##n.octet = hdr.class##n.octet & hdr.class_mask##n.octet; \
    } \
    action match##n() { \
        meta.matches##n = 1; \
    } \
    table pdr##n { \
        key = { \
            hdr.flags##n.octet : ternary; \
            hdr.remote##n.word : ternary; \
            hdr.local##n.word : ternary; \
            hdr.remote_first##n.half : ternary; \
            hdr.remote_last##n.half : ternary; \
            hdr.local_first##n.half : ternary; \
            hdr.local_last##n.half : ternary; \
            hdr.protocol##n.octet : ternary; \
            hdr.qfi##n.octet : ternary; \
            hdr.class##n.octet : ternary; \
            meta.has_ports : ternary; \
        } \
        actions = { match##n; NoAction; } \
        const default_action = NoAction(); \
        const entries = { \
            (0x0 &&& 0x5e, 0, 0, _, _, _, _, _, _, 0, _) : match##n(); \
            (0x2 &&& 0x5e, 0, 0, _, _, _, _, 0, _, 0, _) : match##n(); \
            (0x4 &&& 0x5e, 0, 0, _, _, _, _, _, 0, 0, _) : match##n(); \
            (0x6 &&& 0x5e, 0, 0, _, _, _, _, 0, 0, 0, _) : match##n(); \
            (0x8 &&& 0x5e, 0, 0, 0, 0, _, _, _, _, 0, 1) : match##n(); \
            (0xa &&& 0x5e, 0, 0, 0, 0, _, _, 0, _, 0, 1) : match##n(); \
            (0xc &&& 0x5e, 0, 0, 0, 0, _, _, _, 0, 0, 1) : match##n(); \
            (0xe &&& 0x5e, 0, 0, 0, 0, _, _, 0, 0, 0, 1) : match##n(); \
            (0x10 &&& 0x5e, 0, 0, _, _, 0, 0, _, _, 0, 1) : match##n(); \
            (0x12 &&& 0x5e, 0, 0, _, _, 0, 0, 0, _, 0, 1) : match##n(); \
            (0x14 &&& 0x5e, 0, 0, _, _, 0, 0, _, 0, 0, 1) : match##n(); \
            (0x16 &&& 0x5e, 0, 0, _, _, 0, 0, 0, 0, 0, 1) : match##n(); \
            (0x18 &&& 0x5e, 0, 0, 0, 0, 0, 0, _, _, 0, 1) : match##n(); \
            (0x1a &&& 0x5e, 0, 0, 0, 0, 0, 0, 0, _, 0, 1) : match##n(); \
            (0x1c &&& 0x5e, 0, 0, 0, 0, 0, 0, _, 0, 0, 1) : match##n(); \
            (0x1e &&& 0x5e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1) : match##n(); \
        } \
    } \
    action take##n() { \
        meta.match = 1 + (hdr.flags##n.octet & 1); \
        meta.rule = hdr.rule##n.word; \
    }

// What a step of a walk does next: the group of its requests. Then the local state: a packet of the ring that finds no place there leaves the walk.
control Walk(inout xplane_headers_t hdr, inout xplane_metadata_t meta) {
    LocalState() local_state;
    // The flow that has the walk, and its packets that have not left.
    WORD_PAIRS(owners, 1 << WALK_BITS, walk_index_t)
    // 0: its rule is looked up; 1: packets leave the ring.
    REGISTER(phases, 1 << WALK_BITS, walk_index_t, bit<32>)
    // Packets that have entered the ring, and those that have come back.
    REGISTER(ins, 1 << WALK_BITS, walk_index_t, bit<32>)
    REGISTER(outs, 1 << WALK_BITS, walk_index_t, bit<32>)
    KEPT(remotes, meta.remote, meta.remote)
    KEPT(locals, meta.local, meta.local)
    KEPT(port_pairs, meta.both_ports, meta.both_ports)
    KEPT(rests, meta.rest, meta.rest)
    KEPT(words, meta.ue_word, meta.kept_word)
    KEPT(ends_of_ues, meta.ue_local, meta.ue_local)
    KEPT(ues, meta.ue, meta.ue)
    KEPT(flows, meta.flow, meta.flow)
    KEPT(generations_high, meta.generation_high, meta.generation_high)
    KEPT(generations_low, meta.generation_low, meta.generation_low)
    KEPT(offsets, meta.offset, meta.offset)
    KEPT(rules_found, meta.rule, meta.rule)
    KEPT(entry_places, meta.place, meta.place)
    PDR_TABLES(1)
    PDR_TABLES(2)
    PDR_TABLES(3)
    PDR_TABLES(4)
    PDR_TABLES(5)

    // A flow without an entry takes the walk, or joins it: its packets now. Zero: another flow has it.
    WORD_PAIR_ACTION(owners, arrive, walk_index_t,
        if (cell.first == meta.flow && cell.second >= RING) { result = FULL; }
        else if (cell.first == meta.flow || cell.second == 0) { cell.first = meta.flow; cell.second = cell.second + 1; result = cell.second; }
    )

    // One with an entry joins the walk if there is one.
    WORD_PAIR_ACTION(owners, join, walk_index_t,
        if (cell.first == meta.flow && cell.second >= RING) { result = FULL; }
        else if (cell.first == meta.flow && cell.second != 0) { cell.second = cell.second + 1; result = cell.second; }
    )

    WORD_PAIR_ACTION(owners, leave, walk_index_t,
        result = cell.second;
        if (cell.second != 0) { cell.second = cell.second - 1; }
    )

    REGISTER_ACTION(phases, walking, walk_index_t, bit<32>, cell = 0; result = cell;)
    REGISTER_ACTION(phases, leaving, walk_index_t, bit<32>, cell = 1; result = cell;)
    REGISTER_ACTION(phases, see_phase, walk_index_t, bit<32>, result = cell;)
    REGISTER_ACTION(ins, first_in, walk_index_t, bit<32>, cell = 1; result = 0;)
    REGISTER_ACTION(ins, next_in, walk_index_t, bit<32>, result = cell; cell = cell + 1;)
    REGISTER_ACTION(ins, see_in, walk_index_t, bit<32>, result = cell;)
    REGISTER_ACTION(outs, none_out, walk_index_t, bit<32>, cell = 0; result = cell;)
    REGISTER_ACTION(outs, next_out, walk_index_t, bit<32>, result = cell; cell = cell + 1;)
    REGISTER_ACTION(outs, see_out, walk_index_t, bit<32>, result = cell;)

    action choose(bit<16> group) {
        meta.walk_group = group;
    }

    // What the software's time is ahead of the switch's. The control plane sets it.
    action set_time(bit<32> high, bit<32> low) {
        meta.now = meta.now + (high ++ low);
    }

    table times {
        actions = { set_time; }
        default_action = set_time(0, 0);
    }

    table choice {
        key = {
            meta.matches1 : ternary;
            meta.matches2 : ternary;
            meta.matches3 : ternary;
            meta.matches4 : ternary;
            meta.matches5 : ternary;
        }
        actions = { take1; take2; take3; take4; take5; NoAction; }
        const default_action = NoAction();
        const entries = {
            (1, _, _, _, _) : take1();
            (_, 1, _, _, _) : take2();
            (_, _, 1, _, _) : take3();
            (_, _, _, 1, _) : take4();
            (_, _, _, _, 1) : take5();
        }
    }

    action set_action(bit<32> offset) {
        meta.offset = offset;
    }

    table actions_of_rules {
        key = { meta.rule[15:8] : exact @name("action"); }
        actions = { set_action; }
        const default_action = set_action(RECORD_ACTIONS);
        const entries = {
            1 : set_action(RECORD_ACTIONS + 72);
            2 : set_action(RECORD_ACTIONS + 144);
            3 : set_action(RECORD_ACTIONS + 216);
        }
    }

    // The remote end of an uplink packet is its destination.
    action ends_of_uplink() {
        meta.flags = meta.flags | 0x80;
        meta.remote = meta.dst;
        meta.local = meta.src;
        meta.both_ports = meta.dst_port ++ meta.src_port;
    }

    action ends_of_downlink() {
        meta.remote = meta.src;
        meta.local = meta.dst;
        meta.both_ports = meta.src_port ++ meta.dst_port;
    }

    table ends {
        key = { meta.key_kind : exact; }
        actions = { ends_of_uplink; ends_of_downlink; }
        const default_action = ends_of_downlink();
        const entries = {
            KEY_TUNNEL : ends_of_uplink();
        }
    }

    // The packets of the ring leave, from the first one on.
    action release() {
        REGISTER_EXECUTE(leaving, AT_WALK, meta.phase)
        REGISTER_EXECUTE(see_in, AT_WALK, meta.waiting)
        meta.position = 0;
    }

    action write_entry() {
        hdr.entry.setValid();
        hdr.entry.generation_high = meta.generation_high;
        hdr.entry.generation_low = meta.generation_low;
        hdr.entry.ue_word = meta.kept_word;
        hdr.entry.ue_zero = 0;
        hdr.entry.flags = meta.rest[7:0] & 7;
        hdr.entry.protocol = meta.rest[31:24];
        hdr.entry.dscp = meta.rest[15:8] & 0xfc;
        hdr.entry.qfi = meta.rest[23:16];
        hdr.entry.src_zero = 0;
        hdr.entry.src_prefix = 0xffff;
        hdr.entry.dst_zero = 0;
        hdr.entry.dst_prefix = 0xffff;
        hdr.entry.used_high = meta.now[63:32];
        hdr.entry.used_low = meta.now[31:0];
        hdr.entry.has_rule = 1;
        hdr.entry.rule = meta.rule;
        hdr.entry_end.setValid();
        hdr.entry_end.zero = 0;
    }

    action entry_of_uplink() {
        hdr.entry.ue_head = HEAD_TUNNEL;
        hdr.entry.ue_prefix = 0xffff;
        hdr.entry.ue_local = meta.ue_local;
        hdr.entry.src = meta.local;
        hdr.entry.dst = meta.remote;
        hdr.entry.src_port = meta.both_ports[15:0];
        hdr.entry.dst_port = meta.both_ports[31:16];
    }

    action entry_of_downlink() {
        hdr.entry.ue_head = HEAD_ADDRESS;
        hdr.entry.ue_prefix = 0;
        hdr.entry.ue_local = 0;
        hdr.entry.src = meta.remote;
        hdr.entry.dst = meta.local;
        hdr.entry.src_port = meta.both_ports[31:16];
        hdr.entry.dst_port = meta.both_ports[15:0];
    }

    apply {
        times.apply();
        if (meta.kind == KIND_BUCKET) {
            meta.walk = (bit<32>)meta.flow[31:32 - WALK_BITS];
        } else {
            meta.walk = (bit<32>)meta.pair[WALK_BITS - 1:0];
        }
        // A packet of the ring leaves it also behind a gap.
        if (meta.kind == KIND_BUCKET && meta.is_sound == 1 && meta.is_not_next == 0 && !(HAS_NO_PLACE) && (meta.order == 0 || WAS_QUEUED)) {
            if (WAS_QUEUED) {
                REGISTER_EXECUTE(leave, AT_WALK, meta.count)
                meta.count = 0;
            } else if (meta.first_is != 2 && meta.second_is != 2 && meta.place != 2) {
                REGISTER_EXECUTE(arrive, AT_WALK, meta.count)
            } else {
                REGISTER_EXECUTE(join, AT_WALK, meta.count)
            }
            if (meta.count == 1) {
                REGISTER_EXECUTE(walking, AT_WALK, meta.phase)
                REGISTER_EXECUTE(first_in, AT_WALK, meta.entered)
                REGISTER_EXECUTE(none_out, AT_WALK, meta.left)
                keep_entry_places();
                meta.position = 0;
                choose(GROUP_BEGIN);
            } else if (meta.count != 0 && meta.count != FULL) {
                REGISTER_EXECUTE(see_phase, AT_WALK, meta.phase)
                REGISTER_EXECUTE(next_in, AT_WALK, meta.entered)
                REGISTER_EXECUTE(see_out, AT_WALK, meta.left)
                meta.position = meta.entered;
                meta.waiting = 1;
                choose(GROUP_JOIN);
                // It is among those that are read ahead: the others are on their way.
                if (meta.phase == 1 && meta.entered - meta.left < READ_AHEAD) {
                    choose(GROUP_JOIN_DRAIN);
                }
            }
        } else if (meta.kind == KIND_QUEUED && meta.is_sound == 1) {
            meta.kind = KIND_USER;
            REGISTER_EXECUTE(see_in, AT_WALK, meta.entered)
            REGISTER_EXECUTE(next_out, AT_WALK, meta.left)
            meta.position = meta.left + READ_AHEAD;
            if (meta.entered > meta.position) {
                meta.drains = 1;
                meta.waiting = 1;
            }
        } else if (meta.kind == KIND_FIELDS && meta.is_sound == 1) {
            ends.apply();
            meta.rest = meta.protocol ++ meta.qfi ++ meta.tos ++ meta.flags;
            keep_remotes();
            keep_locals();
            keep_port_pairs();
            keep_rests();
            keep_words();
            keep_ends_of_ues();
            keep_ues();
            keep_flows();
            choose(GROUP_RECORD);
        } else if (meta.kind == KIND_RECORD && meta.is_sound == 1) {
            see_words();
            see_locals();
            // Differences, as of an entry: zero if it is the UE's, and of its generation.
            hdr.record_address.word = hdr.record_address.word ^ meta.local;
            if (hdr.first_generation_high.word == 0 && hdr.first_generation_low.word == 0
                && meta.ue_word == meta.kept_word
                && ((meta.key_kind == KEY_TUNNEL && hdr.first_ue_head.word == HEAD_TUNNEL && hdr.first_ue_local.word == 0)
                    || (meta.key_kind == KEY_ADDRESS && hdr.first_ue_head.word == HEAD_ADDRESS))
                && ((hdr.record_flags.octet & 1) == 0 || ((hdr.record_flags.octet & 2) == 2 && hdr.record_address.word == 0))) {
                keep_generations_high();
                keep_generations_low();
                meta.offset = RECORD_BLOCKS;
                keep_offsets();
                choose(GROUP_BLOCK);
            } else {
                release();
                choose(GROUP_RELEASE);
            }
        } else if (meta.kind == KIND_BLOCK && meta.is_sound == 1) {
            see_remotes();
            see_locals();
            see_port_pairs();
            see_rests();
            see_ues();
            see_offsets();
            meta.remote_port = meta.both_ports[31:16];
            meta.local_port = meta.both_ports[15:0];
            meta.has_ports = meta.rest[2:2];
#define COMPARE(n) \
            remote_masks##n.apply(); \
            local_masks##n.apply(); \
            differ##n(); \
            cut##n(); \
            pdr##n.apply();
            COMPARE(1)
            COMPARE(2)
            COMPARE(3)
            COMPARE(4)
            COMPARE(5)
            choice.apply();
            if (meta.match == 2) {
                keep_rules_found();
                actions_of_rules.apply();
                choose(GROUP_ACTION);
            } else if (meta.match == 0 && meta.offset != LAST_BLOCK) {
                meta.offset = meta.offset + BLOCK_LENGTH;
                keep_offsets();
                choose(GROUP_BLOCK);
            } else {
                release();
                choose(GROUP_RELEASE);
            }
        } else if (meta.kind == KIND_ACTION && meta.is_sound == 1) {
            see_remotes();
            see_locals();
            see_port_pairs();
            see_rests();
            see_ues();
            see_flows();
            see_generations_high();
            see_generations_low();
            see_rules_found();
            see_entry_places();
            see_ends_of_ues();
            see_words();
            write_entry();
            if (meta.rest[7:7] == 1) {
                entry_of_uplink();
            } else {
                entry_of_downlink();
            }
            release();
            choose(GROUP_ENTRY);
        }
        // What goes into a ring is counted when it has come back.
        if (meta.walk_group != 0 || meta.count == FULL) {
            meta.is_counted = 0;
            meta.is_forwarded = 0;
            meta.octets = 0;
        }
        if (!(meta.kind == KIND_BUCKET && HAS_NO_PLACE)) {
            local_state.apply(hdr, meta);
        }
        if (WAS_QUEUED && meta.kind == KIND_USER && meta.flights == 0) {
            REGISTER_EXECUTE(leave, AT_WALK, meta.count)
            meta.count = 0;
        }
    }
}

#endif

#endif

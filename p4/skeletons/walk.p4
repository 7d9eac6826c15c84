// The walk of X-PLANE (MobiCom '23, section 5.2) by itself, for either target: a flow without an entry reads the blocks of five PDRs of its UE, and its
// packets wait in a ring in external memory until the first PDR that matches is known. Blocks are those of `crates/dataplane/xplane`.
//
// A packet of a flow without an entry takes a place among the walks, or joins the walk of its flow: it is written into the ring at the next position. The
// first one keeps its fields in registers, and reads the first block. A response names no flow: the number of its request leads to the walk. A block
// without a match makes the next READ, one with a match the first READ of the ring. Each packet that comes from the ring leaves, and makes the READ of
// the next one; with the last one the walk ends. A packet whose place is taken by another flow is for the software.
//
// A paging ring is the same without blocks: owners, ends and positions by UE.
//
// It was compiled, and not run. What it leaves out: loss, the WRITE of the flow entry, headers of the requests but their operation, place and number.
//
// The compiler's target is chosen by SKELETON_TOFINO.

#include <core.p4>
#ifdef SKELETON_TOFINO
#include <tna.p4>
#else
#include <v1model.p4>
#endif

#define WALKS 4096
#define WALK_BITS 12
#define PORT_MEMORY 1
#define PORT_SOFTWARE 2

// What a frame is, by its type here.
#define KIND_MISS 0x0800
#define KIND_BLOCK 0x88b5
#define KIND_RING 0x88b6

header frame_h {
    bit<16> kind;
}

// A packet without an entry: bucket and rest of its flow's hash, its fields, remote end first, and the blocks of its UE.
header packet_h {
    bit<32> walk;
    bit<32> flow;
    bit<32> remote;
    bit<32> local;
    // Remote port and local one; protocol, QFI, DSCP, flags.
    bit<32> ports;
    bit<32> rest;
    bit<32> block;
}

// In front of a response: the number of its request.
header response_h {
    bit<32> psn;
}

header octet_h {
    bit<8> octet;
}

header half_h {
    bit<16> half;
}

header word_h {
    bit<32> word;
}

header request_h {
    bit<8> operation;
    bit<8> rule;
    bit<16> position;
    bit<32> place;
    bit<32> psn;
}

#define PDR_HEADERS(n) \
    octet_h flags##n; \
    word_h remote##n; \
    octet_h remote_length##n; \
    half_h remote_first##n; \
    half_h remote_last##n; \
    word_h local##n; \
    octet_h local_length##n; \
    half_h local_first##n; \
    half_h local_last##n; \
    octet_h protocol##n; \
    octet_h qfi##n; \
    octet_h class##n; \
    octet_h class_mask##n; \
    octet_h action##n;

struct headers_t {
    frame_h frame;
    request_h request;
    packet_h packet;
    response_h response;
    PDR_HEADERS(1)
    PDR_HEADERS(2)
    PDR_HEADERS(3)
    PDR_HEADERS(4)
    PDR_HEADERS(5)
}

#define PDR_METADATA(n) \
    bit<32> remote_mask##n; \
    bit<32> local_mask##n; \
    bit<1> matches##n;

struct metadata_t {
    bit<16> kind;
    bit<32> walk;
    bit<32> psn;
    bit<32> flow;
    // Packets of the walk behind this one or before it.
    bit<32> count;
    bit<32> position;
    bit<32> remote;
    bit<32> local;
    bit<32> ports;
    bit<32> rest;
    bit<32> block;
    bit<8> rule;
    bit<1> is_match;
    bit<8> operation;
    PDR_METADATA(1)
    PDR_METADATA(2)
    PDR_METADATA(3)
    PDR_METADATA(4)
    PDR_METADATA(5)
}

struct pair_t {
    bit<32> first;
    bit<32> second;
}

#ifdef SKELETON_TOFINO
#define PAIRS(name) Register<pair_t, bit<WALK_BITS>>(WALKS) name;
#define PAIR_ACTION(array, name, body) \
    RegisterAction<pair_t, bit<WALK_BITS>, bit<32>>(array) name = { \
        void apply(inout pair_t cell, out bit<32> result) { body } \
    };
#define WORDS(name) Register<bit<32>, bit<WALK_BITS>>(WALKS) name;
#define WORD_ACTION(array, name, body) \
    RegisterAction<bit<32>, bit<WALK_BITS>, bit<32>>(array) name = { \
        void apply(inout bit<32> cell, out bit<32> result) { body } \
    };
#define EXECUTE(name, at, to) to = name.execute(at);
#else
#define PAIRS(name) register<bit<64>>(WALKS) name;
#define PAIR_ACTION(array, name, body) \
    action name(in bit<WALK_BITS> at, out bit<32> result) { \
        pair_t cell; \
        bit<64> word; \
        array.read(word, (bit<32>)at); \
        cell.first = word[63:32]; \
        cell.second = word[31:0]; \
        result = 0; \
        body \
        array.write((bit<32>)at, cell.first ++ cell.second); \
    }
#define WORDS(name) register<bit<32>>(WALKS) name;
#define WORD_ACTION(array, name, body) \
    action name(in bit<WALK_BITS> at, out bit<32> result) { \
        bit<32> cell; \
        array.read(cell, (bit<32>)at); \
        body \
        array.write((bit<32>)at, cell); \
    }
#define EXECUTE(name, at, to) name(at, to);
#endif
#define AT_WALK meta.walk[WALK_BITS - 1:0]
#define AT_NUMBER meta.psn[WALK_BITS - 1:0]

// A register that the first packet of a walk writes, and a block's response reads.
#define KEPT(name, value, to) \
    WORDS(name) \
    WORD_ACTION(name, name##_keep, cell = value; result = cell;) \
    WORD_ACTION(name, name##_see, result = cell;) \
    action name##_do_keep() { EXECUTE(name##_keep, AT_WALK, to) } \
    action name##_do_see() { EXECUTE(name##_see, AT_WALK, to) } \
    table name##_kept { \
        key = { \
            meta.kind : exact; \
            meta.count : ternary; \
        } \
        actions = { name##_do_keep; name##_do_see; NoAction; } \
        const default_action = NoAction(); \
        const entries = { \
            (KIND_MISS, 1) : name##_do_keep(); \
            (KIND_BLOCK, _) : name##_do_see(); \
        } \
    }

#define MASKS(name, length, to) \
    action name##_set(bit<32> mask) { \
        to = mask; \
    } \
    table name { \
        key = { length : exact; } \
        actions = { name##_set; NoAction; } \
        const default_action = NoAction(); \
        size = 64; \
    }

// Ends become their differences under the mask; ports how far they are outside of the range.
#define PDR_TABLES(n) \
    MASKS(remote_masks##n, hdr.remote_length##n.octet, meta.remote_mask##n) \
    MASKS(local_masks##n, hdr.local_length##n.octet, meta.local_mask##n) \
    action differ##n() { \
        hdr.remote##n.word = hdr.remote##n.word ^ meta.remote; \
        hdr.local##n.word = hdr.local##n.word ^ meta.local; \
        hdr.remote_first##n.half = hdr.remote_first##n.half |-| meta.ports[31:16]; \
        hdr.remote_last##n.half = meta.ports[31:16] |-| hdr.remote_last##n.half; \
        hdr.local_first##n.half = hdr.local_first##n.half |-| meta.ports[15:0]; \
        hdr.local_last##n.half = meta.ports[15:0] |-| hdr.local_last##n.half; \
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
        } \
        actions = { match##n; NoAction; } \
        const default_action = NoAction(); \
        size = 32; \
    } \
    action take##n() { \
        meta.rule = hdr.action##n.octet; \
        meta.is_match = 1; \
    }

control Walk(inout headers_t hdr, inout metadata_t meta) {
    // The walk of each READ, by the last bits of its number.
    WORDS(askers)
    // The flow that has the place, and its packets in the ring.
    PAIRS(owners)
    WORDS(ins)
    WORDS(outs)
    KEPT(remotes, hdr.packet.remote, meta.remote)
    KEPT(locals, hdr.packet.local, meta.local)
    KEPT(both_ports, hdr.packet.ports, meta.ports)
    KEPT(rests, hdr.packet.rest, meta.rest)
    WORDS(blocks)
    PDR_TABLES(1)
    PDR_TABLES(2)
    PDR_TABLES(3)
    PDR_TABLES(4)
    PDR_TABLES(5)

    WORD_ACTION(askers, find_asker, result = cell;)

    action do_find() {
        EXECUTE(find_asker, AT_NUMBER, meta.walk)
    }

    table asking {
        key = { meta.kind : exact; }
        actions = { do_find; NoAction; }
        const default_action = NoAction();
        const entries = {
            KIND_BLOCK : do_find();
            KIND_RING : do_find();
        }
    }

    PAIR_ACTION(owners, arrive,
        if (cell.first == meta.flow || cell.second == 0) { cell.first = meta.flow; cell.second = cell.second + 1; result = cell.second; }
    )

    PAIR_ACTION(owners, leave,
        result = cell.second;
        if (cell.second != 0) { cell.second = cell.second - 1; }
    )

    action do_arrive() {
        EXECUTE(arrive, AT_WALK, meta.count)
    }

    action do_leave() {
        EXECUTE(leave, AT_WALK, meta.count)
    }

    table owning {
        key = { meta.kind : exact; }
        actions = { do_arrive; do_leave; NoAction; }
        const default_action = NoAction();
        const entries = {
            KIND_MISS : do_arrive();
            KIND_RING : do_leave();
        }
    }

    WORD_ACTION(ins, next_in, cell = cell + 1; result = cell;)

    action do_in() {
        EXECUTE(next_in, AT_WALK, meta.position)
    }

    table entering {
        key = {
            meta.kind : exact;
            meta.count : ternary;
        }
        actions = { do_in; NoAction; }
        const default_action = NoAction();
        const entries = {
            (KIND_MISS, 0) : NoAction();
            (KIND_MISS, _) : do_in();
        }
    }

    WORD_ACTION(outs, next_out, cell = cell + 1; result = cell;)

    action do_out() {
        EXECUTE(next_out, AT_WALK, meta.position)
    }

    table leaving {
        key = {
            meta.kind : exact;
            meta.count : ternary;
            meta.is_match : ternary;
        }
        actions = { do_out; NoAction; }
        const default_action = NoAction();
        const entries = {
            (KIND_BLOCK, _, 1) : do_out();
            (KIND_RING, 0, _) : NoAction();
            (KIND_RING, 1, _) : NoAction();
            (KIND_RING, _, _) : do_out();
        }
    }

    WORD_ACTION(blocks, begin_blocks, cell = hdr.packet.block; result = cell;)
    WORD_ACTION(blocks, next_block, cell = cell + 1; result = cell;)

    action do_begin_blocks() {
        EXECUTE(begin_blocks, AT_WALK, meta.block)
    }

    action do_next_block() {
        EXECUTE(next_block, AT_WALK, meta.block)
    }

    table reading {
        key = {
            meta.kind : exact;
            meta.count : ternary;
        }
        actions = { do_begin_blocks; do_next_block; NoAction; }
        const default_action = NoAction();
        const entries = {
            (KIND_MISS, 1) : do_begin_blocks();
            (KIND_BLOCK, _) : do_next_block();
        }
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

    action ask(bit<8> operation) {
        meta.operation = operation;
    }

    // 1: WRITE into the ring, 2: that and READ of the first block, 3: READ of the next block, 4: READ of the ring; 5: for the software; 6: the last one leaves.
    table operations {
        key = {
            meta.kind : exact;
            meta.count : ternary;
            meta.is_match : ternary;
        }
        actions = { ask; NoAction; }
        const default_action = NoAction();
        const entries = {
            (KIND_MISS, 0, _) : ask(5);
            (KIND_MISS, 1, _) : ask(2);
            (KIND_MISS, _, _) : ask(1);
            (KIND_BLOCK, _, 1) : ask(4);
            (KIND_BLOCK, _, _) : ask(3);
            (KIND_RING, 1, _) : ask(6);
            (KIND_RING, _, _) : ask(4);
        }
    }

    apply {
        asking.apply();
        owning.apply();
        entering.apply();
        remotes_kept.apply();
        locals_kept.apply();
        both_ports_kept.apply();
        rests_kept.apply();
        reading.apply();
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
        leaving.apply();
        operations.apply();
        hdr.request.setValid();
        hdr.request.operation = meta.operation;
        hdr.request.rule = meta.rule;
        hdr.request.position = meta.position[15:0];
        hdr.request.place = meta.block;
        hdr.request.psn = meta.walk;
    }
}

#ifdef SKELETON_TOFINO
#define PARSER_PARAMETERS packet_in pkt, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t ig_intr_md
#define PARSER_BEGIN pkt.extract(ig_intr_md); pkt.advance(PORT_METADATA_SIZE);
#else
#define PARSER_PARAMETERS packet_in pkt, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata
#define PARSER_BEGIN
#endif

parser WalkParser(PARSER_PARAMETERS) {
    state start {
        PARSER_BEGIN
        pkt.extract(hdr.frame);
        meta.kind = hdr.frame.kind;
        transition select(hdr.frame.kind) {
            KIND_MISS : miss;
            KIND_BLOCK : block;
            KIND_RING : ring;
            default : accept;
        }
    }

    state miss {
        pkt.extract(hdr.packet);
        meta.walk = hdr.packet.walk;
        meta.flow = hdr.packet.flow;
        transition accept;
    }

    state ring {
        pkt.extract(hdr.response);
        meta.psn = hdr.response.psn;
        transition accept;
    }

#define EXTRACT_PDR(n) \
        pkt.extract(hdr.flags##n); \
        pkt.extract(hdr.remote##n); \
        pkt.extract(hdr.remote_length##n); \
        pkt.extract(hdr.remote_first##n); \
        pkt.extract(hdr.remote_last##n); \
        pkt.extract(hdr.local##n); \
        pkt.extract(hdr.local_length##n); \
        pkt.extract(hdr.local_first##n); \
        pkt.extract(hdr.local_last##n); \
        pkt.extract(hdr.protocol##n); \
        pkt.extract(hdr.qfi##n); \
        pkt.extract(hdr.class##n); \
        pkt.extract(hdr.class_mask##n); \
        pkt.advance(16); \
        pkt.extract(hdr.action##n); \
        pkt.advance(16);

    state block {
        pkt.extract(hdr.response);
        meta.psn = hdr.response.psn;
        EXTRACT_PDR(1)
        EXTRACT_PDR(2)
        EXTRACT_PDR(3)
        EXTRACT_PDR(4)
        EXTRACT_PDR(5)
        transition accept;
    }
}

#ifdef SKELETON_TOFINO
control WalkIngress(
    inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
    in ingress_intrinsic_metadata_from_parser_t from_parser, inout ingress_intrinsic_metadata_for_deparser_t deparser,
    inout ingress_intrinsic_metadata_for_tm_t traffic_manager
) {
    Walk() walk;

    apply {
        walk.apply(hdr, meta);
        traffic_manager.ucast_egress_port = PORT_MEMORY;
    }
}

control WalkIngressDeparser(
    packet_out pkt, inout headers_t hdr, in metadata_t meta, in ingress_intrinsic_metadata_for_deparser_t deparser
) {
    apply {
        pkt.emit(hdr.frame);
        pkt.emit(hdr.request);
        pkt.emit(hdr.packet);
    }
}

struct no_headers_t {}
struct no_metadata_t {}

parser WalkEgressParser(
    packet_in pkt, out no_headers_t hdr, out no_metadata_t meta, out egress_intrinsic_metadata_t eg_intr_md
) {
    state start {
        pkt.extract(eg_intr_md);
        transition accept;
    }
}

control WalkEgress(
    inout no_headers_t hdr, inout no_metadata_t meta, in egress_intrinsic_metadata_t eg_intr_md,
    in egress_intrinsic_metadata_from_parser_t from_parser, inout egress_intrinsic_metadata_for_deparser_t deparser,
    inout egress_intrinsic_metadata_for_output_port_t output_port
) {
    apply {}
}

control WalkEgressDeparser(
    packet_out pkt, inout no_headers_t hdr, in no_metadata_t meta, in egress_intrinsic_metadata_for_deparser_t deparser
) {
    apply {}
}

Pipeline(
    WalkParser(), WalkIngress(), WalkIngressDeparser(), WalkEgressParser(), WalkEgress(), WalkEgressDeparser()
) pipe;

Switch(pipe) main;
#else
control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control WalkIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Walk() walk;

    apply {
        walk.apply(hdr, meta);
        standard_metadata.egress_spec = PORT_MEMORY;
    }
}

control WalkEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control WalkDeparser(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.frame);
        pkt.emit(hdr.request);
        pkt.emit(hdr.packet);
    }
}

V1Switch(WalkParser(), NoChecksum(), WalkIngress(), WalkEgress(), NoChecksum(), WalkDeparser()) main;
#endif

// A table of numbers that SMFs choose, TEIDs or SEIDs, by itself, for either target: two buckets of four cells for each number, and the session that has it.
// A frame names a number and what is to be done with it, and leaves with the session, or is dropped.
//
// A cell is a pair of words: the number, and the session's index, neither of which is 0. A packet looks at all eight cells of a number, or puts it into the first
// one that is free, or removes it. Cells of a way are an array; a number is put once, so each array waits for the one before it. What puts a number must have looked for it on
// a pass before. On Tofino 1 there are 262,144 cells, for 131,072 numbers.
//
// The compiler's target is chosen by SKELETON_TOFINO.

#include <core.p4>
#ifdef SKELETON_TOFINO
#include <tna.p4>
#include "../tofino/target.p4"
#define PAIRS(name) Register<words_t, bit<FOREIGN_BITS>>(SIZE_FOREIGN) name;
#define PAIR_ACTION(array, name, body) \
    RegisterAction<words_t, bit<FOREIGN_BITS>, bit<32>>(array) name = { \
        void apply(inout words_t cell, out bit<32> result) { body } \
    };
#else
#include <v1model.p4>
#include "../bmv2/target.p4"
#define PAIRS(name) register<bit<64>>(SIZE_FOREIGN) name;
#define PAIR_ACTION(array, name, body) \
    action name(in bit<FOREIGN_BITS> at, out bit<32> result) { \
        words_t cell; \
        bit<64> both; \
        array.read(both, (bit<32>)at); \
        cell.number = both[63:32]; \
        cell.session = both[31:0]; \
        body \
        array.write((bit<32>)at, cell.number ++ cell.session); \
    }
#endif

#define PORT_FORWARDED 1
#ifndef SIZE_FOREIGN
#define SIZE_FOREIGN 32768
#define FOREIGN_BITS 15
#endif

#define FOREIGN_LOOK 1
#define FOREIGN_PUT 2
#define FOREIGN_REMOVE 3

header frame_h {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
    bit<8> what;
    bit<32> number;
    bit<32> session;
}

struct words_t {
    bit<32> number;
    bit<32> session;
}

struct headers_t {
    frame_h frame;
}

struct metadata_t {
    bit<8> what;
    bit<32> first_hash;
    bit<32> second_hash;
    // What an access returns: the session; 1, if the number was put.
    bit<32> found;
}

// One way of a bucket.
control Way(inout headers_t hdr, inout metadata_t meta, in bit<32> bucket) {
    PAIRS(cells)

    PAIR_ACTION(cells, look_at,
        if (cell.number == hdr.frame.number) { result = cell.session; } else { result = 0; }
    )

    PAIR_ACTION(cells, put_into,
        if (cell.number == 0) {
            cell.number = hdr.frame.number;
            cell.session = hdr.frame.session;
            result = 1;
        } else {
            result = 0;
        }
    )

    PAIR_ACTION(cells, remove_from,
        if (cell.number == hdr.frame.number) {
            result = cell.session;
            cell.number = 0;
        } else {
            result = 0;
        }
    )

    @hidden
    action look() {
        REGISTER_EXECUTE(look_at, bucket[FOREIGN_BITS - 1:0], meta.found)
    }

    @hidden
    action put() {
        REGISTER_EXECUTE(put_into, bucket[FOREIGN_BITS - 1:0], meta.found)
    }

    @hidden
    action remove() {
        REGISTER_EXECUTE(remove_from, bucket[FOREIGN_BITS - 1:0], meta.found)
    }

    @hidden
    table ways {
        key = {
            meta.what : ternary;
            meta.found : ternary;
        }
        actions = { look; put; remove; NoAction; }
        const default_action = NoAction();
        const entries = {
            (FOREIGN_LOOK, 0) : look();
            (FOREIGN_PUT, 0) : put();
            (FOREIGN_REMOVE, 0) : remove();
        }
        size = 3;
    }

    apply {
        ways.apply();
    }
}

control Foreign(inout headers_t hdr, inout metadata_t meta) {
    HASH_CRC32(first)
    HASH_CRC16(second)
    Way() first_1;
    Way() first_2;
    Way() first_3;
    Way() first_4;
    Way() second_1;
    Way() second_2;
    Way() second_3;
    Way() second_4;

    @hidden
    action hash_first() {
        HASH_CRC32_OF(first, meta.first_hash, hdr.frame.number)
    }

    @hidden
    action hash_second() {
#ifdef SKELETON_TOFINO
        HASH_CRC16_OF(second, meta.second_hash[15:0], hdr.frame.number)
#else
        hash(meta.second_hash, HashAlgorithm.crc16, (bit<32>)0, { hdr.frame.number }, (bit<32>)0x10000);
#endif
    }

    apply {
        hash_first();
        hash_second();
        meta.what = hdr.frame.what;
        meta.found = 0;
        first_1.apply(hdr, meta, meta.first_hash);
        first_2.apply(hdr, meta, meta.first_hash);
        first_3.apply(hdr, meta, meta.first_hash);
        first_4.apply(hdr, meta, meta.first_hash);
        second_1.apply(hdr, meta, meta.second_hash);
        second_2.apply(hdr, meta, meta.second_hash);
        second_3.apply(hdr, meta, meta.second_hash);
        second_4.apply(hdr, meta, meta.second_hash);
    }
}

#ifdef SKELETON_TOFINO
parser SkeletonIngressParser(
    packet_in pkt, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t ig_intr_md
) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        meta.what = 0;
        meta.first_hash = 0;
        meta.second_hash = 0;
        meta.found = 0;
        pkt.extract(hdr.frame);
        transition accept;
    }
}

control SkeletonIngress(
    inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
    in ingress_intrinsic_metadata_from_parser_t from_parser, inout ingress_intrinsic_metadata_for_deparser_t deparser,
    inout ingress_intrinsic_metadata_for_tm_t traffic_manager
) {
    Foreign() foreign;

    apply {
        foreign.apply(hdr, meta);
        hdr.frame.session = meta.found;
        traffic_manager.ucast_egress_port = PORT_FORWARDED;
        if (meta.found == 0) {
            deparser.drop_ctl = 1;
        }
    }
}

control SkeletonIngressDeparser(
    packet_out pkt, inout headers_t hdr, in metadata_t meta, in ingress_intrinsic_metadata_for_deparser_t deparser
) {
    apply {
        pkt.emit(hdr);
    }
}

struct no_headers_t {}
struct no_metadata_t {}

parser SkeletonEgressParser(
    packet_in pkt, out no_headers_t hdr, out no_metadata_t meta, out egress_intrinsic_metadata_t eg_intr_md
) {
    state start {
        pkt.extract(eg_intr_md);
        transition accept;
    }
}

control SkeletonEgress(
    inout no_headers_t hdr, inout no_metadata_t meta, in egress_intrinsic_metadata_t eg_intr_md,
    in egress_intrinsic_metadata_from_parser_t from_parser, inout egress_intrinsic_metadata_for_deparser_t deparser,
    inout egress_intrinsic_metadata_for_output_port_t output_port
) {
    apply {}
}

control SkeletonEgressDeparser(
    packet_out pkt, inout no_headers_t hdr, in no_metadata_t meta, in egress_intrinsic_metadata_for_deparser_t deparser
) {
    apply {}
}

Pipeline(
    SkeletonIngressParser(), SkeletonIngress(), SkeletonIngressDeparser(), SkeletonEgressParser(), SkeletonEgress(),
    SkeletonEgressDeparser()
) pipe;

Switch(pipe) main;
#else
parser SkeletonParser(
    packet_in pkt, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata
) {
    state start {
        pkt.extract(hdr.frame);
        transition accept;
    }
}

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control SkeletonIngress(
    inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata
) {
    Foreign() foreign;

    apply {
        foreign.apply(hdr, meta);
        hdr.frame.session = meta.found;
        standard_metadata.egress_spec = PORT_FORWARDED;
        if (meta.found == 0) {
            mark_to_drop(standard_metadata);
        }
    }
}

control SkeletonEgress(
    inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata
) {
    apply {}
}

control SkeletonDeparser(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr);
    }
}

V1Switch(SkeletonParser(), NoChecksum(), SkeletonIngress(), SkeletonEgress(), NoChecksum(), SkeletonDeparser()) main;
#endif

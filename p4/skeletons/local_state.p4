// The local state table of X-PLANE (MobiCom '23, section 5.1) by itself, with the RoCEv2 packets that it makes, for either target: the octets of each UE
// are in external memory, and on the switch while packets of the UE are in flight.
//
// A frame of a UE makes a READ. Its response brings what the memory has, if it is the first, adds the octets of the frame, and makes a WRITE if it is
// the last. The entry ends with the acknowledgement of the WRITE, unless the UE has sent more by then. A frame whose place is taken by another UE
// leaves for the slow path, and has changed nothing. An acknowledgement names no UE: its packet sequence number leads to it, in a register behind the
// others, so that the packet passes a second time, by recirculation.
//
// What it leaves out: two places for each UE, the invariant CRC of its packets (the server must not look at it), repetition, the tables of rules.
//
// The compiler's target is chosen by SKELETON_TOFINO.

#include <core.p4>
#ifdef SKELETON_TOFINO
#include <tna.p4>
#else
#include <v1model.p4>
#endif

#define SLOTS 32768
#define SLOT_BITS 15
#define PORT_MEMORY 1
#define PORT_SLOW_PATH 2
#define PORT_AGAIN 68
// WRITEs whose acknowledgements are outstanding, at most.
#define SENDERS 4096
#define SENDER_BITS 12
// The type of a frame that passes a second time.
#define ETHER_AGAIN 0x88b5

#define READ 12
#define WRITE 10
#define READ_RESPONSE 16
#define ACKNOWLEDGE 17
// That of the second pass: no operation of RoCEv2.
#define ENDED 0xff

header ethernet_h {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header ipv4_h {
    bit<8> version_ihl;
    bit<8> tos;
    bit<16> length;
    bit<16> identification;
    bit<16> fragment;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

header udp_h {
    bit<16> source;
    bit<16> destination;
    bit<16> length;
    bit<16> checksum;
}

// Base transport header (IBA clause 9.2).
header bth_h {
    bit<8> opcode;
    bit<8> flags;
    bit<16> partition;
    bit<8> reserved;
    bit<24> queue_pair;
    bit<8> ack_request;
    bit<24> psn;
}

// RDMA extended transport header (IBA clause 9.3.3).
header reth_h {
    bit<32> address_high;
    bit<32> address_low;
    bit<32> key;
    bit<32> length;
}

// ACK extended transport header (IBA clause 9.3.5).
header aeth_h {
    bit<32> syndrome_msn;
}

// What is read and written: the UE, the octets of the frame that was written before, and the octets of the UE until now.
header state_h {
    bit<32> ue;
    bit<32> octets;
    bit<32> total;
}

struct headers_t {
    ethernet_h ethernet;
    ipv4_h ipv4;
    udp_h udp;
    bth_h bth;
    reth_h reth;
    aeth_h aeth;
    state_h state;
}

struct metadata_t {
    bit<8> opcode;
    bit<32> ue;
    bit<32> octets;
    bit<32> sum;
    bit<32> flights;
    bit<32> total;
    bit<32> psn;
    bit<32> offset;
}

struct entry_t {
    bit<32> first;
    bit<32> second;
}

#ifdef SKELETON_TOFINO
#define ENTRIES(name) Register<entry_t, bit<SLOT_BITS>>(SLOTS) name;
#define ENTRY_ACTION(array, name, body) \
    RegisterAction<entry_t, bit<SLOT_BITS>, bit<32>>(array) name = { \
        void apply(inout entry_t cell, out bit<32> result) { body } \
    };
#define ENTRY_EXECUTE(name, at, to) to = name.execute(at);
#define WORDS(name) Register<bit<32>, bit<SENDER_BITS>>(SENDERS) name;
#define WORD_ACTION(array, name, body) \
    RegisterAction<bit<32>, bit<SENDER_BITS>, bit<32>>(array) name = { \
        void apply(inout bit<32> cell, out bit<32> result) { body } \
    };
#else
#define ENTRIES(name) register<bit<64>>(SLOTS) name;
#define ENTRY_ACTION(array, name, body) \
    action name(in bit<SLOT_BITS> at, out bit<32> result) { \
        entry_t cell; \
        bit<64> word; \
        array.read(word, (bit<32>)at); \
        cell.first = word[63:32]; \
        cell.second = word[31:0]; \
        result = 0; \
        body \
        array.write((bit<32>)at, cell.first ++ cell.second); \
    }
#define ENTRY_EXECUTE(name, at, to) name(at, to);
#define WORDS(name) register<bit<32>>(SENDERS) name;
#define WORD_ACTION(array, name, body) \
    action name(in bit<SENDER_BITS> at, out bit<32> result) { \
        bit<32> cell; \
        array.read(cell, (bit<32>)at); \
        body \
        array.write((bit<32>)at, cell); \
    }
#endif

// The two registers, and what a packet does with them.
control LocalState(inout metadata_t meta) {
    // The UE, and its packets in flight, a WRITE among them.
    ENTRIES(flights)
    // Whether the octets are loaded, and the octets.
    ENTRIES(totals)
    // The packet sequence number of the queue pair: here there is one.
    WORDS(numbers)
    // The UE of each WRITE, by the last bits of its number.
    WORDS(senders)

    ENTRY_ACTION(flights, arrive,
        if (cell.first == meta.ue || cell.second == 0) { cell.first = meta.ue; cell.second = cell.second + 1; result = cell.second; }
    )

    // The last packet stays in flight as the WRITE.
    ENTRY_ACTION(flights, leave,
        result = cell.second;
        if (cell.second > 1) { cell.second = cell.second - 1; }
    )

    ENTRY_ACTION(flights, end,
        result = cell.second;
        if (cell.first == meta.ue) { cell.second = cell.second - 1; }
    )

    ENTRY_ACTION(totals, begin,
        cell.first = 0;
    )

    ENTRY_ACTION(totals, add,
        if (cell.first == 0) { cell.second = meta.sum; } else { cell.second = cell.second + meta.octets; }
        cell.first = 1;
        result = cell.second;
    )

    WORD_ACTION(senders, note_sender,
        cell = meta.ue;
        result = cell;
    )

    WORD_ACTION(senders, find_sender,
        result = cell;
    )

    WORD_ACTION(numbers, next_number,
        cell = cell + 1;
        result = cell;
    )

    action do_arrive() {
        ENTRY_EXECUTE(arrive, meta.ue[SLOT_BITS - 1:0], meta.flights)
    }

    action do_leave() {
        ENTRY_EXECUTE(leave, meta.ue[SLOT_BITS - 1:0], meta.flights)
    }

    action do_end() {
        ENTRY_EXECUTE(end, meta.ue[SLOT_BITS - 1:0], meta.flights)
    }

    action do_begin() {
        ENTRY_EXECUTE(begin, meta.ue[SLOT_BITS - 1:0], meta.total)
    }

    action do_add() {
        ENTRY_EXECUTE(add, meta.ue[SLOT_BITS - 1:0], meta.total)
    }

    // All actions of a register are in one table.
    table flying {
        key = { meta.opcode : exact; }
        actions = { do_arrive; do_leave; do_end; NoAction; }
        const default_action = NoAction();
        const entries = {
            0 : do_arrive();
            READ_RESPONSE : do_leave();
            ENDED : do_end();
        }
    }

    table counting {
        key = {
            meta.opcode : exact;
            meta.flights : ternary;
        }
        actions = { do_begin; do_add; NoAction; }
        const default_action = NoAction();
        const entries = {
            (0, 1) : do_begin();
            (READ_RESPONSE, _) : do_add();
        }
    }

    action number() {
        ENTRY_EXECUTE(next_number, 0, meta.psn)
    }

    action do_note() {
        ENTRY_EXECUTE(note_sender, meta.psn[SENDER_BITS - 1:0], meta.ue)
    }

    action do_find() {
        ENTRY_EXECUTE(find_sender, meta.psn[SENDER_BITS - 1:0], meta.ue)
    }

    table sending {
        key = {
            meta.opcode : exact;
            meta.flights : ternary;
        }
        actions = { do_note; do_find; NoAction; }
        const default_action = NoAction();
        const entries = {
            (READ_RESPONSE, 1) : do_note();
            (ACKNOWLEDGE, _) : do_find();
        }
    }

    apply {
        meta.sum = meta.octets + meta.total;
        // Places of 16 octets, in the order of the slots.
        meta.offset = meta.ue << 4;
        flying.apply();
        counting.apply();
        if (meta.opcode == 0 && meta.flights != 0 || meta.opcode == READ_RESPONSE && meta.flights == 1) {
            number();
        }
        sending.apply();
    }
}

// What leaves: a READ for a frame, a WRITE for the last response, the frame itself if its place is taken; the rest stays.
control Requests(inout headers_t hdr, inout metadata_t meta, out bit<9> port, out bit<1> is_dropped) {
    action request(bit<8> opcode, bit<16> ip_length, bit<16> udp_length, bit<32> address, bit<32> key, bit<24> queue_pair) {
        hdr.ipv4.setValid();
        hdr.ipv4.version_ihl = 0x45;
        hdr.ipv4.length = ip_length;
        hdr.ipv4.fragment = 0x4000;
        hdr.ipv4.ttl = 64;
        hdr.ipv4.protocol = 17;
        hdr.ethernet.ether_type = 0x0800;
        hdr.udp.setValid();
        hdr.udp.source = 49152;
        hdr.udp.destination = 4791;
        hdr.udp.length = udp_length;
        hdr.bth.setValid();
        hdr.bth.opcode = opcode;
        hdr.bth.partition = 0xffff;
        hdr.bth.queue_pair = queue_pair;
        hdr.bth.ack_request = 0x80;
        hdr.reth.setValid();
        hdr.reth.address_low = address;
        hdr.reth.key = key;
        hdr.reth.length = 12;
        hdr.aeth.setInvalid();
        port = PORT_MEMORY;
        is_dropped = 0;
    }

    action again() {
        hdr.ethernet.ether_type = ETHER_AGAIN;
        hdr.state.setValid();
        hdr.state.ue = meta.ue;
        hdr.ipv4.setInvalid();
        hdr.udp.setInvalid();
        hdr.bth.setInvalid();
        hdr.aeth.setInvalid();
        port = PORT_AGAIN;
        is_dropped = 0;
    }

    action slow_path() {
        port = PORT_SLOW_PATH;
        is_dropped = 0;
    }

    action stay() {
        port = PORT_SLOW_PATH;
        is_dropped = 1;
    }

    table requests {
        key = {
            meta.opcode : exact;
            meta.flights : ternary;
        }
        actions = { request; again; slow_path; stay; }
        default_action = stay();
        size = 16;
    }

    apply {
        port = PORT_SLOW_PATH;
        is_dropped = 0;
        requests.apply();
        hdr.bth.psn = meta.psn[23:0];
        hdr.state.total = meta.total;
        hdr.reth.address_low = hdr.reth.address_low + meta.offset;
    }
}

#ifdef SKELETON_TOFINO
#define PARSER_PARAMETERS packet_in pkt, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t ig_intr_md
#define PARSER_BEGIN pkt.extract(ig_intr_md); pkt.advance(PORT_METADATA_SIZE);
#else
#define PARSER_PARAMETERS packet_in pkt, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata
#define PARSER_BEGIN
#endif

parser SkeletonIngressParser(PARSER_PARAMETERS) {
    state start {
        PARSER_BEGIN
        meta.opcode = 0;
        meta.flights = 0;
        meta.sum = 0;
        meta.psn = 0;
        meta.ue = 0;
        meta.octets = 0;
        meta.total = 0;
        pkt.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x0800 : response;
            ETHER_AGAIN : ended;
            default : state_behind;
        }
    }

    state ended {
        meta.opcode = ENDED;
        transition state_behind;
    }

    state response {
        pkt.extract(hdr.ipv4);
        pkt.extract(hdr.udp);
        pkt.extract(hdr.bth);
        pkt.extract(hdr.aeth);
        meta.opcode = hdr.bth.opcode;
        meta.psn = (bit<32>)hdr.bth.psn;
        transition select(hdr.bth.opcode) {
            READ_RESPONSE : state_behind;
            default : accept;
        }
    }

    state state_behind {
        pkt.extract(hdr.state);
        meta.ue = hdr.state.ue;
        meta.octets = hdr.state.octets;
        meta.total = hdr.state.total;
        transition accept;
    }
}

#ifdef SKELETON_TOFINO
control SkeletonIngress(
    inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
    in ingress_intrinsic_metadata_from_parser_t from_parser, inout ingress_intrinsic_metadata_for_deparser_t deparser,
    inout ingress_intrinsic_metadata_for_tm_t traffic_manager
) {
    LocalState() local_state;
    Requests() requests;
    bit<1> is_dropped;

    apply {
        local_state.apply(meta);
        requests.apply(hdr, meta, traffic_manager.ucast_egress_port, is_dropped);
        deparser.drop_ctl = (bit<3>)is_dropped;
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
control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control SkeletonIngress(
    inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata
) {
    LocalState() local_state;
    Requests() requests;
    bit<1> is_dropped;

    apply {
        local_state.apply(meta);
        requests.apply(hdr, meta, standard_metadata.egress_spec, is_dropped);
        if (is_dropped == 1) {
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

V1Switch(SkeletonIngressParser(), NoChecksum(), SkeletonIngress(), SkeletonEgress(), NoChecksum(), SkeletonDeparser()) main;
#endif

// Profile `xplane`: headers of RoCEv2 and of the records in external memory, which are those of `crates/dataplane/xplane`, and the metadata of its
// blocks. Network byte order; lengths in octets.

#ifndef CAUSEWAY_XPLANE_HEADERS
#define CAUSEWAY_XPLANE_HEADERS

// Buckets of the UE table, of the flow table, and entries of the local state table, as powers of two; queue pairs likewise.
#ifndef UE_BITS
#define UE_BITS 16
#endif
#ifndef FLOW_BITS
#define FLOW_BITS 20
#endif
#ifndef LOCAL_BITS
#define LOCAL_BITS 15
#endif
#define PAIR_BITS 4
// With XPLANE_WALK flows without an entry are looked up here, so many at a time, each with a ring of so many packets, as powers of two. Each walk has two
// queue pairs: QUEUE_BITS are two more than WALK_BITS, and WALK_BITS are at least PAIR_BITS. So many packets of a ring are read ahead.
#ifdef XPLANE_WALK
#ifndef WALK_BITS
#define WALK_BITS 8
#define QUEUE_BITS 10
#endif
#ifndef RING_BITS
#define RING_BITS 5
#endif
#define READ_AHEAD 4
// Paging rings, at most as many as walks, each of so many packets and with a queue pair of its own, as powers of two.
#ifndef PAGING_BITS
#define PAGING_BITS 8
#endif
#ifndef PAGING_RING_BITS
#define PAGING_RING_BITS 7
#endif
#define NUMBER_WIDTH 16
#else
#define QUEUE_BITS PAIR_BITS
#define NUMBER_WIDTH 8
#endif

const bit<16> PORT_ROCE = 4791;
// Operations of reliable connections (IBA clause 9.2).
const bit<8> ROCE_WRITE_ONLY = 0x0a;
const bit<8> ROCE_READ_REQUEST = 0x0c;
const bit<8> ROCE_READ_RESPONSE = 0x10;
const bit<8> ROCE_ACKNOWLEDGE = 0x11;

// Octets of a record's header, of all behind it up to the octets of its first account, and of a bucket of flow entries.
const bit<32> RECORD_HEADER = 64;
#ifdef XPLANE_WALK
// The same up to the end of its first account, which is 72 octets behind the start.
const bit<32> RECORD_FRONT = 136;
const bit<32> RECORD_ACCOUNT = 72;
const bit<32> ACCOUNT_LENGTH = 64;
#else
const bit<32> RECORD_FRONT = 104;
const bit<32> RECORD_PACKETS = 88;
#endif
const bit<32> BUCKET_ENTRIES = 320;
#ifdef XPLANE_WALK
// In the first record of a bucket of UEs, from the start of the bucket: its actions of 72 octets, and its blocks of five PDRs behind them.
const bit<32> RECORD_ACTIONS = 1328;
const bit<32> RECORD_BLOCKS = 1616;
const bit<32> BLOCK_LENGTH = 140;
const bit<32> LAST_BLOCK = 2596;
const bit<32> ACTION_LENGTH = 72;
const bit<32> ENTRY_LENGTH = 160;
// Tag, IPv4 header and ports of a packet: what rules look at.
const bit<32> FIELDS_LENGTH = 32;
#define UDP_OF_FIELDS 60
#define UDP_OF_BLOCK 168
#define UDP_OF_ACTION 100
#endif
// Lengths of the UDP datagrams with a record's front, and with its header: these tell such responses from those with a bucket.
#ifdef XPLANE_WALK
#define UDP_OF_FRONT 164
#else
#define UDP_OF_FRONT 132
#endif
#define UDP_OF_HEADER 92

// Kinds of UEs' keys: a tunnel of an IPv4 address, and an IPv4 address in the first data network. A key begins with it and 24 zeroes.
const bit<8> KEY_TUNNEL = 1;
const bit<8> KEY_ADDRESS = 3;
const bit<32> HEAD_TUNNEL = 0x01000000;
const bit<32> HEAD_ADDRESS = 0x03000000;

// What a frame is.
const bit<8> KIND_OTHER = 0;
const bit<8> KIND_USER = 1;
const bit<8> KIND_BUCKET = 2;
const bit<8> KIND_FRONT = 3;
const bit<8> KIND_HEADER = 4;
const bit<8> KIND_NAK = 5;
// For the software, by `outcome`.
const bit<8> KIND_LEFT = 6;
#ifdef XPLANE_WALK
// Responses of walks: the fields of the first packet, the header of the UE's record, a block of PDRs, an action, and a packet that was in the ring.
const bit<8> KIND_FIELDS = 7;
const bit<8> KIND_RECORD = 8;
const bit<8> KIND_BLOCK = 9;
const bit<8> KIND_ACTION = 10;
const bit<8> KIND_QUEUED = 11;
// Of paging rings: a packet that was in one, a notification of the control plane, and a packet that enters one.
const bit<8> KIND_PAGED = 12;
const bit<8> KIND_NOTICE = 13;
const bit<8> KIND_ENTERS = 14;
#endif

// What becomes of a frame: the cell of the counter `outcomes`. Those of 3 to 15 are for the software, with this code in the header of its port; 3, 4
// and 6 as in `contract/reasons.p4`.
const bit<8> OUTCOME_FORWARDED = 0;
// It went to the memory, or came from there and is no more.
const bit<8> OUTCOME_MEMORY = 1;
const bit<8> OUTCOME_SIGNALLING = 3;
const bit<8> OUTCOME_LOCAL = 4;
const bit<8> OUTCOME_ARP = 6;
// Neither entry of the flow's bucket is of this flow.
const bit<8> OUTCOME_MISS = 8;
// Its entry is of another generation than its UE.
const bit<8> OUTCOME_STALE = 9;
// Another UE has the place in the local state table.
const bit<8> OUTCOME_COLLISION = 10;
// The rule, or the packet, is none of those that this program handles.
const bit<8> OUTCOME_RULE = 11;
// The state of the UE is not loaded: its record is not there, or its account has a limit or a large count. With XPLANE_WALK also: a limit of its account is reached.
const bit<8> OUTCOME_ACCOUNT = 12;
// A response before this one is missing.
const bit<8> OUTCOME_GAP = 13;
// The memory refuses a request.
const bit<8> OUTCOME_NAK = 14;
#ifdef XPLANE_WALK
// It is the first packet in the paging ring of its UE. The software gets a copy.
const bit<8> OUTCOME_IDLE = 15;
#endif
// Dropped: the frame is no IPv4 or ARP.
const bit<8> OUTCOME_UNSUPPORTED = 16;
// Dropped: no queue pair of ours has this number and other end.
const bit<8> OUTCOME_FOREIGN = 17;
// Dropped: the response came before.
const bit<8> OUTCOME_OLD = 18;
// Dropped: the checksum of a user packet from memory, or the CRC of a response, is wrong.
const bit<8> OUTCOME_DAMAGED = 19;
// Dropped: no route.
const bit<8> OUTCOME_NO_EGRESS = 20;
#ifdef XPLANE_WALK
// Dropped: the ring of its flow's walk is full.
const bit<8> OUTCOME_FULL = 21;
// Dropped: the paging ring of its UE is full.
const bit<8> OUTCOME_PAGING_FULL = 22;
// Dropped: a copy of a packet of a paging ring that is not the next one to leave it. The packet is in the ring, or has left it.
const bit<8> OUTCOME_NOT_NEXT = 23;
#endif
#define OUTCOMES 32

// The type of service is one field, and so are flags and offset: Tofino 1 writes them so.
header whole_ipv4_h {
    bit<8> version_ihl;
    bit<8> tos;
    bit<16> length;
    bit<16> identification;
    bit<16> fragment;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

header whole_gtpu_h {
    bit<8> flags;
    bit<8> message_type;
    bit<16> length;
    bit<32> teid;
}

// Sequence number and N-PDU number, and a PDU Session Container of four octets.
header container_h {
    bit<32> options;
    // Length, type, QFI, and the next extension header.
    bit<32> container;
}

// Base transport header (IBA clause 9.2).
header bth_h {
    bit<8> opcode;
    bit<8> flags;
    bit<16> partition;
    bit<8> reserved;
    bit<24> queue_pair;
    // AckReq in the first bit; the number in the last 24.
    bit<32> psn;
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
    bit<8> syndrome;
    bit<24> msn;
}

// In front of a packet in memory, where the software has the number of the packet: the first half of its UE's key, with the QFI that it came
// with in the octet that is zero there, 255 for none.
header tag_h {
    bit<8> kind;
    bit<8> qfi;
    bit<16> network;
    bit<32> word;
}

// Records are extracted field by field, and what no step looks at is passed over: Tofino 1 keeps fields of one header together, and with all that
// they are compared with.
header octet_h {
    bit<8> octet;
}

header half_h {
    bit<16> half;
}

header word_h {
    bit<32> word;
}

#ifdef XPLANE_WALK
// The state that is loaded and written back: the first account. Times and spans are in nanoseconds; all ones are no last arrival, and no limit.
#define ACCOUNT_FIELDS \
    bit<64> budget; \
    bit<64> idle_limit; \
    bit<64> packets; \
    bit<64> octets; \
    bit<64> dropped_packets; \
    bit<64> dropped_octets; \
    bit<64> last_arrival; \
    bit<64> last_pass;

header counted_h {
    ACCOUNT_FIELDS
}

struct account_t {
    ACCOUNT_FIELDS
}
#else
// The state that is written back: packets and octets of the first account.
header counted_h {
    bit<32> packets_high;
    bit<32> packets_low;
    bit<32> octets_high;
    bit<32> octets_low;
}
#endif

// An entry of the flow table (160 octets), in the order of its octets. In an action that leads to a data network, `local` and `tos` are its number.
#define ENTRY_HEADERS(name) \
    word_h name##_generation_high; \
    word_h name##_generation_low; \
    word_h name##_ue_head; \
    word_h name##_ue_word; \
    word_h name##_ue_local; \
    octet_h name##_flags; \
    octet_h name##_protocol; \
    octet_h name##_dscp; \
    octet_h name##_qfi; \
    half_h name##_src_port; \
    half_h name##_dst_port; \
    word_h name##_src; \
    word_h name##_dst; \
    octet_h name##_has_rule; \
    octet_h name##_account; \
    octet_h name##_meters; \
    octet_h name##_kind; \
    octet_h name##_action_flags; \
    word_h name##_max_payload; \
    octet_h name##_local; \
    octet_h name##_tos; \
    octet_h name##_is_ipv6; \
    word_h name##_peer; \
    half_h name##_peer_port; \
    octet_h name##_header_length; \
    word_h name##_teid; \
    word_h name##_options; \
    word_h name##_container;

// What the egress side makes requests from: a header in front of the frame on Tofino, metadata on BMv2. `is_saved`: 1 if the state is written back.
#ifdef XPLANE_WALK
// The walk, the first place of the ring that is meant, how many packets there are from it on, the octets from the start of the UE's bucket, and the place
// of the entry in the flow's. Then the paging ring, the first place there that is meant, and how many packets are read from it on.
#define WALK_REQUEST_FIELDS \
    bit<16> walk; \
    bit<32> position; \
    bit<32> waiting; \
    bit<32> offset; \
    bit<8> place; \
    bit<16> paging_ring; \
    bit<32> paging_position; \
    bit<32> paging_reads;
#define STATE_REQUEST_FIELDS ACCOUNT_FIELDS
#else
#define WALK_REQUEST_FIELDS
#define STATE_REQUEST_FIELDS \
    bit<32> packets; \
    bit<32> octets;
#endif
#define REQUEST_FIELDS \
    WALK_REQUEST_FIELDS \
    bit<8> pair; \
    bit<8> is_saved; \
    bit<16> length; \
    bit<32> ue; \
    bit<32> flow; \
    STATE_REQUEST_FIELDS

struct request_t {
    REQUEST_FIELDS
}

header request_h {
    REQUEST_FIELDS
}

// Numbers of the copies of a multicast group: which request it becomes. Group 1 has the first three, 2 the second and third; the mirroring session of
// the state has group 3 with the last two. The copies of a group leave in this order, with no other request of the bucket between them.
#define COPY_LOAD 1
#define COPY_STORE 2
#define COPY_FETCH 3
#define COPY_SAVE 4
#define COPY_CLOSE 5
#ifdef XPLANE_WALK
// Of walks: a packet into the ring, the fields of the first one, the record's header, a block, an action, an entry, and the packets of the ring from
// COPY_DRAIN on, of which as many as are there. COPY_SOFTWARE goes to the port of the CPU.
#define COPY_QUEUE 6
#define COPY_FIELDS 7
#define COPY_RECORD 8
#define COPY_BLOCK 9
#define COPY_ACTION 10
#define COPY_ENTRY 11
#define COPY_DRAIN 12
#define COPY_DRAIN_2 13
#define COPY_DRAIN_3 14
#define COPY_DRAIN_4 15
#define COPY_SOFTWARE 20
// Of paging rings: a packet into the ring, and packets of it from COPY_PAGED on, of which as many as are asked for.
#define COPY_PAGE 24
#define COPY_PAGED 25
#define COPY_PAGED_2 26
#define COPY_PAGED_3 27
#define COPY_PAGED_4 28
// The copies of each group.
#define GROUP_BEGIN 4           // 6, 7
#define GROUP_JOIN 5            // 6
#define GROUP_JOIN_DRAIN 6      // 6, 12
#define GROUP_RECORD 7          // 8
#define GROUP_BLOCK 8           // 9
#define GROUP_ACTION 9          // 10
#define GROUP_ENTRY 10          // 11 to 15
#define GROUP_RELEASE 11        // 12 to 15
#define GROUP_FIRST_DRAIN 12    // 1, 2, 3, 12
#define GROUP_NEXT_DRAIN 13     // 2, 3, 12
#define GROUP_SOFTWARE_DRAIN 15 // 20 by the port of the CPU, 12
#define GROUP_PAGE 17           // 24
#define GROUP_PAGE_FIRST 18     // 24, 20 by the port of the CPU
#define GROUP_PAGE_READ 19      // 24, 25
#define GROUP_RELEASE_PAGES 20  // 25 to 28
// Mirroring sessions: the next packet of a paging ring, with group 14 (25), and that behind the state, with group 16 (4, 5, 25).
#define PAGED_SESSION 3
#define STATE_PAGED_SESSION 4
// Commands of the control plane, in the code of its port's header.
#define NOTICE_RELEASE 1
#define NOTICE_HOLD 2
#define NOTICE_EMPTY 3
#endif
#define GROUP_FIRST 1
#define GROUP_NEXT 2
#define STATE_SESSION 2

#ifdef XPLANE_WALK
// A PDR (28 octets), in the order of its octets.
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
    word_h rule##n;

// What an entry has in front of its action, and behind it.
header entry_h {
    bit<32> generation_high;
    bit<32> generation_low;
    bit<32> ue_head;
    bit<32> ue_word;
    bit<64> ue_zero;
    bit<32> ue_prefix;
    bit<32> ue_local;
    bit<8> flags;
    bit<8> protocol;
    bit<8> dscp;
    bit<8> qfi;
    bit<16> src_port;
    bit<16> dst_port;
    bit<64> src_zero;
    bit<32> src_prefix;
    bit<32> src;
    bit<64> dst_zero;
    bit<32> dst_prefix;
    bit<32> dst;
    bit<32> used_high;
    bit<32> used_low;
    bit<8> has_rule;
    bit<32> rule;
}

header action_h {
    bit<576> octets;
}

header entry_end_h {
    bit<24> zero;
}

#define WALK_HEADERS \
    entry_h entry; \
    action_h rule_action; \
    entry_end_h entry_end; \
    octet_h record_pdrs; \
    octet_h record_direction; \
    word_h record_address; \
    PDR_HEADERS(1) \
    PDR_HEADERS(2) \
    PDR_HEADERS(3) \
    PDR_HEADERS(4) \
    PDR_HEADERS(5)

#define PDR_METADATA(n) \
    bit<32> remote_mask##n; \
    bit<32> local_mask##n; \
    bit<1> matches##n;

#define WALK_METADATA \
    bit<32> walk; \
    bit<1> is_sound; \
    bit<1> first_is_empty; \
    bit<1> second_is_empty; \
    /* The place of a new entry: 0 or 1; 2: none. */ \
    bit<32> place; \
    /* Packets of the walk behind this one or before it; all ones: its ring is full. */ \
    bit<32> count; \
    bit<32> phase; \
    bit<32> entered; \
    bit<32> left; \
    bit<32> remote; \
    bit<32> local; \
    bit<16> remote_port; \
    bit<16> local_port; \
    bit<32> both_ports; \
    /* Protocol, QFI, DSCP with ECN, and flags as in the flow's key, with 128 for a tunnel. */ \
    bit<32> rest; \
    bit<32> kept_word; \
    bit<32> rule; \
    bit<32> offset; \
    bit<1> has_ports; \
    bit<8> match; \
    /* Bit 0: the packet was in the ring of a walk. Bit 1: in a paging ring; bit 2: and found no place in the local state table; from bit 3 on its position. */ \
    bit<16> mark; \
    bit<1> drains; \
    bit<32> position; \
    bit<32> waiting; \
    bit<16> walk_group; \
    /* In nanoseconds, as the software has it. */ \
    bit<64> now; \
    bit<32> is_loaded; \
    account_t state; \
    /* The UE has a paging ring; the packet is the next one that leaves it, or it is not. */ \
    bit<1> has_paging_ring; \
    bit<32> paging_ring; \
    bit<1> is_next; \
    bit<1> is_not_next; \
    bit<1> is_paging_full; \
    /* The state of the ring, the positions of its first packet and behind its last one, and how many there are. */ \
    bit<32> paging; \
    bit<32> paging_first; \
    bit<32> paging_end; \
    bit<32> paging_waiting; \
    /* That of the packet, or of the first one that is read, and how many are; 1: the next one is read, as a lookup has ended. */ \
    bit<32> paging_position; \
    bit<32> paging_reads; \
    bit<1> reads_next; \
    PDR_METADATA(1) \
    PDR_METADATA(2) \
    PDR_METADATA(3) \
    PDR_METADATA(4) \
    PDR_METADATA(5)
#else
#define WALK_HEADERS
#define WALK_METADATA
#endif

struct xplane_headers_t {
    XPLANE_TARGET_HEADERS
    ethernet_h ethernet;
    cpu_h cpu;
    whole_ipv4_h outer_ipv4;
    udp_h outer_udp;
    whole_gtpu_h gtpu;
    container_h container;
    bth_h bth;
    reth_h reth;
    aeth_h aeth;
    counted_h counted;
    tag_h tag;
    whole_ipv4_h user_ipv4;
    ports_h ports;
    // What comes from memory alone: no deparser emits it.
    // Of a record; key and generation are in the places of a first entry's, which are compared in the same way.
    octet_h record_flags;
    word_h budget_high;
    word_h idle_high;
    counted_h loaded;
    ENTRY_HEADERS(first)
    ENTRY_HEADERS(second)
    WALK_HEADERS
    XPLANE_TARGET_TRAILERS
}

struct xplane_metadata_t {
    bit<9> ingress_port;
    bit<8> kind;
    bit<8> outcome;
    // The UE's key, hashed, and what rules look at.
    bit<8> key_kind;
    bit<32> ue_word;
    bit<32> ue_local;
    bit<32> ue;
    bit<32> flow;
    bit<8> flags;
    bit<8> protocol;
    bit<8> tos;
    bit<8> qfi;
    bit<32> src;
    bit<32> dst;
    bit<16> src_port;
    bit<16> dst_port;
    // Octets of the user packet.
    bit<16> size;
    bit<32> generation_high;
    bit<32> generation_low;
    bit<NUMBER_WIDTH> pair;
    bit<1> is_foreign;
    bit<1> is_damaged;
    // The number of the response in the upper bits, and how many numbers it is behind the last one.
    bit<32> psn;
    bit<32> step;
    // 0: it is what comes next; 1: others are missing; 2: it came before.
    bit<2> order;
    // Of each entry: 0 is of another flow, 1 of another generation, 2 holds.
    bit<2> first_is;
    bit<2> second_is;
    // Of the record: 1: its account is one that is counted here.
    bit<1> is_countable;
    // The rule of the entry that holds.
    bit<8> has_rule;
    bit<8> account;
    bit<8> meters;
    bit<8> action_kind;
    bit<8> action_flags;
    bit<32> max_payload;
    bit<32> length;
    bit<32> excess;
    bit<8> network_high;
    bit<8> network_low;
    bit<8> is_ipv6;
    bit<16> peer_port;
    bit<8> header_length;
    bit<32> peer;
    bit<32> teid_out;
    bit<32> options_out;
    bit<32> container_out;
    // 1: the rule forwards, and the packet is counted if its state is loaded.
    bit<1> is_forwarded;
    bit<32> octets;
    // Packets in flight of the UE before or behind this one; what its account had before it.
    bit<32> flights;
    bit<32> octets_before;
    bit<32> octets_now;
    bit<32> packets_now;
    bit<1> has_route;
    bit<9> port;
    mac_t neighbour;
    mac_t own_mac;
    bit<32> own_address;
    bit<1> is_counted;
    bit<8> ecn;
    // 1: the frame is the last of its UE in flight.
    bit<1> is_last;
    bit<8> is_saved;
    WALK_METADATA
    XPLANE_TARGET_METADATA
}

#endif

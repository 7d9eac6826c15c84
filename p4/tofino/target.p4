// What the blocks leave to the target, for TNA on Tofino 1: counters, meters, ports, checksums, and the port of the CPU.

#ifndef CAUSEWAY_TARGET
#define CAUSEWAY_TARGET

#include "../contract/reasons.p4"

#define CPU_PORT 9w64
#define INGRESS_PORT ig_intr_md.ingress_port
// The mirror header keeps them.
#define KEPT_IN_COPY
// So does the resubmission header.
#define KEPT_IN_SECOND_PASS
// A mirroring session is named by a field.
#ifdef SOFTWARE_PORTS
#define TARGET_METADATA MirrorId_t copy_session; bit<8> copy_reason;
#elif defined(APPLICATION_CLASSES)
#define TARGET_METADATA MirrorId_t copy_session; bit<16> class_window;
#else
#define TARGET_METADATA MirrorId_t copy_session;
#endif

// What the target is told by: handed on to the blocks that decide where a packet goes.
#define TARGET_PARAMS \
    , inout ingress_intrinsic_metadata_for_tm_t traffic_manager, \
    inout ingress_intrinsic_metadata_for_deparser_t deparser
#define TARGET_ARGUMENTS , traffic_manager, deparser
#define EGRESS_PORT traffic_manager.ucast_egress_port
#define QUEUE traffic_manager.qid
#define DROP_PACKET deparser.drop_ctl = 1;

#define COUNTER(name, size, index) Counter<bit<64>, index>(size, CounterType_t.PACKETS) name;
#define COUNT(name, index, value) name.count(value);
#define DIRECT_COUNTER(name) DirectCounter<bit<36>>(CounterType_t.PACKETS_AND_BYTES) name;
#define DIRECT_COUNT(name) name.count();
#define USAGE_COUNTER(name, size, index) Counter<bit<36>, index>(size, CounterType_t.PACKETS_AND_BYTES) name;

#define METER(name, size, index) Meter<index>(size, MeterType_t.BYTES) name;
#define METER_EXECUTE(name, index, color) color = name.execute(index);
#define METER_RED 3

// A register whose cells are a word or, with REGISTER_PAIRS, two words of eight bits, and what one access does with a cell: a body that reads and
// writes `cell`, and sets `result`. It has the form of a stateful ALU: one comparison of a word, one change of it or two on opposite conditions, at
// most two fields of the packet. A packet accesses an array once, and all of its actions are in one table: else the compiler makes two memories of it
// (scripts/p4 looks).
#define REGISTER(name, size, index, word) Register<word, index>(size, 0) name;
#define REGISTER_ACTION(array, name, index, word, body) \
    RegisterAction<word, index, word>(array) name = { \
        void apply(inout word cell, out word result) { body } \
    };
#define REGISTER_EXECUTE(name, at, result) result = name.execute(at);
// The same at a hash of a field, which is made in the stage of the register: `at` says it for BMv2, which has it before.
#define REGISTER_EXECUTE_HASHED(name, hash, key, at, result) result = name.execute(hash.get({ key }));
// Cells of a signed word.
#define REGISTER_SIGNED(name, size, index) REGISTER(name, size, index, int<32>)
#define REGISTER_SIGNED_RESULT int<32>
#define REGISTER_SIGNED_ACTION(array, name, index, body) REGISTER_ACTION(array, name, index, int<32>, body)
// The last three bits of the result.
#define REGISTER_EXECUTE_BITS(name, at, result) result = (bit<3>)name.execute(at);
#define REGISTER_PAIRS(name, size, index) Register<pair_t, index>(size) name;
#define REGISTER_PAIR_ACTION(array, name, index, body) \
    RegisterAction<pair_t, index, bit<16>>(array) name = { \
        void apply(inout pair_t cell, out bit<16> result) { body } \
    };
struct pair_t {
    bit<8> first;
    bit<8> second;
}
// Hashes of a key of 32 bits, and random bits.
#define HASH_CRC32(name) Hash<bit<32>>(HashAlgorithm_t.CRC32) name;
// The last bits of these.
#define HASH_CRC32_PLACE(name, place) Hash<place>(HashAlgorithm_t.CRC32) name;
#define HASH_CRC16_PLACE(name, place) Hash<place>(HashAlgorithm_t.CRC16) name;
#define HASH_CRC32_PLACE_OF(name, result, key) result = name.get({ key });
#define HASH_CRC16(name) Hash<bit<16>>(HashAlgorithm_t.CRC16) name;
#define HASH_CRC32_OF(name, result, key) result = name.get({ key });
#define HASH_CRC16_OF(name, result, key) result = name.get({ key });
// Eight bits of a hash of several fields.
#define HASH_CRC8(name) Hash<bit<8>>(HashAlgorithm_t.CRC8) name;
#define HASH_CRC8_OF_ALL(name, result, ...) result = name.get({ __VA_ARGS__ });
// A copy of a word by way of a hash: what is an index elsewhere is cut into parts there, which a sum cannot be.
#define COPY(name) Hash<bit<32>>(HashAlgorithm_t.IDENTITY) name;
#define COPY_OF(name, result, word) result = name.get({ word });
// 16 bits out of the middle of a field, likewise.
#define CUT(name) Hash<bit<16>>(HashAlgorithm_t.IDENTITY) name;
#define CUT_OF(name, result, bits) result = name.get({ bits });
#define RANDOM(name) Random<bit<16>>() name;
#define RANDOM_DRAW(name, result) result = name.get();
// Time in units of 256 ns, modulo 2^32.
#define TIME ig_intr_md.ingress_mac_tstamp[39:8]
// In nanoseconds.
#define NANOSECONDS ig_intr_md.ingress_mac_tstamp
// In units of 64 ns, modulo 2^32, by way of a hash, which cuts bits out at any place.
#define EGRESS_CLOCK(name) Hash<bit<32>>(HashAlgorithm_t.IDENTITY) name;
#define EGRESS_CLOCK_READ(name, result) result = name.get({ from_parser.global_tstamp[37:6] });

// The deparser needs the sum of what does not change; the parser checks the whole.
#define INNER_IPV4_CHECKSUM_BEGIN \
    inner_sum.add(hdr.inner_ipv4); \
    inner_residue.subtract({hdr.inner_ipv4.checksum}); \
    inner_residue.subtract({hdr.inner_ipv4.version, hdr.inner_ipv4.ihl, hdr.inner_ipv4.dscp, hdr.inner_ipv4.ecn}); \
    inner_residue.subtract({hdr.inner_ipv4.ttl, hdr.inner_ipv4.protocol}); \
    meta.checksum_residue = inner_residue.get();
#define INNER_IPV4_CHECKSUM_OPTIONS inner_sum.add(hdr.inner_ipv4_options);
#define INNER_IPV4_CHECKSUM_END meta.bad_checksum = inner_sum.verify();

#if defined(VXLAN) && (defined(HEAVY_HITTERS) || defined(APPLICATION_CLASSES))
#error "VXLAN is for programs without heavy hitters and application classes"
#endif

// In front of the frame on its way to the egress side, whether it is the packet or a mirrored copy of the frame that came.
header bridge_h {
    // Together they are what one container of 32 bits holds, or the rule is by itself.
    PuntReason punt;
#ifdef PROFILE_DIRECT
    bit<32> rule;
    bit<32> cell;
    bit<8> bank;
#elif defined(HEAVY_HITTERS) || defined(APPLICATION_CLASSES)
    bit<32> rule;
#else
    bit<24> rule;
#endif
    // 0: a copy, which cannot say more of itself than what the ingress side has found.
    bit<1> is_original;
    // 1: the control plane chose the port and the queue itself.
    bit<1> is_sent;
#ifdef HEAVY_HITTERS
    // 1: it counts for its rule, or it is the second pass of one that did.
    bit<1> is_heavy_counted;
    bit<1> is_heavy_second;
    // Of a second pass.
    bit<1> heavy_way;
    // 1: a copy that says that its rule has become heavy.
    bit<1> is_heavy_event;
    @padding bit<1> padding;
    bit<9> ingress_port;
    // Of that.
    bit<16> heavy_units;
#elif defined(APPLICATION_CLASSES)
    // 1: it counts for the class of its rule's session.
    bit<1> is_class_counted;
    // 1: a copy that says that this class has changed.
    bit<1> is_class_event;
    @padding bit<3> padding;
    bit<9> ingress_port;
    // Of such a copy the class.
    bit<16> class_window;
    bit<32> class_parts;
#else
    @padding bit<5> padding;
    bit<9> ingress_port;
#ifdef VXLAN
    bit<8> tenant;
#endif
#endif
}

#ifdef HEAVY_HITTERS
// The same in front of a copy of a packet that leaves: a second pass, or an event.
header heavy_copy_h {
    bit<8> punt;
    bit<32> rule;
#ifdef PROFILE_DIRECT
    bit<32> cell;
    bit<8> bank;
#endif
    // The bits from `is_original` on.
    bit<8> what;
    bit<8> ingress_port;
    bit<16> heavy_units;
}
#endif

#ifdef APPLICATION_CLASSES
// The same in front of a copy that says that a class has changed.
header class_copy_h {
    bit<8> punt;
    bit<32> rule;
#ifdef PROFILE_DIRECT
    bit<32> cell;
    bit<8> bank;
#endif
    // The bits from `is_original` on.
    bit<8> what;
    bit<8> ingress_port;
    bit<8> zero;
    bit<8> class;
    bit<32> class_parts;
}
#endif

#define TARGET_HEADERS bridge_h bridge;

#endif

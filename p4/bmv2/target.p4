// What the blocks leave to the target, for v1model: counters, meters, ports, and the port of the CPU.

#ifndef CAUSEWAY_TARGET
#define CAUSEWAY_TARGET

#define CPU_PORT 9w510
#define INGRESS_PORT standard_metadata.ingress_port
// Fields of list 1 come along with a clone, whose frame is put together again from its parsed headers.
#define KEPT_IN_COPY @field_list(1)
// Those of list 2 come along with a resubmission.
#define KEPT_IN_SECOND_PASS @field_list(2)
#define KEEP_EXTENSIONS

// What the target is told by: handed on to the blocks that decide where a packet goes.
#define TARGET_PARAMS , inout standard_metadata_t standard_metadata
#define TARGET_ARGUMENTS , standard_metadata
#define EGRESS_PORT standard_metadata.egress_spec
// simple_switch has eight queues where it has any: the main chooses by the upper bits.
#define QUEUE meta.queue
#define DROP_PACKET mark_to_drop(standard_metadata);

#define COUNTER(name, size, index) counter(size, CounterType.packets) name;
#define COUNT(name, index, value) name.count((bit<32>)value);
#define DIRECT_COUNTER(name) direct_counter(CounterType.packets_and_bytes) name;
#define DIRECT_COUNT(name) name.count();
#define USAGE_COUNTER(name, size, index) counter(size, CounterType.packets_and_bytes) name;

#define METER(name, size, index) meter(size, MeterType.bytes) name;
#define METER_EXECUTE(name, index, color) name.execute_meter((bit<32>)index, color);
#define METER_RED 2

// A register whose cells are a word or, if `word` is `pair_t`, two words of eight bits, and what one access does with a cell: a body that
// reads and writes `cell`, and sets `result`. More would work here, but not on Tofino: see there. simple_switch passes one packet at a time
// through ingress, so an access is one step.
#define REGISTER(name, size, index, word) register<word>(size) name;
#define REGISTER_ACTION(array, name, index, word, body) \
    action name(in index at, out word result) { \
        word cell; \
        array.read(cell, (bit<32>)at); \
        body \
        array.write((bit<32>)at, cell); \
    }
#define REGISTER_EXECUTE(name, at, result) name(at, result);
// The same where Tofino has the hash in the register's stage.
#define REGISTER_EXECUTE_HASHED(name, hash, key, at, result) name(at, result);
// Cells of a signed word: simple_switch keeps and reads the bits.
#define REGISTER_SIGNED(name, size, index) register<bit<32>>(size) name;
#define REGISTER_SIGNED_RESULT bit<32>
#define REGISTER_SIGNED_ACTION(array, name, index, body) \
    action name(in index at, out bit<32> bits) { \
        int<32> cell; \
        int<32> result; \
        bit<32> word; \
        array.read(word, (bit<32>)at); \
        cell = (int<32>)word; \
        body \
        array.write((bit<32>)at, (bit<32>)cell); \
        bits = (bit<32>)result; \
    }
// The last three bits of a result of eight.
#define REGISTER_EXECUTE_BITS(name, at, result) \
    bit<8> word; \
    name(at, word); \
    result = word[2:0];
// BMv2 has no cells of two words. The annotation says them, and is in the P4Info: the upper half is the second one.
#define REGISTER_PAIRS(name, size, index) @words(8, 8) register<bit<16>>(size) name;
#define REGISTER_PAIR_ACTION(array, name, index, body) \
    action name(in index at, out bit<16> result) { \
        pair_t cell; \
        bit<16> word; \
        array.read(word, (bit<32>)at); \
        cell.first = word[7:0]; \
        cell.second = word[15:8]; \
        body \
        array.write((bit<32>)at, cell.second ++ cell.first); \
    }
struct pair_t {
    bit<8> first;
    bit<8> second;
}
// Hashes of a key of 32 bits, and random bits.
#define HASH_CRC32(name)
// The last bits of these.
#define HASH_CRC32_PLACE(name, place)
#define HASH_CRC16_PLACE(name, place)
#define HASH_CRC32_PLACE_OF(name, result, key) hash(result, HashAlgorithm.crc32, (bit<16>)0, { key }, (bit<32>)0x10000);
#define HASH_CRC16(name)
#define HASH_CRC32_OF(name, result, key) hash(result, HashAlgorithm.crc32, (bit<32>)0, { key }, (bit<64>)0x100000000);
#define HASH_CRC16_OF(name, result, key) hash(result, HashAlgorithm.crc16, (bit<16>)0, { key }, (bit<32>)0x10000);
// Eight bits of a hash of several fields.
#define HASH_CRC8(name)
#define HASH_CRC8_OF_ALL(name, result, ...) hash(result, HashAlgorithm.crc16, (bit<16>)0, { __VA_ARGS__ }, (bit<32>)0x100);
// A copy of a word.
#define COPY(name)
#define COPY_OF(name, result, word) result = word;
// 16 bits out of the middle of a field.
#define CUT(name)
#define CUT_OF(name, result, bits) result = bits;
#define RANDOM(name)
#define RANDOM_DRAW(name, result) random(result, (bit<16>)0, (bit<16>)0xffff);
// Time in units of 256 ns, modulo 2^32: simple_switch has it in microseconds, each of 125 / 32 units.
#define TIME (bit<32>)((standard_metadata.ingress_global_timestamp * 125) >> 5)
// In nanoseconds.
#define NANOSECONDS (bit<48>)(standard_metadata.ingress_global_timestamp * 1000)
// In units of 64 ns, modulo 2^32.
#define EGRESS_CLOCK(name)
#define EGRESS_CLOCK_READ(name, result) result = (bit<32>)((standard_metadata.egress_global_timestamp * 125) >> 3);

// VerifyChecksum and ComputeChecksum do all of it.
#define INNER_IPV4_CHECKSUM_BEGIN
#define INNER_IPV4_CHECKSUM_OPTIONS
#define INNER_IPV4_CHECKSUM_END

// Nothing but the frame goes from one side to the other: metadata do by themselves.
#define TARGET_HEADERS
#ifdef HEAVY_HITTERS
#define TARGET_METADATA HEAVY_METADATA
#elif defined(APPLICATION_CLASSES)
#define TARGET_METADATA CLASS_METADATA
#else
#define TARGET_METADATA
#endif

#endif

// What the blocks leave to the target, for v1model: counters, meters, ports, and the port of the CPU.

#ifndef CAUSEWAY_TARGET
#define CAUSEWAY_TARGET

#define CPU_PORT 9w510
#define INGRESS_PORT standard_metadata.ingress_port
// Fields of list 1 come along with a clone, whose frame is put together again from its parsed headers.
#define KEPT_IN_COPY @field_list(1)
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

// A register of words of 32 bits, and what one access does with a cell: a body that reads and writes `cell`, and sets `result`. More would
// work here, but not on Tofino: see there. simple_switch passes one packet at a time through ingress, so an access is one step.
#define REGISTER(name, size, index) register<bit<32>>(size) name;
#define REGISTER_ACTION(array, name, index, body) \
    action name(in index at, out bit<32> result) { \
        bit<32> cell; \
        array.read(cell, (bit<32>)at); \
        body \
        array.write((bit<32>)at, cell); \
    }
#define REGISTER_EXECUTE(name, at, result) name(at, result);
// Time in units of 256 ns, modulo 2^32: simple_switch has it in microseconds, each of 125 / 32 units.
#define TIME (bit<32>)((standard_metadata.ingress_global_timestamp * 125) >> 5)

// VerifyChecksum and ComputeChecksum do all of it.
#define INNER_IPV4_CHECKSUM_BEGIN
#define INNER_IPV4_CHECKSUM_OPTIONS
#define INNER_IPV4_CHECKSUM_END

// Nothing but the frame goes from one side to the other: metadata do by themselves.
#define TARGET_HEADERS
#define TARGET_METADATA

#endif

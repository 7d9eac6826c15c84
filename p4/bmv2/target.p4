// What the blocks leave to the target, for v1model: counters, meters, and the port of the CPU.

#ifndef CAUSEWAY_TARGET
#define CAUSEWAY_TARGET

#define CPU_PORT 9w510
#define INGRESS_PORT standard_metadata.ingress_port
// Fields of list 1 come along with a clone.
#define KEPT_IN_COPY @field_list(1)

#define COUNTER(name, size, index) counter(size, CounterType.packets) name;
#define COUNT(name, index, value) name.count((bit<32>)value);
#define DIRECT_COUNTER(name) direct_counter(CounterType.packets_and_bytes) name;
#define DIRECT_COUNT(name) name.count();
#define USAGE_COUNTER(name, size, index) counter(size, CounterType.packets_and_bytes) name;

#define METER(name, size) meter(size, MeterType.bytes) name;
#define METER_EXECUTE(name, index, color) name.execute_meter((bit<32>)index, color);
#define METER_RED 2

// VerifyChecksum and ComputeChecksum do all of it.
#define INNER_IPV4_CHECKSUM_BEGIN
#define INNER_IPV4_CHECKSUM_OPTIONS
#define INNER_IPV4_CHECKSUM_END

// Nothing but the frame goes from one side to the other: metadata do by themselves.
#define TARGET_HEADERS

#endif

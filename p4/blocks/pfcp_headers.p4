// Headers and metadata of profile `accel`: PFCP session messages that the switch answers, and the user packets of their sessions.
// `headers.p4` stands before.
//
// A session has a number of 17 bits, its index in all arrays: the place of its UE's address in its pool. Its generation has 15 bits. The
// UPF's SEID is 1, the generation, SEID_TAG, and the index in 32 bits; its TEID is the generation and the index.

#ifndef CAUSEWAY_PFCP_HEADERS
#define CAUSEWAY_PFCP_HEADERS

#include "pfcp_ies.p4"

// Sessions: cells of each array.
#ifndef SIZE_SESSIONS
#define SIZE_SESSIONS 131072
#endif
#define SESSION_BITS 17
// Rows for policies.
#ifndef SIZE_POLICIES
#define SIZE_POLICIES 512
#endif
typedef bit<SESSION_BITS> session_t;

#define SIZE_POLICE SIZE_SESSIONS
#define POLICE_BITS SESSION_BITS
#include "police.p4"

const bit<16> PORT_PFCP = 8805;
#define SEID_TAG 0xacce
const bit<8> PFCP_ESTABLISH = 50;
const bit<8> PFCP_MODIFY = 52;
const bit<8> PFCP_DELETE = 54;

// What the parser has found.
#define KIND_OTHER 0
#define KIND_PFCP 1
#define KIND_UPLINK 2
#define KIND_DOWNLINK 3
// A message on its second pass, on its way to the software.
#define KIND_SECOND 4

#ifdef CHAIN
// A message or user packet that a standby leaves to the primary; a record of another epoch or port; a message on its second pass, on its way to the
// standby; the control plane asks for the record of an index; a record of this epoch.
#define KIND_REFUSED 5
#define KIND_RECORD 6
#define KIND_RECORDED 7
#define KIND_ASKED 8
#define KIND_REPLICA 9
#endif

// What is to be done. The first four are said by the policy of a message.
#define OP_NONE 0
#define OP_ESTABLISH 1
#define OP_CREATE 2
#define OP_UPDATE 3
#define OP_DELETE 4
// A message for the software that may name a session of the switch.
#define OP_LOOK 5
// The session becomes the software's.
#define OP_ADOPT 6

#ifdef CHAIN
// The session is written as a record says.
#define OP_REPLICA 7
#endif

// Why a message, or a packet of a session of the software, goes to the CPU port: the numbers of PuntReason go on.
#define PUNT_SESSION 7
// A bit of the flags there: the entry of the session stands behind the header.
#define PUNT_HAS_ENTRY 2

// What a second pass is for: the message alone; its session with it; the same where the message is already noted in the session.
#define SECOND_PLAIN 0x01000000
#define SECOND_ADOPT 0x02000000
#define SECOND_ADOPT_NOTED 0x03000000

#ifdef CHAIN
// It is answered when the standby has its session.
#define SECOND_RECORD 0x10000000
#endif

// TS 29.244 clause 7.2.2, with SEID.
header pfcp_h {
    bit<8> flags;
    bit<8> message_type;
    bit<8> length_high;
    bit<8> length_low;
    bit<32> seid_high;
    bit<32> seid_low;
    // The sequence number and an octet behind it.
    bit<32> number;
}

// What goes from the first pass to the second: Tofino 1 has eight octets.
header second_accel_h {
    // What it is for in the first octet, and the index.
    bit<32> subject;
    bit<32> expected;
}

// The header of an answer, and its IEs: Node ID; Cause; UP F-SEID and Created PDR.
header answer_h {
    bit<32> first;
    bit<32> cp_high;
    bit<32> cp_low;
    bit<32> number;
}

header answer_node_h {
    bit<32> head;
    bit<8> kind;
    bit<32> address;
}

header answer_cause_h {
    bit<32> head;
    bit<8> cause;
}

header answer_session_h {
    bit<32> f_seid_head;
    bit<8> f_seid_flags;
    bit<32> seid_high;
    bit<32> seid_low;
    bit<32> address;
    bit<32> created_head;
    bit<32> pdr_head;
    bit<16> pdr;
    bit<32> f_teid_head;
    bit<8> f_teid_flags;
    bit<32> teid;
    bit<32> tunnel;
}

// The session that becomes the software's, behind the CPU port's header: all that the switch knows of it.
header session_entry_h {
    // As in `second_accel_h`.
    bit<32> subject;
    bit<32> state;
    bit<32> cp_high;
    bit<32> cp_low;
    bit<32> origin;
    bit<32> last;
    bit<32> peer_teid;
    bit<32> peer;
    bit<16> uplink_policy;
    bit<16> downlink_policy;
    bit<16> uplink_far;
    bit<16> downlink_far;
    bit<8> downlink_action;
    bit<8> has_peer;
}

#ifdef CHAIN
// IEEE 802 local experimental EtherType 2: frames between the switches of a chain.
const bit<16> ETHERTYPE_CHAIN = 0x88b6;

// In front of the session's entry, and of the message as it came. Of a request of the control plane for a record the entry has the subject alone.
header chain_h {
    bit<32> epoch;
    // Of the message; 0: there is none.
    bit<16> ether_type;
}
#endif

struct accel_headers_t {
    // From one side of the switch to the other.
    police_h police;
    ethernet_h ethernet;
    cpu_h cpu;
#ifdef CHAIN
    chain_h chain;
#endif
    session_entry_h entry;
    ipv4_h outer_ipv4;
    udp_h outer_udp;
    pfcp_h pfcp;
    answer_h answer;
    answer_node_h answer_node;
    answer_cause_h answer_cause;
    answer_session_h answer_session;
    gtpu_h gtpu;
    gtpu_options_h gtpu_options;
    psc_h psc;
    next_extension_h psc_next;
    ipv4_h inner_ipv4;
}

struct accel_metadata_t {
    KEPT_IN_SECOND_PASS bit<9> ingress_port;
    bit<8> kind;
    bit<1> is_misfit;
    pfcp_t pfcp;
    // Of a second pass: as in `second_accel_h`.
    KEPT_IN_SECOND_PASS bit<32> subject;
    KEPT_IN_SECOND_PASS bit<32> kept_state;
    // Why a frame that the parser does not follow goes to the control plane; 0: it is dropped.
    bit<8> punt;
    // The place of the UE's address, `pfcp.ue`, in its pool.
    bit<32> place;
    bit<1> has_place;
    // How the index of the SEID, or the TEID, differs from the place.
    bit<32> named_difference;
    bit<32> teid_rest;
    bit<32> teid_copy;
    // Twice the state, so that its generation stands where the TEID has it; and what is added to twice the SEID to get the TEID.
    bit<32> doubled;
    bit<32> index_copy;
    bit<32> teid_more;
    // The index in its last 17 bits.
    bit<32> index;
    // The sender: its number; that less SEID_TAG; and what is added to the state when a session begins and ends.
    bit<1> is_host;
    bit<32> smf;
    bit<32> smf_more;
    bit<32> state_begins;
    bit<32> state_ends;
    bit<1> is_named;
    bit<1> is_peer;
    // Policies of the parts of a message, 0 for a part that is not there.
    bit<16> pdr_policy;
    bit<16> far_policy;
    bit<16> qer_policy;
    bit<8> op;
    bit<16> policy;
    // The state that is expected, and what is added to it.
    bit<32> state_in;
    bit<32> state_add;
    // The state before, and 1 if it was the expected one.
    bit<32> before;
    bit<32> is_expected;
    // The state of a session that has begun.
    bit<32> begun;
    // Of an answer.
    bit<32> seid_out;
    bit<32> teid_out;
    bit<32> smf_difference;
    bit<32> number;
    bit<32> digest;
    // The request: its sequence number and eight bits of its digest.
    bit<32> request;
    bit<32> origin;
    bit<32> origin_difference;
    bit<32> last;
    bit<32> last_difference;
    bit<32> cp_high;
    bit<32> cp_low;
    // 1: it is that of the message.
    bit<32> is_cp_high;
    bit<32> is_cp_low;
    bit<16> uplink_policy;
    bit<16> downlink_policy;
    // The last halves of FAR IDs, how that of the PDR differs from that of the FAR, and 1: it is that of the message.
    bit<16> uplink_far;
    bit<16> downlink_far;
    bit<16> far_difference;
    bit<16> is_uplink_far;
    bit<16> is_downlink_far;
    // 1: the session may be changed so; and the action of its downlink that follows, 0 if it stays.
    bit<1> is_change;
    // How it is changed: see `going`.
    bit<8> goes;
    bit<8> action_in;
    bit<8> downlink_action;
    bit<8> has_peer;
    bit<32> peer_teid;
    bit<32> peer_host;
    // The next address of an uplink packet.
    bit<32> next;
    bit<1> has_route;
    bit<1> is_uplink_open;
    bit<6> qfi_in;
    bit<6> qfi_out;
    bit<1> is_downlink_known;
    // The class of the rate of packets in each direction, 0 for none.
    bit<8> uplink_rate;
    bit<8> downlink_rate;
    bit<32> own_node;
    bit<32> own_n4;
    bit<32> own_tunnel;
    bit<16> length;
    // 1: the message passes a second time.
    bit<3> asks_second;
#ifdef CHAIN
    bit<1> is_standby;
    // 1: the switch is the primary of a chain of this epoch, with its standby behind this port.
    bit<3> is_primary;
    bit<9> chain_port;
    bit<32> epoch;
    // The state of the session of a message that is answered: what a second pass is to find.
    bit<32> recorded_state;
    // The state that was found is another one.
    bit<32> recorded_difference;
    // Of a record the generation in its place, and what the downlink's FAR is written with.
    bit<32> record_generation;
    bit<16> first_downlink_far;
#endif
}

// Fields that the parser does not set on each way.
#define ACCEL_CLEAR \
    PFCP_CLEAR \
    meta.kind = KIND_OTHER; \
    meta.is_misfit = 0; \
    meta.punt = 0; \
    meta.digest = 0; \
    meta.qfi_in = 0; \
    meta.length = 0; \
    meta.asks_second = 0; \
    CHAIN_CLEAR

#ifdef CHAIN
#define CHAIN_CLEAR \
    meta.is_standby = 0; \
    meta.is_primary = 0; \
    meta.recorded_difference = 0; \
    meta.record_generation = 0; \
    meta.first_downlink_far = 0;
#else
#define CHAIN_CLEAR
#endif

#endif

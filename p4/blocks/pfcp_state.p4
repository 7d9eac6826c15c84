// Sessions that the switch establishes, changes and ends by PFCP messages, and what user packets find of them (AccelUPF section 3;
// `crates/dataplane/switch/src/accel` is the same in the model, `crates/dataplane/accel` says what the answers are).
//
// The control plane gives numbers to what messages ask for. A policy is one Create PDR, Create FAR, Update FAR or Create QER with all of its
// lengths and values but the UE's address and the gNB's tunnel; then one message of such parts; then one change of a session that has
// certain policies. A message without a policy goes to the software, which may add one. So a row stands only for what the software has
// found to be right, and says by its number what a session has.
//
// The state of a session is a word: bit 31, it is there; 15 bits of generation; 16 bits of its SMF's number, zero where no session is.
// STATE_OF_SOFTWARE in the upper half: the software has it, or the generations are used up.

#define STATE_OF_SOFTWARE 0x7fff

// What a standby writes of a record: an action of an array more, and a row.
#ifdef CHAIN
#include "chain.p4"
#else
#define REPLICATED(array, name, word, field, into)
#define REPLICATE_ACTION(name)
#define REPLICATE_ROW(...)
#define REPLICATE_ROWS
#define READ_STATE read_state
#define NOTHING_BEGINS
#define CHAIN_SUBJECTS
#define CHAIN_SUBJECT_ROWS
#define CHAIN_STATINGS
#define CHAIN_STATING_ROWS
#define COMPARE_RECORDED
#endif

// What becomes of a message or packet, by the blocks behind.
control SessionState(inout accel_headers_t hdr, inout accel_metadata_t meta) {
    HASH_CRC8(request_hash)
    COPY(index_bits)
    COPY(teid_bits)
    COPY(police_bits)

    // Places of UE addresses: the address and a number, modulo 2^32, are the index.
    action pool(bit<32> offset) {
        meta.place = meta.pfcp.ue + offset;
        meta.has_place = 1;
    }

    action no_pool() {
        meta.place = 0;
        meta.has_place = 0;
    }

    @id(150)
    table ue_pools {
        key = { meta.pfcp.ue : lpm @name("ue"); }
        actions = { pool; @defaultonly no_pool; }
        const default_action = no_pool();
        size = 64;
    }

    // Associated SMFs by their host: a number that is another one after each restart, that less SEID_TAG, 0x80010000 and the number, and
    // 0x80000000 less it; all modulo 2^32.
    action host(bit<32> smf, bit<32> more, bit<32> begins, bit<32> ends) {
        meta.is_host = 1;
        meta.smf = smf;
        meta.smf_more = more;
        meta.state_begins = begins;
        meta.state_ends = ends;
    }

    action no_host() {
        meta.is_host = 0;
    }

    @id(151)
    table smf_hosts {
        key = { hdr.outer_ipv4.src : exact @name("host"); }
        actions = { host; @defaultonly no_host; }
        const default_action = no_host();
        size = 256;
    }

    // What an SMF may say of itself: its Node ID and the address of its SEIDs, or nothing of one of them.
    action is_named() {
        meta.is_named = 1;
    }

    action no_named() {
        meta.is_named = 0;
    }

    @id(152)
    table smf_names {
        key = {
            hdr.outer_ipv4.src : exact @name("host");
            meta.pfcp.forms_message : ternary @name("forms_message");
            meta.pfcp.node : exact @name("node");
            meta.pfcp.cp_address : exact @name("cp_address");
        }
        actions = { is_named; @defaultonly no_named; }
        const default_action = no_named();
        size = SIZE_POLICIES;
    }

    // Addresses that gNBs have.
    action is_peer() {
        meta.is_peer = 1;
    }

    action no_peer() {
        meta.is_peer = 0;
    }

    @id(153)
    table peer_addresses {
        key = { meta.pfcp.peer : lpm @name("peer"); }
        actions = { is_peer; @defaultonly no_peer; }
        const default_action = no_peer();
        size = 64;
    }

    action pdr_policy(bit<16> policy) {
        meta.pdr_policy = policy;
    }

    @id(154)
    table pdr_policies {
        key = { PFCP_PDR_KEY }
        actions = { pdr_policy; }
        const default_action = pdr_policy(0);
        size = SIZE_POLICIES;
    }

    action far_policy(bit<16> policy) {
        meta.far_policy = policy;
    }

    @id(155)
    table far_policies {
        key = { PFCP_FAR_KEY }
        actions = { far_policy; }
        const default_action = far_policy(0);
        size = SIZE_POLICIES;
    }

    action qer_policy(bit<16> policy) {
        meta.qer_policy = policy;
    }

    @id(156)
    table qer_policies {
        key = { PFCP_QER_KEY }
        actions = { qer_policy; }
        const default_action = qer_policy(0);
        size = SIZE_POLICIES;
    }

    // What later stages compare.
    @hidden
    action prepare() {
        meta.number = hdr.pfcp.number & 0xffffff00;
        hdr.police.setValid();
        hdr.police.kind = POLICE_NONE;
        hdr.police.step = 0;
    }

    action take(bit<8> op, bit<16> policy) {
        meta.op = op;
        meta.policy = policy;
    }

    // A message whose parts have policies, from an SMF that says of itself what it may, with lengths that fit each other.
    @id(157)
    table message_policies {
        key = {
            hdr.pfcp.message_type : exact @name("type");
            hdr.pfcp.length_low : exact @name("length");
            meta.is_misfit : exact @name("is_misfit");
            meta.is_named : exact @name("is_named");
            meta.is_peer : exact @name("is_peer");
            hdr.outer_udp.length : exact @name("udp_length");
            hdr.outer_ipv4.length : exact @name("ip_length");
            meta.pdr_policy : exact @name("pdr_policy");
            meta.far_policy : exact @name("far_policy");
            meta.qer_policy : exact @name("qer_policy");
            PFCP_MESSAGE_KEY
        }
        actions = { take; }
        const default_action = take(OP_NONE, 0);
        size = SIZE_POLICIES;
    }

    // Which session it is about, and which state is expected.
    @hidden
    action of_establishment() {
        meta.index = meta.place;
        meta.state_add = meta.state_begins;
        meta.state_in = 0;
    }

    @hidden
    action of_modification() {
        meta.index = hdr.pfcp.seid_low;
        meta.state_add = 0;
        meta.state_in = hdr.pfcp.seid_high + meta.smf_more;
    }

    @hidden
    action of_deletion() {
        meta.index = hdr.pfcp.seid_low;
        meta.state_add = meta.state_ends;
        meta.state_in = hdr.pfcp.seid_high + meta.smf_more;
    }

    @hidden
    action of_uplink() {
        meta.index = meta.place;
        NOTHING_BEGINS
    }

    @hidden
    action of_downlink() {
        meta.index = meta.place;
        NOTHING_BEGINS
    }

    @hidden
    action of_second() {
        meta.index = meta.subject;
        meta.state_in = meta.kept_state;
        meta.state_add = 0x7fff0000 - meta.kept_state;
    }

#ifdef CHAIN
    @hidden
    action of_recorded() {
        meta.index = meta.subject;
        meta.kind = KIND_RECORDED;
        NOTHING_BEGINS
    }

    @hidden
    action of_asked() {
        meta.index = hdr.entry.subject & ((1 << SESSION_BITS) - 1);
        NOTHING_BEGINS
    }

    @hidden
    action of_replica() {
        meta.index = hdr.entry.subject & ((1 << SESSION_BITS) - 1);
        meta.state_in = hdr.entry.state;
        meta.kept_state = hdr.entry.state;
        meta.record_generation = hdr.entry.state & 0xffff0000;
        meta.first_downlink_far = hdr.entry.downlink_far;
    }
#endif

    // No session: no state is like that, for without a session there is no SMF.
    @hidden
    action of_none() {
        meta.index = 0;
        meta.state_in = 0x0000ffff;
        meta.state_add = 0;
    }

    @hidden
    table subjects {
        key = {
            meta.kind : ternary;
            hdr.pfcp.message_type : ternary;
            meta.subject : ternary;
        }
        actions = { of_establishment; of_modification; of_deletion; of_uplink; of_downlink; of_second; of_none; CHAIN_SUBJECTS NoAction; }
        const default_action = NoAction();
        const entries = {
            (KIND_PFCP, PFCP_ESTABLISH, _) : of_establishment();
            (KIND_PFCP, PFCP_MODIFY, _) : of_modification();
            (KIND_PFCP, PFCP_DELETE, _) : of_deletion();
            (KIND_UPLINK, _, _) : of_uplink();
            (KIND_DOWNLINK, _, _) : of_downlink();
#ifdef CHAIN
            (KIND_SECOND, _, SECOND_RECORD &&& SECOND_RECORD) : of_recorded();
            (KIND_ASKED, _, _) : of_asked();
            (KIND_REPLICA, _, _) : of_replica();
#endif
            (KIND_SECOND, _, SECOND_ADOPT &&& 0x02000000) : of_second();
            (KIND_SECOND, _, _) : of_none();
        }
        size = 7 CHAIN_SUBJECT_ROWS;
    }

    @hidden
    action compare_places() {
        meta.named_difference = meta.place - hdr.pfcp.seid_low;
        meta.teid_rest = hdr.gtpu.teid - meta.place;
        meta.far_difference = meta.pfcp.far_id - meta.pfcp.pdr_far;
    }

    @hidden
    action hash_request() {
        HASH_CRC8_OF_ALL(request_hash, meta.digest[7:0], hdr.outer_ipv4.src, hdr.outer_udp.src, hdr.pfcp.message_type, hdr.pfcp.seid_high,
            hdr.pfcp.seid_low, meta.smf, meta.pdr_policy, meta.far_policy, meta.qer_policy, meta.pfcp.ue, meta.pfcp.peer_teid, meta.pfcp.peer,
            meta.pfcp.far_id)
    }

    @hidden
    action copy_index() {
        COPY_OF(index_bits, meta.index_copy, meta.index)
    }

    @hidden
    action copy_policed() {
        COPY_OF(police_bits, hdr.police.index, meta.index)
    }

    @hidden
    action copy_teid() {
        COPY_OF(teid_bits, meta.teid_copy, meta.teid_rest)
    }

    @hidden
    action note_request() {
        meta.request = meta.number ^ meta.digest;
    }

    @id(150)
    REGISTER(session_states, SIZE_SESSIONS, session_t, bit<32>)

    // A session begins where none is. The new state is the one before, and what is added.
    REGISTER_ACTION(session_states, begin_session, session_t, bit<32>,
        result = cell;
        if (cell < 0x7fff0000) { cell = cell + meta.state_add; }
    )

    REGISTER_ACTION(session_states, change_state, session_t, bit<32>,
        if (cell == meta.state_in) { result = 1; cell = cell + meta.state_add; } else { result = 0; }
    )

    REGISTER_ACTION(session_states, compare_state, session_t, bit<32>,
        if (cell == meta.state_in) { result = 1; } else { result = 0; }
    )

#ifdef CHAIN
    // The mark of the software stays: a record may be older. `begin_session` reads the state with nothing to add: an array has four actions.
    REGISTER_ACTION(session_states, replicate_state, session_t, bit<32>,
        if (cell != 0x7fff0000) { cell = meta.state_in; }
        result = cell;
    )
#else
    REGISTER_ACTION(session_states, read_state, session_t, bit<32>,
        result = cell;
    )
#endif

    @hidden
    action begin() {
        REGISTER_EXECUTE(begin_session, meta.index[SESSION_BITS - 1:0], meta.before)
    }

    @hidden
    action change() {
        REGISTER_EXECUTE(change_state, meta.index[SESSION_BITS - 1:0], meta.is_expected)
    }

    @hidden
    action compare() {
        REGISTER_EXECUTE(compare_state, meta.index[SESSION_BITS - 1:0], meta.is_expected)
    }

    @hidden
    action read() {
        REGISTER_EXECUTE(READ_STATE, meta.index[SESSION_BITS - 1:0], meta.before)
    }

    @hidden
    action adopt() {
        REGISTER_EXECUTE(change_state, meta.index[SESSION_BITS - 1:0], meta.is_expected)
        meta.op = OP_ADOPT;
    }

    @hidden
    action refuse_op() {
        meta.op = OP_NONE;
    }

    @hidden
    action look() {
        REGISTER_EXECUTE(compare_state, meta.index[SESSION_BITS - 1:0], meta.is_expected)
        meta.op = OP_LOOK;
    }

#ifdef CHAIN
    // The entry of a session that stays the switch's.
    @hidden
    action read_entry() {
        REGISTER_EXECUTE(READ_STATE, meta.index[SESSION_BITS - 1:0], meta.before)
        meta.op = OP_ADOPT;
    }

    @hidden
    action write_entry() {
        REGISTER_EXECUTE(replicate_state, meta.index[SESSION_BITS - 1:0], meta.before)
        meta.op = OP_REPLICA;
    }
#endif

    // op, host, place, SEID, difference of both places, that of the FAR IDs of PDR and FAR, kind
    @hidden
    table stating {
        key = {
            meta.op : ternary;
            meta.is_host : ternary;
            meta.has_place : ternary;
            hdr.pfcp.seid_high : ternary;
            hdr.pfcp.seid_low : ternary;
            meta.named_difference : ternary;
            meta.far_difference : ternary;
            meta.kind : ternary;
        }
        actions = { begin; change; compare; read; look; adopt; CHAIN_STATINGS refuse_op; }
        const default_action = refuse_op();
        const entries = {
#ifdef CHAIN
            (_, _, _, _, _, _, _, KIND_REPLICA) : write_entry();
            (_, _, _, _, _, _, _, KIND_RECORDED) : read_entry();
            (_, _, _, _, _, _, _, KIND_ASKED) : read_entry();
            (_, _, _, _, _, _, _, KIND_REFUSED) : refuse_op();
            (_, _, _, _, _, _, _, KIND_RECORD) : refuse_op();
#endif
            (OP_ESTABLISH, 1, 1, 0, 0, _, 0, _) : begin();
            (OP_CREATE, 1, 1, SEID_TAG &&& 0xffff, 0 &&& 0xfffe0000, 0, 0, _) : compare();
            (OP_UPDATE, 1, _, SEID_TAG &&& 0xffff, 0 &&& 0xfffe0000, _, _, _) : compare();
            (OP_DELETE, 1, _, SEID_TAG &&& 0xffff, 0 &&& 0xfffe0000, _, _, _) : change();
            (_, _, 1, _, _, _, _, KIND_UPLINK) : read();
            (_, _, 1, _, _, _, _, KIND_DOWNLINK) : read();
            (_, _, _, _, _, _, _, KIND_SECOND) : adopt();
            (OP_NONE, 1, _, SEID_TAG &&& 0xffff, 0 &&& 0xfffe0000, _, _, KIND_PFCP) : look();
            (OP_CREATE, 1, _, SEID_TAG &&& 0xffff, 0 &&& 0xfffe0000, _, _, _) : look();
        }
        size = 10 CHAIN_STATING_ROWS;
    }

    // The first half of the SEID in the answer.
    @hidden
    action begin_generation() {
        meta.seid_out = meta.before + (0x80010000 + SEID_TAG);
    }

    @hidden
    action keep_generation() {
        meta.seid_out = meta.before - meta.smf_more;
    }

#ifdef CHAIN
    @hidden
    action record_generation() {
        meta.seid_out = meta.record_generation + SEID_TAG;
    }
#endif

    @hidden
    table generations {
#ifdef CHAIN
        key = {
            meta.kind : ternary;
            meta.before : ternary;
        }
        actions = { begin_generation; keep_generation; record_generation; }
        const default_action = begin_generation();
        const entries = {
            (KIND_REPLICA, _) : record_generation();
            (_, 0x80000000 &&& 0x80000000) : keep_generation();
        }
        size = 2;
#else
        key = { meta.before : ternary; }
        actions = { begin_generation; keep_generation; }
        const default_action = begin_generation();
        const entries = { 0x80000000 &&& 0x80000000 : keep_generation(); }
        size = 1;
#endif
    }

    @hidden
    action compare_state_parts() {
        meta.smf_difference = meta.before ^ meta.smf;
        meta.begun = meta.before + meta.state_begins;
        meta.doubled = meta.before << 1;
        meta.teid_out = meta.seid_out << 1;
        meta.teid_more = meta.index_copy - 2 * SEID_TAG;
        COMPARE_RECORDED
    }

    @hidden
    action name_session() {
        meta.teid_out = meta.teid_out + meta.teid_more;
        meta.doubled = meta.doubled ^ meta.teid_copy;
    }

    // The last request of the session that was answered, by its number and digest.
    @id(151)
    REGISTER(session_requests, SIZE_SESSIONS, session_t, bit<32>)

    REGISTER_ACTION(session_requests, set_request, session_t, bit<32>,
        result = cell;
        cell = meta.request;
    )

    // One that is later is noted. Numbers wrap: a difference is a signed number.
    REGISTER_ACTION(session_requests, advance_request, session_t, bit<32>,
        result = cell;
        if ((int<32>)(cell - meta.request) <= 0) { cell = meta.request; }
    )

    REGISTER_ACTION(session_requests, read_request, session_t, bit<32>,
        result = cell;
    )

    @hidden
    action set_last() {
        REGISTER_EXECUTE(set_request, meta.index[SESSION_BITS - 1:0], meta.last)
    }

    @hidden
    action advance_last() {
        REGISTER_EXECUTE(advance_request, meta.index[SESSION_BITS - 1:0], meta.last)
    }

    @hidden
    action read_last() {
        REGISTER_EXECUTE(read_request, meta.index[SESSION_BITS - 1:0], meta.last)
    }

    REPLICATED(session_requests, last, bit<32>, last, meta.last)

    // Whether a session has begun: the state before has bit 31 and the software's mark not set.
#define HAS_BEGUN 0x00000000 &&& 0x80000000

    @hidden
    table requesting {
        key = {
            meta.op : ternary;
            meta.is_expected : ternary;
            meta.before : ternary;
        }
        actions = { set_last; advance_last; read_last; REPLICATE_ACTION(last) NoAction; }
        const default_action = NoAction();
        const entries = {
            REPLICATE_ROW((OP_REPLICA, _, _) : replicate_last();)
            (OP_ESTABLISH, _, 0x7fff0000 &&& 0x7fff0000) : read_last();
            (OP_ESTABLISH, _, HAS_BEGUN) : set_last();
            (OP_CREATE, 1, _) : advance_last();
            (OP_UPDATE, 1, _) : advance_last();
            (OP_DELETE, 1, _) : set_last();
            (OP_DELETE, 0, _) : read_last();
            (OP_ADOPT, _, _) : read_last();
        }
        size = 8 REPLICATE_ROWS;
    }

    @hidden
    action compare_requests() {
        meta.last_difference = meta.last - meta.request;
    }

    // The request that established the session, or the last one.
    @id(152)
    REGISTER(session_origins, SIZE_SESSIONS, session_t, bit<32>)

    REGISTER_ACTION(session_origins, set_origin, session_t, bit<32>,
        result = cell;
        cell = meta.request;
    )

    REGISTER_ACTION(session_origins, get_origin, session_t, bit<32>,
        result = cell;
    )

    @id(153)
    REGISTER(session_cp_high, SIZE_SESSIONS, session_t, bit<32>)

    REGISTER_ACTION(session_cp_high, set_cp_high, session_t, bit<32>,
        cell = meta.pfcp.cp_high;
        result = cell;
    )

    REGISTER_ACTION(session_cp_high, get_cp_high, session_t, bit<32>,
        result = cell;
    )

    REGISTER_ACTION(session_cp_high, compare_cp_high, session_t, bit<32>,
        if (cell == meta.pfcp.cp_high) { result = 1; } else { result = 0; }
    )

    @id(154)
    REGISTER(session_cp_low, SIZE_SESSIONS, session_t, bit<32>)

    REGISTER_ACTION(session_cp_low, set_cp_low, session_t, bit<32>,
        cell = meta.pfcp.cp_low;
        result = cell;
    )

    REGISTER_ACTION(session_cp_low, get_cp_low, session_t, bit<32>,
        result = cell;
    )

    REGISTER_ACTION(session_cp_low, compare_cp_low, session_t, bit<32>,
        if (cell == meta.pfcp.cp_low) { result = 1; } else { result = 0; }
    )

    @id(155)
    REGISTER(uplink_sessions, SIZE_SESSIONS, session_t, bit<16>)

    REGISTER_ACTION(uplink_sessions, set_uplink, session_t, bit<16>,
        cell = meta.policy;
        result = cell;
    )

    REGISTER_ACTION(uplink_sessions, get_uplink, session_t, bit<16>,
        result = cell;
    )

    @hidden
    action begin_origin() {
        REGISTER_EXECUTE(set_origin, meta.index[SESSION_BITS - 1:0], meta.origin)
    }

    @hidden
    action read_origin() {
        REGISTER_EXECUTE(get_origin, meta.index[SESSION_BITS - 1:0], meta.origin)
    }

    REPLICATED(session_origins, origin, bit<32>, origin, meta.origin)

    @hidden
    action begin_cp_high() {
        REGISTER_EXECUTE(set_cp_high, meta.index[SESSION_BITS - 1:0], meta.cp_high)
    }

    @hidden
    action read_cp_high() {
        REGISTER_EXECUTE(get_cp_high, meta.index[SESSION_BITS - 1:0], meta.cp_high)
    }

    REPLICATED(session_cp_high, cp_high, bit<32>, cp_high, meta.cp_high)

    @hidden
    action match_cp_high() {
        REGISTER_EXECUTE(compare_cp_high, meta.index[SESSION_BITS - 1:0], meta.is_cp_high)
    }

    @hidden
    action match_cp_low() {
        REGISTER_EXECUTE(compare_cp_low, meta.index[SESSION_BITS - 1:0], meta.is_cp_low)
    }

    @hidden
    action begin_cp_low() {
        REGISTER_EXECUTE(set_cp_low, meta.index[SESSION_BITS - 1:0], meta.cp_low)
    }

    @hidden
    action read_cp_low() {
        REGISTER_EXECUTE(get_cp_low, meta.index[SESSION_BITS - 1:0], meta.cp_low)
    }

    REPLICATED(session_cp_low, cp_low, bit<32>, cp_low, meta.cp_low)

    @hidden
    action begin_uplink() {
        REGISTER_EXECUTE(set_uplink, meta.index[SESSION_BITS - 1:0], meta.uplink_policy)
    }

    @hidden
    action read_uplink() {
        REGISTER_EXECUTE(get_uplink, meta.index[SESSION_BITS - 1:0], meta.uplink_policy)
    }

    REPLICATED(uplink_sessions, uplink, bit<16>, uplink_policy, meta.uplink_policy)

    // Written when a session begins, read otherwise.
#define BEGINNING(name, begins, reads, writes) \
    @hidden \
    table name { \
        key = { \
            meta.op : ternary; \
            meta.before : ternary; \
        } \
        actions = { begins; reads; REPLICATE_ACTION(writes) NoAction; } \
        const default_action = NoAction(); \
        const entries = { \
            REPLICATE_ROW((OP_REPLICA, _) : replicate_##writes();) \
            (OP_ESTABLISH, 0x7fff0000 &&& 0x7fff0000) : reads(); \
            (OP_ESTABLISH, HAS_BEGUN) : begins(); \
            (_, _) : reads(); \
        } \
        size = 3 REPLICATE_ROWS; \
    }

    BEGINNING(originating, begin_origin, read_origin, origin)

    // Of a message that says it, they are compared.
#define CP_WORDS(name, begins, reads, matches, writes) \
    @hidden \
    table name { \
        key = { \
            meta.op : ternary; \
            meta.before : ternary; \
            meta.pfcp.forms_message : ternary; \
        } \
        actions = { begins; reads; matches; REPLICATE_ACTION(writes) NoAction; } \
        const default_action = NoAction(); \
        const entries = { \
            REPLICATE_ROW((OP_REPLICA, _, _) : replicate_##writes();) \
            (OP_ESTABLISH, 0x7fff0000 &&& 0x7fff0000, _) : matches(); \
            (OP_ESTABLISH, HAS_BEGUN, _) : begins(); \
            (OP_ESTABLISH, _, _) : matches(); \
            (OP_CREATE, _, PFCP_HAS_CP) : matches(); \
            (OP_UPDATE, _, PFCP_HAS_CP) : matches(); \
            (_, _, _) : reads(); \
        } \
        size = 6 REPLICATE_ROWS; \
    }

    CP_WORDS(cp_high_words, begin_cp_high, read_cp_high, match_cp_high, cp_high)
    CP_WORDS(cp_low_words, begin_cp_low, read_cp_low, match_cp_low, cp_low)

    @hidden
    action take_cp() {
        meta.cp_high = meta.pfcp.cp_high;
        meta.cp_low = meta.pfcp.cp_low;
    }

    // What was compared is in the message.
    @hidden
    table cp_taking {
        key = { meta.pfcp.forms_message : ternary; }
        actions = { take_cp; NoAction; }
        const default_action = NoAction();
        const entries = { PFCP_HAS_CP : take_cp(); }
        size = 1;
    }

    BEGINNING(uplinks, begin_uplink, read_uplink, uplink)

    @id(156)
    REGISTER(downlink_sessions, SIZE_SESSIONS, session_t, bit<16>)

    REGISTER_ACTION(downlink_sessions, clear_downlink, session_t, bit<16>,
        cell = 0;
        result = 0;
    )

    REGISTER_ACTION(downlink_sessions, create_downlink, session_t, bit<16>,
        result = cell;
        if (cell == 0) { cell = meta.policy; }
    )

    REGISTER_ACTION(downlink_sessions, get_downlink, session_t, bit<16>,
        result = cell;
    )

    @hidden
    action begin_downlink() {
        REGISTER_EXECUTE(clear_downlink, meta.index[SESSION_BITS - 1:0], meta.downlink_policy)
    }

    @hidden
    action add_downlink() {
        REGISTER_EXECUTE(create_downlink, meta.index[SESSION_BITS - 1:0], meta.downlink_policy)
    }

    @hidden
    action read_downlink() {
        REGISTER_EXECUTE(get_downlink, meta.index[SESSION_BITS - 1:0], meta.downlink_policy)
    }

    REPLICATED(downlink_sessions, downlink, bit<16>, downlink_policy, meta.downlink_policy)

    @hidden
    table downlinks {
        key = {
            meta.op : ternary;
            meta.is_expected : ternary;
            meta.before : ternary;
            meta.last_difference : ternary;
        }
        actions = { begin_downlink; add_downlink; read_downlink; REPLICATE_ACTION(downlink) NoAction; }
        const default_action = NoAction();
        const entries = {
            REPLICATE_ROW((OP_REPLICA, _, _, _) : replicate_downlink();)
            (OP_ESTABLISH, _, 0x7fff0000 &&& 0x7fff0000, _) : read_downlink();
            (OP_ESTABLISH, _, HAS_BEGUN, _) : begin_downlink();
            (OP_CREATE, 1, _, 0x80000000 &&& 0x80000000) : add_downlink();
            (_, _, _, _) : read_downlink();
        }
        size = 4 REPLICATE_ROWS;
    }

    // The last halves of the FAR IDs; 0: there is no such FAR.
    @id(161)
    REGISTER(uplink_fars, SIZE_SESSIONS, session_t, bit<16>)

    REGISTER_ACTION(uplink_fars, set_uplink_far, session_t, bit<16>,
        cell = meta.pfcp.far_id;
        result = cell;
    )

    REGISTER_ACTION(uplink_fars, get_uplink_far, session_t, bit<16>,
        result = cell;
    )

    REGISTER_ACTION(uplink_fars, compare_uplink_far, session_t, bit<16>,
        if (cell == meta.pfcp.far_id) { result = 1; } else { result = 0; }
    )

    @hidden
    action begin_uplink_far() {
        REGISTER_EXECUTE(set_uplink_far, meta.index[SESSION_BITS - 1:0], meta.uplink_far)
    }

    @hidden
    action read_uplink_far() {
        REGISTER_EXECUTE(get_uplink_far, meta.index[SESSION_BITS - 1:0], meta.uplink_far)
    }

    @hidden
    action match_uplink_far() {
        REGISTER_EXECUTE(compare_uplink_far, meta.index[SESSION_BITS - 1:0], meta.is_uplink_far)
    }

    REPLICATED(uplink_fars, uplink_far, bit<16>, uplink_far, meta.uplink_far)

    @hidden
    table uplink_far_words {
        key = {
            meta.op : ternary;
            meta.before : ternary;
        }
        actions = { begin_uplink_far; read_uplink_far; match_uplink_far; REPLICATE_ACTION(uplink_far) NoAction; }
        const default_action = NoAction();
        const entries = {
            REPLICATE_ROW((OP_REPLICA, _) : replicate_uplink_far();)
            (OP_ESTABLISH, 0x7fff0000 &&& 0x7fff0000) : read_uplink_far();
            (OP_ESTABLISH, HAS_BEGUN) : begin_uplink_far();
            (OP_CREATE, _) : match_uplink_far();
            (_, _) : read_uplink_far();
        }
        size = 4 REPLICATE_ROWS;
    }

    @id(162)
    REGISTER(downlink_fars, SIZE_SESSIONS, session_t, bit<16>)

#ifdef CHAIN
    // A session begins without one; a record says which. The array has no fifth action.
    REGISTER_ACTION(downlink_fars, clear_downlink_far, session_t, bit<16>,
        cell = meta.first_downlink_far;
        result = cell;
    )
#else
    REGISTER_ACTION(downlink_fars, clear_downlink_far, session_t, bit<16>,
        cell = 0;
        result = 0;
    )
#endif

    REGISTER_ACTION(downlink_fars, create_downlink_far, session_t, bit<16>,
        result = cell;
        if (cell == 0) { cell = meta.pfcp.far_id; }
    )

    REGISTER_ACTION(downlink_fars, get_downlink_far, session_t, bit<16>,
        result = cell;
    )

    REGISTER_ACTION(downlink_fars, compare_downlink_far, session_t, bit<16>,
        if (cell == meta.pfcp.far_id) { result = 1; } else { result = 0; }
    )

    @hidden
    action begin_downlink_far() {
        REGISTER_EXECUTE(clear_downlink_far, meta.index[SESSION_BITS - 1:0], meta.downlink_far)
    }

    @hidden
    action add_downlink_far() {
        REGISTER_EXECUTE(create_downlink_far, meta.index[SESSION_BITS - 1:0], meta.downlink_far)
    }

    @hidden
    action read_downlink_far() {
        REGISTER_EXECUTE(get_downlink_far, meta.index[SESSION_BITS - 1:0], meta.downlink_far)
    }

    @hidden
    action match_downlink_far() {
        REGISTER_EXECUTE(compare_downlink_far, meta.index[SESSION_BITS - 1:0], meta.is_downlink_far)
    }

    @hidden
    table downlink_far_words {
        key = {
            meta.op : ternary;
            meta.is_expected : ternary;
            meta.before : ternary;
            meta.last_difference : ternary;
        }
        actions = { begin_downlink_far; add_downlink_far; read_downlink_far; match_downlink_far; NoAction; }
        const default_action = NoAction();
        const entries = {
            REPLICATE_ROW((OP_REPLICA, _, _, _) : begin_downlink_far();)
            (OP_ESTABLISH, _, 0x7fff0000 &&& 0x7fff0000, _) : read_downlink_far();
            (OP_ESTABLISH, _, HAS_BEGUN, _) : begin_downlink_far();
            (OP_CREATE, 1, _, 0x80000000 &&& 0x80000000) : add_downlink_far();
            (OP_CREATE, 1, _, 0) : match_downlink_far();
            (OP_UPDATE, _, _, _) : match_downlink_far();
            (_, _, _, _) : read_downlink_far();
        }
        size = 6 REPLICATE_ROWS;
    }

    // Changes that a session with these policies may have: `action` of its downlink, 1 forwards, 2 drops, 0 stays.
    action may_change(bit<8> downlink) {
        meta.is_change = 1;
        meta.action_in = downlink;
    }

    action no_change() {
        meta.is_change = 0;
        meta.action_in = 0;
    }

    @id(158)
    table session_changes {
        key = {
            meta.uplink_policy : exact @name("uplink_policy");
            meta.downlink_policy : exact @name("downlink_policy");
            meta.policy : exact @name("policy");
        }
        actions = { may_change; @defaultonly no_change; }
        const default_action = no_change();
        size = 4096;
    }

    @hidden
    action compare_origin() {
        meta.origin_difference = meta.origin ^ meta.request;
    }

    // Whether the change is made: 1 so; 2 with a new tunnel of the gNB; 3 so, where a downlink is; 0 not. 5 and 6: of the last message once
    // more, that it is right for the session; 5: it changes the downlink; 6: it adds it.
    @hidden
    action go(bit<8> how) {
        meta.goes = how;
    }

    @hidden
    table going {
        key = {
            meta.op : ternary;
            meta.is_expected : ternary;
            meta.last_difference : ternary;
            meta.is_change : ternary;
            meta.pfcp.forms_message : ternary;
            meta.is_cp_high : ternary;
            meta.is_cp_low : ternary;
            meta.pfcp.forms_far : ternary;
            meta.is_uplink_far : ternary;
            meta.is_downlink_far : ternary;
        }
        actions = { go; }
        const default_action = go(0);
        const entries = {
            REPLICATE_ROW((OP_REPLICA, _, _, _, _, _, _, _, _, _) : go(GOES_REPLICA);)
            // op, expected, later, change, cp, cp, cp, peer, the FAR is that of the uplink, and of the downlink
            (OP_CREATE, 1, 0x80000000 &&& 0x80000000, 1, PFCP_NO_CP, _, _, PFCP_NO_PEER, 0, _) : go(1);
            (OP_CREATE, 1, 0x80000000 &&& 0x80000000, 1, PFCP_HAS_CP, 1, 1, PFCP_NO_PEER, 0, _) : go(1);
            (OP_CREATE, 1, 0x80000000 &&& 0x80000000, 1, PFCP_NO_CP, _, _, PFCP_HAS_PEER, 0, _) : go(2);
            (OP_CREATE, 1, 0x80000000 &&& 0x80000000, 1, PFCP_HAS_CP, 1, 1, PFCP_HAS_PEER, 0, _) : go(2);
            (OP_UPDATE, 1, 0x80000000 &&& 0x80000000, 1, PFCP_NO_CP, _, _, PFCP_NO_PEER, _, 1) : go(3);
            (OP_UPDATE, 1, 0x80000000 &&& 0x80000000, 1, PFCP_HAS_CP, 1, 1, PFCP_NO_PEER, _, 1) : go(3);
            (OP_UPDATE, 1, 0x80000000 &&& 0x80000000, 1, PFCP_NO_CP, _, _, PFCP_HAS_PEER, _, 1) : go(2);
            (OP_UPDATE, 1, 0x80000000 &&& 0x80000000, 1, PFCP_HAS_CP, 1, 1, PFCP_HAS_PEER, _, 1) : go(2);
            (OP_UPDATE, 1, 0, 1, PFCP_NO_CP, _, _, _, _, 1) : go(5);
            (OP_UPDATE, 1, 0, 1, PFCP_HAS_CP, 1, 1, _, _, 1) : go(5);
            (OP_CREATE, 1, 0, _, PFCP_NO_CP, _, _, _, 0, 1) : go(6);
            (OP_CREATE, 1, 0, _, PFCP_HAS_CP, 1, 1, _, 0, 1) : go(6);
        }
        size = 12 REPLICATE_ROWS;
    }

    // The tunnel of the gNB, and whether there is one: as long as the downlink's policy is not 0.
    @id(157)
    REGISTER(peer_teids, SIZE_SESSIONS, session_t, bit<32>)

    REGISTER_ACTION(peer_teids, set_peer_teid, session_t, bit<32>,
        cell = meta.pfcp.peer_teid;
        result = cell;
    )

    REGISTER_ACTION(peer_teids, get_peer_teid, session_t, bit<32>,
        result = cell;
    )

    @id(158)
    REGISTER(peer_hosts, SIZE_SESSIONS, session_t, bit<32>)

    REGISTER_ACTION(peer_hosts, set_peer_host, session_t, bit<32>,
        cell = meta.pfcp.peer;
        result = cell;
    )

    REGISTER_ACTION(peer_hosts, get_peer_host, session_t, bit<32>,
        result = cell;
    )

    @id(159)
    REGISTER(has_peers, SIZE_SESSIONS, session_t, bit<8>)

    REGISTER_ACTION(has_peers, set_has_peer, session_t, bit<8>,
        result = cell;
        cell = 1;
    )

    REGISTER_ACTION(has_peers, clear_has_peer, session_t, bit<8>,
        result = cell;
        cell = 0;
    )

    REGISTER_ACTION(has_peers, get_has_peer, session_t, bit<8>,
        result = cell;
    )

    // 1: packets to the UE are forwarded; 2: they are dropped; 0: the downlink is not made.
    @id(160)
    REGISTER(downlink_actions, SIZE_SESSIONS, session_t, bit<8>)

    REGISTER_ACTION(downlink_actions, set_action, session_t, bit<8>,
        cell = meta.action_in;
        result = cell;
    )

    // Of a downlink that is made.
    REGISTER_ACTION(downlink_actions, change_action, session_t, bit<8>,
        if (cell != 0) { cell = meta.action_in; }
        result = cell;
    )

    REGISTER_ACTION(downlink_actions, get_action, session_t, bit<8>,
        result = cell;
    )

    @hidden
    action write_peer_teid() {
        REGISTER_EXECUTE(set_peer_teid, meta.index[SESSION_BITS - 1:0], meta.peer_teid)
    }

    @hidden
    action read_peer_teid() {
        REGISTER_EXECUTE(get_peer_teid, meta.index[SESSION_BITS - 1:0], meta.peer_teid)
    }

    REPLICATED(peer_teids, peer_teid, bit<32>, peer_teid, meta.peer_teid)

    @hidden
    table peer_teid_words {
        key = { meta.goes : ternary; }
        actions = { write_peer_teid; read_peer_teid; REPLICATE_ACTION(peer_teid) NoAction; }
        const default_action = NoAction();
        const entries = {
            REPLICATE_ROW(GOES_REPLICA : replicate_peer_teid();)
            2 : write_peer_teid();
            _ : read_peer_teid();
        }
        size = 2 REPLICATE_ROWS;
    }

    @hidden
    action write_peer_host() {
        REGISTER_EXECUTE(set_peer_host, meta.index[SESSION_BITS - 1:0], meta.peer_host)
    }

    @hidden
    action read_peer_host() {
        REGISTER_EXECUTE(get_peer_host, meta.index[SESSION_BITS - 1:0], meta.peer_host)
    }

    REPLICATED(peer_hosts, peer_host, bit<32>, peer, meta.peer_host)

    @hidden
    table peer_host_words {
        key = { meta.goes : ternary; }
        actions = { write_peer_host; read_peer_host; REPLICATE_ACTION(peer_host) NoAction; }
        const default_action = NoAction();
        const entries = {
            REPLICATE_ROW(GOES_REPLICA : replicate_peer_host();)
            2 : write_peer_host();
            _ : read_peer_host();
        }
        size = 2 REPLICATE_ROWS;
    }

    @hidden
    action write_has_peer() {
        REGISTER_EXECUTE(set_has_peer, meta.index[SESSION_BITS - 1:0], meta.has_peer)
    }

    @hidden
    action erase_has_peer() {
        REGISTER_EXECUTE(clear_has_peer, meta.index[SESSION_BITS - 1:0], meta.has_peer)
    }

    @hidden
    action read_has_peer() {
        REGISTER_EXECUTE(get_has_peer, meta.index[SESSION_BITS - 1:0], meta.has_peer)
    }

    REPLICATED(has_peers, has_peer, bit<8>, has_peer, meta.has_peer)

    @hidden
    table has_peer_words {
        key = { meta.goes : ternary; }
        actions = { write_has_peer; erase_has_peer; read_has_peer; REPLICATE_ACTION(has_peer) NoAction; }
        const default_action = NoAction();
        const entries = {
            REPLICATE_ROW(GOES_REPLICA : replicate_has_peer();)
            1 : erase_has_peer();
            2 : write_has_peer();
            _ : read_has_peer();
        }
        size = 3 REPLICATE_ROWS;
    }

    @hidden
    action write_action() {
        REGISTER_EXECUTE(set_action, meta.index[SESSION_BITS - 1:0], meta.downlink_action)
    }

    @hidden
    action update_action() {
        REGISTER_EXECUTE(change_action, meta.index[SESSION_BITS - 1:0], meta.downlink_action)
    }

    @hidden
    action read_action() {
        REGISTER_EXECUTE(get_action, meta.index[SESSION_BITS - 1:0], meta.downlink_action)
    }

    REPLICATED(downlink_actions, action, bit<8>, downlink_action, meta.downlink_action)

    // A session begins without an action, for its downlink is not made. An update changes the action of a downlink that is made. One that is to
    // forward needs a tunnel. Otherwise nothing is written, and the software has the session.
    @hidden
    table downlink_action_words {
        key = {
            meta.op : ternary;
            meta.before : ternary;
            meta.goes : ternary;
            meta.action_in : ternary;
            meta.has_peer : ternary;
        }
        actions = { write_action; update_action; read_action; REPLICATE_ACTION(action) NoAction; }
        const default_action = NoAction();
        const entries = {
            REPLICATE_ROW((_, _, GOES_REPLICA, _, _) : replicate_action();)
            (OP_ESTABLISH, 0x7fff0000 &&& 0x7fff0000, _, _, _) : read_action();
            (OP_ESTABLISH, HAS_BEGUN, _, _, _) : write_action();
            (_, _, 1, 2, _) : write_action();
            (OP_CREATE, _, 2, 1, _) : write_action();
            (OP_CREATE, _, 2, 2, _) : write_action();
            (_, _, 2, 1, _) : update_action();
            (_, _, 2, 2, _) : update_action();
            (_, _, 3, 1, 1) : update_action();
            (_, _, 3, 2, _) : update_action();
            (_, _, _, _, _) : read_action();
        }
        size = 10 REPLICATE_ROWS;
    }

    // What user packets are asked: uplink by policy and QFI; downlink by both policies, for the first one has the QER.
    // Each with the class of its rate, 0 for none.
    action open_uplink(bit<8> rate) {
        meta.is_uplink_open = 1;
        meta.uplink_rate = rate;
    }

    action close_uplink() {
        meta.is_uplink_open = 0;
        meta.uplink_rate = 0;
    }

    @id(159)
    table uplink_policies {
        key = {
            meta.uplink_policy : ternary @name("policy");
            meta.qfi_in : ternary @name("qfi");
        }
        actions = { open_uplink; @defaultonly close_uplink; }
        const default_action = close_uplink();
        size = SIZE_POLICIES;
    }

    action open_downlink(bit<6> qfi, bit<8> rate) {
        meta.is_downlink_known = 1;
        meta.qfi_out = qfi;
        meta.downlink_rate = rate;
    }

    action no_downlink() {
        meta.is_downlink_known = 0;
        meta.downlink_rate = 0;
    }

    @id(160)
    table downlink_policies {
        key = {
            meta.uplink_policy : exact @name("uplink_policy");
            meta.downlink_policy : exact @name("downlink_policy");
        }
        actions = { open_downlink; @defaultonly no_downlink; }
        const default_action = no_downlink();
        size = SIZE_POLICIES;
    }

    // What a packet takes at its rate, by units of eight octets. Without a row it is not policed.
    action police_uplink(bit<32> step) {
        hdr.police.kind = POLICE_UPLINK;
        hdr.police.step = step;
    }

    action police_downlink(bit<32> step) {
        hdr.police.kind = POLICE_DOWNLINK;
        hdr.police.step = step;
    }

#define STEPS(name, rate, action) \
    table name { \
        key = { \
            meta.kind : exact @name("kind"); \
            meta.rate : exact @name("rate"); \
            meta.length[15:3] : exact @name("eights"); \
        } \
        actions = { action; NoAction; } \
        const default_action = NoAction(); \
        size = 8192; \
    }

    @id(161)
    STEPS(uplink_steps, uplink_rate, police_uplink)

    @id(162)
    STEPS(downlink_steps, downlink_rate, police_downlink)

    RANDOM(police_random)

    @hidden
    action draw() {
        RANDOM_DRAW(police_random, hdr.police.draw)
    }

    // Of each packet.
    @hidden
    table draws {
        key = { meta.is_misfit : ternary; }
        actions = { draw; NoAction; }
        const default_action = NoAction();
        const entries = { _ : draw(); }
        size = 1;
    }

#ifdef CHAIN
    Chain() chain;
    RecordedState() recorded_state;
#endif

    apply {
#ifdef CHAIN
        chain.apply(hdr, meta);
#endif
        prepare();
        draws.apply();
        ue_pools.apply();
        smf_hosts.apply();
        smf_names.apply();
        peer_addresses.apply();
        pdr_policies.apply();
        far_policies.apply();
        qer_policies.apply();
        message_policies.apply();
        subjects.apply();
        compare_places();
        hash_request();
        note_request();
        copy_index();
        copy_policed();
        copy_teid();
        stating.apply();
        generations.apply();
        compare_state_parts();
#ifdef CHAIN
        recorded_state.apply(meta);
#endif
        name_session();
        requesting.apply();
        cp_high_words.apply();
        compare_requests();
        uplinks.apply();
        downlinks.apply();
        uplink_far_words.apply();
        downlink_far_words.apply();
        cp_low_words.apply();
        cp_taking.apply();
        session_changes.apply();
        uplink_policies.apply();
        downlink_policies.apply();
        uplink_steps.apply();
        downlink_steps.apply();
        going.apply();
        originating.apply();
        compare_origin();
        peer_host_words.apply();
        has_peer_words.apply();
        peer_teid_words.apply();
        downlink_action_words.apply();
    }
}

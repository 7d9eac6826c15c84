// Two switches that are a chain (AccelUPF section 3.6, K = 1; `crates/dataplane/switch/src/accel/chain.rs` is the same in the model): option CHAIN
// of profile `accel`.
//
// The primary answers nothing by itself. A message that has an answer passes a second time, as one for the software does; then the session's entry is
// read, and the session stays the switch's. The entry leaves by the port of the standby in front of the message, as a record of the chain's epoch.
// The standby writes it to all arrays and answers the message. A record is a state, so that a later one replaces one that was lost; the link
// between both switches keeps the order of frames. A request that comes again makes a record again.
//
// The software's mark is the control plane's matter: it writes the mark to the standby before the SMF gets an answer of the software. A record
// that was on its way does not undo it.

// What the switch is, and whose records it takes.
control Chain(inout accel_headers_t hdr, inout accel_metadata_t meta) {
    action primary(bit<9> port, bit<32> epoch) {
        meta.is_primary = 1;
        meta.chain_port = port;
        meta.epoch = epoch;
    }

    action standby() {
        meta.is_standby = 1;
    }

    // The control plane says it by the default action: a switch alone has none.
    @id(173)
    table chain_role {
        actions = { primary; standby; @defaultonly NoAction; }
        default_action = NoAction();
    }

    action replicate() {
        meta.kind = KIND_REPLICA;
    }

    action ask() {
        meta.kind = KIND_ASKED;
    }

    action refuse_record() {
        meta.kind = KIND_RECORD;
    }

    // Of a standby: the port of the primary, and the epoch. Of a primary: the port from which the control plane asks for records, and the epoch.
    @id(174)
    table chain_records {
        key = {
            meta.ingress_port : exact @name("port");
            hdr.chain.epoch : exact @name("epoch");
        }
        actions = { replicate; ask; @defaultonly refuse_record; }
        const default_action = refuse_record();
        size = 8;
    }

    @hidden
    action refuse() {
        meta.kind = KIND_REFUSED;
    }

    apply {
        chain_role.apply();
        if (hdr.entry.isValid()) {
            chain_records.apply();
        } else if (meta.is_standby == 1 && meta.punt == 0 && meta.kind != KIND_SECOND) {
            refuse();
        }
    }
}

// The state in which a message leaves its session, if the switch has an answer to it.
control RecordedState(inout accel_metadata_t meta) {
    @hidden
    action as_found() {
        meta.recorded_state = meta.before;
    }

    @hidden
    action as_begun() {
        meta.recorded_state = meta.begun;
    }

    @hidden
    action as_ended() {
        meta.recorded_state = meta.state_in + meta.state_ends;
    }

    @hidden
    action as_named() {
        meta.recorded_state = meta.state_in;
    }

    @hidden
    table recorded_states {
        key = {
            meta.op : ternary;
            meta.before : ternary;
        }
        actions = { as_found; as_begun; as_ended; as_named; }
        const default_action = as_named();
        const entries = {
            (OP_ESTABLISH, 0x80000000 &&& 0x80000000) : as_found();
            (OP_ESTABLISH, _) : as_begun();
            (OP_DELETE, _) : as_ended();
        }
        size = 3;
    }

    apply {
        recorded_states.apply();
    }
}

// What `pfcp_state.p4` has for it. An array is written with a field of the record's entry; `into` is what user packets and answers read.
#define REPLICATED(array, name, word, field, into) \
    REGISTER_ACTION(array, store_##name, session_t, word, \
        cell = hdr.entry.field; \
        result = cell; \
    ) \
    @hidden \
    action replicate_##name() { \
        REGISTER_EXECUTE(store_##name, meta.index[SESSION_BITS - 1:0], into) \
    }
#define REPLICATE_ACTION(name) replicate_##name;
#define REPLICATE_ROW(...) __VA_ARGS__
#define REPLICATE_ROWS + 1
// In `going`: the arrays behind it are written.
#define GOES_REPLICA 4
#define READ_STATE begin_session
#define NOTHING_BEGINS meta.state_add = 0;
#define CHAIN_SUBJECTS of_recorded; of_asked; of_replica;
#define CHAIN_SUBJECT_ROWS + 3
#define CHAIN_STATINGS read_entry; write_entry;
#define CHAIN_STATING_ROWS + 5
#define COMPARE_RECORDED meta.recorded_difference = meta.before ^ meta.kept_state;

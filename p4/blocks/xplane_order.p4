// Profile `xplane`, ingress: whether a response is what comes next of its queue pair. Included into the control that applies it, behind the
// register `responses`: for each queue pair the number of its last response, and how far that was behind the one before.

    WORD_PAIR_ACTION(responses, note_response, bit<QUEUE_BITS>,
        cell.second = meta.psn - cell.first;
        cell.first = meta.psn;
        result = cell.second;
    )

    action number_response() {
        REGISTER_EXECUTE(note_response, meta.pair[QUEUE_BITS - 1:0], meta.step)
    }

    table response_numbers {
        key = {
            meta.kind : exact;
            meta.is_foreign : exact;
            meta.is_damaged : exact;
        }
        actions = { number_response; NoAction; }
        const default_action = NoAction();
        const entries = {
            (KIND_BUCKET, 0, 0) : number_response();
            (KIND_FRONT, 0, 0) : number_response();
            (KIND_HEADER, 0, 0) : number_response();
#ifdef XPLANE_WALK
            (KIND_FIELDS, 0, 0) : number_response();
            (KIND_RECORD, 0, 0) : number_response();
            (KIND_BLOCK, 0, 0) : number_response();
            (KIND_ACTION, 0, 0) : number_response();
            (KIND_QUEUED, 0, 0) : number_response();
            (KIND_PAGED, 0, 0) : number_response();
#endif
        }
    }

    action set_order(bit<2> order) {
        meta.order = order;
    }

    // One request or two since the last response: a write in front of a read has no response.
    table orders {
        key = { meta.step : ternary; }
        actions = { set_order; }
        const default_action = set_order(1);
        const entries = {
            0x100 &&& 0xffffff00 : set_order(0);
            0x200 &&& 0xffffff00 : set_order(0);
            0 &&& 0xffffff00 : set_order(2);
            0x80000000 &&& 0x80000000 : set_order(2);
        }
    }

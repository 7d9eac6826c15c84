// What becomes of a message or packet of profile `accel`: the answer is made from the request, user packets leave in a tunnel or without
// one, and whatever is not for the switch goes to the software. A message goes there on a second pass, as it came, with its session's
// entry in front if the session is of the switch: from then on it is the software's.

control Verdict(inout accel_headers_t hdr, inout accel_metadata_t meta TARGET_PARAMS) {
    // What the UPF says of itself.
    action own(bit<32> node, bit<32> n4, bit<32> tunnel) {
        meta.own_node = node;
        meta.own_n4 = n4;
        meta.own_tunnel = tunnel;
    }

    @id(170)
    table own_addresses {
        actions = { own; @defaultonly NoAction; }
        default_action = NoAction();
    }

    // The way of a user packet: uplink by its destination, downlink by the gNB.
    action hop(bit<9> port, mac_t source, mac_t neighbour) {
        meta.has_route = 1;
        EGRESS_PORT = port;
        hdr.ethernet.src = source;
        hdr.ethernet.dst = neighbour;
    }

    action no_hop() {
        meta.has_route = 0;
    }

    @id(171)
    table uplink_routes {
        key = { meta.next : lpm @name("destination"); }
        actions = { hop; @defaultonly no_hop; }
        const default_action = no_hop();
        size = 1024;
    }

    @id(172)
    table tunnel_routes {
        key = { meta.peer_host : lpm @name("destination"); }
        actions = { hop; @defaultonly no_hop; }
        const default_action = no_hop();
        size = 1024;
    }

    @id(170)
    COUNTER(drops, DROP_REASONS, bit<5>)

    // The answer goes back to where the request came from.
#define ANSWER(answer_type, octets) \
    bit<48> mac = hdr.ethernet.src; \
    hdr.ethernet.src = hdr.ethernet.dst; \
    hdr.ethernet.dst = mac; \
    bit<32> ip = hdr.outer_ipv4.src; \
    hdr.outer_ipv4.src = hdr.outer_ipv4.dst; \
    hdr.outer_ipv4.dst = ip; \
    hdr.outer_ipv4.ttl = 64; \
    hdr.outer_ipv4.length = octets + 40; \
    hdr.outer_udp.dst = hdr.outer_udp.src; \
    hdr.outer_udp.src = PORT_PFCP; \
    hdr.outer_udp.length = octets + 20; \
    hdr.outer_udp.checksum = 0; \
    hdr.pfcp.setInvalid(); \
    hdr.answer.setValid(); \
    hdr.answer.first = 0x21000000 + (answer_type << 16) + octets + 8; \
    hdr.answer.cp_high = meta.cp_high; \
    hdr.answer.cp_low = meta.cp_low; \
    hdr.answer.number = meta.number; \
    hdr.answer_cause.setValid(); \
    hdr.answer_cause.head = 0x00130001; \
    hdr.answer_cause.cause = 1; \
    EGRESS_PORT = meta.ingress_port; \
    ANSWER_WHEN_RECORDED

    // The primary of a chain sends none: the message passes a second time instead, as it came.
#ifdef CHAIN
#define ANSWER_WHEN_RECORDED \
    ASK_SECOND_PASS_IF(meta.is_primary) \
    meta.subject = meta.index + SECOND_RECORD; \
    meta.kept_state = meta.recorded_state;
#else
#define ANSWER_WHEN_RECORDED
#endif

    @hidden
    action answer_established() {
        ANSWER(51, 58)
        hdr.answer_node.setValid();
        hdr.answer_node.head = 0x003c0005;
        hdr.answer_node.kind = 0;
        hdr.answer_node.address = meta.own_node;
        hdr.answer_session.setValid();
        hdr.answer_session.f_seid_head = 0x0039000d;
        hdr.answer_session.f_seid_flags = 2;
        hdr.answer_session.seid_high = meta.seid_out;
        hdr.answer_session.seid_low = meta.index;
        hdr.answer_session.address = meta.own_n4;
        hdr.answer_session.created_head = 0x00080013;
        hdr.answer_session.pdr_head = 0x00380002;
        hdr.answer_session.pdr = meta.pfcp.pdr_id;
        hdr.answer_session.f_teid_head = 0x00150009;
        hdr.answer_session.f_teid_flags = 1;
        hdr.answer_session.teid = meta.teid_out;
        hdr.answer_session.tunnel = meta.own_tunnel;
    }

    @hidden
    action answer_modified() {
        ANSWER(53, 9)
    }

    @hidden
    action answer_deleted() {
        ANSWER(55, 9)
    }

    @hidden
    action to_software() {
        ASK_SECOND_PASS
        meta.subject = SECOND_PLAIN;
        meta.kept_state = 0;
    }

    // The session that the SEID names.
    @hidden
    action adopt_named(bit<32> what) {
        ASK_SECOND_PASS
        meta.subject = meta.index + what;
        meta.kept_state = meta.state_in;
    }

    // The session that this message has begun.
    @hidden
    action adopt_begun() {
        ASK_SECOND_PASS
        meta.subject = meta.index + SECOND_ADOPT;
        meta.kept_state = meta.begun;
    }

    // The session of the UE.
    @hidden
    action adopt_found() {
        ASK_SECOND_PASS
        meta.subject = meta.index + SECOND_ADOPT;
        meta.kept_state = meta.before;
    }

    // To the control plane, with its header in front.
#define PUNT(reason, flag_bits) \
    EGRESS_PORT = CPU_PORT; \
    hdr.police.kind = POLICE_NONE; \
    hdr.cpu.setValid(); \
    hdr.cpu.code = reason; \
    hdr.cpu.flags = flag_bits; \
    hdr.cpu.port = (bit<16>)meta.ingress_port; \
    hdr.cpu.queue = 0; \
    hdr.cpu.rule = 0; \
    hdr.cpu.ether_type = hdr.ethernet.ether_type; \
    hdr.ethernet.ether_type = ETHERTYPE_CPU;

    @hidden
    action punt_as(bit<8> reason) {
        PUNT(reason, 0)
    }

#define ENTRY(what, state_of_it) \
    hdr.entry.setValid(); \
    hdr.entry.subject = what; \
    hdr.entry.state = state_of_it; \
    hdr.entry.cp_high = meta.cp_high; \
    hdr.entry.cp_low = meta.cp_low; \
    hdr.entry.origin = meta.origin; \
    hdr.entry.last = meta.last; \
    hdr.entry.peer_teid = meta.peer_teid; \
    hdr.entry.peer = meta.peer_host; \
    hdr.entry.uplink_policy = meta.uplink_policy; \
    hdr.entry.downlink_policy = meta.downlink_policy; \
    hdr.entry.uplink_far = meta.uplink_far; \
    hdr.entry.downlink_far = meta.downlink_far; \
    hdr.entry.downlink_action = meta.downlink_action; \
    hdr.entry.has_peer = meta.has_peer;

    // With the entry of the session that becomes the software's.
    @hidden
    action punt_with_entry() {
        PUNT(PUNT_SESSION, PUNT_HAS_ENTRY)
        ENTRY(meta.subject, meta.kept_state)
    }

#ifdef CHAIN
    // To the standby: the session, and the message behind it.
    @hidden
    action send_record() {
        hdr.chain.setValid();
        hdr.chain.epoch = meta.epoch;
        hdr.chain.ether_type = hdr.ethernet.ether_type;
        hdr.ethernet.ether_type = ETHERTYPE_CHAIN;
        ENTRY(meta.subject, meta.before)
        EGRESS_PORT = meta.chain_port;
    }

    // The same without a message: the control plane has asked for it.
    @hidden
    action send_asked() {
        hdr.chain.ether_type = 0;
        ENTRY(meta.index + SECOND_RECORD, meta.before)
        EGRESS_PORT = meta.chain_port;
    }

    // The session is written.
    @hidden
    action end_record() {
        DROP_PACKET
    }

    // Answers of a standby do not go back to where the frame came from.
    @hidden
    action leave_chain() {
        hdr.chain.setInvalid();
        hdr.entry.setInvalid();
        hdr.ethernet.ether_type = ETHERTYPE_IPV4;
    }

    @id(175)
    table answer_routes {
        key = { hdr.outer_ipv4.dst : lpm @name("smf"); }
        actions = { hop; @defaultonly no_hop; }
        const default_action = no_hop();
        size = 64;
    }
#endif

    @hidden
    action drop_as(bit<5> reason) {
        COUNT(drops, bit<5>, reason)
        DROP_PACKET
    }

    @hidden
    action leave_tunnel() {
        hdr.inner_ipv4.ttl = hdr.inner_ipv4.ttl - 1;
        hdr.outer_ipv4.setInvalid();
        hdr.outer_udp.setInvalid();
        hdr.gtpu.setInvalid();
        hdr.gtpu_options.setInvalid();
        hdr.psc.setInvalid();
        hdr.psc_next.setInvalid();
    }

    @hidden
    action enter_tunnel() {
        hdr.inner_ipv4.ttl = hdr.inner_ipv4.ttl - 1;
        hdr.outer_ipv4.setValid();
        hdr.outer_ipv4.version = 4;
        hdr.outer_ipv4.ihl = 5;
        hdr.outer_ipv4.dscp = hdr.inner_ipv4.dscp;
        hdr.outer_ipv4.ecn = hdr.inner_ipv4.ecn;
        hdr.outer_ipv4.length = meta.length + (TUNNEL_OCTETS + IPV4_OCTETS);
        hdr.outer_ipv4.identification = 0;
        hdr.outer_ipv4.flags = 2;
        hdr.outer_ipv4.fragment_offset = 0;
        hdr.outer_ipv4.ttl = 64;
        hdr.outer_ipv4.protocol = PROTOCOL_UDP;
        hdr.outer_ipv4.src = meta.own_tunnel;
        hdr.outer_ipv4.dst = meta.peer_host;
        hdr.outer_udp.setValid();
        hdr.outer_udp.src = PORT_GTPU;
        hdr.outer_udp.dst = PORT_GTPU;
        hdr.outer_udp.length = meta.length + TUNNEL_OCTETS;
        hdr.outer_udp.checksum = 0;
        hdr.gtpu.setValid();
        hdr.gtpu.version = 1;
        hdr.gtpu.protocol_type = 1;
        hdr.gtpu.spare = 0;
        hdr.gtpu.has_extension = 1;
        hdr.gtpu.has_sequence = 0;
        hdr.gtpu.has_npdu = 0;
        hdr.gtpu.message_type = GTPU_G_PDU;
        hdr.gtpu.length = meta.length + 8;
        hdr.gtpu.teid = meta.peer_teid;
        hdr.gtpu_options.setValid();
        hdr.gtpu_options.sequence = 0;
        hdr.gtpu_options.npdu = 0;
        hdr.gtpu_options.next_extension = EXTENSION_PDU_SESSION_CONTAINER;
        hdr.psc.setValid();
        hdr.psc.length = 1;
        hdr.psc.pdu_type = 0;
        hdr.psc.type_flags = 0;
        hdr.psc.flow_flags = 0;
        hdr.psc.qfi = meta.qfi_out;
        hdr.psc_next.setValid();
        hdr.psc_next.next = 0;
    }

    // What becomes of a message, first row first. LATER: its number is after that of the last one; SAME: it is the last one.
#define LATER 0x80000000 &&& 0x80000000
#define SAME 0

    @hidden
    table answering {
        key = {
            meta.op : ternary;
            meta.is_expected : ternary;
            meta.before : ternary;
            meta.smf_difference : ternary;
            meta.last_difference : ternary;
            meta.goes : ternary;
            meta.origin_difference : ternary;
            meta.is_cp_high : ternary;
            meta.is_cp_low : ternary;
            meta.has_peer : ternary;
            meta.action_in : ternary;
            meta.downlink_action : ternary;
        }
        actions = { answer_established; answer_modified; answer_deleted; to_software; adopt_named; adopt_begun; adopt_found; }
        const default_action = to_software();
        const entries = {
            // op, expected, before, smf, last, goes, origin, cp, cp, has_peer, action, action before
            (OP_ESTABLISH, _, 0x7fff0000 &&& 0xffff0000, _, _, _, _, _, _, _, _, _) : to_software();
            // The request that established the session before this one: it was late, and the software ends what it began.
            (OP_ESTABLISH, _, 0 &&& 0x80000000, _, _, _, 0, _, _, _, _, _) : adopt_begun();
            (OP_ESTABLISH, _, 0 &&& 0x80000000, _, _, _, _, _, _, _, _, _) : answer_established();
            (OP_ESTABLISH, _, 0x80000000 &&& 0x80000000, 0 &&& 0xffff, _, _, 0, 1, 1, _, _, _) : answer_established();
            (OP_ESTABLISH, _, 0x80000000 &&& 0x80000000, _, _, _, _, _, _, _, _, _) : adopt_found();
            // The last one once more is answered if it was made: it may be noted only, and on its way to its second pass.
            (OP_UPDATE, 1, _, _, SAME, _, _, _, _, _, _, 0) : adopt_named(SECOND_ADOPT_NOTED);
            (_, 1, _, _, SAME, 5, _, _, _, _, 1, 2) : adopt_named(SECOND_ADOPT_NOTED);
            (_, 1, _, _, SAME, 5, _, _, _, _, 2, 1) : adopt_named(SECOND_ADOPT_NOTED);
            (_, 1, _, _, SAME, 5, _, _, _, _, _, _) : answer_modified();
            (_, 1, _, _, SAME, 6, _, _, _, _, _, 0) : adopt_named(SECOND_ADOPT_NOTED);
            (_, 1, _, _, SAME, 6, _, _, _, _, _, _) : answer_modified();
            (OP_CREATE, 1, _, _, SAME, _, _, _, _, _, _, _) : adopt_named(SECOND_ADOPT_NOTED);
            (OP_UPDATE, 1, _, _, SAME, _, _, _, _, _, _, _) : adopt_named(SECOND_ADOPT_NOTED);
            // The downlink is noted, and not made.
            (OP_UPDATE, 1, _, _, LATER, _, _, _, _, _, _, 0) : adopt_named(SECOND_ADOPT_NOTED);
            (_, 1, _, _, LATER, 1, _, _, _, _, _, _) : answer_modified();
            (_, 1, _, _, LATER, 2, _, _, _, _, _, _) : answer_modified();
            (_, 1, _, _, LATER, 3, _, _, _, 0, 1, _) : adopt_named(SECOND_ADOPT_NOTED);
            (_, 1, _, _, LATER, 3, _, _, _, _, _, _) : answer_modified();
            (OP_CREATE, 1, _, _, LATER, _, _, _, _, _, _, _) : adopt_named(SECOND_ADOPT_NOTED);
            (OP_UPDATE, 1, _, _, LATER, _, _, _, _, _, _, _) : adopt_named(SECOND_ADOPT_NOTED);
            (OP_CREATE, 1, _, _, _, _, _, _, _, _, _, _) : adopt_named(SECOND_ADOPT);
            (OP_UPDATE, 1, _, _, _, _, _, _, _, _, _, _) : adopt_named(SECOND_ADOPT);
            (OP_DELETE, 1, _, _, _, _, _, _, _, _, _, _) : answer_deleted();
            (OP_DELETE, 0, _, _, SAME, _, _, _, _, _, _, _) : answer_deleted();
            (OP_LOOK, 1, _, _, _, _, _, _, _, _, _, _) : adopt_named(SECOND_ADOPT);
        }
        size = 25;
    }

    @hidden
    table passing {
        key = {
            meta.kind : ternary;
            meta.punt : ternary;
            meta.is_expected : ternary;
            meta.has_place : ternary;
            meta.before : ternary;
            meta.teid_rest : ternary;
            meta.doubled : ternary;
            meta.is_uplink_open : ternary;
            meta.is_downlink_known : ternary;
            meta.downlink_action : ternary;
            meta.has_route : ternary;
        }
        actions = { punt_as; punt_with_entry; drop_as; leave_tunnel; enter_tunnel; NoAction; }
        const default_action = NoAction();
        const entries = {
            // kind, punt, expected, place, state, rest and generation of the TEID, uplink, downlink, action, route
            (_, 4, _, _, _, _, _, _, _, _, _) : punt_as(4);
            (_, 3, _, _, _, _, _, _, _, _, _) : punt_as(3);
            (_, 6, _, _, _, _, _, _, _, _, _) : punt_as(6);
            (KIND_OTHER, _, _, _, _, _, _, _, _, _, _) : drop_as(5);
            // A session of the software: its packets are, too. Then a tunnel without a session, one of another generation, a foreign source.
            (KIND_UPLINK, _, _, 0, _, _, _, _, _, _, _) : drop_as(8);
            (KIND_UPLINK, _, _, _, 0x7fff0000 &&& 0xffff0000, _, _, _, _, _, _) : punt_as(PUNT_SESSION);
            (KIND_UPLINK, _, _, _, 0 &&& 0x80000000, _, _, _, _, _, _) : drop_as(6);
            (KIND_UPLINK, _, _, _, _, 0 &&& 0x1ffff, 0 &&& 0xfffe0000, 1, _, _, 1) : leave_tunnel();
            (KIND_UPLINK, _, _, _, _, 0 &&& 0x1ffff, 0 &&& 0xfffe0000, 1, _, _, 0) : drop_as(13);
            (KIND_UPLINK, _, _, _, _, 0 &&& 0x1ffff, _, _, _, _, _) : drop_as(6);
            (KIND_UPLINK, _, _, _, _, _, _, _, _, _, _) : drop_as(8);
            (KIND_DOWNLINK, _, _, 0, _, _, _, _, _, _, _) : drop_as(7);
            (KIND_DOWNLINK, _, _, _, 0x7fff0000 &&& 0xffff0000, _, _, _, _, _, _) : punt_as(PUNT_SESSION);
            (KIND_DOWNLINK, _, _, _, 0 &&& 0x80000000, _, _, _, _, _, _) : drop_as(7);
            (KIND_DOWNLINK, _, _, _, _, _, _, _, 0, _, _) : drop_as(7);
            (KIND_DOWNLINK, _, _, _, _, _, _, _, 1, 1, 1) : enter_tunnel();
            (KIND_DOWNLINK, _, _, _, _, _, _, _, 1, 1, 0) : drop_as(13);
            (KIND_DOWNLINK, _, _, _, _, _, _, _, _, _, _) : drop_as(9);
            (KIND_SECOND, _, 1, _, _, _, _, _, _, _, _) : punt_with_entry();
            (KIND_SECOND, _, _, _, _, _, _, _, _, _, _) : punt_as(PUNT_SESSION);
        }
        size = 20;
    }

#ifdef CHAIN
    // What becomes of a record, and of what a standby does not take.
    @hidden
    table chaining {
        key = {
            meta.kind : ternary;
            meta.is_primary : ternary;
            meta.recorded_difference : ternary;
            meta.before : ternary;
            hdr.pfcp.isValid() : ternary;
            meta.is_misfit : ternary;
            hdr.pfcp.message_type : ternary;
        }
        actions = { send_record; send_asked; end_record; answer_established; answer_modified; answer_deleted; drop_as; }
        const default_action = drop_as(27);
        const entries = {
            // kind, primary, difference, state, message, misfit, type
            (KIND_REFUSED, _, _, _, _, _, _) : drop_as(25);
            (KIND_RECORD, _, _, _, _, _, _) : drop_as(26);
            (KIND_RECORDED, 1, 0, _, _, _, _) : send_record();
            // The software's, or one without generations: the control plane writes it.
            (KIND_ASKED, 1, _, 0x7fff0000, _, _, _) : drop_as(27);
            (KIND_ASKED, 1, _, _, _, _, _) : send_asked();
            (KIND_REPLICA, _, 0, _, false, _, _) : end_record();
            (KIND_REPLICA, _, 0, _, true, 0, PFCP_ESTABLISH) : answer_established();
            (KIND_REPLICA, _, 0, _, true, 0, PFCP_MODIFY) : answer_modified();
            (KIND_REPLICA, _, 0, _, true, 0, PFCP_DELETE) : answer_deleted();
        }
        size = 9;
    }
#endif

    apply {
        own_addresses.apply();
        if (meta.kind == KIND_UPLINK) {
            uplink_routes.apply();
        } else if (meta.kind == KIND_DOWNLINK) {
            tunnel_routes.apply();
        }
#ifdef CHAIN
        if (meta.kind >= KIND_REFUSED) {
            chaining.apply();
            if (hdr.answer.isValid()) {
                leave_chain();
                answer_routes.apply();
                if (meta.has_route == 0) {
                    drop_as(13);
                }
            }
        } else
#endif
        if (meta.kind == KIND_PFCP) {
            answering.apply();
        } else {
            passing.apply();
        }
    }
}

// Profile `xplane`, ingress: what becomes of a frame, and the headers that it leaves with.

#ifndef CAUSEWAY_XPLANE_VERDICT
#define CAUSEWAY_XPLANE_VERDICT

control XPlaneVerdict(inout xplane_headers_t hdr, inout xplane_metadata_t meta TARGET_PARAMS) {
    COUNTER(outcomes, OUTCOMES, bit<8>)

    action left(bit<8> outcome) {
        meta.outcome = outcome;
        meta.kind = KIND_LEFT;
    }

    // Behind the tag of its UE, without what it came from memory in.
    action left_from_memory(bit<8> outcome) {
        meta.outcome = outcome;
        meta.kind = KIND_LEFT;
        hdr.outer_ipv4.setInvalid();
        hdr.outer_udp.setInvalid();
        hdr.bth.setInvalid();
        hdr.aeth.setInvalid();
#ifdef XPLANE_WALK
        hdr.tag.network = 0;
#endif
    }

    action drop(bit<8> outcome) {
        meta.outcome = outcome;
        meta.kind = KIND_OTHER;
    }

    action ask() {
        meta.outcome = OUTCOME_MEMORY;
        hdr.ethernet.setInvalid();
        hdr.outer_ipv4.setInvalid();
        hdr.outer_udp.setInvalid();
        hdr.gtpu.setInvalid();
        hdr.container.setInvalid();
        hdr.tag.setValid();
        hdr.tag.kind = meta.key_kind;
        hdr.tag.qfi = meta.qfi;
#ifdef XPLANE_WALK
        hdr.tag.network = meta.mark;
#else
        hdr.tag.network = 0;
#endif
        hdr.tag.word = meta.ue_word;
        REQUEST.length = meta.size;
    }

    action ask_first() {
        ask();
        XPLANE_GROUP = GROUP_FIRST;
    }

    action ask_next() {
        ask();
        XPLANE_GROUP = GROUP_NEXT;
    }

    action forward() {
        meta.outcome = OUTCOME_FORWARDED;
        EGRESS_PORT = meta.port;
        hdr.ethernet.dst = meta.neighbour;
        hdr.ethernet.src = meta.own_mac;
        hdr.tag.setInvalid();
        hdr.bth.setInvalid();
        hdr.aeth.setInvalid();
    }

    table verdict {
        key = {
            meta.kind : exact;
            meta.is_foreign : ternary;
            meta.is_damaged : ternary;
            meta.order : ternary;
            meta.flights : ternary;
            meta.first_is : ternary;
            meta.second_is : ternary;
            meta.is_forwarded : ternary;
            meta.octets_before : ternary;
            meta.has_route : ternary;
            hdr.aeth.syndrome : ternary;
        }
        actions = { left; left_from_memory; drop; ask_first; ask_next; forward; NoAction; }
        const default_action = NoAction();
        const entries = {
#ifdef XPLANE_WALK
#define UNSOUND(kind) \
            (kind, 1, _, _, _, _, _, _, _, _, _) : drop(OUTCOME_FOREIGN); \
            (kind, _, 1, _, _, _, _, _, _, _, _) : drop(OUTCOME_DAMAGED); \
            (kind, _, _, 2, _, _, _, _, _, _, _) : drop(OUTCOME_OLD);
            UNSOUND(KIND_FIELDS)
            UNSOUND(KIND_RECORD)
            UNSOUND(KIND_BLOCK)
            UNSOUND(KIND_ACTION)
            UNSOUND(KIND_QUEUED)
            UNSOUND(KIND_PAGED)
#endif
            (KIND_USER, _, 1, _, _, _, _, _, _, _, _) : left(OUTCOME_RULE);
            (KIND_USER, _, _, _, 0, _, _, _, _, _, _) : left(OUTCOME_COLLISION);
            (KIND_USER, _, _, _, 1, _, _, _, _, _, _) : ask_first();
            (KIND_USER, _, _, _, _, _, _, _, _, _, _) : ask_next();
            (KIND_BUCKET, 1, _, _, _, _, _, _, _, _, _) : drop(OUTCOME_FOREIGN);
            (KIND_FRONT, 1, _, _, _, _, _, _, _, _, _) : drop(OUTCOME_FOREIGN);
            (KIND_HEADER, 1, _, _, _, _, _, _, _, _, _) : drop(OUTCOME_FOREIGN);
            (KIND_NAK, 1, _, _, _, _, _, _, _, _, _) : drop(OUTCOME_FOREIGN);
            (KIND_BUCKET, _, 1, _, _, _, _, _, _, _, _) : drop(OUTCOME_DAMAGED);
            (KIND_FRONT, _, 1, _, _, _, _, _, _, _, _) : drop(OUTCOME_DAMAGED);
            (KIND_HEADER, _, 1, _, _, _, _, _, _, _, _) : drop(OUTCOME_DAMAGED);
            (KIND_NAK, _, 1, _, _, _, _, _, _, _, _) : drop(OUTCOME_DAMAGED);
            (KIND_NAK, _, _, _, _, _, _, _, _, _, 0x60 &&& 0x60) : left(OUTCOME_NAK);
            (KIND_NAK, _, _, _, _, _, _, _, _, _, _) : drop(OUTCOME_MEMORY);
            (KIND_BUCKET, _, _, 2, _, _, _, _, _, _, _) : drop(OUTCOME_OLD);
            (KIND_FRONT, _, _, 2, _, _, _, _, _, _, _) : drop(OUTCOME_OLD);
            (KIND_HEADER, _, _, 2, _, _, _, _, _, _, _) : drop(OUTCOME_OLD);
            (KIND_FRONT, _, _, 1, _, _, _, _, _, _, _) : left(OUTCOME_GAP);
            (KIND_FRONT, _, _, _, _, _, _, _, _, _, _) : drop(OUTCOME_MEMORY);
            (KIND_HEADER, _, _, 1, _, _, _, _, _, _, _) : left(OUTCOME_GAP);
            (KIND_HEADER, _, _, _, _, _, _, _, _, _, _) : drop(OUTCOME_MEMORY);
            (KIND_BUCKET, _, _, 1, _, _, _, _, _, _, _) : left_from_memory(OUTCOME_GAP);
            (KIND_BUCKET, _, _, _, _, _, _, 1, COUNT_END &&& COUNT_END, _, _) : left_from_memory(OUTCOME_ACCOUNT);
            (KIND_BUCKET, _, _, _, _, _, _, 1, _, 0, _) : drop(OUTCOME_NO_EGRESS);
            (KIND_BUCKET, _, _, _, _, _, _, 1, _, _, _) : forward();
            (KIND_BUCKET, _, _, _, _, 2, _, _, _, _, _) : left_from_memory(OUTCOME_RULE);
            (KIND_BUCKET, _, _, _, _, _, 2, _, _, _, _) : left_from_memory(OUTCOME_RULE);
            (KIND_BUCKET, _, _, _, _, 1, _, _, _, _, _) : left_from_memory(OUTCOME_STALE);
            (KIND_BUCKET, _, _, _, _, _, 1, _, _, _, _) : left_from_memory(OUTCOME_STALE);
            (KIND_BUCKET, _, _, _, _, _, _, _, _, _, _) : left_from_memory(OUTCOME_MISS);
        }
    }

    // The state of a UE whose last packet in flight this was.
    action save() {
        meta.is_last = 1;
    }

    table saves {
        key = {
            meta.kind : exact;
            meta.is_foreign : exact;
            meta.is_damaged : exact;
            meta.order : ternary;
            meta.flights : exact;
        }
        actions = { save; NoAction; }
        const default_action = NoAction();
        const entries = {
            (KIND_BUCKET, 0, 0, 0 &&& 2, 1) : save();
        }
    }

    action decapsulate() {
        hdr.outer_ipv4.setInvalid();
        hdr.outer_udp.setInvalid();
        hdr.gtpu.setInvalid();
        hdr.container.setInvalid();
    }

#define TUNNEL(octets) \
        hdr.outer_ipv4.tos = meta.network_low | meta.ecn; \
        hdr.outer_ipv4.length = meta.size + (octets + 36); \
        hdr.outer_ipv4.identification = 0; \
        hdr.outer_ipv4.src = meta.own_address; \
        hdr.outer_ipv4.dst = meta.peer; \
        hdr.outer_ipv4.fragment = 0x4000; \
        hdr.outer_ipv4.ttl = 64; \
        hdr.outer_udp.src = PORT_GTPU; \
        hdr.outer_udp.dst = PORT_GTPU; \
        hdr.outer_udp.length = meta.size + (octets + 16); \
        hdr.outer_udp.checksum = 0; \
        hdr.gtpu.setValid(); \
        hdr.gtpu.message_type = GTPU_G_PDU; \
        hdr.gtpu.teid = meta.teid_out; \
        hdr.gtpu.length = meta.size + octets;

    action encapsulate() {
        TUNNEL(0)
        hdr.gtpu.flags = 0x30;
        hdr.container.setInvalid();
    }

    action encapsulate_with_qfi() {
        TUNNEL(8)
        hdr.gtpu.flags = 0x34;
        hdr.container.setValid();
        hdr.container.options = meta.options_out;
        hdr.container.container = meta.container_out;
    }

    table tunnels {
        key = {
            meta.outcome : exact;
            meta.action_kind : exact;
            meta.header_length : ternary;
        }
        actions = { decapsulate; encapsulate; encapsulate_with_qfi; NoAction; }
        const default_action = NoAction();
        const entries = {
            (OUTCOME_FORWARDED, 2, _) : decapsulate();
            (OUTCOME_FORWARDED, 3, 8) : encapsulate();
            (OUTCOME_FORWARDED, 3, 16) : encapsulate_with_qfi();
        }
    }

    action pass_hop() {
        hdr.user_ipv4.ttl = hdr.user_ipv4.ttl - 1;
    }

    table hops {
        key = {
            meta.outcome : exact;
            meta.action_flags : ternary;
        }
        actions = { pass_hop; NoAction; }
        const default_action = NoAction();
        const entries = {
            (OUTCOME_FORWARDED, 1 &&& 1) : pass_hop();
        }
    }

    action to_software() {
        hdr.cpu.setValid();
        hdr.cpu.code = meta.outcome;
        hdr.cpu.flags = 0;
        hdr.cpu.port = (bit<16>)meta.ingress_port;
        hdr.cpu.queue = 0;
        hdr.cpu.rule = 0;
        hdr.cpu.ether_type = hdr.ethernet.ether_type;
        hdr.ethernet.ether_type = ETHERTYPE_CPU;
        EGRESS_PORT = CPU_PORT;
    }

    action no_more() {
        DROP_PACKET
    }

    table ends {
        key = { meta.kind : exact; }
        actions = { to_software; no_more; NoAction; }
        const default_action = NoAction();
        const entries = {
            KIND_LEFT : to_software();
            KIND_OTHER : no_more();
        }
    }

#ifdef XPLANE_WALK
    // Without what it came in, as into the memory of its flow's bucket.
    action enter_page() {
        ask();
        hdr.tag.network = (bit<16>)(meta.paging_position << 3) | 2;
    }

    // The software gets a copy.
    action enter_first() {
        enter_page();
        meta.outcome = OUTCOME_IDLE;
        XPLANE_GROUP = GROUP_PAGE_FIRST;
        hdr.ethernet.setValid();
        to_software();
        hdr.cpu.flags = 1;
    }

    // Its lookup keeps the place of the packet in the order.
    action look_up_without_place() {
        ask_next();
        hdr.tag.network = meta.mark | 4;
    }

    // The requests of a walk, which a response has made.
    action walk_on() {
        meta.outcome = OUTCOME_MEMORY;
        XPLANE_GROUP = meta.walk_group;
        REQUEST.length = meta.size;
    }
#endif

    apply {
        saves.apply();
#ifdef XPLANE_WALK
        if (meta.kind == KIND_NOTICE) {
            if (meta.paging_reads != 0) {
                meta.outcome = OUTCOME_MEMORY;
                XPLANE_GROUP = GROUP_RELEASE_PAGES;
            } else {
                drop(OUTCOME_MEMORY);
            }
        } else if (meta.is_paging_full == 1) {
            drop(OUTCOME_PAGING_FULL);
        } else if (meta.kind == KIND_ENTERS) {
            if (meta.paging_waiting == 0) {
                enter_first();
            } else if (meta.paging_reads != 0) {
                enter_page();
                XPLANE_GROUP = GROUP_PAGE_READ;
            } else {
                enter_page();
                XPLANE_GROUP = GROUP_PAGE;
            }
        } else if (meta.is_not_next == 1) {
            drop(OUTCOME_NOT_NEXT);
        } else if (meta.walk_group != 0) {
            walk_on();
        } else if (meta.count == FULL) {
            drop(OUTCOME_FULL);
        } else if (meta.kind == KIND_BUCKET && meta.is_sound == 1 && HAS_NO_PLACE) {
            left_from_memory(OUTCOME_COLLISION);
        } else if (WAS_PAGED && !(WAS_QUEUED) && meta.kind == KIND_USER && meta.flights == 0) {
            look_up_without_place();
        } else if (WAS_QUEUED && meta.kind == KIND_USER && meta.flights == 0) {
            left_from_memory(OUTCOME_COLLISION);
            if (meta.drains == 1) {
                XPLANE_GROUP = GROUP_SOFTWARE_DRAIN;
            }
        } else {
            verdict.apply();
            if (meta.drains == 1) {
                if (meta.flights == 1) {
                    XPLANE_GROUP = GROUP_FIRST_DRAIN;
                } else {
                    XPLANE_GROUP = GROUP_NEXT_DRAIN;
                }
            }
        }
#else
        verdict.apply();
#endif
        tunnels.apply();
        hops.apply();
        ends.apply();
        COUNT(outcomes, meta.outcome, meta.outcome)
    }
}

control XPlaneIngress(inout xplane_headers_t hdr, inout xplane_metadata_t meta TARGET_PARAMS) {
    FlowLookup() flows;
#ifdef XPLANE_WALK
    ResponseOrder() order;
    Paging() paging;
    Walk() walks;
    PagingReads() reads;
#else
    LocalState() local_state;
#endif
    XPlaneVerdict() verdict;
    COPY(ue_copy)
    COPY(flow_copy)

    action copy_ue() {
        COPY_OF(ue_copy, REQUEST.ue, ((bit<32>)meta.ue[UE_BITS - 1:0]))
    }

    // Flows of a UE use its queue pair.
    action copy_flow() {
        COPY_OF(flow_copy, REQUEST.flow, ((bit<32>)(meta.flow[FLOW_BITS - PAIR_BITS - 1:0] ++ meta.ue[PAIR_BITS - 1:0])))
    }

    apply {
        meta.ecn = meta.tos & 3;
        meta.psn = hdr.bth.psn << 8;
        flows.apply(hdr, meta);
#ifdef XPLANE_WALK
        order.apply(hdr, meta);
        paging.apply(hdr, meta);
        walks.apply(hdr, meta);
        reads.apply(hdr, meta);
#else
        local_state.apply(hdr, meta);
#endif
        verdict.apply(hdr, meta TARGET_ARGUMENTS);
        copy_ue();
        copy_flow();
        REQUEST.pair = (bit<8>)meta.ue[PAIR_BITS - 1:0];
#ifdef XPLANE_WALK
        REQUEST.budget = meta.state.budget;
        REQUEST.idle_limit = meta.state.idle_limit;
        REQUEST.packets = meta.state.packets;
        REQUEST.octets = meta.state.octets;
        REQUEST.dropped_packets = meta.state.dropped_packets;
        REQUEST.dropped_octets = meta.state.dropped_octets;
        REQUEST.last_arrival = meta.state.last_arrival;
        REQUEST.last_pass = meta.state.last_pass;
#else
        REQUEST.packets = meta.packets_now;
        REQUEST.octets = meta.octets_now;
#endif
        REQUEST.is_saved = meta.is_saved;
#ifdef XPLANE_WALK
        REQUEST.walk = (bit<16>)meta.walk;
        REQUEST.position = meta.position;
        REQUEST.waiting = meta.waiting;
        REQUEST.offset = meta.offset;
        REQUEST.place = (bit<8>)meta.place;
        REQUEST.paging_ring = (bit<16>)meta.paging_ring;
        REQUEST.paging_position = meta.paging_position;
        REQUEST.paging_reads = meta.paging_reads;
#endif
    }
}

#endif

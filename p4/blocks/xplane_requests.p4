// Profile `xplane`, egress: the RoCEv2 requests that copies of a frame become. Numbers of requests are given here, in the order in which they leave.

#ifndef CAUSEWAY_XPLANE_REQUESTS
#define CAUSEWAY_XPLANE_REQUESTS

#ifdef XPLANE_WALK
typedef bit<(WALK_BITS + RING_BITS)> ring_index_t;
typedef bit<(PAGING_BITS + PAGING_RING_BITS)> page_index_t;
#define RING_BASE , bit<32> ring_base
#else
#define RING_BASE
#endif

control XPlaneRequests(inout xplane_headers_t hdr, inout xplane_requests_t meta) {
    // For each queue pair the number of its last request. The control plane sets it to the one before the first, and behind a NAK to the one before
    // the number that it names: the server takes no other.
    REGISTER(numbers, 1 << QUEUE_BITS, bit<QUEUE_BITS>, bit<32>)
#ifdef XPLANE_WALK
    // Octets of the packets in rings.
    REGISTER(lengths, 1 << (WALK_BITS + RING_BITS), ring_index_t, bit<32>)

    REGISTER_ACTION(lengths, set_length, ring_index_t, bit<32>,
        cell = (bit<32>)meta.request.length;
        result = cell;
    )

    REGISTER_ACTION(lengths, see_length, ring_index_t, bit<32>,
        result = cell;
    )

    // Of those in paging rings.
    REGISTER(paged_lengths, 1 << (PAGING_BITS + PAGING_RING_BITS), page_index_t, bit<32>)

    REGISTER_ACTION(paged_lengths, set_paged_length, page_index_t, bit<32>,
        cell = (bit<32>)meta.request.length;
        result = cell;
    )

    REGISTER_ACTION(paged_lengths, see_paged_length, page_index_t, bit<32>,
        result = cell;
    )

    // The queue pair of a copy: the UE's, that of the walk, or that of its ring or the paging ring.
    action queue_of_ue() {
        meta.queue = (bit<16>)meta.request.pair;
    }

    action queue_of_walk() {
        meta.queue = meta.request.walk | (1 << WALK_BITS);
    }

    action queue_of_ring(bit<32> ahead) {
        meta.queue = meta.request.walk | (2 << WALK_BITS);
        meta.position = meta.request.position + ahead;
        meta.ahead = ahead;
    }

    action queue_of_paging_ring(bit<32> ahead) {
        meta.queue = meta.request.paging_ring | (3 << WALK_BITS);
        meta.position = meta.request.paging_position + ahead;
        meta.ahead = ahead;
        meta.is_of_page = 1;
    }

    table queues {
        key = { meta.copy : exact; }
        actions = { queue_of_ue; queue_of_walk; queue_of_ring; queue_of_paging_ring; }
        const default_action = queue_of_ue();
        const entries = {
            COPY_QUEUE : queue_of_ring(0);
            COPY_FIELDS : queue_of_ring(0);
            COPY_RECORD : queue_of_walk();
            COPY_BLOCK : queue_of_walk();
            COPY_ACTION : queue_of_walk();
            COPY_ENTRY : queue_of_ring(0);
            COPY_DRAIN : queue_of_ring(0);
            COPY_DRAIN_2 : queue_of_ring(1);
            COPY_DRAIN_3 : queue_of_ring(2);
            COPY_DRAIN_4 : queue_of_ring(3);
            COPY_PAGE : queue_of_paging_ring(0);
            COPY_PAGED : queue_of_paging_ring(0);
            COPY_PAGED_2 : queue_of_paging_ring(1);
            COPY_PAGED_3 : queue_of_paging_ring(2);
            COPY_PAGED_4 : queue_of_paging_ring(3);
        }
    }
#endif

    COPY(length_copy)
    // Packets that are dropped since their frame is short, by queue pair.
    COUNTER(short_frames, 1 << PAIR_BITS, bit<PAIR_BITS>)

    REGISTER_ACTION(numbers, next, bit<QUEUE_BITS>, bit<32>,
        cell = cell + 1;
        result = cell;
    )

    // Buckets of the UE table have 4,144 octets: 2^12 + 2^5 + 2^4. The last packet of a UE that counted nothing writes nothing.
    action open_headers() {
        hdr.ethernet.setValid();
        hdr.outer_ipv4.setValid();
        hdr.outer_udp.setValid();
        hdr.bth.setValid();
        hdr.reth.setValid();
    }

    action of_ue(bit<8> opcode, bit<32> offset, bit<32> octets, bit<16> udp_octets) {
        open_headers();
        meta.is_request = 1;
        meta.opcode = opcode;
        meta.a = meta.request.ue << 12;
        meta.b = meta.request.ue << 5;
        meta.c = meta.request.ue << 4;
        meta.d = offset;
        meta.octets = octets;
        meta.more = 0;
        meta.udp_octets = udp_octets;
        meta.udp_more = 0;
    }

    // Those of the flow table have 2,376: 2^11 + 2^8 + 2^6 + 2^3.
    action of_flow(bit<8> opcode, bit<32> octets, bit<16> udp_octets) {
        open_headers();
        meta.is_request = 1;
        meta.opcode = opcode;
        meta.a = meta.request.flow << 11;
        meta.b = meta.request.flow << 8;
        meta.c = meta.request.flow << 6;
        meta.d = meta.request.flow << 3;
        meta.octets = octets;
        meta.udp_octets = udp_octets;
        meta.udp_more = 0;
    }

    // The packet is a part of the request, behind the entries in memory.
    action of_packet(bit<8> opcode, bit<32> octets, bit<16> udp_octets) {
        of_flow(opcode, octets, udp_octets);
        meta.udp_more = meta.request.length;
    }

#ifdef XPLANE_WALK
    // In the UE's bucket where the walk says.
    action of_walk(bit<32> octets) {
        of_ue(ROCE_READ_REQUEST, meta.request.offset, octets, 36 + XPLANE_CRC);
    }

    // Places of rings have 2,056 octets: 2^11 + 2^3.
    action of_ring(bit<8> opcode, bit<32> octets, bit<16> udp_octets) {
        open_headers();
        meta.is_request = 1;
        meta.opcode = opcode;
        meta.a = meta.ring_place << 11;
        meta.b = meta.ring_place << 3;
        meta.c = 0;
        meta.d = 0;
        meta.octets = octets;
        meta.more = 0;
        meta.udp_octets = udp_octets;
        meta.udp_more = 0;
    }

    action of_queued() {
        of_ring(ROCE_WRITE_ONLY, 8, 44 + XPLANE_CRC);
        meta.more = (bit<32>)meta.request.length;
        meta.udp_more = meta.request.length;
    }

    action of_drained() {
        of_ring(ROCE_READ_REQUEST, 8, 36 + XPLANE_CRC);
        meta.more = meta.queued_length;
    }

    action of_entry() {
        of_flow(ROCE_WRITE_ONLY, ENTRY_LENGTH, 196 + XPLANE_CRC);
        meta.more = 0;
    }
#endif

    action not_sent() {
        meta.is_request = 1;
        meta.is_unsent = 1;
    }

    // The frame ends before the packet in it does. Its UE's entry stays with one packet in flight, until the control plane ends it.
    action short_frame() {
        not_sent();
        meta.is_short = 1;
    }

    table kinds {
        key = {
            meta.copy : exact;
            meta.request.is_saved : ternary;
            meta.lacking : ternary;
        }
#ifdef XPLANE_WALK
        actions = { of_ue; of_flow; of_packet; of_walk; of_ring; of_queued; of_drained; of_entry; not_sent; short_frame; NoAction; }
#else
        actions = { of_ue; of_flow; of_packet; not_sent; short_frame; NoAction; }
#endif
        const default_action = NoAction();
        const entries = {
#ifdef XPLANE_WALK
            (COPY_QUEUE, _, _) : of_queued();
            (COPY_FIELDS, _, _) : of_ring(ROCE_READ_REQUEST, FIELDS_LENGTH, 36 + XPLANE_CRC);
            (COPY_RECORD, _, _) : of_ue(ROCE_READ_REQUEST, 0, RECORD_HEADER, 36 + XPLANE_CRC);
            (COPY_BLOCK, _, _) : of_walk(BLOCK_LENGTH);
            (COPY_ACTION, _, _) : of_walk(ACTION_LENGTH);
            (COPY_ENTRY, _, _) : of_entry();
            (COPY_DRAIN, _, _) : of_drained();
            (COPY_DRAIN_2, _, _) : of_drained();
            (COPY_DRAIN_3, _, _) : of_drained();
            (COPY_DRAIN_4, _, _) : of_drained();
            (COPY_PAGE, _, _) : of_queued();
            (COPY_PAGED, _, _) : of_drained();
            (COPY_PAGED_2, _, _) : of_drained();
            (COPY_PAGED_3, _, _) : of_drained();
            (COPY_PAGED_4, _, _) : of_drained();
#endif
            // UDP 8, BTH 12, RETH 16 octets, and the CRC where there is one.
            (COPY_LOAD, _, _) : of_ue(ROCE_READ_REQUEST, 0, RECORD_FRONT, 36 + XPLANE_CRC);
            (COPY_STORE, _, 0) : of_packet(ROCE_WRITE_ONLY, 8, 44 + XPLANE_CRC);
            (COPY_STORE, _, _) : short_frame();
            (COPY_FETCH, _, 0) : of_flow(ROCE_READ_REQUEST, BUCKET_ENTRIES + 8, 36 + XPLANE_CRC);
            (COPY_FETCH, _, _) : not_sent();
#ifdef XPLANE_WALK
            (COPY_SAVE, 1, _) : of_ue(ROCE_WRITE_ONLY, RECORD_ACCOUNT, ACCOUNT_LENGTH, 100 + XPLANE_CRC);
#else
            (COPY_SAVE, 1, _) : of_ue(ROCE_WRITE_ONLY, RECORD_PACKETS, 16, 52 + XPLANE_CRC);
#endif
            (COPY_SAVE, _, _) : not_sent();
            (COPY_CLOSE, _, _) : of_ue(ROCE_READ_REQUEST, 0, RECORD_HEADER, 36 + XPLANE_CRC);
        }
    }

    // The other end of a queue pair, and where its tables begin, and the packet of the first flow bucket; `remote` is its number there.
    action peer(mac_t neighbour, mac_t source, bit<32> address, bit<32> own, bit<16> port, bit<24> remote, bit<32> key,
        bit<32> base_high, bit<32> ue_base, bit<32> flow_base, bit<32> packet_base RING_BASE) {
        hdr.ethernet.dst = neighbour;
        hdr.ethernet.src = source;
        hdr.outer_ipv4.src = own;
        hdr.outer_ipv4.dst = address;
        hdr.outer_udp.src = port;
        hdr.bth.queue_pair = remote;
        hdr.reth.key = key;
        hdr.reth.address_high = base_high;
        meta.ue_base = ue_base;
        meta.flow_base = flow_base;
        meta.packet_base = packet_base;
#ifdef XPLANE_WALK
        meta.ring_base = ring_base;
#endif
        meta.has_peer = 1;
    }

    table peers {
#ifdef XPLANE_WALK
        key = { meta.queue : exact; }
#else
        key = { meta.request.pair : exact; }
#endif
        actions = { peer; NoAction; }
        const default_action = NoAction();
        size = 1 << QUEUE_BITS;
    }

    // Each step is an action of its own: a stage adds two numbers.
    action add_terms() {
        meta.a = meta.a + meta.b;
        meta.c = meta.c + meta.d;
        meta.octets = meta.octets + meta.more;
        meta.udp_octets = meta.udp_octets + meta.udp_more;
    }

    action add_sums() {
        meta.address = meta.a + meta.c;
    }

    action of_ues() {
        meta.base = meta.ue_base;
    }

    action of_flows() {
        meta.base = meta.flow_base;
    }

    action of_packets() {
        meta.base = meta.packet_base;
    }

#ifdef XPLANE_WALK
    action of_rings() {
        meta.base = meta.ring_base;
    }
#endif

    table bases {
        key = { meta.copy : exact; }
#ifdef XPLANE_WALK
        actions = { of_ues; of_flows; of_packets; of_rings; }
#else
        actions = { of_ues; of_flows; of_packets; }
#endif
        const default_action = of_ues();
        const entries = {
#ifdef XPLANE_WALK
            COPY_QUEUE : of_rings();
            COPY_FIELDS : of_rings();
            COPY_ENTRY : of_flows();
            COPY_DRAIN : of_rings();
            COPY_DRAIN_2 : of_rings();
            COPY_DRAIN_3 : of_rings();
            COPY_DRAIN_4 : of_rings();
            COPY_PAGE : of_rings();
            COPY_PAGED : of_rings();
            COPY_PAGED_2 : of_rings();
            COPY_PAGED_3 : of_rings();
            COPY_PAGED_4 : of_rings();
#endif
            COPY_STORE : of_packets();
            COPY_FETCH : of_flows();
        }
#ifdef XPLANE_WALK
        size = 32;
#else
        size = 8;
#endif
    }

    action add_base() {
        meta.address = meta.address + meta.base;
    }

    action build() {
        hdr.ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.outer_ipv4.version_ihl = 0x45;
        hdr.outer_ipv4.tos = 0;
        hdr.outer_ipv4.length = meta.udp_octets + 20;
        hdr.outer_ipv4.identification = 0;
        hdr.outer_ipv4.fragment = 0x4000;
        hdr.outer_ipv4.ttl = 64;
        hdr.outer_ipv4.protocol = PROTOCOL_UDP;
        hdr.outer_udp.dst = PORT_ROCE;
        hdr.outer_udp.length = meta.udp_octets;
        hdr.outer_udp.checksum = 0;
        hdr.bth.opcode = meta.opcode;
        hdr.bth.flags = XPLANE_BTH_FLAGS;
        hdr.bth.partition = 0xffff;
        hdr.bth.reserved = 0;
        hdr.reth.length = meta.octets;
        hdr.reth.address_low = meta.address;
    }

    apply {
        COPY_OF(length_copy, meta.more, ((bit<32>)meta.request.length))
#ifdef XPLANE_WALK
        queues.apply();
        if (meta.is_of_page == 1) {
            meta.ring_place = ((bit<32>)meta.request.paging_ring << PAGING_RING_BITS) | (meta.position & ((1 << PAGING_RING_BITS) - 1));
            if (meta.copy == COPY_PAGE) {
                REGISTER_EXECUTE(set_paged_length, (page_index_t)meta.ring_place, meta.queued_length)
            } else {
                REGISTER_EXECUTE(see_paged_length, (page_index_t)meta.ring_place, meta.queued_length)
            }
        } else {
            meta.ring_place = ((bit<32>)meta.request.walk << RING_BITS) | (meta.position & ((1 << RING_BITS) - 1));
            if (meta.copy == COPY_QUEUE) {
                REGISTER_EXECUTE(set_length, (ring_index_t)meta.ring_place, meta.queued_length)
            } else {
                REGISTER_EXECUTE(see_length, (ring_index_t)meta.ring_place, meta.queued_length)
            }
        }
#endif
        kinds.apply();
#ifdef XPLANE_WALK
        // No packet is at that place.
        if (meta.copy >= COPY_DRAIN && meta.copy <= COPY_DRAIN_4 && meta.ahead >= meta.request.waiting) {
            not_sent();
        }
        if (meta.copy >= COPY_PAGED && meta.copy <= COPY_PAGED_4 && meta.ahead >= meta.request.paging_reads) {
            not_sent();
        }
#endif
        peers.apply();
        XPLANE_PADDING
        add_terms();
        add_sums();
        bases.apply();
        add_base();
#ifdef XPLANE_WALK
        if (meta.copy == COPY_ENTRY && meta.request.place == 1) {
            meta.address = meta.address + ENTRY_LENGTH;
        }
#endif
        if (meta.is_request == 1) {
            if (meta.is_unsent == 0 && meta.has_peer == 1) {
                build();
                // AckReq is not set: the response to the read behind a write acknowledges it.
#ifdef XPLANE_WALK
                REGISTER_EXECUTE(next, meta.queue[QUEUE_BITS - 1:0], meta.psn)
#else
                REGISTER_EXECUTE(next, meta.request.pair[PAIR_BITS - 1:0], meta.psn)
#endif
                hdr.bth.psn = meta.psn & 0xffffff;
                if (meta.copy == COPY_SAVE) {
                    hdr.counted.setValid();
#ifdef XPLANE_WALK
                    hdr.counted.budget = meta.request.budget;
                    hdr.counted.idle_limit = meta.request.idle_limit;
                    hdr.counted.packets = meta.request.packets;
                    hdr.counted.octets = meta.request.octets;
                    hdr.counted.dropped_packets = meta.request.dropped_packets;
                    hdr.counted.dropped_octets = meta.request.dropped_octets;
                    hdr.counted.last_arrival = meta.request.last_arrival;
                    hdr.counted.last_pass = meta.request.last_pass;
#else
                    hdr.counted.packets_high = 0;
                    hdr.counted.packets_low = meta.request.packets;
                    hdr.counted.octets_high = 0;
                    hdr.counted.octets_low = meta.request.octets;
#endif
                }
            } else {
                XPLANE_EGRESS_DROP
            }
        }
        if (meta.is_short == 1) {
            COUNT(short_frames, meta.request.pair[PAIR_BITS - 1:0], meta.request.pair[PAIR_BITS - 1:0])
        }
    }
}

#endif

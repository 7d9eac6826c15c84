// Profile `xplane`, egress: the RoCEv2 requests that copies of a frame become. Numbers of requests are given here, in the order in which they leave.

#ifndef CAUSEWAY_XPLANE_REQUESTS
#define CAUSEWAY_XPLANE_REQUESTS

control XPlaneRequests(inout xplane_headers_t hdr, inout xplane_requests_t meta) {
    // For each queue pair the number of its last request. The control plane sets it to the one before the first, and behind a NAK to the one before
    // the number that it names: the server takes no other.
    REGISTER(numbers, 1 << PAIR_BITS, bit<PAIR_BITS>, bit<32>)

    COPY(length_copy)
    // Packets that are dropped since their frame is short, by queue pair.
    COUNTER(short_frames, 1 << PAIR_BITS, bit<PAIR_BITS>)

    REGISTER_ACTION(numbers, next, bit<PAIR_BITS>, bit<32>,
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
        actions = { of_ue; of_flow; of_packet; not_sent; short_frame; NoAction; }
        const default_action = NoAction();
        const entries = {
            // UDP 8, BTH 12, RETH 16 octets, and the CRC where there is one.
            (COPY_LOAD, _, _) : of_ue(ROCE_READ_REQUEST, 0, RECORD_FRONT, 36 + XPLANE_CRC);
            (COPY_STORE, _, 0) : of_packet(ROCE_WRITE_ONLY, 8, 44 + XPLANE_CRC);
            (COPY_STORE, _, _) : short_frame();
            (COPY_FETCH, _, 0) : of_flow(ROCE_READ_REQUEST, BUCKET_ENTRIES + 8, 36 + XPLANE_CRC);
            (COPY_FETCH, _, _) : not_sent();
            (COPY_SAVE, 1, _) : of_ue(ROCE_WRITE_ONLY, RECORD_PACKETS, 16, 52 + XPLANE_CRC);
            (COPY_SAVE, _, _) : not_sent();
            (COPY_CLOSE, _, _) : of_ue(ROCE_READ_REQUEST, 0, RECORD_HEADER, 36 + XPLANE_CRC);
        }
    }

    // The other end of a queue pair, and where its tables begin, and the packet of the first flow bucket; `remote` is its number there.
    action peer(mac_t neighbour, mac_t source, bit<32> address, bit<32> own, bit<16> port, bit<24> remote, bit<32> key,
        bit<32> base_high, bit<32> ue_base, bit<32> flow_base, bit<32> packet_base) {
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
        meta.has_peer = 1;
    }

    table peers {
        key = { meta.request.pair : exact; }
        actions = { peer; NoAction; }
        const default_action = NoAction();
        size = 1 << PAIR_BITS;
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

    table bases {
        key = { meta.copy : exact; }
        actions = { of_ues; of_flows; of_packets; }
        const default_action = of_ues();
        const entries = {
            COPY_STORE : of_packets();
            COPY_FETCH : of_flows();
        }
        size = 8;
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
        kinds.apply();
        peers.apply();
        XPLANE_PADDING
        add_terms();
        add_sums();
        bases.apply();
        add_base();
        if (meta.is_request == 1) {
            if (meta.is_unsent == 0 && meta.has_peer == 1) {
                build();
                // AckReq is not set: the response to the read behind a write acknowledges it.
                REGISTER_EXECUTE(next, meta.request.pair[PAIR_BITS - 1:0], meta.psn)
                hdr.bth.psn = meta.psn & 0xffffff;
                if (meta.copy == COPY_SAVE) {
                    hdr.counted.setValid();
                    hdr.counted.packets_high = 0;
                    hdr.counted.packets_low = meta.request.packets;
                    hdr.counted.octets_high = 0;
                    hdr.counted.octets_low = meta.request.octets;
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

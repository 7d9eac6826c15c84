// Profile `xplane`, ingress: which UE and flow a packet is of, whether the entries that came from memory with it are that flow's and of its UE's
// generation, and what its rule says (docs/xplane.md).

#ifndef CAUSEWAY_XPLANE_FLOWS
#define CAUSEWAY_XPLANE_FLOWS

typedef bit<LOCAL_BITS> local_index_t;

control FlowLookup(inout xplane_headers_t hdr, inout xplane_metadata_t meta) {
    HASH_CRC32(ue_hash)
    HASH_CRC32(flow_hash)
    COPY(length_copy)

    // A table has 32 bits from hashes: each has one of its own.
    action hash_ue() {
        HASH_CRC32_OF_ALL(ue_hash, meta.ue, meta.key_kind, meta.ue_word)
    }

    action hash_flow() {
        HASH_CRC32_OF_ALL(flow_hash, meta.flow, meta.ue_word, meta.src, meta.dst, meta.src_port, meta.dst_port, meta.protocol, meta.qfi)
    }

    action copy_length() {
        COPY_OF(length_copy, meta.length, ((bit<32>)meta.size))
    }

    // Where responses come from: our number of the queue pair, and the server.
    action set_pair(bit<NUMBER_WIDTH> pair) {
        meta.pair = pair;
        meta.is_foreign = 0;
    }

    action foreign() {
        meta.is_foreign = 1;
    }

    table queue_pairs {
        key = {
            hdr.bth.queue_pair : exact;
            hdr.outer_ipv4.src : exact;
        }
        actions = { set_pair; foreign; }
        const default_action = foreign();
#ifdef XPLANE_WALK
        size = 4 << QUEUE_BITS;
#else
        size = 64;
#endif
    }

    // The UPF's address of N3 is part of a tunnel's key, but not of that of a UE's address.
    action set_local(bit<32> address) {
        meta.ue_local = address;
    }

    table local_ends {
        key = { meta.key_kind : exact; }
        actions = { set_local; NoAction; }
        const default_action = NoAction();
        size = 4;
    }

    // The generation of all UEs of a bucket. The control plane raises it before it acknowledges a change of their rules.
    action set_generation(bit<32> high, bit<32> low) {
        meta.generation_high = high;
        meta.generation_low = low;
    }

    table generations {
        key = { meta.ue[UE_BITS - 1:0] : exact @name("bucket"); }
        actions = { set_generation; NoAction; }
        const default_action = NoAction();
        size = 1 << UE_BITS;
    }

    // Keys and generations from memory become their differences from the packet's: zero where they are equal.
    action compare_keys() {
        hdr.first_ue_word.word = hdr.first_ue_word.word ^ meta.ue_word;
        hdr.first_flags.octet = hdr.first_flags.octet ^ meta.flags;
        hdr.first_protocol.octet = hdr.first_protocol.octet ^ meta.protocol;
        hdr.first_dscp.octet = hdr.first_dscp.octet ^ meta.tos;
        hdr.first_qfi.octet = hdr.first_qfi.octet ^ meta.qfi;
        hdr.first_src_port.half = hdr.first_src_port.half ^ meta.src_port;
        hdr.first_dst_port.half = hdr.first_dst_port.half ^ meta.dst_port;
        hdr.first_src.word = hdr.first_src.word ^ meta.src;
        hdr.first_dst.word = hdr.first_dst.word ^ meta.dst;
        hdr.second_ue_word.word = hdr.second_ue_word.word ^ meta.ue_word;
        hdr.second_flags.octet = hdr.second_flags.octet ^ meta.flags;
        hdr.second_protocol.octet = hdr.second_protocol.octet ^ meta.protocol;
        hdr.second_dscp.octet = hdr.second_dscp.octet ^ meta.tos;
        hdr.second_qfi.octet = hdr.second_qfi.octet ^ meta.qfi;
        hdr.second_src_port.half = hdr.second_src_port.half ^ meta.src_port;
        hdr.second_dst_port.half = hdr.second_dst_port.half ^ meta.dst_port;
        hdr.second_src.word = hdr.second_src.word ^ meta.src;
        hdr.second_dst.word = hdr.second_dst.word ^ meta.dst;
    }

    action compare_ends() {
        hdr.first_ue_local.word = hdr.first_ue_local.word ^ meta.ue_local;
        hdr.second_ue_local.word = hdr.second_ue_local.word ^ meta.ue_local;
    }

    action compare_generations() {
        hdr.first_generation_high.word = hdr.first_generation_high.word ^ meta.generation_high;
        hdr.first_generation_low.word = hdr.first_generation_low.word ^ meta.generation_low;
        hdr.second_generation_high.word = hdr.second_generation_high.word ^ meta.generation_high;
        hdr.second_generation_low.word = hdr.second_generation_low.word ^ meta.generation_low;
    }

    action first_matches(bit<2> what) {
        meta.first_is = what;
    }

    // The lower two bits of the DSCP's octet are those of ECN. The other 96 bits of each address follow from the flags and from the key's kind.
    table first_entry {
        key = {
            meta.key_kind : ternary;
            hdr.first_ue_head.word : ternary;
            hdr.first_ue_word.word : ternary;
            hdr.first_ue_local.word : ternary;
            hdr.first_flags.octet : ternary;
            hdr.first_protocol.octet : ternary;
            hdr.first_dscp.octet : ternary;
            hdr.first_qfi.octet : ternary;
            hdr.first_src_port.half : ternary;
            hdr.first_dst_port.half : ternary;
            hdr.first_src.word : ternary;
            hdr.first_dst.word : ternary;
            hdr.first_generation_high.word : ternary;
            hdr.first_generation_low.word : ternary;
        }
        actions = { first_matches; }
        const default_action = first_matches(0);
        const entries = {
            (KEY_TUNNEL, HEAD_TUNNEL, 0, 0, 0, 0, 0 &&& 0xfc, 0, 0, 0, 0, 0, 0, 0) : first_matches(2);
            (KEY_ADDRESS, HEAD_ADDRESS, 0, 0, 0, 0, 0 &&& 0xfc, 0, 0, 0, 0, 0, 0, 0) : first_matches(2);
            (KEY_TUNNEL, HEAD_TUNNEL, 0, 0, 0, 0, 0 &&& 0xfc, 0, 0, 0, 0, 0, _, _) : first_matches(1);
            (KEY_ADDRESS, HEAD_ADDRESS, 0, 0, 0, 0, 0 &&& 0xfc, 0, 0, 0, 0, 0, _, _) : first_matches(1);
        }
        size = 16;
    }

    action second_matches(bit<2> what) {
        meta.second_is = what;
    }

    table second_entry {
        key = {
            meta.key_kind : ternary;
            hdr.second_ue_head.word : ternary;
            hdr.second_ue_word.word : ternary;
            hdr.second_ue_local.word : ternary;
            hdr.second_flags.octet : ternary;
            hdr.second_protocol.octet : ternary;
            hdr.second_dscp.octet : ternary;
            hdr.second_qfi.octet : ternary;
            hdr.second_src_port.half : ternary;
            hdr.second_dst_port.half : ternary;
            hdr.second_src.word : ternary;
            hdr.second_dst.word : ternary;
            hdr.second_generation_high.word : ternary;
            hdr.second_generation_low.word : ternary;
        }
        actions = { second_matches; }
        const default_action = second_matches(0);
        const entries = {
            (KEY_TUNNEL, HEAD_TUNNEL, 0, 0, 0, 0, 0 &&& 0xfc, 0, 0, 0, 0, 0, 0, 0) : second_matches(2);
            (KEY_ADDRESS, HEAD_ADDRESS, 0, 0, 0, 0, 0 &&& 0xfc, 0, 0, 0, 0, 0, 0, 0) : second_matches(2);
            (KEY_TUNNEL, HEAD_TUNNEL, 0, 0, 0, 0, 0 &&& 0xfc, 0, 0, 0, 0, 0, _, _) : second_matches(1);
            (KEY_ADDRESS, HEAD_ADDRESS, 0, 0, 0, 0, 0 &&& 0xfc, 0, 0, 0, 0, 0, _, _) : second_matches(1);
        }
        size = 16;
    }

    action countable() {
        meta.is_countable = 1;
    }

#ifdef XPLANE_WALK
    // The record is this UE's, and has its state.
    table record_entry {
        key = {
            meta.key_kind : ternary;
            hdr.first_ue_head.word : ternary;
            hdr.first_ue_local.word : ternary;
            hdr.first_generation_high.word : ternary;
            hdr.first_generation_low.word : ternary;
            hdr.record_flags.octet : ternary;
        }
        actions = { countable; NoAction; }
        const default_action = NoAction();
        const entries = {
            (KEY_TUNNEL, HEAD_TUNNEL, 0, 0, 0, 0 &&& 8) : countable();
            (KEY_ADDRESS, HEAD_ADDRESS, 0, 0, 0, 0 &&& 8) : countable();
        }
        size = 16;
    }
#else
    // The record is this UE's, and its first account has no limit and few octets: the upper halves of budget and time are all ones.
    table record_entry {
        key = {
            meta.key_kind : ternary;
            hdr.first_ue_head.word : ternary;
            hdr.first_ue_local.word : ternary;
            hdr.first_generation_high.word : ternary;
            hdr.first_generation_low.word : ternary;
            hdr.record_flags.octet : ternary;
            hdr.budget_high.word : ternary;
            hdr.idle_high.word : ternary;
            hdr.loaded.packets_high : ternary;
            hdr.loaded.octets_high : ternary;
            hdr.loaded.octets_low : ternary;
        }
        actions = { countable; NoAction; }
        const default_action = NoAction();
        const entries = {
            (KEY_TUNNEL, HEAD_TUNNEL, 0, 0, 0, 0 &&& 8, 0xffffffff, 0xffffffff, 0, 0, 0 &&& 0x80000000) : countable();
            (KEY_ADDRESS, HEAD_ADDRESS, 0, 0, 0, 0 &&& 8, 0xffffffff, 0xffffffff, 0, 0, 0 &&& 0x80000000) : countable();
        }
        size = 16;
    }
#endif

    action take_first() {
        meta.has_rule = hdr.first_has_rule.octet;
        meta.account = hdr.first_account.octet;
        meta.meters = hdr.first_meters.octet;
        meta.action_kind = hdr.first_kind.octet;
        meta.action_flags = hdr.first_action_flags.octet;
        meta.max_payload = hdr.first_max_payload.word;
        meta.network_high = hdr.first_local.octet;
        meta.network_low = hdr.first_tos.octet;
        meta.is_ipv6 = hdr.first_is_ipv6.octet;
        meta.peer_port = hdr.first_peer_port.half;
        meta.header_length = hdr.first_header_length.octet;
        meta.peer = hdr.first_peer.word;
        meta.teid_out = hdr.first_teid.word;
        meta.options_out = hdr.first_options.word;
        meta.container_out = hdr.first_container.word;
    }

    action take_second() {
        meta.has_rule = hdr.second_has_rule.octet;
        meta.account = hdr.second_account.octet;
        meta.meters = hdr.second_meters.octet;
        meta.action_kind = hdr.second_kind.octet;
        meta.action_flags = hdr.second_action_flags.octet;
        meta.max_payload = hdr.second_max_payload.word;
        meta.network_high = hdr.second_local.octet;
        meta.network_low = hdr.second_tos.octet;
        meta.is_ipv6 = hdr.second_is_ipv6.octet;
        meta.peer_port = hdr.second_peer_port.half;
        meta.header_length = hdr.second_header_length.octet;
        meta.peer = hdr.second_peer.word;
        meta.teid_out = hdr.second_teid.word;
        meta.options_out = hdr.second_options.word;
        meta.container_out = hdr.second_container.word;
    }

    table entries {
        key = {
            meta.kind : exact;
            meta.first_is : ternary;
            meta.second_is : ternary;
        }
        actions = { take_first; take_second; NoAction; }
        const default_action = NoAction();
        const entries = {
            (KIND_BUCKET, 2, _) : take_first();
            (KIND_BUCKET, _, 2) : take_second();
        }
    }

    action forward() {
        meta.is_forwarded = 1;
    }

    // Rules without meters, of the first account: to the first data network, or into a tunnel over IPv4 from there.
    table rules {
        key = {
            meta.has_rule : exact;
            meta.account : exact;
            meta.meters : exact;
            meta.action_kind : exact;
            meta.key_kind : exact;
            meta.action_flags : ternary;
            meta.network_high : ternary;
            meta.network_low : ternary;
            meta.is_ipv6 : ternary;
            meta.peer_port : ternary;
            meta.header_length : ternary;
            meta.excess : ternary;
        }
        actions = { forward; NoAction; }
        const default_action = NoAction();
        const entries = {
            (1, 0, 0, 2, KEY_TUNNEL, 0 &&& 2, 0, 0, _, _, _, 0) : forward();
            (1, 0, 0, 3, KEY_ADDRESS, 0 &&& 2, 0, _, 0, PORT_GTPU, 16, 0) : forward();
            (1, 0, 0, 3, KEY_ADDRESS, 0 &&& 2, 0, _, 0, PORT_GTPU, 8, 0) : forward();
        }
    }

    // By peer, or with peer zero to the data network.
    action route(bit<9> port, mac_t source, mac_t neighbour, bit<32> address) {
        meta.port = port;
        meta.neighbour = neighbour;
        meta.own_mac = source;
        meta.own_address = address;
        meta.has_route = 1;
    }

    table routes {
        key = {
            meta.action_kind : exact;
            meta.peer : exact @name("peer");
        }
        actions = { route; NoAction; }
        const default_action = NoAction();
        size = 4096;
    }

    // Packets behind a gap, or without a route, are not counted here.
    action count() {
        meta.is_counted = 1;
        meta.octets = meta.length;
    }

    table counted {
        key = {
            meta.is_forwarded : exact;
            meta.has_route : exact;
        }
        actions = { count; NoAction; }
        const default_action = NoAction();
        const entries = {
            (1, 1) : count();
        }
    }

#ifdef XPLANE_WALK
    // Where a walk writes the entry of the flow: over that of before, so that there are never two, or where none is.
    action set_place(bit<32> place) {
        meta.place = place;
    }

    table places {
        key = {
            meta.first_is : ternary;
            meta.second_is : ternary;
            meta.first_is_empty : ternary;
            meta.second_is_empty : ternary;
        }
        actions = { set_place; }
        const default_action = set_place(2);
        const entries = {
            (1, _, _, _) : set_place(0);
            (_, 1, _, _) : set_place(1);
            (_, _, 1, _) : set_place(0);
            (_, _, _, 1) : set_place(1);
        }
    }
#endif

    apply {
        hash_ue();
        hash_flow();
        copy_length();
        queue_pairs.apply();
        local_ends.apply();
        generations.apply();
        compare_keys();
        compare_ends();
#ifdef XPLANE_WALK
        if (hdr.first_generation_high.word == 0 && hdr.first_generation_low.word == 0) {
            meta.first_is_empty = 1;
        }
        if (hdr.second_generation_high.word == 0 && hdr.second_generation_low.word == 0) {
            meta.second_is_empty = 1;
        }
#endif
        compare_generations();
        first_entry.apply();
        second_entry.apply();
        record_entry.apply();
        entries.apply();
        meta.excess = meta.length |-| meta.max_payload;
        rules.apply();
        routes.apply();
        counted.apply();
#ifdef XPLANE_WALK
        places.apply();
#endif
    }
}

#endif

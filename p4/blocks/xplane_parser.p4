// Parser states of profile `xplane`, included into the parser of each main, which goes to `frame`.

value_set<bit<32>>(8) local_ipv4;

state frame {
    pkt.extract(hdr.ethernet);
    transition select(hdr.ethernet.ether_type) {
        ETHERTYPE_IPV4: ipv4;
        ETHERTYPE_ARP: arp;
#ifdef XPLANE_WALK
        ETHERTYPE_CPU: command;
#endif
        default: unsupported;
    }
}

#ifdef XPLANE_WALK
// Of the control plane alone.
state command {
    transition select(meta.ingress_port) {
        CPU_PORT: notice;
        default: unsupported;
    }
}

state notice {
    pkt.extract(hdr.cpu);
    meta.kind = KIND_NOTICE;
    transition accept;
}
#endif

state unsupported {
    meta.kind = KIND_OTHER;
    meta.outcome = OUTCOME_UNSUPPORTED;
    transition accept;
}

state arp {
    meta.kind = KIND_LEFT;
    meta.outcome = OUTCOME_ARP;
    transition accept;
}

state local {
    meta.kind = KIND_LEFT;
    meta.outcome = OUTCOME_LOCAL;
    transition accept;
}

state ipv4 {
    whole_ipv4_h front = pkt.lookahead<whole_ipv4_h>();
    transition select(front.dst) {
        local_ipv4: outer_ipv4;
        default: downlink;
    }
}

state outer_ipv4 {
    pkt.extract(hdr.outer_ipv4);
    transition select(hdr.outer_ipv4.version_ihl, hdr.outer_ipv4.fragment, hdr.outer_ipv4.protocol) {
        (0x45, 0 &&& 0x3fff, PROTOCOL_UDP): outer_udp;
        default: local;
    }
}

state outer_udp {
    pkt.extract(hdr.outer_udp);
    transition select(hdr.outer_udp.dst) {
        PORT_ROCE: roce;
        PORT_GTPU: gtpu;
        default: local;
    }
}

state gtpu {
    pkt.extract(hdr.gtpu);
    meta.key_kind = KEY_TUNNEL;
    meta.ue_word = hdr.gtpu.teid;
    transition select(hdr.gtpu.flags, hdr.gtpu.message_type) {
        (0x30, GTPU_G_PDU): without_qfi;
        (0x34, GTPU_G_PDU): container;
        default: signalling;
    }
}

state signalling {
    meta.kind = KIND_LEFT;
    meta.outcome = OUTCOME_SIGNALLING;
    transition accept;
}

state without_qfi {
    meta.qfi = 0xff;
    transition user;
}

// A QFI and nothing else. A state selects by four octets at most: so the fields of a header are looked at in several before it is extracted.
state container {
    container_h front = pkt.lookahead<container_h>();
    transition select(front.options[7:0]) {
        EXTENSION_PDU_SESSION_CONTAINER: container_alone;
        default: signalling;
    }
}

state container_alone {
    pkt.extract(hdr.container);
    meta.qfi = hdr.container.container[15:8];
    transition select(hdr.container.container) {
        0x01000000 &&& 0xffefc0ff: user;
        default: signalling;
    }
}

state downlink {
    whole_ipv4_h front = pkt.lookahead<whole_ipv4_h>();
    meta.key_kind = KEY_ADDRESS;
    meta.ue_word = front.dst;
    meta.qfi = 0xff;
    transition user;
}

// No options, no fragments.
state user {
    whole_ipv4_h front = pkt.lookahead<whole_ipv4_h>();
    transition select(front.version_ihl, front.fragment) {
        (0x45, 0 &&& 0x3fff): user_size;
        default: left_user;
    }
}

// 32 to 2,047 octets, and hops left.
state user_size {
    whole_ipv4_h front = pkt.lookahead<whole_ipv4_h>();
    transition select(front.length, front.ttl) {
        (_, 0 &&& 0xfe): left_user;
        (0 &&& 0xffe0, _): left_user;
        (0 &&& 0xf800, _): user_packet;
        default: left_user;
    }
}

state user_packet {
    pkt.extract(hdr.user_ipv4);
    XPLANE_CHECK_USER
    meta.protocol = hdr.user_ipv4.protocol;
    meta.tos = hdr.user_ipv4.tos;
    meta.src = hdr.user_ipv4.src;
    meta.dst = hdr.user_ipv4.dst;
    meta.size = hdr.user_ipv4.length;
    transition select(hdr.user_ipv4.protocol) {
        PROTOCOL_TCP: with_ports;
        PROTOCOL_UDP: with_ports;
        default: without_ports;
    }
}

state left_user {
    meta.kind = KIND_LEFT;
    meta.outcome = OUTCOME_RULE;
    transition accept;
}

state with_ports {
    pkt.extract(hdr.ports);
    meta.kind = KIND_USER;
    meta.flags = 5;
    meta.src_port = hdr.ports.src;
    meta.dst_port = hdr.ports.dst;
    transition XPLANE_REST_BEHIND_PORTS;
}

state without_ports {
    meta.kind = KIND_USER;
    meta.flags = 1;
    transition XPLANE_REST;
}

state roce {
    pkt.extract(hdr.bth);
#ifdef XPLANE_WALK
    // Our numbers of the queue pairs of walks begin with 0x40, those of their rings with 0x80, and those of paging rings with 0xc0.
    transition select(hdr.bth.queue_pair[23:16], hdr.bth.opcode, hdr.outer_udp.length) {
        (0x40, ROCE_READ_RESPONSE, UDP_OF_HEADER): record;
        (0x40, ROCE_READ_RESPONSE, UDP_OF_BLOCK): block;
        (0x40, ROCE_READ_RESPONSE, UDP_OF_ACTION): walk_action;
        (0x80, ROCE_READ_RESPONSE, UDP_OF_FIELDS): fields;
        (0x80, ROCE_READ_RESPONSE, _): queued;
        (0xc0, ROCE_READ_RESPONSE, _): paged;
        default: roce_of_pairs;
    }
}

state record {
    pkt.extract(hdr.aeth);
    pkt.extract(hdr.first_ue_head);
    pkt.extract(hdr.first_ue_word);
    pkt.advance(96);
    pkt.extract(hdr.first_ue_local);
    pkt.extract(hdr.first_generation_high);
    pkt.extract(hdr.first_generation_low);
    pkt.extract(hdr.record_pdrs);
    pkt.extract(hdr.record_direction);
    pkt.extract(hdr.record_flags);
    pkt.extract(hdr.record_address);
    meta.kind = KIND_RECORD;
    meta.ue_word = hdr.first_ue_word.word;
    transition select(hdr.first_ue_head.word) {
        HEAD_TUNNEL: front_of_tunnel;
        default: front_of_address;
    }
}

#define EXTRACT_PDR(n) \
    pkt.extract(hdr.flags##n); \
    pkt.extract(hdr.remote##n); \
    pkt.extract(hdr.remote_length##n); \
    pkt.extract(hdr.remote_first##n); \
    pkt.extract(hdr.remote_last##n); \
    pkt.extract(hdr.local##n); \
    pkt.extract(hdr.local_length##n); \
    pkt.extract(hdr.local_first##n); \
    pkt.extract(hdr.local_last##n); \
    pkt.extract(hdr.protocol##n); \
    pkt.extract(hdr.qfi##n); \
    pkt.extract(hdr.class##n); \
    pkt.extract(hdr.class_mask##n); \
    pkt.extract(hdr.rule##n); \
    pkt.advance(8);

state block {
    pkt.extract(hdr.aeth);
    EXTRACT_PDR(1)
    EXTRACT_PDR(2)
    EXTRACT_PDR(3)
    EXTRACT_PDR(4)
    EXTRACT_PDR(5)
    meta.kind = KIND_BLOCK;
    transition accept;
}

state walk_action {
    pkt.extract(hdr.aeth);
    pkt.extract(hdr.rule_action);
    meta.kind = KIND_ACTION;
    transition accept;
}

// The switch has stored none but its own packets.
state fields {
    pkt.extract(hdr.aeth);
    pkt.extract(hdr.tag);
    pkt.extract(hdr.user_ipv4);
    pkt.extract(hdr.ports);
    meta.kind = KIND_FIELDS;
    meta.key_kind = hdr.tag.kind;
    meta.qfi = hdr.tag.qfi;
    meta.ue_word = hdr.tag.word;
    meta.protocol = hdr.user_ipv4.protocol;
    meta.tos = hdr.user_ipv4.tos;
    meta.src = hdr.user_ipv4.src;
    meta.dst = hdr.user_ipv4.dst;
    transition select(hdr.user_ipv4.protocol) {
        PROTOCOL_TCP: fields_with_ports;
        PROTOCOL_UDP: fields_with_ports;
        default: fields_without_ports;
    }
}

state fields_with_ports {
    meta.flags = 5;
    meta.src_port = hdr.ports.src;
    meta.dst_port = hdr.ports.dst;
    transition accept;
}

state fields_without_ports {
    meta.flags = 1;
    transition accept;
}

state queued {
    pkt.extract(hdr.aeth);
    meta.kind = KIND_QUEUED;
    pkt.extract(hdr.tag);
    meta.qfi = hdr.tag.qfi;
    meta.ue_word = hdr.tag.word;
    meta.mark = hdr.tag.network | 1;
    transition select(hdr.tag.kind) {
        1: of_tunnel;
        default: of_address;
    }
}

state paged {
    pkt.extract(hdr.aeth);
    meta.kind = KIND_PAGED;
    pkt.extract(hdr.tag);
    meta.qfi = hdr.tag.qfi;
    meta.ue_word = hdr.tag.word;
    meta.mark = hdr.tag.network;
    transition select(hdr.tag.kind) {
        1: of_tunnel;
        default: of_address;
    }
}

state roce_of_pairs {
#endif
    transition select(hdr.bth.opcode, hdr.outer_udp.length) {
        (ROCE_READ_RESPONSE, UDP_OF_FRONT): front;
        (ROCE_READ_RESPONSE, UDP_OF_HEADER): header_alone;
        (ROCE_READ_RESPONSE, _): bucket;
        (ROCE_ACKNOWLEDGE, _): acknowledgement;
        default: local;
    }
}

state acknowledgement {
    pkt.extract(hdr.aeth);
    meta.kind = KIND_NAK;
    transition accept;
}

state front {
    pkt.extract(hdr.aeth);
    pkt.extract(hdr.first_ue_head);
    pkt.extract(hdr.first_ue_word);
    pkt.advance(96);
    pkt.extract(hdr.first_ue_local);
    pkt.extract(hdr.first_generation_high);
    pkt.extract(hdr.first_generation_low);
    pkt.advance(16);
    pkt.extract(hdr.record_flags);
    pkt.advance(232);
    // Numbers of accounts and meters.
    pkt.advance(64);
#ifndef XPLANE_WALK
    pkt.extract(hdr.budget_high);
    pkt.advance(32);
    pkt.extract(hdr.idle_high);
    pkt.advance(32);
#endif
    pkt.extract(hdr.loaded);
    meta.kind = KIND_FRONT;
    meta.ue_word = hdr.first_ue_word.word;
    transition select(hdr.first_ue_head.word) {
        HEAD_TUNNEL: front_of_tunnel;
        default: front_of_address;
    }
}

state front_of_tunnel {
    meta.key_kind = KEY_TUNNEL;
    transition accept;
}

state front_of_address {
    meta.key_kind = KEY_ADDRESS;
    transition accept;
}

state header_alone {
    pkt.extract(hdr.aeth);
    pkt.extract(hdr.first_ue_head);
    pkt.extract(hdr.first_ue_word);
    meta.kind = KIND_HEADER;
    meta.ue_word = hdr.first_ue_word.word;
    transition select(hdr.first_ue_head.word) {
        HEAD_TUNNEL: front_of_tunnel;
        default: front_of_address;
    }
}

#define EXTRACT_ENTRY(name) \
    pkt.extract(hdr.name##_generation_high); \
    pkt.extract(hdr.name##_generation_low); \
    pkt.extract(hdr.name##_ue_head); \
    pkt.extract(hdr.name##_ue_word); \
    pkt.advance(96); \
    pkt.extract(hdr.name##_ue_local); \
    pkt.extract(hdr.name##_flags); \
    pkt.extract(hdr.name##_protocol); \
    pkt.extract(hdr.name##_dscp); \
    pkt.extract(hdr.name##_qfi); \
    pkt.extract(hdr.name##_src_port); \
    pkt.extract(hdr.name##_dst_port); \
    pkt.advance(96); \
    pkt.extract(hdr.name##_src); \
    pkt.advance(96); \
    pkt.extract(hdr.name##_dst); \
    pkt.advance(64); \
    pkt.extract(hdr.name##_has_rule); \
    pkt.extract(hdr.name##_account); \
    pkt.extract(hdr.name##_meters); \
    pkt.advance(16); \
    pkt.extract(hdr.name##_kind); \
    pkt.extract(hdr.name##_action_flags); \
    pkt.extract(hdr.name##_max_payload); \
    pkt.extract(hdr.name##_local); \
    pkt.extract(hdr.name##_tos); \
    pkt.extract(hdr.name##_is_ipv6); \
    pkt.advance(96); \
    pkt.extract(hdr.name##_peer); \
    pkt.extract(hdr.name##_peer_port); \
    pkt.extract(hdr.name##_header_length); \
    pkt.advance(32); \
    pkt.extract(hdr.name##_teid); \
    pkt.extract(hdr.name##_options); \
    pkt.extract(hdr.name##_container); \
    pkt.advance(248);

state bucket {
    pkt.extract(hdr.aeth);
#ifdef XPLANE_WALK
    meta.kind = KIND_BUCKET;
#endif
    EXTRACT_ENTRY(first)
    EXTRACT_ENTRY(second)
    pkt.extract(hdr.tag);
    meta.qfi = hdr.tag.qfi;
    meta.ue_word = hdr.tag.word;
#ifdef XPLANE_WALK
    meta.mark = hdr.tag.network;
#endif
    transition select(hdr.tag.kind) {
        1: of_tunnel;
        default: of_address;
    }
}

state of_tunnel {
    meta.key_kind = KEY_TUNNEL;
    transition stored_packet;
}

state of_address {
    meta.key_kind = KEY_ADDRESS;
    transition stored_packet;
}

// The switch has stored none but these.
state stored_packet {
    whole_ipv4_h front = pkt.lookahead<whole_ipv4_h>();
    transition select(front.version_ihl, front.fragment) {
        (0x45, 0 &&& 0x3fff): stored_size;
        default: damaged;
    }
}

state stored_size {
    whole_ipv4_h front = pkt.lookahead<whole_ipv4_h>();
    transition select(front.length) {
        0 &&& 0xffe0: damaged;
        0 &&& 0xf800: stored_user;
        default: damaged;
    }
}

state stored_user {
    pkt.extract(hdr.user_ipv4);
    XPLANE_CHECK_USER
    meta.protocol = hdr.user_ipv4.protocol;
    meta.tos = hdr.user_ipv4.tos;
    meta.src = hdr.user_ipv4.src;
    meta.dst = hdr.user_ipv4.dst;
    meta.size = hdr.user_ipv4.length;
    transition select(hdr.user_ipv4.protocol) {
        PROTOCOL_TCP: stored_with_ports;
        PROTOCOL_UDP: stored_with_ports;
        default: stored_without_ports;
    }
}

state stored_with_ports {
    pkt.extract(hdr.ports);
#ifndef XPLANE_WALK
    meta.kind = KIND_BUCKET;
#endif
    meta.flags = 5;
    meta.src_port = hdr.ports.src;
    meta.dst_port = hdr.ports.dst;
    transition XPLANE_REST_BEHIND_PORTS;
}

state stored_without_ports {
#ifndef XPLANE_WALK
    meta.kind = KIND_BUCKET;
#endif
    meta.flags = 1;
    transition XPLANE_REST;
}

state damaged {
    meta.kind = KIND_OTHER;
    meta.outcome = OUTCOME_DAMAGED;
    transition accept;
}

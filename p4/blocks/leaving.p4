// A software data plane behind the switch, on ports of its own: what the switch does not forward itself goes to the port that is linked to the
// frame's, as it came, so that the software sees what it would see without the switch (`crates/dataplane/switch/src/model/upf/leave.rs` is the
// same in the model). Such a packet is not counted, and takes no tokens of a meter. The switch drops only what is above a rate. Frames of the
// software leave by the port that is linked to theirs, as they came.
//
// A frame leaves as it came by a mirroring session: 256 and the number of the port. Frames of ports without a link, as the CPU's, are as without
// the software.

control SoftwarePorts(inout metadata_t meta) {
    action leave(bit<16> session) {
        meta.link = 1;
        meta.linked_session = session;
    }

    action pass_through(bit<16> session) {
        meta.link = 2;
        meta.linked_session = session;
    }

    @id(123)
    table software_ports {
        key = { meta.ingress_port : exact @name("ingress_port"); }
        actions = { leave; pass_through; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_SOFTWARE_PORTS;
    }

    apply {
        software_ports.apply();
    }
}

// Longer packets are for the software, which makes fragments. A row for each way to forward says the longest packet and one more; without it all
// packets leave.
control PacketLimit(inout metadata_t meta) {
    action limit_to(bit<16> octets) {
        meta.octets_allowed = octets;
    }

    @id(122)
    table packet_limits {
        key = { meta.forward : exact @name("forward"); }
        actions = { limit_to; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 4;
    }

    apply {
        packet_limits.apply();
        // Zero if there are too many.
        meta.octets_allowed = meta.octets_allowed |-| meta.length;
    }
}

#ifdef FIREWALL
#define ANY_OF_UNDECIDED , _
#define LEAVING_UNDECIDED 1
#else
#define ANY_OF_UNDECIDED
#define LEAVING_UNDECIDED 0
#endif

// What the firewall denies stays, and is dropped here, if the switch would forward it.
control Leaving(inout metadata_t meta) {
    @hidden
    action stay() {}

    @hidden
    action go_as_it_came() {
        meta.leaves = 1;
    }

    @hidden
    table leaving {
        key = {
            meta.link : ternary;
            meta.is_cut_short : ternary;
            meta.has_user_packet : ternary;
            meta.is_tunnelled : ternary;
            meta.is_spoofed : ternary;
            meta.is_congested : ternary;
            meta.drop_reason : ternary;
            meta.forward : ternary;
            meta.is_expired : ternary;
            meta.bad_checksum : ternary;
            meta.closed : ternary;
            meta.is_answered : ternary;
            meta.has_no_route : ternary;
            meta.notify : ternary;
            meta.octets_allowed : ternary;
            meta.is_armed : ternary;
            meta.armed_passes[0:0] : ternary;
#ifdef FIREWALL
            meta.is_undecided : ternary;
#endif
        }
        actions = { stay; go_as_it_came; }
        const default_action = go_as_it_came();
        const entries = {
            // link, cut, user, tunnel, spoof, ecn, reason, forward, expired, checksum, closed, answered, no route, notify, octets, armed, passes
            (0, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _ ANY_OF_UNDECIDED) : stay();
            (2, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _ ANY_OF_UNDECIDED) : go_as_it_came();
#ifdef FIREWALL
            (_, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, 1) : go_as_it_came();
#endif
            (_, _, _, _, _, _, _, _, _, _, _, _, _, _, 0, _, _ ANY_OF_UNDECIDED) : go_as_it_came();
            (_, _, _, _, _, _, _, _, _, _, _, _, _, _, _, 1, 0 ANY_OF_UNDECIDED) : go_as_it_came();
            (_, 0, 1, _, 0, 0, (DropReason)0, (Forward)1, 0, false, 0, 0, 0, 0, _, _, _ ANY_OF_UNDECIDED) : stay();
            (_, 0, 1, _, 0, 0, (DropReason)0, (Forward)2, 0, false, _, _, 0, 0, _, _, _ ANY_OF_UNDECIDED) : stay();
            (_, 0, 1, 1, 0, 0, (DropReason)0, (Forward)2, _, false, _, _, 0, 0, _, _, _ ANY_OF_UNDECIDED) : stay();
        }
        size = 7 + LEAVING_UNDECIDED;
    }

    apply {
        leaving.apply();
    }
}

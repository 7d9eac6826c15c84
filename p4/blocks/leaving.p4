// A software data plane behind the switch: what the switch does not forward itself goes there as it came, so that the software sees what it would
// see without the switch (`crates/dataplane/switch/src/model/upf/leave.rs` is the same in the model). Such a packet is not counted, and takes no
// tokens of a meter. The switch drops only what is above a rate.
//
// Frames of the control plane are as without the software.

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

control Leaving(inout metadata_t meta) {
    @hidden
    action stay() {}

    @hidden
    action leave() {
        meta.leaves = 1;
    }

    @hidden
    table leaving {
        key = {
            meta.command : ternary;
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
            meta.has_no_route : ternary;
            meta.notify : ternary;
            meta.octets_allowed : ternary;
            meta.is_armed : ternary;
            meta.armed_passes[0:0] : ternary;
        }
        actions = { stay; leave; }
        const default_action = leave();
        const entries = {
            // command, cut, user, tunnel, spoof, ecn, reason, forward, expired, checksum, closed, no route, notify, octets, armed, passes
            ((CpuCommand)1, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _) : stay();
            ((CpuCommand)2, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _) : stay();
            ((CpuCommand)3, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _) : stay();
            (_, _, _, _, _, _, (DropReason)15, _, _, _, _, _, _, _, _, _) : stay();
            (_, _, _, _, _, _, _, _, _, _, _, _, _, 0, _, _) : leave();
            (_, _, _, _, _, _, _, _, _, _, _, _, _, _, 1, 0) : leave();
            (_, 0, 1, _, 0, 0, (DropReason)0, (Forward)1, 0, false, 0, 0, 0, _, _, _) : stay();
            (_, 0, 1, _, 0, 0, (DropReason)0, (Forward)2, 0, false, _, 0, 0, _, _, _) : stay();
            (_, 0, 1, 1, 0, 0, (DropReason)0, (Forward)2, _, false, _, 0, 0, _, _, _) : stay();
        }
        size = 9;
    }

    apply {
        leaving.apply();
    }
}

// Whether the packet is dropped, and why: one table over all that the other blocks have found, first row first. So no block has to
// wait for another's reason, and each packet has one.

// What rows say that ask nothing of the blocks that not every build has, and how many rows there are.
#ifdef VXLAN
#define ANY_OF_VXLAN , _, _, _
#define VERDICTS_OF_VXLAN 4
#else
#define ANY_OF_VXLAN
#define VERDICTS_OF_VXLAN 0
#endif
#ifdef FIREWALL
#define ANY_OF_FIREWALL , _
#define VERDICTS_OF_FIREWALL 2
#else
#define ANY_OF_FIREWALL
#define VERDICTS_OF_FIREWALL 0
#endif
#define ANY_OPTION ANY_OF_VXLAN ANY_OF_FIREWALL
#define VERDICTS (36 + VERDICTS_OF_VXLAN + VERDICTS_OF_FIREWALL)

control Verdict(inout metadata_t meta TARGET_PARAMS) {
    @id(90)
    COUNTER(drops, DROP_REASONS, bit<8>)

    @hidden
    action go_on() {}

    @hidden
    action drop_as(bit<8> reason) {
        meta.drop_reason = (DropReason)reason;
        COUNT(drops, bit<8>, reason)
        DROP_PACKET
    }

    // A packet that was asked about has a rule, or it is unknown; ARP, signalling and the like are not asked about.
    @hidden
    table verdict {
        key = {
            meta.is_cut_short : ternary;
            meta.has_outer_udp : ternary;
            meta.is_tunnelled : ternary;
            meta.has_user_packet : ternary;
            meta.command : ternary;
            meta.drop_reason : ternary;
            meta.is_spoofed : ternary;
            meta.is_congested : ternary;
            meta.rule : ternary;
            meta.color : ternary;
            meta.forward : ternary;
            meta.bad_checksum : ternary;
            meta.has_no_route : ternary;
            meta.closed : ternary;
#ifdef VXLAN
            meta.is_unknown_segment : ternary;
            meta.segment : ternary;
            meta.segment_left : ternary;
#endif
#ifdef FIREWALL
            meta.is_denied : ternary;
#endif
        }
        actions = { go_on; drop_as; }
        const default_action = go_on();
        const entries = {
            // Numbers of contract/reasons.p4; the compiler takes no names here.
            // The parser's reasons are those of frames without a user packet, and come first; a rule's come behind what is wrong with the packet.
            // cut, udp, tun, user, command, reason, spoof, ecn, rule, color, forward, checksum, no route, closed
            (1, 1, 0, _, _, _, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(1);
            (1, _, _, _, _, _, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(4);
            (_, _, _, 0, _, (DropReason)1, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(1);
            (_, _, _, 0, _, (DropReason)2, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(2);
            (_, _, _, 0, _, (DropReason)3, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(3);
            (_, _, _, 0, _, (DropReason)4, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(4);
            (_, _, _, 0, _, (DropReason)5, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(5);
            (_, _, _, 0, _, (DropReason)6, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(6);
#ifdef VXLAN
            (_, _, _, 0, _, (DropReason)23, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(23);
            (_, _, _, _, _, _, _, _, _, _, _, _, _, _, 1, _, _ ANY_OF_FIREWALL) : drop_as(22);
#endif
            (_, _, _, 0, _, (DropReason)15, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(15);
            (_, _, _, _, _, _, 1, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(8);
            (_, _, _, _, _, _, _, 1, _, _, _, _, _, _ ANY_OPTION) : drop_as(12);
            (_, _, 1, _, _, _, _, _, 0, _, _, _, _, _ ANY_OPTION) : drop_as(6);
            (_, _, _, 1, _, _, _, _, 0, _, _, _, _, _ ANY_OPTION) : drop_as(7);
#ifdef FIREWALL
            (_, _, 1, _, _, _, _, _, _, _, _, _, _, _ ANY_OF_VXLAN, 1) : drop_as(20);
            (_, _, _, _, _, _, _, _, _, _, _, _, _, _ ANY_OF_VXLAN, 1) : drop_as(21);
#endif
            (_, _, _, _, _, _, _, _, _, _, (Forward)1, false, _, 1 ANY_OPTION) : drop_as(17);
            (_, _, _, _, _, _, _, _, _, _, (Forward)1, false, _, 2 ANY_OPTION) : drop_as(18);
            (_, _, _, _, _, _, _, _, _, _, (Forward)1, false, _, 3 ANY_OPTION) : drop_as(19);
            (_, _, _, _, _, _, _, _, _, METER_RED, _, _, _, _ ANY_OPTION) : drop_as(11);
            (_, _, _, _, _, (DropReason)1, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(1);
            (_, _, _, _, _, (DropReason)2, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(2);
            (_, _, _, _, _, (DropReason)3, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(3);
            (_, _, _, _, _, (DropReason)4, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(4);
            (_, _, _, _, _, (DropReason)5, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(5);
            (_, _, _, _, _, (DropReason)6, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(6);
            (_, _, _, _, _, (DropReason)7, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(7);
            (_, _, _, _, _, (DropReason)8, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(8);
            (_, _, _, _, _, (DropReason)9, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(9);
            (_, _, _, _, _, (DropReason)10, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(10);
            (_, _, _, _, _, (DropReason)11, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(11);
            (_, _, _, _, _, (DropReason)12, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(12);
            (_, _, _, _, _, (DropReason)13, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(13);
            (_, _, _, _, _, (DropReason)14, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(14);
            (_, _, _, _, _, (DropReason)15, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(15);
            (_, _, _, _, _, (DropReason)16, _, _, _, _, _, _, _, _ ANY_OPTION) : drop_as(16);
            (_, _, 0, _, _, _, _, _, _, _, (Forward)2, true, _, _ ANY_OPTION) : drop_as(4);
            (_, _, _, _, _, _, _, _, _, _, (Forward)1, true, _, _ ANY_OPTION) : drop_as(4);
            (_, _, _, _, _, _, _, _, _, _, _, _, 1, _ ANY_OPTION) : drop_as(13);
#ifdef VXLAN
            (_, _, _, _, _, _, _, _, _, _, _, _, _, _, _, 0, _ ANY_OF_FIREWALL) : go_on();
            (_, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, 0 ANY_OF_FIREWALL) : drop_as(24);
#endif
        }
        size = VERDICTS;
    }

    apply {
        verdict.apply();
    }
}

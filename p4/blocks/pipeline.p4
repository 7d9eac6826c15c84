// The ingress side of the UPF, from the blocks. It decides; each main then tells its target what remains: `meta.notify` for a copy
// to the CPU port, and the header of frames to it.
//
// Blocks stand side by side as far as they can: what one finds out is a field that later ones look at, and no block stands
// inside a condition on another's result but for the rule's. A target with stages places them beside each other then.

// The packet is whole, its source is its UE's, and its mark of congestion has been kept: its rule is for it.
#ifdef VXLAN
#define IS_OF_SEGMENT && meta.is_unknown_segment == 0
#else
#define IS_OF_SEGMENT
#endif
#ifdef FIREWALL
#define IS_PERMITTED && meta.is_denied == 0
#else
#define IS_PERMITTED
#endif
#define IS_UNHARMED meta.is_cut_short == 0 && meta.is_spoofed == 0 && meta.is_congested == 0 IS_OF_SEGMENT
#define IS_SOUND (IS_UNHARMED IS_PERMITTED)
// With software behind the switch it must be known of a packet that the firewall denies, too, whether the switch would forward it.
#ifdef SOFTWARE_PORTS
#define HAS_FORWARDING (IS_UNHARMED)
#else
#define HAS_FORWARDING IS_SOUND
#endif

#include "../contract/reasons.p4"
#include "../contract/sizes.p4"
#include "rules.p4"
#ifdef PROFILE_THESIS
#include "ue_gnb.p4"
#endif
#include "source_guard.p4"
#include "congestion.p4"
#include "vxlan.p4"
#include "firewall.p4"
#include "forwarding.p4"
#if defined(PROFILE_DIRECT)
#include "pdr_direct.p4"
#include "filter_classes.p4"
#include "pdr_filters.p4"
#elif defined(PROFILE_BASELINE) || defined(PROFILE_RED)
#include "pdr_unsplit.p4"
#elif defined(PROFILE_THESIS)
#include "pdr_tenants.p4"
#elif defined(APPLICATION_DETECTION)
#include "pdr_applications.p4"
#else
#include "pdr_split.p4"
#endif
#include "metering.p4"
#include "queueing.p4"
#if defined(PROFILE_DIRECT)
#include "accounting_direct.p4"
#else
#include "accounting.p4"
#endif
#include "rewrite.p4"
#include "routing.p4"
#include "closed.p4"
#include "cpu_port.p4"
#include "verdict.p4"
#ifdef SOFTWARE_PORTS
#include "armed.p4"
#include "leaving.p4"
#define STAYS (meta.leaves == 0)
#else
#define STAYS true
#endif

control UpfIngress(inout headers_t hdr, inout metadata_t meta TARGET_PARAMS) {
    CpuCommands() commands;
    SourceDifference() difference;
    SourceGuard() source;
    Congestion() congestion;
    UserPacket() user_packet;
#ifdef PROFILE_DIRECT
    SessionIndex() sessions;
    CounterIndex() counter_index;
    Counted() counted;
    SessionMetering() session_metering;
    FilterMatching() filters;
    RuleMatching() rules;
    PreQosRules() pre_qos_rules;
#else
    PdrMatching() pdr;
#endif
#ifndef RULES_APART
    Forwarding() forwarding;
#endif
    Metering() metering;
    PreQosAccounting() pre_qos;
    Rewrite() rewrite;
    Routing() routing;
    ClosedAddresses() closed;
    Queueing() queueing;
    Punting() punting;
    Verdict() verdict;
#ifdef VXLAN
    VxlanRemoval() vxlan_removal;
    UnderlayCongestion() underlay_congestion;
    FlowPort() flow_port;
    VxlanAddition() vxlan_addition;
#endif
#ifdef FIREWALL
    Firewall() firewall;
#endif
#ifdef SOFTWARE_PORTS
    SoftwarePorts() software;
    ArmedRules() armed;
    PacketLimit() packet_limit;
    Leaving() leaving;
#endif

    apply {
#ifdef VXLAN
        vxlan_removal.apply(hdr, meta);
        underlay_congestion.apply(hdr, meta);
        flow_port.apply(hdr, meta);
#endif
#ifdef PROFILE_DIRECT
        if (hdr.cpu.isValid()) {
            commands.apply(hdr, meta TARGET_ARGUMENTS);
        }
        difference.apply(hdr, meta);
        sessions.apply(hdr, meta);
        counter_index.apply(meta);
        filters.apply(hdr, meta);
#else
        difference.apply(hdr, meta);
        if (meta.has_user_packet == 1) {
            pdr.apply(hdr, meta);
        }
        // Behind the rules, whose entries may write the same fields, and would wait. Nothing else comes of that: a command that is
        // refused or routes has no user packet, so no rule.
        if (hdr.cpu.isValid()) {
            commands.apply(hdr, meta TARGET_ARGUMENTS);
        }
#endif
        // Asked only now, because the large tables that find the rule take the first stages.
        if (meta.is_tunnelled == 1) {
            source.apply(hdr, meta);
            congestion.apply(hdr, meta);
        }
#ifdef FIREWALL
        firewall.apply(hdr, meta);
#endif
#ifdef VXLAN
        if (meta.has_user_packet == 1) {
            TAKE_SEGMENT_AWAY
        }
#endif
        user_packet.apply(hdr, meta);
        closed.apply(hdr, meta);
#ifdef PROFILE_DIRECT
        // What is counted is said by the entry, too, and not by what is found out of it: that would take a stage more.
        if (meta.is_tunnelled == 1) {
            if (IS_OF_GENERATION && UL_TEMPLATE != 0 && UL_TEMPLATE != UL_CLASSIFIED) {
                if (IS_OF_FLOW) {
                    meta.is_simple = 1;
                }
            }
        } else if (DL_TEMPLATE != 0 && DL_TEMPLATE != DL_CLASSIFIED) {
            meta.is_simple = 1;
        }
        counted.apply(meta);
        if (meta.meter != 0) {
            meta.has_meter = 1;
        }
        // Each of these is by itself: counters stand where there is room, from here on.
        pre_qos.apply(meta);
        session_metering.apply(meta);
#ifdef RULES_APART
        // With the templates of simple rules.
        rules.apply(hdr, meta);
#else
        if (IS_SIMPLE) {
            if (IS_SOUND) {
                forwarding.apply(meta);
            }
        } else {
            rules.apply(hdr, meta);
        }
#endif
#if SIZE_SESSION_METERS_BEHIND > 0
        if (IS_SIMPLE && meta.meter[15:13] == 3) {
            meta.rule_meter = meta.meter & 0x1fff;
        }
#endif
        if (IS_SOUND) {
            metering.apply(meta);
        }
        pre_qos_rules.apply(meta);
#else
        if (HAS_FORWARDING) {
            forwarding.apply(meta);
        }
#ifdef SOFTWARE_PORTS
        software.apply(meta);
        armed.apply(meta);
        packet_limit.apply(meta);
#else
        if (IS_SOUND && STAYS) {
            metering.apply(meta);
        }
#endif
#endif
#ifdef PROFILE_DIRECT
        if (meta.command != CpuCommand.SEND) {
            queueing.apply(meta TARGET_ARGUMENTS);
        }
        rewrite.apply(hdr, meta);
        routing.apply(hdr, meta TARGET_ARGUMENTS);
#ifdef VXLAN
        vxlan_addition.apply(hdr, meta TARGET_ARGUMENTS);
#endif
        if (meta.punt != PuntReason.NONE) {
            punting.apply(meta TARGET_ARGUMENTS);
        }
#else
        rewrite.apply(hdr, meta);
        routing.apply(hdr, meta TARGET_ARGUMENTS);
#ifdef VXLAN
        vxlan_addition.apply(hdr, meta TARGET_ARGUMENTS);
#endif
#ifdef SOFTWARE_PORTS
        leaving.apply(meta);
        if (IS_SOUND && STAYS) {
            metering.apply(meta);
        }
#endif
        // Either says the queue: neither waits for the other then.
        if (meta.punt != PuntReason.NONE) {
            punting.apply(meta TARGET_ARGUMENTS);
        } else if (meta.command != CpuCommand.SEND) {
            queueing.apply(meta TARGET_ARGUMENTS);
        }
#endif
#ifdef SOFTWARE_PORTS
        if (meta.leaves == 1) {
            DROP_PACKET
        } else
#endif
        verdict.apply(meta TARGET_ARGUMENTS);
#ifndef PROFILE_DIRECT
        if (IS_SOUND && STAYS) {
            pre_qos.apply(meta.rule);
        }
#endif
    }
}

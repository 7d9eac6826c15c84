// The ingress side of the UPF, from the blocks. It decides; each main then tells its target: `meta.drop_reason`, else
// `meta.egress_port` and `meta.queue`, and `meta.notify` for a copy to the CPU port.

#include "../contract/reasons.p4"
#include "../contract/sizes.p4"
#include "source_guard.p4"
#include "congestion.p4"
#include "rules.p4"
#if defined(PROFILE_DIRECT)
#include "pdr_direct.p4"
#elif defined(PROFILE_BASELINE) || defined(PROFILE_RED)
#include "pdr_unsplit.p4"
#else
#include "pdr_split.p4"
#endif
#include "forwarding.p4"
#include "metering.p4"
#include "queueing.p4"
#if defined(PROFILE_DIRECT)
#include "accounting_direct.p4"
#else
#include "accounting.p4"
#endif
#include "rewrite.p4"
#include "routing.p4"
#include "cpu_port.p4"

control UpfIngress(inout headers_t hdr, inout metadata_t meta) {
    CpuCommands() commands;
    SourceGuard() source;
    Congestion() congestion;
    PdrMatching() pdr;
    Forwarding() forwarding;
    Metering() metering;
    PreQosAccounting() pre_qos;
    Rewrite() rewrite;
    Routing() routing;
    Queueing() queueing;
    Punting() punting;

    @id(90)
    COUNTER(drops, DROP_REASONS, bit<8>)

    apply {
        if (hdr.cpu.isValid()) {
            commands.apply(hdr, meta);
        }
        if (meta.drop_reason == DropReason.NONE && meta.punt == PuntReason.NONE
            && (meta.command == CpuCommand.NONE || meta.command == CpuCommand.PROCESS)) {
            if (meta.is_tunnelled == 1) {
                source.apply(hdr, meta);
                congestion.apply(hdr, meta);
            }
            pdr.apply(hdr, meta);
            if (meta.is_spoofed == 1) {
                meta.drop_reason = DropReason.SPOOFED_SOURCE;
            } else if (meta.is_congested == 1) {
                meta.drop_reason = DropReason.CONGESTED;
            } else {
                forwarding.apply(meta);
#ifdef PROFILE_DIRECT
                // Rules of the other profiles that do not forward have neither a meter nor entries for accounting.
                if (meta.forward != Forward.NONE)
#endif
                {
                    pre_qos.apply(meta.rule);
                    metering.apply(meta);
                }
            }
            if (meta.drop_reason == DropReason.NONE) {
                rewrite.apply(hdr, meta);
            }
        }
        if (meta.drop_reason == DropReason.NONE) {
            if (meta.punt != PuntReason.NONE) {
                punting.apply(meta);
            } else if (meta.command != CpuCommand.SEND) {
                queueing.apply(meta);
                routing.apply(hdr, meta);
            }
        }
        if (meta.drop_reason != DropReason.NONE) {
            COUNT(drops, bit<8>, (bit<8>)meta.drop_reason)
        }
    }
}

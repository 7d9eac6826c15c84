// The UPF for BMv2's simple_switch: the blocks on v1model.

#include <core.p4>
#include <v1model.p4>
#include "target.p4"
#include "../contract/sizes.p4"
#include "../blocks/headers.p4"
#include "../blocks/pipeline.p4"
#ifdef HEAVY_HITTERS
#define HEAVY_OWNER metadata_t
#include "../blocks/heavy_hitter.p4"
#endif
#ifdef APPLICATION_CLASSES
#define CLASS_OWNER metadata_t
#include "../blocks/application_classes.p4"
#endif

// The mirroring session whose port is CPU_PORT: the control plane configures it.
const bit<32> CPU_SESSION = 1;
const bit<32> INSTANCE_INGRESS_CLONE = 1;
#if defined(HEAVY_HITTERS) || defined(APPLICATION_CLASSES)
const bit<32> INSTANCE_EGRESS_CLONE = 2;
// Of a copy that says that a rule has become heavy, or a class: Ethernet and the header of the CPU port.
const bit<32> EVENT_OCTETS = 24;
#endif

#ifdef VXLAN
#define OF_TENANT , meta.tenant
#else
#define OF_TENANT
#endif

parser UpfParser(
    packet_in pkt, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata
) {
#include "../blocks/parser.p4"

    state start {
        meta.ingress_port = standard_metadata.ingress_port;
        transition frame;
    }
}

control UpfVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(
            hdr.inner_ipv4.isValid(),
            {
                hdr.inner_ipv4.version, hdr.inner_ipv4.ihl, hdr.inner_ipv4.dscp, hdr.inner_ipv4.ecn, hdr.inner_ipv4.length,
                hdr.inner_ipv4.identification, hdr.inner_ipv4.flags, hdr.inner_ipv4.fragment_offset, hdr.inner_ipv4.ttl,
                hdr.inner_ipv4.protocol, hdr.inner_ipv4.src, hdr.inner_ipv4.dst, hdr.inner_ipv4_options.options
            },
            hdr.inner_ipv4.checksum, HashAlgorithm.csum16
        );
    }
}

control UpfIngressMain(
    inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata
) {
    UpfIngress() upf;
#ifdef APPLICATION_CLASSES
    ClassWindow() class_window;
#endif

    apply {
        meta.bad_checksum = standard_metadata.checksum_error == 1;
        if (standard_metadata.parser_error != error.NoError) {
            meta.is_cut_short = 1;
        }
#ifdef SOFTWARE_PORTS
        meta.time = TIME;
#endif
#ifdef APPLICATION_CLASSES
        class_window.apply(NANOSECONDS, meta.class_window);
#endif
        upf.apply(hdr, meta, standard_metadata);
#ifdef APPLICATION_CLASSES
        meta.class_parts = CLASS_PARTS(meta.length);
#endif
#ifdef SOFTWARE_PORTS
        if (meta.leaves == 1) {
            clone_preserving_field_list(CloneType.I2E, (bit<32>)meta.linked_session, 1);
        } else
#endif
        if (meta.notify == 1 && meta.is_cut_short == 0 IS_PERMITTED) {
            clone_preserving_field_list(CloneType.I2E, CPU_SESSION, 1);
        }
        // simple_switch has eight queues where it has any: the upper bits choose.
        standard_metadata.priority = meta.queue[4:2];
    }
}

control UpfEgressMain(
    inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata
) {
    PostQosAccounting() post_qos;
    QueueCounting() queues;
    PushCpuHeader() push;
#ifdef HEAVY_HITTERS
    PushHeavyHitter() push_heavy;
    HeavyHitters() heavy;
#endif
#ifdef APPLICATION_CLASSES
    PushApplicationClass() push_class;
    ApplicationClasses() classes;
#endif

    apply {
        bit<1> is_original = 1;
#ifdef APPLICATION_CLASSES
        bit<1> is_class_counted = 0;
#endif
#ifdef HEAVY_HITTERS
        bit<1> is_second = 0;
        bit<1> second_way = 0;
        bit<1> is_counted = 0;
#endif
        if (standard_metadata.instance_type == INSTANCE_INGRESS_CLONE) {
            is_original = 0;
            // A copy is the frame as it came: what is wrong in it stays so.
            meta.bad_checksum = true;
        }
#ifdef SOFTWARE_PORTS
        if (is_original == 0 && meta.leaves == 1) {
            // As it came.
        } else
#endif
#ifdef HEAVY_HITTERS
        if (standard_metadata.instance_type == INSTANCE_EGRESS_CLONE) {
            if (meta.heavy_copy == HEAVY_EVENT) {
                push_heavy.apply(hdr.ethernet, hdr.cpu, meta.heavy_units, meta.rule);
                truncate(EVENT_OCTETS);
            } else {
                // A second pass has done then what it is for.
                is_second = 1;
                is_counted = 1;
                if (meta.heavy_copy == HEAVY_SECOND_1) {
                    second_way = 1;
                }
                mark_to_drop(standard_metadata);
            }
        } else
#endif
#ifdef APPLICATION_CLASSES
        if (standard_metadata.instance_type == INSTANCE_EGRESS_CLONE) {
            push_class.apply(hdr.ethernet, hdr.cpu, (bit<16>)meta.class_now, meta.rule);
            truncate(EVENT_OCTETS);
        } else
#endif
        if (is_original == 0 || meta.punt != PuntReason.NONE) {
            push.apply(hdr.ethernet, hdr.cpu, meta.punt, is_original, meta.ingress_port, meta.rule OF_TENANT);
        } else {
            // The control plane chose the queue of a frame for SEND itself.
            if (meta.command != CpuCommand.SEND) {
                queues.apply(meta.queue);
            }
#ifdef PROFILE_DIRECT
            post_qos.apply(meta.rule, meta.is_counted == 1 ? meta.post_qos_bank : 0, meta.post_qos_cell);
#else
            post_qos.apply(meta.rule);
#endif
#ifdef HEAVY_HITTERS
            if (meta.rule != 0) {
                is_counted = 1;
            }
#endif
#ifdef APPLICATION_CLASSES
            if (meta.rule != 0) {
                is_class_counted = 1;
            }
#endif
        }
#ifdef APPLICATION_CLASSES
        bit<3> has_class_changed = 0;
        classes.apply(meta, (bit<32>)meta.rule, is_class_counted, has_class_changed);
        if (has_class_changed == 1) {
            clone_preserving_field_list(CloneType.E2E, CPU_SESSION, 1);
        }
#endif
#ifdef HEAVY_HITTERS
        bit<3> copies = 0;
        EGRESS_CLOCK_READ(clock, meta.heavy_time_0)
        meta.heavy_weight = 1;
        heavy.apply(meta, (bit<32>)meta.rule, is_counted, is_second, second_way, copies);
        if (copies == 1) {
            clone_preserving_field_list(CloneType.E2E, CPU_SESSION, 1);
        }
#endif
    }
}

control UpfComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        // What came in a tunnel and goes to the CPU port has the checksum that it came with.
        update_checksum(
            hdr.outer_ipv4.isValid() && (meta.forward == Forward.ENCAPSULATE || meta.command == CpuCommand.ROUTE),
            {
                hdr.outer_ipv4.version, hdr.outer_ipv4.ihl, hdr.outer_ipv4.dscp, hdr.outer_ipv4.ecn, hdr.outer_ipv4.length,
                hdr.outer_ipv4.identification, hdr.outer_ipv4.flags, hdr.outer_ipv4.fragment_offset, hdr.outer_ipv4.ttl,
                hdr.outer_ipv4.protocol, hdr.outer_ipv4.src, hdr.outer_ipv4.dst
            },
            hdr.outer_ipv4.checksum, HashAlgorithm.csum16
        );
#if defined(VXLAN) && !defined(UNDERLAY_IPV6)
        update_checksum(
            hdr.underlay_ipv4.isValid() && meta.segment != 0,
            {
                hdr.underlay_ipv4.version, hdr.underlay_ipv4.ihl, hdr.underlay_ipv4.dscp, hdr.underlay_ipv4.ecn, hdr.underlay_ipv4.length,
                hdr.underlay_ipv4.identification, hdr.underlay_ipv4.flags, hdr.underlay_ipv4.fragment_offset, hdr.underlay_ipv4.ttl,
                hdr.underlay_ipv4.protocol, hdr.underlay_ipv4.src, hdr.underlay_ipv4.dst
            },
            hdr.underlay_ipv4.checksum, HashAlgorithm.csum16
        );
#endif
        update_checksum(
            hdr.inner_ipv4.isValid() && !meta.bad_checksum,
            {
                hdr.inner_ipv4.version, hdr.inner_ipv4.ihl, hdr.inner_ipv4.dscp, hdr.inner_ipv4.ecn, hdr.inner_ipv4.length,
                hdr.inner_ipv4.identification, hdr.inner_ipv4.flags, hdr.inner_ipv4.fragment_offset, hdr.inner_ipv4.ttl,
                hdr.inner_ipv4.protocol, hdr.inner_ipv4.src, hdr.inner_ipv4.dst, hdr.inner_ipv4_options.options
            },
            hdr.inner_ipv4.checksum, HashAlgorithm.csum16
        );
    }
}

control UpfDeparser(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr);
    }
}

V1Switch(
    UpfParser(), UpfVerifyChecksum(), UpfIngressMain(), UpfEgressMain(), UpfComputeChecksum(), UpfDeparser()
) main;

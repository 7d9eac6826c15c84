// Profile `thesis`: packets of UEs and to them, by the tables of UEs and gNBs. No session has rules of its own: what is metered and counted is a tenant in a
// direction, whose number is the PDR_ID: 256 and the tenant's for packets of UEs, 512 and the tenant's for those to UEs. The meter of the former has the same number, that
// of the latter the tenant's.
//
// Uplink there is nothing to look up but the tenant, which the source guard says by the TEID (source_guard.p4). As in the thesis, a row of five fields says
// the QoS flow of a packet, for its queue and, to UEs, for the PDU Session Container; where no row matches it is that of the packet's own container, or 0.

#ifndef VXLAN
#error "profile thesis is for VXLAN"
#endif

control PdrMatching(inout headers_t hdr, inout metadata_t meta) {
    UeTunnels() ue_tunnels;
#if UE_METHOD != 1
    GnbAddresses() gnb_addresses;
#endif

    action set_flow(qfi_t qfi) {
        meta.qfi_out = qfi;
    }

    @id(31)
    table flows {
        key = {
            hdr.inner_ipv4.src : ternary @name("source_address");
            hdr.inner_ipv4.dst : ternary @name("destination_address");
            hdr.inner_ipv4.protocol : ternary @name("protocol");
            hdr.ports.src : ternary @name("source_port");
            hdr.ports.dst : ternary @name("destination_port");
            meta.has_ports : ternary @name("has_ports");
        }
        actions = { set_flow; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_FLOWS;
    }

    apply {
        flows.apply();
        if (meta.is_tunnelled == 0) {
            ue_tunnels.apply(hdr, meta);
#if UE_METHOD != 1
            gnb_addresses.apply(meta.gnb, meta.tunnel);
#endif
        }
    }
}

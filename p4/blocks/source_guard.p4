// Uplink packets come from their UE's address.
//
// The UPF chooses TEIDs: that of a UE in the pool 10.45.0.0/16 has the last 16 bits of its address. One row for each pool then
// says for all its UEs what the PDI's UE IP address says for each: the source is in the pool, the TEID is of the pool, and the
// last bits are equal, that is, their difference is zero there. TEIDs without a UE address (N9 downlink) have a row that only
// names them. What no row is for is dropped: an empty guard lets nothing out of a tunnel.

// With VXLAN the row says the tenant, too: that of the TEIDs, which says where a packet is routed.

// What a profile without uplink rules does with the packet of a tenant.
#ifndef UPLINK_OF_TENANT
#define UPLINK_OF_TENANT
#endif

// What the table is asked takes a stage before it, so it stands apart, in front of all else.
control SourceDifference(in headers_t hdr, inout metadata_t meta) {
    apply {
#ifdef INNER_IPV6
        if (hdr.inner_ipv6.isValid()) {
            meta.source_difference = hdr.inner_ipv6.src[87:64] ^ meta.teid_in[23:0];
        } else
#endif
        {
            meta.source_difference = hdr.inner_ipv4.src[23:0] ^ meta.teid_in[23:0];
        }
    }
}

control SourceGuard(inout headers_t hdr, inout metadata_t meta) {
#ifdef VXLAN
    // TEIDs of a row are of one tenant.
    action pass(tenant_t tenant) {
        meta.tenant = tenant;
        UPLINK_OF_TENANT
    }
#else
    action pass() {}
#endif

    action refuse() {
        meta.is_spoofed = 1;
    }

    @id(1)
    table source_guard {
        key = {
            meta.teid_in[23:0] : ternary @name("teid");
            hdr.inner_ipv4.src : ternary @name("source");
            meta.source_difference : ternary @name("difference");
        }
        actions = { pass; @defaultonly refuse; }
        const default_action = refuse();
        size = SIZE_SOURCE_GUARD;
    }

#ifdef INNER_IPV6
    @id(2)
    table source_guard_ipv6 {
        key = {
            meta.teid_in[23:0] : ternary @name("teid");
            hdr.inner_ipv6.src[127:64] : ternary @name("source");
            meta.source_difference : ternary @name("difference");
        }
        actions = { pass; @defaultonly refuse; }
        const default_action = refuse();
        size = SIZE_SOURCE_GUARD;
    }
#endif

    apply {
        if (hdr.inner_ipv4.isValid()) {
            source_guard.apply();
        }
#ifdef INNER_IPV6
        else if (hdr.inner_ipv6.isValid()) {
            source_guard_ipv6.apply();
        }
#endif
    }
}

// What the outer header says of congestion goes into the user packet before the tunnel is taken away (RFC 6040 clause 4.2).

control Congestion(inout headers_t hdr, inout metadata_t meta) {
    bit<2> outer = 0;
    bit<2> inner = 0;

    action keep() {}

    action set_ipv4(bit<2> ecn) {
        hdr.inner_ipv4.ecn = ecn;
    }

    action lost() {
        meta.is_congested = 1;
    }

    @hidden
    table ecn_ipv4 {
        key = { outer : exact; inner : exact; }
        actions = { keep; set_ipv4; lost; }
        const default_action = keep();
        const entries = {
            (3, 0) : lost();
            (3, 1) : set_ipv4(3);
            (3, 2) : set_ipv4(3);
            (1, 2) : set_ipv4(1);
        }
        size = 4;
    }

#ifdef INNER_IPV6
    action set_ipv6(bit<2> ecn) {
        hdr.inner_ipv6.ecn = ecn;
    }

    @hidden
    table ecn_ipv6 {
        key = { outer : exact; inner : exact; }
        actions = { keep; set_ipv6; lost; }
        const default_action = keep();
        const entries = {
            (3, 0) : lost();
            (3, 1) : set_ipv6(3);
            (3, 2) : set_ipv6(3);
            (1, 2) : set_ipv6(1);
        }
        size = 4;
    }
#endif

    apply {
        if (hdr.outer_ipv4.isValid()) {
            outer = hdr.outer_ipv4.ecn;
        }
#ifdef OUTER_IPV6
        if (hdr.outer_ipv6.isValid()) {
            outer = hdr.outer_ipv6.ecn;
        }
#endif
        if (hdr.inner_ipv4.isValid()) {
            inner = hdr.inner_ipv4.ecn;
            ecn_ipv4.apply();
        }
#ifdef INNER_IPV6
        else if (hdr.inner_ipv6.isValid()) {
            inner = hdr.inner_ipv6.ecn;
            ecn_ipv6.apply();
        }
#endif
    }
}

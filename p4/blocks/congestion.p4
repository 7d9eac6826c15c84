// What the outer header says of congestion goes into the user packet before the tunnel is taken away (RFC 6040 clause 4.2).

#ifdef OUTER_IPV6
#define OUTER_ECN hdr.outer_ipv6.first_word[21:20]
#else
#define OUTER_ECN hdr.outer_ipv4.ecn
#endif

// By the outer mark and that of the packet inside.
#define ECN_TABLE(name, outer, inner, keep, set, lost) \
    @hidden \
    table name { \
        key = { outer : exact; inner : exact; } \
        actions = { keep; set; lost; } \
        const default_action = keep(); \
        const entries = { \
            (3, 0) : lost(); \
            (3, 1) : set(3); \
            (3, 2) : set(3); \
            (1, 2) : set(1); \
        } \
        size = 4; \
    }

control Congestion(inout headers_t hdr, inout metadata_t meta) {
    action keep() {}

    action lost() {
        meta.is_congested = 1;
    }

    action set_ipv4(bit<2> ecn) {
        hdr.inner_ipv4.ecn = ecn;
    }

    ECN_TABLE(ecn_ipv4, OUTER_ECN, hdr.inner_ipv4.ecn, keep, set_ipv4, lost)

#ifdef INNER_IPV6
    action set_ipv6(bit<2> ecn) {
        hdr.inner_ipv6.ecn = ecn;
    }

    ECN_TABLE(ecn_ipv6, OUTER_ECN, hdr.inner_ipv6.ecn, keep, set_ipv6, lost)
#endif

    apply {
        if (hdr.inner_ipv4.isValid()) {
            ecn_ipv4.apply();
        }
#ifdef INNER_IPV6
        else if (hdr.inner_ipv6.isValid()) {
            ecn_ipv6.apply();
        }
#endif
    }
}

// Which class a packet is of, for profile `direct`: filters that all sessions share, each held once (pdr_filters.p4). Programs with FILTERS_PER_SESSION ask
// for none.

#ifdef INNER_IPV6
#define IS_IPV4_KEY hdr.inner_ipv4.isValid() : exact @name("is_ipv4");
#else
#define IS_IPV4_KEY
#endif

control FilterMatching(inout headers_t hdr, inout metadata_t meta) {
#ifdef FILTERS_PER_SESSION
    apply {}
#else
    action set_class(bit<12> filter_class) {
        meta.filter_class = filter_class;
    }

    @id(27)
    PLACE_filters_ul
    table filters_ul {
        key = {
            IS_IPV4_KEY
            FILTER_KEYS_IPV4(hdr.inner_ipv4.dst)
        }
        actions = { set_class; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_FILTERS;
    }

    @id(28)
    PLACE_filters_dl
    table filters_dl {
        key = {
            IS_IPV4_KEY
            FILTER_KEYS_IPV4(hdr.inner_ipv4.src)
        }
        actions = { set_class; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_FILTERS;
    }

#ifdef INNER_IPV6
    @id(33)
    table filters_ul_ipv6 {
        key = {
            hdr.inner_ipv6.isValid() : exact @name("is_ipv6");
            FILTER_KEYS_IPV6(hdr.inner_ipv6.dst)
        }
        actions = { set_class; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_IPV6_COMPLEX;
    }

    @id(34)
    table filters_dl_ipv6 {
        key = {
            hdr.inner_ipv6.isValid() : exact @name("is_ipv6");
            FILTER_KEYS_IPV6(hdr.inner_ipv6.src)
        }
        actions = { set_class; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_IPV6_COMPLEX;
    }
#endif

    apply {
        if (meta.is_tunnelled == 1) {
            if (filters_ul.apply().miss) {
#ifdef INNER_IPV6
                filters_ul_ipv6.apply();
#endif
            }
        } else {
            if (filters_dl.apply().miss) {
#ifdef INNER_IPV6
                filters_dl_ipv6.apply();
#endif
            }
        }
    }
#endif
}

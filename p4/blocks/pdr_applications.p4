// PDR matching without rules of their own filters: profile `hip4` built with APPLICATION_DETECTION, the variant that HiP4-UPF
// section 6.1 compares with SD-Fabric. No table for rules with filters, and none for N9.
//
// The operator's applications are classified once for all UEs: rows over the other end's address, protocol and port give
// a number of four bits, 0 where no row matches. It is a part of the key of each rule: a UE has a row for each application
// that its rules tell apart, and precedence is that of the applications' rows.

control PdrMatching(inout headers_t hdr, inout metadata_t meta) {
    action set_rule(rule_t rule) {
        meta.rule = rule;
    }

    action set_rule_and_tunnel(rule_t rule, teid_t teid) {
        meta.rule = rule;
        meta.teid_out = teid;
    }

    action set_application(application_t application) {
        meta.application = application;
    }

#define APPLICATION_TABLE(name_, valid_, remote_, protocol_, port_, entries_) \
    table name_ { \
        key = { \
            valid_ : exact @name("is_user_packet"); \
            remote_ : ternary @name("remote_address"); \
            protocol_ : ternary @name("protocol"); \
            port_ : ternary @name("remote_port"); \
            meta.has_ports : ternary @name("has_ports"); \
        } \
        actions = { set_application; @defaultonly NoAction; } \
        const default_action = NoAction(); \
        size = entries_; \
    }

#define IPV4_VALID hdr.inner_ipv4.isValid()
#define IPV4_PROTOCOL hdr.inner_ipv4.protocol

    @id(34)
    APPLICATION_TABLE(ul_applications, IPV4_VALID, hdr.inner_ipv4.dst, IPV4_PROTOCOL, hdr.ports.dst, SIZE_APPLICATIONS)

    @id(35)
    APPLICATION_TABLE(dl_applications, IPV4_VALID, hdr.inner_ipv4.src, IPV4_PROTOCOL, hdr.ports.src, SIZE_APPLICATIONS)

    @id(22)
    table ul_to_n6_simple {
        key = {
            TUNNEL_KEYS
            meta.application : exact @name("application");
        }
        actions = { set_rule; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_N6_SIMPLE;
    }

    @id(26)
    table dl_from_n6_simple {
        key = {
            hdr.inner_ipv4.dst : exact @name("ue_address");
            meta.application : exact @name("application");
        }
        actions = { set_rule_and_tunnel; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_N6_SIMPLE;
    }

#ifdef INNER_IPV6
#define IPV6_VALID hdr.inner_ipv6.isValid()
#define IPV6_PROTOCOL hdr.inner_ipv6.next_header

    @id(36)
    APPLICATION_TABLE(ul_applications_ipv6, IPV6_VALID, hdr.inner_ipv6.dst, IPV6_PROTOCOL, hdr.ports.dst, SIZE_APPLICATIONS)

    @id(37)
    APPLICATION_TABLE(dl_applications_ipv6, IPV6_VALID, hdr.inner_ipv6.src, IPV6_PROTOCOL, hdr.ports.src, SIZE_APPLICATIONS)

    @id(33)
    table dl_from_n6_simple_ipv6 {
        key = {
            hdr.inner_ipv6.dst[127:64] : exact @name("ue_prefix");
            meta.application : exact @name("application");
        }
        actions = { set_rule_and_tunnel; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIZE_IPV6_SIMPLE;
    }
#endif

    apply {
        if (meta.is_tunnelled == 1) {
#ifdef INNER_IPV6
            if (hdr.inner_ipv6.isValid()) {
                ul_applications_ipv6.apply();
            } else
#endif
            {
                ul_applications.apply();
            }
            ul_to_n6_simple.apply();
        } else if (hdr.inner_ipv4.isValid()) {
            dl_applications.apply();
            dl_from_n6_simple.apply();
        }
#ifdef INNER_IPV6
        else if (hdr.inner_ipv6.isValid()) {
            dl_applications_ipv6.apply();
            dl_from_n6_simple_ipv6.apply();
        }
#endif
    }
}

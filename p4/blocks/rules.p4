// What a match means, for all profiles: macros for actions, because P4 has no other way to share them between controls.
//
// `meta.rule` is the PDR_ID; it alone is carried to the egress side, where it keys accounting.

#ifndef CAUSEWAY_RULES
#define CAUSEWAY_RULES

#ifdef PROFILE_DIRECT
#define ENTRY_GENERATION meta.entry[15:12]
#define UL_TEMPLATE meta.entry[11:6]
#define DL_TEMPLATE meta.entry[15:6]
#define ENTRY_QFI meta.entry[5:0]
#endif

#ifdef OUTER_IPV6
#define META_DSCP meta.first_word[27:22]
#define META_ECN meta.first_word[21:20]
#else
#define META_DSCP meta.dscp
#define META_ECN meta.ecn
#endif

// Keys of a table for rules with filters. The UE's own address is no key where the tunnel names the UE already: the source guard
// has held it against the TEID.
#define FILTER_KEYS_IPV4(remote) \
    remote : ternary @name("remote_address"); \
    hdr.inner_ipv4.protocol : ternary @name("protocol"); \
    hdr.inner_ipv4.dscp : ternary @name("dscp"); \
    hdr.ports.src : ternary @name("source_port"); \
    hdr.ports.dst : ternary @name("destination_port"); \
    meta.has_ports : ternary @name("has_ports");

#define FILTER_KEYS_IPV6(remote) \
    remote : ternary @name("remote_address"); \
    hdr.inner_ipv6.next_header : ternary @name("protocol"); \
    hdr.inner_ipv6.dscp : ternary @name("dscp"); \
    hdr.ports.src : ternary @name("source_port"); \
    hdr.ports.dst : ternary @name("destination_port"); \
    meta.has_ports : ternary @name("has_ports");

#define TUNNEL_KEYS \
    meta.teid_in[23:0] : exact @name("teid"); \
    meta.qfi_in : exact @name("qfi");

#define TUNNEL_KEYS_TERNARY \
    meta.teid_in[23:0] : exact @name("teid"); \
    meta.qfi_in : ternary @name("qfi");

// A UE's address is one in its tenant.
#ifdef VXLAN
#define TENANT_KEY meta.tenant : exact @name("tenant");
#else
#define TENANT_KEY
#endif

// The parts of a forwarding decision, wherever a profile keeps them.
#define DO_DECAPSULATE(mark_, dscp_, notify_) \
    meta.forward = Forward.DECAPSULATE; \
    meta.mark_dscp = mark_; \
    META_DSCP = dscp_; \
    meta.notify = notify_;

#ifdef OUTER_IPV6
#define PUT_VERSION meta.first_word[31:28] = 6;
#else
#define PUT_VERSION
#endif

// For encapsulation the DSCP is that of the outer header.
#define DO_ENCAPSULATE(tunnel_, qfi_, pdu_type_, dscp_, notify_) \
    meta.forward = Forward.ENCAPSULATE; \
    meta.tunnel = tunnel_; \
    meta.qfi_out = qfi_; \
    meta.pdu_type = pdu_type_; \
    PUT_VERSION \
    META_DSCP = dscp_; \
    meta.notify = notify_;

#ifdef PROFILE_THESIS
// The rule of a tenant in a direction, which is its meter, too.
#define UPLINK_OF_TENANT \
    meta.rule = 16w1 ++ tenant; \
    meta.meter = 8w1 ++ tenant; \
    meta.forward = Forward.DECAPSULATE;
#define DOWNLINK_OF_TENANT \
    meta.rule = 16w2 ++ meta.tenant; \
    meta.meter = 8w0 ++ meta.tenant; \
    meta.forward = Forward.ENCAPSULATE;
#endif

#define DO_BUFFER(notify_) \
    meta.buffer = 1; \
    meta.notify = notify_;

#define DO_DROP(reason_, notify_) \
    meta.drop_reason = reason_; \
    meta.notify = notify_;

#endif

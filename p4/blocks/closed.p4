// Addresses that UEs do not reach: those of the UPF and of its machine, and those that no other machine has. The control plane writes them
// as prefixes, and above them what is reached all the same, such as pings to a gateway.
//
// It is asked of every user packet, and the verdict looks at it where the packet leaves to a data network: so nothing waits for it.

control ClosedAddresses(in headers_t hdr, inout metadata_t meta) {
#ifdef SOFTWARE_PORTS
    // The software answers there, not a host behind the switch.
    action let_pass() {
        meta.is_answered = 1;
    }
#define NOT_CLOSED NoAction
#define DEFAULT_NOT_CLOSED @defaultonly NoAction;
#else
    action let_pass() {}
#define NOT_CLOSED let_pass
#define DEFAULT_NOT_CLOSED
#endif

    action close(DropReason reason) {
        meta.closed = ((bit<8>)reason)[1:0];
    }

    @id(75)
    table closed {
        key = {
            hdr.inner_ipv4.dst : ternary @name("destination");
            hdr.inner_ipv4.protocol : ternary @name("protocol");
        }
        actions = { close; let_pass; DEFAULT_NOT_CLOSED }
        const default_action = NOT_CLOSED();
        size = SIZE_CLOSED;
    }

#ifdef INNER_IPV6
    @id(76)
    table closed_ipv6 {
        key = {
            hdr.inner_ipv6.dst : ternary @name("destination");
            hdr.inner_ipv6.next_header : ternary @name("protocol");
        }
        actions = { close; let_pass; DEFAULT_NOT_CLOSED }
        const default_action = NOT_CLOSED();
        size = SIZE_CLOSED;
    }
#endif

    apply {
        if (hdr.inner_ipv4.isValid()) {
            closed.apply();
        }
#ifdef INNER_IPV6
        else if (hdr.inner_ipv6.isValid()) {
            closed_ipv6.apply();
        }
#endif
    }
}

// The CPU port and the software UPF's port: what their frames ask for, and the header of those sent there (`cpu_h`).

// Commands of the control plane and the software UPF.
control CpuCommands(inout headers_t hdr, inout metadata_t meta) {
    action process() {
        hdr.ethernet.ether_type = hdr.cpu.ether_type;
        hdr.cpu.setInvalid();
    }

    action route() {
        meta.forward = Forward.ENCAPSULATE;
        hdr.ethernet.ether_type = hdr.cpu.ether_type;
#ifdef OUTER_IPV6
        meta.tunnel = hdr.outer_ipv6.dst;
#else
        meta.tunnel = hdr.outer_ipv4.dst;
#endif
        hdr.cpu.setInvalid();
    }

    action send() {
        meta.egress_port = hdr.cpu.port[8:0];
        meta.queue = hdr.cpu.queue[4:0];
        hdr.ethernet.ether_type = hdr.cpu.ether_type;
        hdr.cpu.setInvalid();
    }

    action refuse() {
        meta.drop_reason = DropReason.BAD_COMMAND;
    }

    @id(80)
    table cpu_commands {
        key = { meta.command : exact @name("command"); }
        actions = { process; route; send; @defaultonly refuse; }
        const default_action = refuse();
        const entries = {
            (CpuCommand)1 : process();
            (CpuCommand)2 : route();
            (CpuCommand)3 : send();
        }
        size = 3;
    }

    apply {
        cpu_commands.apply();
    }
}

// Where what is not forwarded goes: the CPU port, but buffered packets to the software UPF's.
control Punting(inout metadata_t meta) {
    action to_port(bit<9> port, queue_t queue) {
        meta.egress_port = port;
        meta.queue = queue;
    }

    @id(81)
    table punt_ports {
        key = { meta.punt : exact @name("reason"); }
        actions = { to_port; }
        default_action = to_port(CPU_PORT, 0);
        size = 8;
    }

    apply {
        punt_ports.apply();
    }
}

// The header in front of what leaves by those ports; `is_copy` where the original went its own way.
control PushCpuHeader(
    inout ethernet_h ethernet, inout cpu_h cpu, in PuntReason punt, in bit<1> is_copy, in bit<9> ingress_port, in rule_t rule
) {
    apply {
        cpu.setValid();
        cpu.ether_type = ethernet.ether_type;
        ethernet.ether_type = ETHERTYPE_CPU;
        cpu.port = (bit<16>)ingress_port;
        cpu.queue = 0;
        cpu.rule = rule;
        if (is_copy == 1) {
            cpu.code = (bit<8>)PuntReason.NOTIFY;
            cpu.flags = 1;
        } else {
            cpu.code = (bit<8>)punt;
            cpu.flags = 0;
        }
    }
}

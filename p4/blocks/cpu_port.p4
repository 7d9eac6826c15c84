// The CPU port and the software UPF's port: what their frames ask for, and the header of those sent there (`cpu_h`).

// Commands of the control plane and the software UPF.
control CpuCommands(inout headers_t hdr, inout metadata_t meta TARGET_PARAMS) {
    action process() {
        hdr.ethernet.ether_type = hdr.cpu.ether_type;
        hdr.cpu.setInvalid();
    }

    action route() {
        hdr.ethernet.ether_type = hdr.cpu.ether_type;
#ifdef OUTER_IPV6
        meta.tunnel = hdr.outer_ipv6.dst;
#else
        meta.tunnel = hdr.outer_ipv4.dst;
#endif
        hdr.cpu.setInvalid();
    }

    action send() {
        EGRESS_PORT = hdr.cpu.port[8:0];
        QUEUE = hdr.cpu.queue[4:0];
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
control Punting(inout metadata_t meta TARGET_PARAMS) {
    action to_port(bit<9> port, queue_t queue) {
        EGRESS_PORT = port;
        QUEUE = queue;
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

// The header in front of what leaves by those ports; `is_original` is 0 for a copy, whose original went its own way.
#ifdef VXLAN
#define IN_TENANT , in tenant_t tenant
#define CPU_TENANT tenant
#else
#define IN_TENANT
#define CPU_TENANT 0
#endif
control PushCpuHeader(
    inout ethernet_h ethernet, inout cpu_h cpu, in PuntReason punt, in bit<1> is_original, in bit<9> ingress_port, in rule_word_t rule
    IN_TENANT
) {
    apply {
        // The copy of a frame that came with this header has it already.
        if (!cpu.isValid()) {
            cpu.setValid();
            cpu.ether_type = ethernet.ether_type;
            ethernet.ether_type = ETHERTYPE_CPU;
        }
        cpu.port = (bit<16>)ingress_port;
        cpu.queue = CPU_TENANT;
        cpu.rule = (rule_t)rule;
        if (is_original == 0) {
            cpu.code = (bit<8>)PuntReason.NOTIFY;
            cpu.flags = 1;
        } else {
            cpu.code = (bit<8>)punt;
            cpu.flags = 0;
        }
    }
}

#ifdef HEAVY_HITTERS
// The header in front of the copy that says that a rule has become heavy.
control PushHeavyHitter(inout ethernet_h ethernet, inout cpu_h cpu, in bit<16> units, in rule_word_t rule) {
    apply {
        cpu.setValid();
        cpu.ether_type = ethernet.ether_type;
        ethernet.ether_type = ETHERTYPE_CPU;
        cpu.code = (bit<8>)PuntReason.HEAVY_HITTER;
        cpu.flags = 1;
        cpu.port = units;
        cpu.queue = 0;
        cpu.rule = (rule_t)rule;
    }
}
#endif

#ifdef APPLICATION_CLASSES
// The header in front of the copy that says that the session of a rule has another class.
control PushApplicationClass(inout ethernet_h ethernet, inout cpu_h cpu, in bit<16> class, in rule_word_t rule) {
    apply {
        cpu.setValid();
        cpu.ether_type = ethernet.ether_type;
        ethernet.ether_type = ETHERTYPE_CPU;
        cpu.code = (bit<8>)PuntReason.APPLICATION_CLASS;
        cpu.flags = 1;
        cpu.port = class;
        cpu.queue = 0;
        cpu.rule = (rule_t)rule;
    }
}
#endif

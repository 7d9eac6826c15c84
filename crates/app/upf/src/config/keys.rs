//! Every key of the configuration, for people.

/// A key that a file may contain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key {
    /// Its place; `[]` stands for an item of a list.
    pub path: &'static str,
    /// What it has when it is not given.
    pub default: &'static str,
    /// What it is.
    pub summary: &'static str,
}

const fn key(path: &'static str, default: &'static str, summary: &'static str) -> Key {
    Key { path, default, summary }
}

/// Every key that a file may contain, groups left out, in the order of the sample file.
pub const KEYS: &[Key] = &[
    key("logger.level", "info", "error, warn, info, debug or trace"),
    key("logger.format", "text", "text for people, json for machines"),
    key("upf.node_id", "the first N4 address", "PFCP Node ID: an address or a host name"),
    key("upf.max_sessions", "100000", "PFCP sessions at the same time"),
    key("upf.max_pdrs_per_session", "64", "PDRs in one session"),
    key(
        "upf.memory",
        "detect",
        "memory of the process, for example 2GiB; detect: what cgroups, ulimit and machine allow",
    ),
    key("upf.max_macs_per_session", "256", "MAC addresses behind one Ethernet session"),
    key("upf.pfcp.server[].address", "127.0.0.7", "N4 address, IPv4 or IPv6"),
    key("upf.pfcp.server[].dev", "none", "interface whose addresses to use instead of `address`"),
    key("upf.pfcp.server[].port", "8805", "UDP port of N4"),
    key(
        "upf.pfcp.accept_from",
        "auto",
        "interfaces by which N4 is heard, with commas between them; auto: that of the address, and this machine; any",
    ),
    key("upf.pfcp.client.smf[].address", "none", "SMF to associate with unasked"),
    key("upf.pfcp.client.smf[].port", "8805", "UDP port of that SMF"),
    key("upf.pfcp.heartbeat.interval", "10s", "time between heartbeats to an SMF; 0 sends none"),
    key("upf.pfcp.heartbeat.timeout", "3s", "wait for the answer to a heartbeat"),
    key("upf.pfcp.heartbeat.retries", "3", "repetitions before the SMF counts as unreachable"),
    key("upf.pfcp.retransmission.timeout", "1s", "T1: first wait for an answer, doubled at each repetition"),
    key("upf.pfcp.retransmission.retries", "3", "N1: repetitions of a request"),
    key("upf.pfcp.association_retry", "10s", "wait after an association that was asked for in vain"),
    key("upf.pfcp.release_timeout", "5s", "wait for association releases when stopping"),
    key("upf.pfcp.path_failure", "keep", "keep or purge the sessions of an unreachable SMF"),
    key("upf.pfcp.request_port", "standard", "standard: requests go to 8805; learnt: to the port of the SMF"),
    key(
        "upf.pfcp.load_control",
        "on",
        "on or off: SMFs that support load control are told how full the UPF is",
    ),
    key(
        "upf.pfcp.overload_control",
        "off",
        "on or off: SMFs that support overload control are asked to send less when N4 is nearly full",
    ),
    key(
        "upf.pfcp.overload_mark",
        "80",
        "how full N4 may be before it counts as overloaded, percent, 1 to 99",
    ),
    key("upf.pfcp.overload_validity", "60s", "how long an SMF is to heed what it was told of an overload"),
    key(
        "upf.pfcp.allow",
        "connected networks",
        "hosts and prefixes that may set up associations, with commas between them, beside client.smf and smf; default: \
         loopback and the networks of the interface with the N4 address",
    ),
    key("upf.pfcp.smf[].node_id", "none", "Node ID that only the SMF at `address` may use"),
    key("upf.pfcp.smf[].address", "none", "addresses and prefixes of that SMF, with commas between them"),
    key("upf.pfcp.smf[].set", "none", "SMF set that it belongs to; SMFs without this key belong to none"),
    key("upf.pfcp.max_associations", "64", "SMFs at the same time"),
    key(
        "upf.gtpu.mode",
        "udp",
        "udp: kernel sockets; af_xdp: AF_XDP sockets on `dev`; tpacket: packet rings on `dev`",
    ),
    key("upf.gtpu.server[].address", "127.0.0.7", "N3 and N9 address, IPv4 or IPv6"),
    key(
        "upf.gtpu.server[].dev",
        "none",
        "interface whose addresses to use, or, in modes af_xdp and tpacket, to run on",
    ),
    key("upf.gtpu.server[].port", "2152", "UDP port of GTP-U"),
    key("upf.gtpu.server[].network_instance", "all", "network instance that the address serves"),
    key("upf.gtpu.server[].mtu", "that of its interface", "largest outer packet that is sent"),
    key(
        "upf.gtpu.server[].fragment",
        "false",
        "true: fragment outer packets above the MTU, not those inside",
    ),
    key(
        "upf.gtpu.accept_from",
        "auto",
        "interfaces by which N3 is heard in mode udp, with commas between them; auto: that of the address, and this machine; any",
    ),
    key("upf.gtpu.echo.interval", "0s", "time between Echo Requests to a GTP-U peer, from 60s; 0 sends none"),
    key("upf.gtpu.echo.timeout", "5s", "T3: wait for the answer to an Echo Request"),
    key("upf.gtpu.echo.retries", "3", "repetitions before SMFs are told that the path is down"),
    key("upf.session[].subnet", "10.45.0.0/16", "UE address pool"),
    key(
        "upf.session[].mode",
        "tun",
        "tun: a TUN device; af_xdp: AF_XDP sockets on the Ethernet interface `dev`",
    ),
    key("upf.session[].gateway", "none", "our address on the TUN device, inside the subnet"),
    key("upf.session[].dnn", "internet", "data network, also its network instance"),
    key("upf.session[].dev", "causeway0", "TUN device, created when missing; the interface of mode af_xdp"),
    key("upf.session[].mtu", "1400", "MTU of the TUN device, or largest packet sent in mode af_xdp"),
    key("upf.session[].ue_pool", "the subnet", "part of the subnet that the UPF gives out on request (UEIP)"),
    key("upf.session[].pool_identity", "none", "UE IP address Pool Identity by which SMFs choose the pool"),
    key(
        "upf.session[].framed_routes",
        "none",
        "prefixes beside the subnet that framed routes may lie in, with commas between them",
    ),
    key("upf.framed_routes.table", "8805", "routing table of the kernel that framed routes are kept in"),
    key("upf.framed_routes.max", "16384", "framed routes of all sessions"),
    key("upf.framed_routes.max_per_smf", "8192", "framed routes of the sessions of one SMF"),
    key("upf.framed_routes.max_per_session", "64", "framed routes of one session"),
    key("upf.ue_address_rest", "60s", "rest of a UE address that was given out before it is given out again"),
    key("upf.ethernet[].dnn", "none", "Ethernet data network, also its network instance"),
    key("upf.ethernet[].dev", "causeway-eth0", "TAP device, created when missing"),
    key("upf.ethernet[].bridge", "none", "bridge that the TAP device becomes a port of"),
    key("upf.ethernet[].mtu", "1400", "MTU of the TAP device"),
    key("upf.ethernet[].unknown_stations", "drop", "drop or flood frames to stations that no session has"),
    key("upf.n6_tunnel[].dnn", "internet", "data network of tunnels that end at the UPF"),
    key("upf.n6_tunnel[].address", "none", "address of our end, routed to the TUN device"),
    key("upf.n6_tunnel[].port", "5555", "UDP port of our end"),
    key("upf.forwarding_policy[].name", "none", "Forwarding Policy Identifier that SMFs send"),
    key("upf.forwarding_policy[].drop", "false", "the traffic is dropped"),
    key("upf.forwarding_policy[].dnn", "none", "data network that the traffic leaves to"),
    key("upf.forwarding_policy[].dscp", "none", "DSCP that its packets are marked with"),
    key(
        "upf.forwarding_policy[].redirect",
        "none",
        "URL for HTTP, or address and port, that uplink traffic is redirected to",
    ),
    key(
        "upf.host.addresses",
        "all",
        "addresses of this machine that UEs do not reach: all, or those that are configured",
    ),
    key(
        "upf.host.open",
        "none",
        "addresses and prefixes of this machine that UEs reach all the same, with commas between them",
    ),
    key(
        "upf.offload",
        "true",
        "the kernel joins and cuts packets of one flow on N3, N4 and N6, where it can",
    ),
    key(
        "upf.dataplane",
        "fastpath",
        "fastpath; reference: slow, to compare with; switch: a P4 switch, or a model of one",
    ),
    key(
        "upf.switch.address",
        "none",
        "host:port of the switch's P4Runtime server; without it a model of a switch in this process, slow, to try",
    ),
    key("upf.switch.device_id", "1", "the switch's id there"),
    key("upf.switch.election_id", "1", "ours: of several controllers the one with the highest may write"),
    key("upf.switch.p4info", "none", "file: the P4Info of the switch's program, in text form"),
    key(
        "upf.switch.device_config",
        "none",
        "file: what the compiler made for the switch; without it the switch has its program already",
    ),
    key("upf.switch.copy_session", "none", "clone session by which copies go to the CPU port; 1 with BMv2"),
    key("upf.switch.cpu_port", "510", "CPU port of the switch, for that session"),
    key(
        "upf.switch.read_interval",
        "100ms",
        "from one reading of the switch's counters to the next, at least",
    ),
    key(
        "upf.switch.counts_as_received",
        "false",
        "its counters count octets of frames as they were received, as BMv2's do",
    ),
    key("upf.switch.route[].to", "none", "prefix of gNBs, or of hosts of the data network"),
    key("upf.switch.route[].of", "network", "network, or tunnels: to gNBs and other UPFs"),
    key("upf.switch.route[].port", "none", "port of the switch by which they leave"),
    key("upf.switch.route[].mac", "none", "MAC address of the switch at that port"),
    key("upf.switch.route[].next_hop", "none", "MAC address of the router or host behind it"),
    key(
        "upf.workers.count",
        "1",
        "packet threads, each with its own sessions, or auto; more than 1 need mode udp or af_xdp",
    ),
    key("upf.workers.pin", "any", "cores that packet threads run on, one for each, with commas between them"),
    key("upf.workers.busy_poll", "false", "true: packet threads never sleep and take a core each"),
    key("upf.routing.decrement_ttl", "true", "packets lose one hop between N3 and N6"),
    key(
        "upf.routing.router_advertisement",
        "false",
        "answer Router Solicitations that the SMF does not ask for",
    ),
    key("upf.routing.icmp_errors_per_second", "1000", "ICMP errors to all senders together"),
    key("upf.buffering.packets_per_session", "256", "packets that may wait for one idle UE"),
    key("upf.buffering.octets_per_session", "1MiB", "octets that may wait for one idle UE"),
    key("upf.buffering.packets", "1048576", "packets that may wait in all"),
    key("upf.buffering.memory", "256MiB", "octets that may wait in all"),
    key(
        "upf.buffering.time",
        "300s",
        "how long a packet may wait unless the SMF asks for longer; 0 for ever",
    ),
    key("upf.buffering.when_full", "drop_newest", "drop_newest or drop_oldest packet when there is no room"),
    key("upf.buffering.notify_again", "0s", "when an SMF is told again of an idle UE's packets; 0 never"),
    key("upf.applications[].id", "none", "Application ID; items of one id are PFDs of one application"),
    key("upf.applications[].flow", "none", "flow description that a packet must fit"),
    key("upf.applications[].url", "none", "URL of plain HTTP or an expression, that its flow must show"),
    key("upf.applications[].domain", "none", "domain name or an expression, that its flow must show"),
    key("upf.applications[].domain_protocol", "any", "where the domain name must be: any, dns or tls"),
    key("upf.predefined_rules[].name", "none", "predefined rule; items of one name are a group"),
    key("upf.predefined_rules[].flow", "none", "flow description that a packet must fit"),
    key("upf.predefined_rules[].application", "none", "Application ID that a packet must be of"),
    key("upf.qos.averaging_window", "5ms", "what may come at once after a pause, as time at the full rate"),
    key("upf.qos.slice[].sst", "none", "Slice/Service Type of a limited network slice"),
    key("upf.qos.slice[].sd", "none", "Slice Differentiator, six hexadecimal digits"),
    key("upf.qos.slice[].uplink", "none", "bit rate from all UEs of the slice"),
    key("upf.qos.slice[].downlink", "none", "bit rate towards all UEs of the slice"),
    key("upf.metrics.server[].address", "127.0.0.1", "address of /metrics, /healthz and /api"),
    key("upf.metrics.server[].port", "9090", "TCP port of /metrics, /healthz and /api"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::document;
    use super::super::origin::Origins;
    use super::super::section::Reader;
    use super::*;

    /// Every list with one item, so that the reader looks into each.
    const LISTS: &str = "{upf: {pfcp: {server: [{}], smf: [{}], client: {smf: [{}]}}, gtpu: {server: [{}]}, \
                         session: [{}], ethernet: [{}], n6_tunnel: [{}], forwarding_policy: [{}], applications: [{}], predefined_rules: [{}], \
                         switch: {route: [{}]}, qos: {slice: [{}]}, metrics: {server: [{}]}}}";

    // Input:  a file in which every list has an item.
    // Output: the keys that the reader asks for are the documented ones, no more and no fewer.
    #[test]
    fn the_documented_keys_are_those_that_are_read() {
        let reader = Reader::new(Origins::new(None));
        reader.root(&document::parse(LISTS).unwrap(), super::super::decode::config);
        let asked = reader.asked.into_inner();
        let is_group = |key: &str| {
            asked.iter().any(|other| {
                other.strip_prefix(key).is_some_and(|rest| rest.starts_with('.') || rest.starts_with("[]"))
            })
        };
        let read: BTreeSet<&str> = asked.iter().map(String::as_str).filter(|key| !is_group(key)).collect();
        let documented: BTreeSet<&str> = KEYS.iter().map(|key| key.path).collect();
        assert_eq!(read, documented);
    }
}

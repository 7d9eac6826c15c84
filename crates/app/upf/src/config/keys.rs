//! The table of all configuration keys, with defaults and summaries.

/// A key that a file may contain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Key {
    /// The path of the key; `[]` stands for an item of a list.
    pub path: &'static str,
    /// The default value, in words.
    pub default: &'static str,
    /// The help text.
    pub summary: &'static str,
    /// A reload changes it while the UPF runs; otherwise it takes effect at the next start.
    #[serde(rename = "reload")]
    pub live: bool,
}

const fn key(path: &'static str, default: &'static str, summary: &'static str) -> Key {
    Key { path, default, summary, live: false }
}

const fn live(path: &'static str, default: &'static str, summary: &'static str) -> Key {
    Key { path, default, summary, live: true }
}

/// Every key that a file may contain, without groups, in the order of the sample file.
pub const KEYS: &[Key] = &[
    live("logger.level", "info", "error, warn, info, debug or trace"),
    key("logger.format", "text", "text, or json with one object for each line"),
    key("upf.node_id", "the first N4 address", "PFCP Node ID: an address or a host name"),
    key("upf.max_sessions", "100000", "maximum number of PFCP sessions"),
    key("upf.max_pdrs_per_session", "64", "maximum number of PDRs in one session"),
    key(
        "upf.memory",
        "detect",
        "memory limit of the process, for example 2GiB; detect: the limits of cgroups, ulimit and host",
    ),
    key("upf.max_macs_per_session", "256", "maximum number of MAC addresses behind one Ethernet session"),
    key(
        "upf.interface_timeout",
        "30s",
        "how long the start waits for interfaces and addresses of this configuration; 0: it does not wait",
    ),
    key("upf.pfcp.server[].address", "127.0.0.7", "N4 address, IPv4 or IPv6"),
    key("upf.pfcp.server[].dev", "none", "interface whose addresses to use instead of `address`"),
    key("upf.pfcp.server[].port", "8805", "UDP port of N4"),
    key(
        "upf.pfcp.server[].advertise",
        "none",
        "address that SMFs are told instead, behind address translation; one of each IP version, comma-separated",
    ),
    key(
        "upf.pfcp.accept_from",
        "auto",
        "interfaces that accept N4, comma-separated; auto: that of the address, and this host; any",
    ),
    live("upf.pfcp.client.smf[].address", "none", "SMF to which the UPF sends an Association Setup Request"),
    live("upf.pfcp.client.smf[].port", "8805", "UDP port of that SMF"),
    live("upf.pfcp.heartbeat.interval", "10s", "interval of Heartbeat Requests to an SMF; 0 sends none"),
    live("upf.pfcp.heartbeat.timeout", "3s", "timeout of a Heartbeat Response"),
    live("upf.pfcp.heartbeat.retries", "3", "retransmissions before the SMF counts as unreachable"),
    live(
        "upf.pfcp.retransmission.timeout",
        "1s",
        "T1: timeout of the first response, doubled for each retransmission",
    ),
    live("upf.pfcp.retransmission.retries", "3", "N1: retransmissions of a request"),
    live("upf.pfcp.association_retry", "10s", "delay before a failed association setup is retried"),
    live("upf.pfcp.release_timeout", "5s", "timeout of association releases at shutdown"),
    live("upf.pfcp.path_failure", "keep", "keep or purge the sessions of an unreachable SMF"),
    live(
        "upf.pfcp.request_port",
        "standard",
        "destination port of requests: standard: 8805; learnt: the port of the SMF",
    ),
    live("upf.pfcp.load_control", "on", "on or off: send load control information to SMFs that support it"),
    live(
        "upf.pfcp.overload_control",
        "off",
        "on or off: send overload control information when N4 is nearly full, to SMFs that support it",
    ),
    live("upf.pfcp.overload_mark", "80", "load above which N4 counts as overloaded, percent, 1 to 99"),
    live("upf.pfcp.overload_validity", "60s", "period of validity of overload control information"),
    live(
        "upf.pfcp.allow",
        "connected networks",
        "hosts and prefixes that may set up associations, comma-separated, in addition to client.smf and smf; default: \
         loopback and the networks of the interface with the N4 address",
    ),
    live("upf.pfcp.smf[].node_id", "none", "Node ID that only the SMF at `address` may use"),
    live("upf.pfcp.smf[].address", "none", "addresses and prefixes of that SMF, comma-separated"),
    live("upf.pfcp.smf[].set", "none", "SMF set of the SMF; SMFs without this key belong to none"),
    key("upf.pfcp.max_associations", "64", "maximum number of associated SMFs"),
    key(
        "upf.pfcp.accelerate",
        "false",
        "true: the packet threads handle PFCP themselves while the control thread has no work",
    ),
    key(
        "upf.pfcp.mode",
        "udp",
        "udp: kernel sockets; af_xdp, with `accelerate`: AF_XDP sockets on the `dev` of each server, which N3 and N6 in mode \
         af_xdp do not share",
    ),
    key(
        "upf.gtpu.mode",
        "udp",
        "udp: kernel sockets; af_xdp: AF_XDP sockets on `dev`; tpacket: packet rings on `dev`; vxlan: VXLAN segment `dev`",
    ),
    key("upf.gtpu.server[].address", "127.0.0.7", "N3 and N9 address, IPv4 or IPv6"),
    key(
        "upf.gtpu.server[].dev",
        "none",
        "mode udp: interface whose addresses to use; modes af_xdp and tpacket: interface of the sockets",
    ),
    key("upf.gtpu.server[].port", "2152", "UDP port of GTP-U"),
    key(
        "upf.gtpu.server[].advertise",
        "none",
        "address in F-TEIDs instead, behind address translation; one of each IP version, comma-separated",
    ),
    key("upf.gtpu.server[].network_instance", "all", "network instance that the address serves"),
    key("upf.gtpu.server[].mtu", "that of its interface", "largest outer packet that is sent, in octets"),
    key(
        "upf.gtpu.server[].fragment",
        "false",
        "true: fragment outer packets above the MTU instead of inner packets",
    ),
    key(
        "upf.gtpu.accept_from",
        "auto",
        "interfaces that accept N3 in mode udp, comma-separated; auto: that of the address, and this host; any",
    ),
    live(
        "upf.gtpu.echo.interval",
        "0s",
        "interval of Echo Requests to a GTP-U peer, 60s or more; 0 sends none",
    ),
    live("upf.gtpu.echo.timeout", "5s", "T3: timeout of an Echo Response"),
    live("upf.gtpu.echo.retries", "3", "retransmissions before the path is reported as down"),
    live(
        "upf.session[].subnet",
        "10.45.0.0/16",
        "UE address pool; of IPv6 a /64 or shorter, as each UE has a /64 unless the SMF gives a prefix length (IP6PL)",
    ),
    key(
        "upf.session[].mode",
        "tun",
        "tun: a TUN device; af_xdp: AF_XDP sockets on the Ethernet interface `dev`; vxlan: VXLAN segment `dev`",
    ),
    key("upf.session[].gateway", "none", "address of the UPF on the TUN device, inside the subnet"),
    live(
        "upf.session[].nat",
        "false",
        "true: the kernel masquerades UE addresses behind the outgoing interface (nftables, mode tun)",
    ),
    key("upf.session[].dnn", "internet", "data network, also its network instance"),
    key("upf.session[].dev", "causeway0", "TUN device, created when missing; the interface of mode af_xdp"),
    key("upf.session[].mtu", "1400", "MTU of the TUN device, or largest packet sent in mode af_xdp"),
    live(
        "upf.session[].ue_pool",
        "the subnet",
        "part of the subnet from which the UPF allocates UE addresses (UEIP)",
    ),
    live("upf.session[].pool_identity", "none", "UE IP address Pool Identity by which SMFs choose the pool"),
    live(
        "upf.session[].framed_routes",
        "none",
        "prefixes outside the subnet that may contain framed routes, comma-separated",
    ),
    key(
        "upf.vxlan[].name",
        "none",
        "name of a VXLAN segment, for `dev` of sessions and GTP-U servers in mode vxlan",
    ),
    key("upf.vxlan[].vni", "none", "VXLAN Network Identifier, 0 to 16777215"),
    key("upf.vxlan[].local", "none", "address of this end (VTEP) in the underlay, IPv4 or IPv6"),
    key("upf.vxlan[].remote", "none", "address of the other end in the underlay"),
    key("upf.vxlan[].mac", "none", "MAC address of this end in the segment"),
    key(
        "upf.vxlan[].next_hop",
        "none",
        "MAC address that frames are sent to: the next router in the segment",
    ),
    key(
        "upf.vxlan[].address",
        "none",
        "IPv4 address of this end in the segment: ARP requests for it are answered, and ICMP errors come from it",
    ),
    key(
        "upf.vxlan[].address6",
        "none",
        "IPv6 address of this end in the segment: Neighbour Solicitations for it are answered",
    ),
    key("upf.framed_routes.table", "8805", "kernel routing table of framed routes"),
    live("upf.framed_routes.max", "16384", "maximum number of framed routes of all sessions"),
    live(
        "upf.framed_routes.max_per_smf",
        "8192",
        "maximum number of framed routes of the sessions of one SMF",
    ),
    live("upf.framed_routes.max_per_session", "64", "maximum number of framed routes of one session"),
    live("upf.ue_address_quarantine", "60s", "time before a released UE address is allocated again"),
    key("upf.ethernet[].dnn", "none", "Ethernet data network, also its network instance"),
    key("upf.ethernet[].dev", "causeway-eth0", "TAP device, created when missing"),
    key("upf.ethernet[].bridge", "none", "bridge to which the TAP device is added"),
    key("upf.ethernet[].mtu", "1400", "MTU of the TAP device"),
    key("upf.ethernet[].unknown_stations", "drop", "drop or flood frames to unknown stations"),
    key("upf.n6_tunnel[].dnn", "internet", "data network of N6 tunnels that end at the UPF"),
    key("upf.n6_tunnel[].address", "none", "tunnel address of the UPF, routed to the TUN device"),
    key("upf.n6_tunnel[].port", "5555", "UDP port of the UPF"),
    live("upf.forwarding_policy[].name", "none", "Forwarding Policy Identifier that SMFs send"),
    live("upf.forwarding_policy[].drop", "false", "true: drop the traffic"),
    live("upf.forwarding_policy[].dnn", "none", "data network to which the traffic is sent"),
    live("upf.forwarding_policy[].dscp", "none", "DSCP of the packets"),
    live(
        "upf.forwarding_policy[].redirect",
        "none",
        "redirect target of uplink traffic: a URL for HTTP, or address and port",
    ),
    key("upf.host.addresses", "all", "addresses of this host that UEs cannot reach: all, or configured"),
    key("upf.host.open", "none", "addresses and prefixes of this host that UEs may reach, comma-separated"),
    key("upf.offload", "true", "GRO and GSO on N3, N4 and N6, where the kernel supports them"),
    key(
        "upf.dataplane",
        "fastpath",
        "fastpath; slowpath: one packet at a time, for comparison; switch: a P4 switch, or a model of one; \
         hybrid: a P4 switch, or a model of one, in front of the fast path; xplane: tables in external memory",
    ),
    key(
        "upf.switch.address",
        "none",
        "host:port of the switch's P4Runtime server; without it: a slow switch model in this process, for trials",
    ),
    key("upf.switch.device_id", "1", "P4Runtime device id of the switch"),
    key(
        "upf.switch.election_id",
        "1",
        "P4Runtime election id of this controller; the controller with the highest id may write",
    ),
    key("upf.switch.p4info", "none", "file: the P4Info of the switch's program, in text form"),
    key(
        "upf.switch.device_config",
        "none",
        "file: the compiled program; without it the switch is expected to run its program",
    ),
    key(
        "upf.switch.copy_session",
        "none",
        "clone session for copies to the CPU port, 1 with BMv2; with it, 256 and the number of a linked port are written, too",
    ),
    key("upf.switch.cpu_port", "510", "CPU port of the switch, for that session"),
    key("upf.switch.read_interval", "100ms", "minimum interval between reads of the switch's counters"),
    key(
        "upf.switch.counts_as_received",
        "false",
        "true: the switch counts the octets of frames as received, as BMv2 does",
    ),
    key(
        "upf.switch.route[].to",
        "none",
        "destination prefix: gNBs, hosts of the data network, or other ends of VXLAN segments",
    ),
    key(
        "upf.switch.route[].of",
        "network",
        "network; tunnels: to gNBs and other UPFs; or underlay: to other ends of VXLAN segments",
    ),
    key("upf.switch.route[].port", "none", "egress port of the switch"),
    key("upf.switch.route[].mac", "none", "MAC address of the switch at that port"),
    key("upf.switch.route[].next_hop", "none", "MAC address of the router or host behind that port"),
    key("upf.switch.link[].port", "none", "hybrid: port of the switch with N3 or N6"),
    key(
        "upf.switch.link[].software",
        "none",
        "port of the switch that an interface of this UPF is connected to, in place of that N3 or N6",
    ),
    key(
        "upf.hybrid.promote_at",
        "1Mbps",
        "rate over a second from which on a rule, one direction of a session, moves to the switch",
    ),
    key(
        "upf.hybrid.demote_below",
        "half of promote_at",
        "rate below which a rule on the switch moves back after demote_after",
    ),
    key("upf.hybrid.demote_after", "2s", "time for which a rule on the switch must be below demote_below"),
    key(
        "upf.hybrid.capacity",
        "20000",
        "maximum number of rules on the switch; when it is full, a rule replaces the slowest one with 1.25 times its rate",
    ),
    key("upf.hybrid.changes_per_second", "3442", "maximum number of rule changes of the switch a second"),
    key(
        "upf.hybrid.longest_stay",
        "650us",
        "longest time of a packet in the software: the switch forwards a new rule's packets after a gap of this length",
    ),
    key(
        "upf.hybrid.strict",
        "false",
        "true: no packet overtakes another, even if some rules find no gap and never move",
    ),
    key(
        "upf.hybrid.read_interval",
        "100ms",
        "interval between reads of the switch's counters, and so between reports of a threshold and its passing",
    ),
    key(
        "upf.hybrid.model.timing",
        "instant",
        "instant, or paper: requests to the switch model take as long as to the switch of HiP4-UPF",
    ),
    key(
        "upf.hybrid.model.faults",
        "0",
        "of a thousand requests to the switch model so many fail, for trials: unreachable, unanswered, half done, late",
    ),
    key(
        "upf.xplane.server",
        "none",
        "memory server (causeway memory-server): address, or address:port, port 4791 without another; without it: memory of this process",
    ),
    key(
        "upf.xplane.ues",
        "1024",
        "UEs for which the tables are made, with eight places each: of so many UEs 3.3 % of the lookup keys find both places of their bucket taken (two keys a UE) or 6.5 % (three), of half as many 0.9 and 1.9 %; their packets are for the slow path until a request for the session finds a place free",
    ),
    key(
        "upf.xplane.flows",
        "8192",
        "flows in use for which the flow table is made, with two places each: of so many flows 10.4 % find both places of their bucket taken, of half as many 3.3 %, of a tenth 0.2 %; their packets are for the slow path",
    ),
    key(
        "upf.xplane.idle_ues",
        "64",
        "idle UEs of which up to 128 packets wait in external memory; those of others wait in this process",
    ),
    key(
        "upf.xplane.flow_age",
        "30s",
        "a flow gives its place to others when it was not used for so long, at least 1s; its next packet is looked up again",
    ),
    key(
        "upf.cold_storage.folder",
        "none",
        "folder on a disk for the state of idle sessions (fastpath and hybrid); without it all state is in memory",
    ),
    key(
        "upf.cold_storage.idle_after",
        "600s",
        "time without packets after which the state of a session moves to that folder",
    ),
    key(
        "upf.chain.member",
        "none",
        "number of this daemon in a chain of two, 1 to 65535; without it there is no chain",
    ),
    key("upf.chain.listen", "none", "TCP address, and port if not 8806, to which the other member connects"),
    key("upf.chain.peer", "none", "TCP address, and port if not 8806, of the other member"),
    key("upf.chain.coordinator", "none", "TCP address, and port if not 8807, of `causeway coordinator`"),
    key(
        "upf.chain.address",
        "none",
        "service addresses, IPv4, comma-separated: those of N4, N3 and N6, which the primary has",
    ),
    key("upf.chain.dev", "none", "interfaces on which the primary announces them by ARP, comma-separated"),
    key(
        "upf.chain.timeout",
        "500ms",
        "silence after which the coordinator or the other member counts as failed; the same as its --timeout",
    ),
    key(
        "upf.chain.usage_interval",
        "1s",
        "how often the standby gets the usage of each session; 0: never, and usage since the last report is lost at a take-over",
    ),
    key(
        "upf.workers.count",
        "1",
        "number of packet threads, each with its own sessions, or auto; more than 1 requires mode udp or af_xdp",
    ),
    key("upf.workers.pin", "any", "cores of the packet threads, one for each, comma-separated"),
    key("upf.workers.busy_poll", "false", "true: packet threads poll without sleeping; each occupies a core"),
    key("upf.routing.decrement_ttl", "true", "decrement TTL or hop limit between N3 and N6"),
    key(
        "upf.routing.router_advertisement",
        "false",
        "answer Router Solicitations that no rule forwards to the SMF",
    ),
    key("upf.routing.icmp_errors_per_second", "1000", "maximum rate of ICMP errors to all senders"),
    key("upf.buffering.packets_per_session", "256", "maximum number of buffered packets of one session"),
    key("upf.buffering.octets_per_session", "1MiB", "maximum number of buffered octets of one session"),
    key("upf.buffering.packets", "1048576", "maximum number of buffered packets of all sessions"),
    key("upf.buffering.memory", "256MiB", "maximum number of buffered octets of all sessions"),
    key(
        "upf.buffering.time",
        "300s",
        "maximum buffering time, unless the SMF requests a longer one; 0: no limit",
    ),
    key(
        "upf.buffering.when_full",
        "drop_newest",
        "packet dropped when a buffer is full: drop_newest or drop_oldest",
    ),
    key(
        "upf.buffering.notify_again",
        "0s",
        "interval of repeated Downlink Data Reports for an idle UE; 0 never",
    ),
    live(
        "upf.applications[].id",
        "none",
        "Application ID; items with the same id are PFDs of one application",
    ),
    live("upf.applications[].flow", "none", "flow description that a packet must match"),
    live(
        "upf.applications[].url",
        "none",
        "URL of plain HTTP, or a regular expression, that the flow must match",
    ),
    live(
        "upf.applications[].domain",
        "none",
        "domain name, or a regular expression, that the flow must match",
    ),
    live("upf.applications[].domain_protocol", "any", "protocol of the domain name: any, dns or tls"),
    key(
        "upf.predefined_rules[].name",
        "none",
        "name of the predefined rule; items with the same name form a group",
    ),
    key("upf.predefined_rules[].flow", "none", "flow description that a packet must match"),
    key("upf.predefined_rules[].application", "none", "Application ID that a packet must match"),
    key("upf.qos.averaging_window", "5ms", "burst size, as time at the full rate"),
    live("upf.qos.slice[].sst", "none", "Slice/Service Type of a limited network slice"),
    live("upf.qos.slice[].sd", "none", "Slice Differentiator, six hexadecimal digits"),
    live("upf.qos.slice[].uplink", "none", "maximum bit rate from all UEs of the slice"),
    live("upf.qos.slice[].downlink", "none", "maximum bit rate towards all UEs of the slice"),
    live(
        "upf.firewall.uplink",
        "permit",
        "permit or deny: uplink packets that match no rule of the firewall",
    ),
    live(
        "upf.firewall.downlink",
        "permit",
        "permit or deny: downlink packets that match no rule of the firewall",
    ),
    live(
        "upf.firewall.rules",
        "none",
        "rules of the firewall, one in each line, the first match decides: permit or deny, in (from UEs) or out (to UEs), \
         protocol from source to destination",
    ),
    live(
        "upf.traffic.heavy_hitters.threshold",
        "none",
        "rate from which on a flow is a heavy hitter: a bit rate, or packets as 5000pps (with dataplane switch: 1pps to 949pps); without it heavy hitters are not looked for",
    ),
    live(
        "upf.traffic.heavy_hitters.window",
        "1s",
        "time over which the rate of a flow is measured, 4ms to 240s; a switch has 805ms, and only the default is accepted",
    ),
    live(
        "upf.traffic.heavy_hitters.memory",
        "1MiB",
        "memory of the counts of each packet thread, 64 octets to 512MiB; a switch has its own, and only the default is accepted",
    ),
    live(
        "upf.traffic.heavy_hitters.flow",
        "ue_address",
        "what is one flow: ue_address, all packets of a UE in a direction; five_tuple, addresses, ports and protocol",
    ),
    live(
        "upf.traffic.classes.model",
        "none",
        "file of `causeway train`: PDRs may name its classes as Application IDs; a reload reads it again",
    ),
    key(
        "upf.metrics.server[].address",
        "127.0.0.1",
        "address of /metrics, /healthz and /readyz; of /api, too, if it is a loopback address",
    ),
    key("upf.metrics.server[].port", "9098", "TCP port of this address"),
    key(
        "upf.metrics.qos_flows",
        "false",
        "true: count the octets of N3 by QFI, for the metrics of TS 28.552; reads the header of each packet once more",
    ),
    key(
        "upf.management.server[].address",
        "none",
        "address of /api; beyond loopback it needs tls and a token_file or client_ca",
    ),
    key("upf.management.server[].port", "9099", "TCP port of this address"),
    live(
        "upf.management.tls.certificate",
        "none",
        "file of the certificate of upf.management.server with its chain, in PEM",
    ),
    live("upf.management.tls.key", "none", "file of the private key of the certificate, in PEM"),
    live(
        "upf.management.tls.client_ca",
        "none",
        "file of the authorities whose certificates clients must have, in PEM",
    ),
    live("upf.management.token_file", "none", "file of the token that calls of /api over TCP must have"),
    live(
        "upf.management.capture",
        "restricted",
        "who may read packets over /api: restricted: with a token or client certificate, or over the socket; everyone; off",
    ),
    key("upf.management.socket.path", "none", "path of a Unix socket of /api"),
    key("upf.management.socket.mode", "0660", "permissions of the socket"),
    key("upf.management.socket.group", "none", "group that owns the socket, by name or number"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::schema::described;
    use super::*;

    // Input:  the keys that the reader asks for.
    // Output: they are exactly the documented keys.
    #[test]
    fn the_documented_keys_are_those_that_are_read() {
        let read: BTreeSet<String> = described().into_keys().collect();
        let documented: BTreeSet<String> = KEYS.iter().map(|key| key.path.to_owned()).collect();
        assert_eq!(read, documented);
    }
}

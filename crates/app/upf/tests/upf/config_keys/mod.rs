//! Every documented key is read, has the default that is documented, and is in the sample file.

mod schema;
pub(crate) mod values;

use std::collections::BTreeSet;
use std::path::Path;

use causeway_types::MacAddr;
use causeway_upf::config::{
    Chain, Config, EthernetNetwork, ForwardingPolicy, KEYS, ManagementServer, ManagementTls, N6Tunnel,
    Overrides, RouteOf, Smf, SwitchRoute,
};
use values::{NEEDED, OTHER_VALUES};

const SAMPLE: &str = include_str!("../../../../../../packaging/upf.yaml");
const INTEROP: &str = include_str!("../../../../../../tests/interop/upf.yaml");

/// The key and value as a file of one line, with what its list item needs.
pub(crate) fn with_value(path: &str, value: &str) -> String {
    let (group, leaf) = path.rsplit_once('.').unwrap();
    let needed = NEEDED.iter().find(|(g, with)| {
        let instead = ["address", "dev"].contains(&leaf) && with.starts_with("address");
        *g == group && !(instead && leaf == "dev")
    });
    let others = |with: &str| -> String {
        let parts = with.split(", ").filter(|part| !part.starts_with(leaf));
        parts.map(|part| format!("{part}, ")).collect()
    };
    let mut text =
        format!("{{{}{leaf}: \"{value}\"}}", needed.map_or(String::new(), |(_, with)| others(with)));
    for part in group.rsplit('.') {
        text = match part.strip_suffix("[]") {
            Some(list) => format!("{{{list}: [{text}]}}"),
            None => format!("{{{part}: {text}}}"),
        };
    }
    text
}

fn load(text: &str) -> Result<Config, String> {
    Config::parse(Some(Path::new("upf.yaml")), text, &Overrides::default()).map_err(|e| e.to_string())
}

// Input:  each documented key alone, with a value that is not its default.
// Output: the effective configuration shows the value; `mode: tpacket` of N3 and `mode: af_xdp` of N4 are understood and ask for their `dev`.
#[test]
fn every_documented_key_has_an_effect() {
    let tested: Vec<&str> = OTHER_VALUES.iter().map(|(path, _)| *path).collect();
    let documented: Vec<&str> = KEYS.iter().map(|key| key.path).collect();
    assert_eq!(tested, documented);
    let default = Config::default().to_yaml();
    for (path, value) in OTHER_VALUES {
        let text = with_value(path, value);
        match load(&text) {
            Ok(config) => assert_ne!(config.to_yaml(), default, "{path} has no effect: {text}"),
            Err(error) if ["upf.gtpu.mode", "upf.pfcp.mode"].contains(path) => {
                assert!(error.contains("needs the interface"), "{error}");
            }
            Err(error) if *path == "upf.n6_tunnel[].dnn" => {
                assert!(error.contains("no item of upf.session has the dnn ims"), "{error}");
            }
            Err(error) if ["upf.applications[].id", "upf.applications[].domain_protocol"].contains(path) => {
                assert!(error.contains("give a `flow`, a `url` or a `domain`"), "{error}");
            }
            Err(error) if *path == "upf.predefined_rules[].name" => {
                assert!(error.contains("give a `flow` or an `application`"), "{error}");
            }
            Err(error) => panic!("{error}\n{text}"),
        }
    }
}

// Input:  each documented key alone, with the default that its documentation names.
// Output: the effective configuration is the default one.
#[test]
fn every_documented_default_is_the_default() {
    let default = Config::default();
    let words = [
        "none",
        "all",
        "any",
        "connected networks",
        "half of promote_at",
        "the subnet",
        "the first N4 address",
        "that of its interface",
    ];
    for key in KEYS.iter().filter(|key| !words.contains(&key.default)) {
        let mut expected = default.clone();
        // A session that is given has a gateway only if it says so.
        if key.path.starts_with("upf.session[]") {
            expected.upf.session[0].gateway = None;
        }
        if key.path.starts_with("upf.ethernet[]") {
            expected.upf.ethernet.push(EthernetNetwork::new("lan"));
        }
        if key.path.starts_with("upf.pfcp.client.smf[]") {
            expected.upf.pfcp.client.smf.push(Smf { address: [127, 0, 0, 4].into(), port: 8805 });
        }
        if key.path.starts_with("upf.n6_tunnel[]") {
            let address = [192, 0, 2, 6].into();
            expected.upf.n6_tunnel.push(N6Tunnel { dnn: "internet".into(), address, port: 5555 });
        }
        if key.path.starts_with("upf.switch.route[]") {
            let (mac, next_hop) = (MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2]));
            let to = "0.0.0.0/0".parse().unwrap();
            expected.upf.switch.route.push(SwitchRoute { to, of: RouteOf::Network, port: 1, mac, next_hop });
        }
        if key.path.starts_with("upf.management.server[]") {
            let address = [127, 0, 0, 1].into();
            expected.upf.management.server.push(ManagementServer { address, port: 9099 });
        }
        if key.path.starts_with("upf.management.socket") {
            expected.upf.management.socket.path = Some("a.sock".into());
        }
        if key.path.starts_with("upf.forwarding_policy[]") {
            let name = "silver".to_owned();
            expected.upf.forwarding_policy.push(ForwardingPolicy { name, ..ForwardingPolicy::default() });
        }
        let config = load(&with_value(key.path, key.default)).unwrap();
        assert_eq!(config, expected, "{}", key.path);
    }
}

// Input:  a configuration in which nothing has its default, written out and read again.
// Output: the same configuration.
#[test]
fn the_effective_configuration_is_a_configuration_file() {
    let text = "{logger: {level: trace, format: json}, upf: {node_id: upf.example.org, max_sessions: 7, \
                pfcp: {server: [{address: 192.0.2.1, port: 1}, {dev: eth0}], client: {smf: [{address: 192.0.2.2}]}, \
                heartbeat: {interval: 1500ms, timeout: 1s, retries: 1}, path_failure: purge}, \
                gtpu: {mode: af_xdp, server: [{address: 192.0.2.3, dev: eth1, network_instance: a.b, mtu: 1400}], \
                echo: {interval: 2m, timeout: 100ms, retries: 0}}, \
                offload: false, dataplane: slowpath, cold_storage: {idle_after: 7s}, chain: {member: 3, listen: '192.0.2.1:4', peer: '[2001:db8::7]:5', coordinator: 192.0.2.6, address: '192.0.2.8, 192.0.2.9', dev: 'eth0, eth1', timeout: 7s, usage_interval: 8s}, switch: {address: '[2001:db8::9]:9559', device_id: 2, election_id: 3, p4info: a, device_config: b, \
                copy_session: 4, cpu_port: 5, read_interval: 6s, counts_as_received: true, \
                route: [{to: 192.0.2.0/24, of: tunnels, port: 7, mac: '02:00:00:00:00:07', next_hop: '02:00:00:00:00:08'}], link: [{port: 9, software: 10}]}, hybrid: {promote_at: 2Gbps, demote_below: 3kbps, demote_after: 4s, capacity: 2, changes_per_second: 1, longest_stay: 7us, strict: true, \
                read_interval: 1s, model: {timing: paper, faults: 5}}, xplane: {server: '[2001:db8::8]:9', ues: 1, flows: 2, idle_ues: 3, flow_age: 2m}, \
                workers: {count: auto, pin: '3', busy_poll: true}, routing: {decrement_ttl: false, router_advertisement: true, icmp_errors_per_second: 1}, \
                session: [{subnet: 2001:db8::/40, gateway: 2001:db8::1, dnn: x, dev: y, mtu: 1280}, \
                {subnet: 10.60.0.0/16, mode: af_xdp, dnn: v, dev: w}], n6_tunnel: [{dnn: x, address: 192.0.2.6, port: 7}], \
                ethernet: [{dnn: lan, dev: z, bridge: br0, mtu: 1500, unknown_stations: flood}], max_macs_per_session: 9, interface_timeout: 1500ms, \
                forwarding_policy: [{name: a, drop: true, dnn: x, dscp: 1, redirect: '192.0.2.80:80'}], \
                buffering: {packets_per_session: 0, octets_per_session: 0, packets: 0, memory: 0, time: 0, \
                when_full: drop_oldest, notify_again: 1500ms}, \
                qos: {averaging_window: 20ms, slice: [{sst: 1, sd: 0a0B0c, uplink: 1500kbps}, {sst: 2, downlink: 3Tbps}]}, firewall: {uplink: deny, downlink: deny, rules: 'deny in ip from any to any 25'}, traffic: {heavy_hitters: {threshold: 1500kbps, window: 100ms, memory: 64KiB, flow: five_tuple}, classes: {model: classes.json}}, metrics: {server: []}, \
                management: {server: [{address: 192.0.2.1, port: 8}], tls: {certificate: a, key: b, client_ca: c}, token_file: d, \
                socket: {path: e, mode: '0600', group: f}}}}";
    let config = load(text).unwrap();
    assert_eq!(load(&config.to_yaml()).unwrap(), config);
    assert_eq!(load(&Config::default().to_yaml()).unwrap(), Config::default());
}

/// A file with every key that is commented out taken in.
fn uncommented(file: &str) -> String {
    let is_key = |text: &str| {
        let word = text.trim_start().trim_start_matches("- ");
        word.split_once(':').is_some_and(|(key, _)| {
            !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        })
    };
    let line = |line: &str| match line.split_once("# ") {
        Some((indent, text)) if indent.trim().is_empty() && is_key(text) => format!("{indent}{text}\n"),
        _ => format!("{line}\n"),
    };
    file.lines().map(line).collect()
}

// Input:  the sample, which is packaged, as it is and with everything that is commented out; the file of the tests with third-party
//         clients.
// Output: they load, and the sample has every documented key.
#[test]
fn the_sample_loads_and_has_every_key() {
    let whole = uncommented(SAMPLE);
    for file in [SAMPLE, &whole, INTEROP] {
        load(file).unwrap();
    }
    let names: BTreeSet<&str> = KEYS.iter().filter_map(|key| key.path.rsplit('.').next()).collect();
    for name in names {
        let is_there =
            |line: &str| line.trim_start().trim_start_matches("- ").starts_with(&format!("{name}:"));
        assert!(whole.lines().any(is_there), "{name} is not in the sample");
    }
}

// Input:  what the sample says about defaults in its comments.
// Output: the configuration without a file says the same.
#[test]
fn the_sample_states_the_defaults() {
    let mut sample = load(&uncommented(SAMPLE)).unwrap();
    let default = Config::default();
    sample.upf.ethernet.clear();
    sample.upf.vxlan.clear();
    sample.upf.node_id = None;
    sample.upf.pfcp.client.smf.clear();
    sample.upf.qos.slice.clear();
    sample.upf.traffic.heavy_hitters.threshold = None;
    sample.upf.traffic.classes.model = None;
    sample.upf.pfcp.allow.clear();
    sample.upf.pfcp.smf.clear();
    sample.upf.workers.pin.clear();
    sample.upf.switch.address = None;
    sample.upf.switch.p4info = None;
    sample.upf.switch.device_config = None;
    sample.upf.switch.copy_session = None;
    sample.upf.switch.route.clear();
    sample.upf.switch.link.clear();
    sample.upf.hybrid.demote_below = None;
    sample.upf.xplane.server = None;
    sample.upf.cold_storage.folder = None;
    sample.upf.chain = Chain::default();
    sample.upf.n6_tunnel.clear();
    sample.upf.host.reachable.clear();
    sample.upf.forwarding_policy.clear();
    sample.upf.applications.clear();
    sample.upf.management.server.clear();
    sample.upf.management.tls = ManagementTls::default();
    sample.upf.management.token_file = None;
    sample.upf.management.socket.path = None;
    sample.upf.management.socket.group = None;
    sample.upf.predefined_rules.clear();
    sample.upf.pfcp.server[0].advertise.clear();
    sample.upf.gtpu.server[0].advertise.clear();
    sample.upf.gtpu.server[0].network_instance = None;
    sample.upf.gtpu.server[0].mtu = None;
    // The sample has the name that Open5GS uses.
    sample.upf.session[0].dev.clone_from(&default.upf.session[0].dev);
    sample.upf.session[0].ue_pool = None;
    sample.upf.session[0].pool_identity = None;
    sample.upf.session[0].framed_routes.clear();
    assert_eq!(sample, default);
}

// Input:  one value from the file, another from a flag.
// Output: the flag's; a list given by a flag takes the place of the whole list.
#[test]
fn a_flag_takes_precedence_over_the_file_and_the_file_over_the_default() {
    let file = "{logger: {level: warn}, upf: {max_sessions: 5, pfcp: {server: [{address: 192.0.2.1}, \
                {address: 192.0.2.2}]}, metrics: {server: [{address: 192.0.2.9}]}}}";
    let overrides = Overrides {
        log_level: Some("debug".into()),
        pfcp_address: vec!["[2001:db8::1]:18805".into()],
        gtpu_address: vec!["192.0.2.3".into(), "2001:db8::3".into()],
        metrics_address: vec!["127.0.0.1:0".into()],
        ..Overrides::default()
    };
    let error = Config::parse(None, file, &overrides).unwrap_err().to_string();
    assert!(error.starts_with("--metrics-address (CAUSEWAY_METRICS_ADDRESS): "), "{error}");
    let overrides = Overrides { metrics_address: vec![], ..overrides };
    let config = Config::parse(None, file, &overrides).unwrap();
    assert_eq!(config.logger.level.word(), "debug");
    assert_eq!(config.upf.max_sessions, 5);
    assert_eq!(config.upf.max_pdrs_per_session, 64);
    let server = &config.upf.pfcp.server;
    assert_eq!((server.len(), server[0].port), (1, 18805));
    assert_eq!(config.upf.gtpu.server[1].port, 2152);
    assert_eq!(config.upf.metrics.server[0].address.to_string(), "192.0.2.9");
}

// Input:  a file; variables for items of a list, a key, a list that is missing; and flags for one of them, and for a whole list.
// Output: a flag before a variable, a variable before the file, whatever the order of variables.
#[test]
fn any_key_may_be_given_by_a_variable_or_a_flag() {
    let file =
        "{upf: {max_sessions: 5, ue_address_quarantine: 5s, session: [{subnet: 10.45.0.0/16, mtu: 1400}]}}";
    let variable = |key: &str, value: &str| (format!("CAUSEWAY__{key}"), value.to_owned());
    let overrides = Overrides {
        variables: vec![
            variable("UPF__SESSION__1__DEV", "n6"),
            variable("UPF__SESSION__1__SUBNET", "2001:db8::/40"),
            variable("UPF__SESSION__1__DNN", "ims"),
            variable("UPF__SESSION__0__MTU", "1300"),
            variable("UPF__MAX_SESSIONS", "6"),
            variable("UPF__UE_ADDRESS_QUARANTINE", "7s"),
            variable("UPF__SWITCH__LINK__0__PORT", "3"),
            variable("UPF__SWITCH__LINK__0__SOFTWARE", "4"),
        ],
        set: ["upf.max_sessions=7", "upf.metrics.server=[]", "upf.session[1].dnn=", "upf.session[1].dnn=iot"]
            .map(str::to_owned)
            .to_vec(),
        ..Overrides::default()
    };
    let config = Config::parse(None, file, &overrides).unwrap();
    let expected = "{upf: {max_sessions: 7, ue_address_quarantine: 7s, metrics: {server: []}, switch: {link: [{port: 3, software: 4}]}, \
                    session: [{subnet: 10.45.0.0/16, mtu: 1300}, {subnet: '2001:db8::/40', dnn: iot, dev: n6}]}}";
    assert_eq!(config, load(expected).unwrap());
}

// Input:  flags and variables for keys that do not exist, values that are wrong, items that are too far, and texts that are no keys.
// Output: an error each, with the name of the flag or variable and what to do.
#[test]
fn a_wrong_variable_or_flag_is_named() {
    let with = |variables: &[(&str, &str)], set: &[&str]| {
        let variables =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let set = set.iter().map(|text| (*text).to_owned()).collect();
        let overrides = Overrides { variables, set, ..Overrides::default() };
        Config::parse(None, "{logger: {level: info}}", &overrides).unwrap_err().to_string()
    };
    assert_eq!(
        with(&[("CAUSEWAY__UPF__MAX_SESSION", "7")], &[]),
        "CAUSEWAY__UPF__MAX_SESSION: upf.max_session: unknown key, did you mean `max_sessions`?"
    );
    assert_eq!(
        with(&[("CAUSEWAY__UPF__OFFLOAD", "maybe")], &[]),
        "CAUSEWAY__UPF__OFFLOAD: upf.offload: `maybe` is not true or false"
    );
    for (set, expected) in [
        (
            "upf.session[2].mtu=1",
            "upf.session[2].mtu: the list has 0 items, numbered from 0: the next is 0, not 2",
        ),
        ("logger.level.x=1", "logger.level.x: expected a group of keys, found a single value"),
        ("upf.session.mtu=1", "upf.session: expected a list of `- ` items, found a group of keys"),
        (
            "upf.session[0].mtu=1300",
            "upf.session[0].subnet: missing: give the prefix of the UE addresses, for example 10.45.0.0/16",
        ),
        ("upf.session", "`upf.session` is not KEY=VALUE, for example upf.session[0].mtu=1300"),
        ("upf..x=1", "`upf..x=1` is not KEY=VALUE, for example upf.session[0].mtu=1300"),
    ] {
        assert_eq!(with(&[], &[set]), format!("--set: {expected}"), "{set}");
    }
    let error = with(&[], &["upf.metrics.server=["]);
    assert!(error.starts_with("--set: upf.metrics.server: not YAML: "), "{error}");
}

//! Every documented key is read, has the default that is documented, and is in the sample file.

use std::collections::BTreeSet;
use std::path::Path;

use causeway_upf::config::{Config, EthernetNetwork, ForwardingPolicy, KEYS, N6Tunnel, Overrides, Smf};

const SAMPLE: &str = include_str!("../upf.yaml");
const PACKAGED: &str = include_str!("../../../../packaging/upf.yaml");

/// Every documented key with a legal value that is not its default.
const OTHER_VALUES: &[(&str, &str)] = &[
    ("logger.level", "debug"),
    ("logger.format", "json"),
    ("upf.node_id", "upf1.example.org"),
    ("upf.max_sessions", "1000"),
    ("upf.max_pdrs_per_session", "16"),
    ("upf.max_macs_per_session", "16"),
    ("upf.pfcp.server[].address", "2001:db8::7"),
    ("upf.pfcp.server[].dev", "eth0"),
    ("upf.pfcp.server[].port", "18805"),
    ("upf.pfcp.client.smf[].address", "127.0.0.4"),
    ("upf.pfcp.client.smf[].port", "18805"),
    ("upf.pfcp.heartbeat.interval", "1m"),
    ("upf.pfcp.heartbeat.timeout", "250ms"),
    ("upf.pfcp.heartbeat.retries", "5"),
    ("upf.pfcp.retransmission.timeout", "2s"),
    ("upf.pfcp.retransmission.retries", "0"),
    ("upf.pfcp.association_retry", "1s"),
    ("upf.pfcp.release_timeout", "0"),
    ("upf.pfcp.path_failure", "purge"),
    ("upf.pfcp.request_port", "learnt"),
    ("upf.pfcp.load_control", "off"),
    ("upf.pfcp.overload_control", "on"),
    ("upf.pfcp.overload_mark", "90"),
    ("upf.pfcp.overload_validity", "2m"),
    ("upf.pfcp.allow", "192.0.2.0/24, 2001:db8::1"),
    ("upf.pfcp.max_associations", "2"),
    ("upf.gtpu.mode", "tpacket"),
    ("upf.gtpu.server[].address", "192.0.2.7"),
    ("upf.gtpu.server[].dev", "eth1"),
    ("upf.gtpu.server[].port", "12152"),
    ("upf.gtpu.server[].network_instance", "access"),
    ("upf.gtpu.server[].mtu", "1400"),
    ("upf.gtpu.server[].fragment", "true"),
    ("upf.gtpu.echo.interval", "60s"),
    ("upf.gtpu.echo.timeout", "1s"),
    ("upf.gtpu.echo.retries", "1"),
    ("upf.session[].subnet", "10.60.0.0/16"),
    ("upf.session[].mode", "af_xdp"),
    ("upf.session[].gateway", "10.45.0.254"),
    ("upf.session[].dnn", "ims"),
    ("upf.session[].dev", "n6"),
    ("upf.session[].mtu", "1300"),
    ("upf.session[].ue_pool", "10.45.128.0/17"),
    ("upf.session[].pool_identity", "pool-a"),
    ("upf.ue_address_rest", "5m"),
    ("upf.ethernet[].dnn", "factory"),
    ("upf.ethernet[].dev", "tap0"),
    ("upf.ethernet[].bridge", "br0"),
    ("upf.ethernet[].mtu", "1500"),
    ("upf.ethernet[].unknown_stations", "flood"),
    ("upf.n6_tunnel[].dnn", "ims"),
    ("upf.n6_tunnel[].address", "2001:db8::6"),
    ("upf.n6_tunnel[].port", "15555"),
    ("upf.forwarding_policy[].name", "gold"),
    ("upf.forwarding_policy[].drop", "true"),
    ("upf.forwarding_policy[].dnn", "internet"),
    ("upf.forwarding_policy[].dscp", "46"),
    ("upf.forwarding_policy[].redirect", "http://192.0.2.80/"),
    ("upf.offload", "false"),
    ("upf.dataplane", "reference"),
    ("upf.workers.count", "2"),
    ("upf.workers.pin", "2"),
    ("upf.workers.busy_poll", "true"),
    ("upf.routing.decrement_ttl", "false"),
    ("upf.routing.router_advertisement", "true"),
    ("upf.routing.icmp_errors_per_second", "0"),
    ("upf.buffering.packets_per_session", "8"),
    ("upf.buffering.octets_per_session", "64KiB"),
    ("upf.buffering.packets", "1000"),
    ("upf.buffering.memory", "1MiB"),
    ("upf.buffering.time", "1m"),
    ("upf.buffering.when_full", "drop_oldest"),
    ("upf.buffering.notify_again", "30s"),
    ("upf.applications[].id", "video"),
    ("upf.applications[].flow", "permit out 17 from any 53 to assigned"),
    ("upf.applications[].url", "http://example.com/video"),
    ("upf.applications[].domain", "example.com"),
    ("upf.applications[].domain_protocol", "tls"),
    ("upf.predefined_rules[].name", "browsing"),
    ("upf.predefined_rules[].flow", "permit out 6 from any 443 to assigned"),
    ("upf.predefined_rules[].application", "video"),
    ("upf.qos.averaging_window", "2s"),
    ("upf.qos.slice[].sst", "2"),
    ("upf.qos.slice[].sd", "00a1b2"),
    ("upf.qos.slice[].uplink", "1Gbps"),
    ("upf.qos.slice[].downlink", "20Mbps"),
    ("upf.metrics.server[].address", "::1"),
    ("upf.metrics.server[].port", "19090"),
];

/// Keys without which a list item is nothing.
const NEEDED: &[(&str, &str)] = &[
    ("upf.pfcp.server[]", "address: 127.0.0.7"),
    ("upf.pfcp.client.smf[]", "address: 127.0.0.4"),
    ("upf.gtpu.server[]", "address: 127.0.0.7"),
    ("upf.session[]", "subnet: 10.45.0.0/16"),
    ("upf.ethernet[]", "dnn: lan"),
    ("upf.forwarding_policy[]", "name: silver"),
    ("upf.n6_tunnel[]", "address: 192.0.2.6"),
    ("upf.applications[]", "id: video"),
    ("upf.predefined_rules[]", "name: browsing"),
    ("upf.qos.slice[]", "sst: 1"),
    ("upf.metrics.server[]", "address: 127.0.0.1"),
];

/// The key and value as a file of one line, with what its list item needs.
fn file(path: &str, value: &str) -> String {
    let (group, leaf) = path.rsplit_once('.').unwrap();
    let needed = NEEDED.iter().find(|(g, with)| {
        let instead = ["address", "dev"].contains(&leaf) && with.starts_with("address");
        *g == group && !with.starts_with(leaf) && !(instead && leaf == "dev")
    });
    let mut text =
        format!("{{{}{leaf}: \"{value}\"}}", needed.map_or(String::new(), |(_, w)| format!("{w}, ")));
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
// Output: the effective configuration shows the value; `mode: tpacket` is understood and asks for its `dev`.
#[test]
fn every_documented_key_has_an_effect() {
    let tested: Vec<&str> = OTHER_VALUES.iter().map(|(path, _)| *path).collect();
    let documented: Vec<&str> = KEYS.iter().map(|key| key.path).collect();
    assert_eq!(tested, documented);
    let default = Config::default().to_yaml();
    for (path, value) in OTHER_VALUES {
        let text = file(path, value);
        match load(&text) {
            Ok(config) => assert_ne!(config.to_yaml(), default, "{path} has no effect: {text}"),
            Err(error) if *path == "upf.gtpu.mode" => {
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
    let words = ["none", "all", "any", "the subnet", "the first N4 address", "that of its interface"];
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
        if key.path.starts_with("upf.forwarding_policy[]") {
            let name = "silver".to_owned();
            expected.upf.forwarding_policy.push(ForwardingPolicy { name, ..ForwardingPolicy::default() });
        }
        let config = load(&file(key.path, key.default)).unwrap();
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
                offload: false, dataplane: reference, workers: {count: auto, pin: '3', busy_poll: true}, routing: {decrement_ttl: false, router_advertisement: true, icmp_errors_per_second: 1}, \
                session: [{subnet: 2001:db8::/40, gateway: 2001:db8::1, dnn: x, dev: y, mtu: 1280}, \
                {subnet: 10.60.0.0/16, mode: af_xdp, dnn: v, dev: w}], n6_tunnel: [{dnn: x, address: 192.0.2.6, port: 7}], \
                ethernet: [{dnn: lan, dev: z, bridge: br0, mtu: 1500, unknown_stations: flood}], max_macs_per_session: 9, \
                forwarding_policy: [{name: a, drop: true, dnn: x, dscp: 1, redirect: '192.0.2.80:80'}], \
                buffering: {packets_per_session: 0, octets_per_session: 0, packets: 0, memory: 0, time: 0, \
                when_full: drop_oldest, notify_again: 1500ms}, \
                qos: {averaging_window: 20ms, slice: [{sst: 1, sd: 0a0B0c, uplink: 1500kbps}, {sst: 2, downlink: 3Tbps}]}, metrics: {server: []}}}";
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

// Input:  the sample file and the one that is packaged, as they are and with everything that is commented out.
// Output: they load; the sample has every documented key; only `address` and `dev` exclude each other.
#[test]
fn the_sample_files_load_and_have_every_key() {
    for file in [SAMPLE, PACKAGED] {
        load(file).unwrap();
        if let Err(errors) = load(&uncommented(file)) {
            assert!(errors.lines().all(|e| e.ends_with("give `address` or `dev`, not both")), "{errors}");
        }
    }
    let names: BTreeSet<&str> = KEYS.iter().filter_map(|key| key.path.rsplit('.').next()).collect();
    for name in names {
        assert!(uncommented(SAMPLE).contains(&format!("{name}: ")), "{name} is not in the sample");
    }
}

// Input:  what the sample says about defaults in its comments.
// Output: the configuration without a file says the same.
#[test]
fn the_sample_states_the_defaults() {
    let without_devices: String = uncommented(SAMPLE)
        .lines()
        .filter(|line| !line.trim_start().starts_with("dev: eth"))
        .fold(String::new(), |text, line| text + line + "\n");
    let mut sample = load(&without_devices).unwrap();
    let default = Config::default();
    sample.upf.session.pop();
    sample.upf.ethernet.clear();
    sample.upf.node_id = None;
    sample.upf.pfcp.client.smf.clear();
    sample.upf.qos.slice.clear();
    sample.upf.pfcp.allow.clear();
    sample.upf.workers.pin.clear();
    sample.upf.n6_tunnel.clear();
    sample.upf.forwarding_policy.clear();
    sample.upf.applications.clear();
    sample.upf.predefined_rules.clear();
    sample.upf.gtpu.server[0].network_instance = None;
    sample.upf.gtpu.server[0].mtu = None;
    sample.upf.session[0].ue_pool = None;
    sample.upf.session[0].pool_identity = None;
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

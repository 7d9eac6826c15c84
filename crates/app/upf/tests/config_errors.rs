//! Each way a configuration can be wrong, and the exact line that says so.

use std::path::Path;

use causeway_upf::config::{Config, Overrides};

/// The errors of a file named `upf.yaml`, one a line.
fn errors(text: &str, overrides: &Overrides) -> String {
    match Config::parse(Some(Path::new("upf.yaml")), text, overrides) {
        Ok(_) => "no error".into(),
        Err(errors) => errors.to_string(),
    }
}

fn assert_error(text: &str, expected: &str) {
    assert_eq!(errors(text, &Overrides::default()), expected, "\n--- of\n{text}");
}

// Input:  keys that do not exist: misspelt, in the wrong case, of another UPF, and far from any.
// Output: file, line, key, and what would be right.
#[test]
fn unknown_keys() {
    assert_error(
        "upf:\n  gtpu:\n    serve:\n      - address: 127.0.0.7\n",
        "upf.yaml:3: upf.gtpu.serve: unknown key, did you mean `server`?",
    );
    assert_error("UPF: 1\n", "upf.yaml:1: UPF: unknown key, did you mean `upf`?");
    assert_error(
        "upf:\n  session:\n    - subnet: 10.45.0.0/16\n    - subnet: 10.46.0.0/16\n      gatway: 10.46.0.1\n",
        "upf.yaml:5: upf.session[1].gatway: unknown key, did you mean `gateway`?",
    );
    assert_error(
        "logger:\n  file:\n    path: /var/log/upf.log\n",
        "upf.yaml:2: logger.file: unknown key, Causeway logs to standard error: let the service manager keep it",
    );
    assert_error(
        "global:\n  max:\n    ue: 1024\n",
        "upf.yaml:1: global: unknown key, set upf.max_sessions instead of global.max.ue",
    );
    assert_error(
        "logger:\n  colour: red\n",
        "upf.yaml:2: logger.colour: unknown key, known here: level, format",
    );
}

// Input:  values that a key cannot have.
// Output: the value and what would be right.
#[test]
fn wrong_values() {
    let cases = [
        ("logger:\n  level: loud\n", "2: logger.level: `loud` is not one of info, error, warn, debug, trace"),
        ("logger:\n  format: xml\n", "2: logger.format: `xml` is not one of text, json"),
        (
            "upf:\n  node_id: 'a b'\n",
            "2: upf.node_id: `a b` is not an IPv4 or IPv6 address or a host name, for example upf1.example.org",
        ),
        ("upf:\n  max_sessions: 0\n", "2: upf.max_sessions: `0` is not a whole number from 1 to 10000000"),
        (
            "upf:\n  pfcp:\n    server:\n      - address: localhost\n",
            "4: upf.pfcp.server[0].address: `localhost` is not an IPv4 or IPv6 address, for example 192.0.2.1 or 2001:db8::1",
        ),
        (
            "upf:\n  pfcp:\n    server:\n      - address: 0.0.0.0\n",
            "4: upf.pfcp.server[0].address: 0.0.0.0 cannot be told to a peer as our address: give one address of this machine",
        ),
        (
            "upf:\n  gtpu:\n    server:\n      - address: 127.0.0.7\n        port: 0\n",
            "5: upf.gtpu.server[0].port: `0` is not a port from 1 to 65535",
        ),
        (
            "upf:\n  gtpu:\n    server:\n      - address: 127.0.0.7\n        port: 65536\n",
            "5: upf.gtpu.server[0].port: `65536` is not a port from 1 to 65535",
        ),
        (
            "upf:\n  pfcp:\n    heartbeat:\n      interval: soon\n",
            "4: upf.pfcp.heartbeat.interval: `soon` is not a time of at most 24h, for example 500ms, 10s or 2m",
        ),
        (
            "upf:\n  pfcp:\n    retransmission:\n      timeout: 0\n",
            "4: upf.pfcp.retransmission.timeout: `0` is not a time longer than 0",
        ),
        (
            "upf:\n  gtpu:\n    server:\n      - address: 127.0.0.7\n        mtu: 1280\n",
            "5: upf.gtpu.server[0].mtu: `1280` is not a whole number from 1348 to 65535",
        ),
        (
            "upf:\n  qos:\n    averaging_window: 0\n",
            "3: upf.qos.averaging_window: `0` is not a time longer than 0",
        ),
        (
            "upf:\n  qos:\n    slice:\n      - uplink: 1Gbps\n",
            "4: upf.qos.slice[0].sst: missing: give the Slice/Service Type, for example 1",
        ),
        (
            "upf:\n  qos:\n    slice:\n      - sst: 256\n",
            "4: upf.qos.slice[0].sst: `256` is not a whole number from 0 to 255",
        ),
        (
            "upf:\n  qos:\n    slice:\n      - sst: 1\n        sd: 12\n",
            "5: upf.qos.slice[0].sd: `12` is not six hexadecimal digits, for example 00a1b2",
        ),
        (
            "upf:\n  qos:\n    slice:\n      - sst: 1\n        downlink: fast\n",
            "5: upf.qos.slice[0].downlink: `fast` is not a bit rate of at most 1099Tbps, for example 500kbps, 20Mbps or 1Gbps",
        ),
        (
            "upf:\n  qos:\n    slice:\n      - sst: 1\n      - sst: 2\n      - sst: 1\n        uplink: 1Gbps\n",
            "6: upf.qos.slice[2].sst: slice 1 is given twice, first as upf.qos.slice[0].sst",
        ),
        (
            "upf:\n  gtpu:\n    echo:\n      interval: 10s\n",
            "4: upf.gtpu.echo.interval: `10s` is not 0, or a time from 60s to 24h",
        ),
        (
            "upf:\n  routing:\n    decrement_ttl: maybe\n",
            "3: upf.routing.decrement_ttl: `maybe` is not true or false",
        ),
        (
            "upf:\n  session:\n    - subnet: 10.45.0.1/16\n",
            "3: upf.session[0].subnet: `10.45.0.1/16` is not a prefix, whose host bits are zero: 10.45.0.0/16",
        ),
        (
            "upf:\n  session:\n    - subnet: 10.45.0.0\n",
            "3: upf.session[0].subnet: `10.45.0.0` is not a prefix, for example 10.45.0.0/16 or 2001:db8:cafe::/48",
        ),
        (
            "upf:\n  session:\n    - subnet: 10.45.0.0/16\n      dev: a-name-too-long-for-linux\n",
            "4: upf.session[0].dev: `a-name-too-long-for-linux` is not the name of an interface: 1 to 15 characters without `/`, `:`, `%` and blanks",
        ),
        (
            "upf:\n  session:\n    - subnet: 10.45.0.0/16\n      mtu: 100\n",
            "4: upf.session[0].mtu: `100` is not a whole number from 576 to 9000",
        ),
        (
            "upf:\n  buffering:\n    memory: 256MB\n",
            "3: upf.buffering.memory: `256MB` is not a number of octets, for example 1048576, 256MiB or 1GiB",
        ),
        (
            "upf:\n  buffering:\n    time: 2d\n",
            "3: upf.buffering.time: `2d` is not a time of at most 24h, for example 500ms, 10s or 2m",
        ),
        (
            "upf:\n  buffering:\n    when_full: drop\n",
            "3: upf.buffering.when_full: `drop` is not one of drop_newest, drop_oldest",
        ),
    ];
    for (text, expected) in cases {
        assert_error(text, &format!("upf.yaml:{expected}"));
    }
}

// Input:  a list where a group belongs, a group where a list belongs, a value where a group belongs.
// Output: what is expected and what was found.
#[test]
fn wrong_kinds() {
    assert_error("- a\n", "upf.yaml:1: expected a group of keys, found a list");
    assert_error("upf: 1\n", "upf.yaml:1: upf: expected a group of keys, found a single value");
    assert_error(
        "upf:\n  pfcp:\n    server:\n      address: 127.0.0.7\n",
        "upf.yaml:4: upf.pfcp.server: expected a list of `- ` items, found a group of keys",
    );
    assert_error(
        "logger:\n  level:\n    - info\n",
        "upf.yaml:3: logger.level: expected a single value, found a list",
    );
}

// Input:  items without what they are about.
// Output: what to give.
#[test]
fn missing_keys() {
    assert_error(
        "upf:\n  session:\n    - dnn: internet\n",
        "upf.yaml:3: upf.session[0].subnet: missing: give the prefix of the UE addresses, for example 10.45.0.0/16",
    );
    assert_error(
        "upf:\n  gtpu:\n    server:\n      - port: 2152\n",
        "upf.yaml:4: upf.gtpu.server[0].address: missing: give the `address` of the socket, or the `dev` that has it",
    );
    assert_error(
        "upf:\n  pfcp:\n    server: []\n",
        "upf.yaml:3: upf.pfcp.server: missing: give an address where SMFs reach the UPF",
    );
    assert_error(
        "upf:\n  gtpu:\n    mode: tpacket\n    server:\n      - address: 192.0.2.1\n",
        "upf.yaml:5: upf.gtpu.server[0].dev: missing: mode tpacket needs the interface of the address",
    );
}

// Input:  text that is not the one YAML document a configuration is.
// Output: the line and the reason.
#[test]
fn not_a_configuration_at_all() {
    assert_error("a: 1\na: 2\n", "upf.yaml:2: `a` is given twice, first in line 1: remove one");
    assert_error(
        "upf: &anchor 1\n",
        "upf.yaml:1: anchors, aliases and tags have no meaning here: write the value out",
    );
    assert_error(
        "{}\n---\n{}\n",
        "upf.yaml:2: a second document begins here: one file holds one configuration",
    );
    assert!(errors("upf: [\n", &Overrides::default()).contains(": not YAML: "));
}

// Input:  keys that are legal alone and cannot work together.
// Output: the line of the later one, with the key of the earlier one.
#[test]
fn contradictions() {
    let cases = [
        (
            "upf:\n  session:\n    - subnet: 10.45.0.0/16\n    - subnet: 10.45.128.0/17\n",
            "4: upf.session[1].subnet: 10.45.128.0/17 overlaps 10.45.0.0/16 of upf.session[0].subnet: give each UE address one pool",
        ),
        (
            "upf:\n  session:\n    - subnet: 10.45.0.0/16\n      gateway: 10.46.0.1\n",
            "4: upf.session[0].gateway: 10.46.0.1 is not in 10.45.0.0/16: give an address of the subnet, for example 10.45.0.1",
        ),
        (
            "upf:\n  session:\n    - subnet: 2001:db8::/48\n      mtu: 1000\n",
            "4: upf.session[0].mtu: IPv6 (2001:db8::/48) needs an MTU of 1280 or more",
        ),
        (
            "upf:\n  session:\n    - subnet: 10.45.0.0/16\n    - subnet: 10.46.0.0/16\n      dnn: ims\n",
            "4: upf.session[1].dev: causeway0 carries `internet` (of upf.session[0].dnn) already: give `ims` a device of its own",
        ),
        (
            "upf:\n  session:\n    - subnet: 10.45.0.0/16\n    - subnet: 10.46.0.0/16\n      dev: n6\n",
            "5: upf.session[1].dev: `internet` is on causeway0 (of upf.session[0].dev) already: put all its pools on one device",
        ),
        (
            "upf:\n  gtpu:\n    mode: tpacket\n    server:\n      - dev: eth1\n        port: 2153\n",
            "6: upf.gtpu.server[0].port: mode tpacket uses port 2152 only: remove `port`",
        ),
        (
            "upf:\n  gtpu:\n    mode: tpacket\n    server:\n      - dev: eth1\n        fragment: true\n",
            "6: upf.gtpu.server[0].fragment: mode tpacket sends no fragments: remove `fragment`",
        ),
        (
            "upf:\n  gtpu:\n    mode: af_xdp\n    server:\n      - address: 192.0.2.1\n",
            "5: upf.gtpu.server[0].dev: missing: mode af_xdp needs the interface of the address",
        ),
        (
            "upf:\n  gtpu:\n    mode: af_xdp\n    server:\n      - dev: eth1\n        fragment: true\n",
            "6: upf.gtpu.server[0].fragment: mode af_xdp sends no fragments: remove `fragment`",
        ),
        (
            "upf:\n  session:\n    - subnet: 10.45.0.0/16\n      mode: af_xdp\n      gateway: 10.45.0.1\n      dev: eth2\n",
            "5: upf.session[0].gateway: mode af_xdp gives eth2 no address: remove `gateway` and use `ip address add`",
        ),
        (
            "upf:\n  session:\n    - subnet: 10.45.0.0/16\n    - subnet: 10.46.0.0/16\n      mode: af_xdp\n",
            "5: upf.session[1].mode: causeway0 has mode tun in upf.session[0].mode: give it one mode",
        ),
        (
            "upf:\n  gtpu:\n    mode: af_xdp\n    server:\n      - dev: eth1\n  session:\n    - subnet: 10.45.0.0/16\n      mode: af_xdp\n      dev: eth1\n",
            "9: upf.session[0].dev: interface eth1 is given twice, first as upf.gtpu.server[0].dev",
        ),
        (
            "upf:\n  session:\n    - subnet: 10.45.0.0/16\n    - subnet: 10.46.0.0/16\n      mtu: 1300\n",
            "5: upf.session[1].mtu: causeway0 has MTU 1400 in upf.session[0].mtu: give it one MTU",
        ),
        (
            "upf:\n  ethernet:\n    - dnn: internet\n",
            "3: upf.ethernet[0].dnn: `internet` is a data network already (upf.session[0].dnn): give each its own name",
        ),
        (
            "upf:\n  ethernet:\n    - dnn: lan\n    - dnn: plant\n      dev: causeway-eth0\n",
            "5: upf.ethernet[1].dev: interface causeway-eth0 is given twice, first as upf.ethernet[0].dev",
        ),
        (
            "upf:\n  ethernet:\n    - dev: tap0\n",
            "3: upf.ethernet[0].dnn: missing: give the name of the Ethernet network, for example lan",
        ),
        (
            "upf:\n  ethernet:\n    - dnn: lan\n      unknown_stations: guess\n",
            "4: upf.ethernet[0].unknown_stations: `guess` is not one of drop, flood",
        ),
        (
            "upf:\n  pfcp:\n    server:\n      - address: 127.0.0.7\n      - address: 127.0.0.7\n",
            "5: upf.pfcp.server[1].address: 127.0.0.7:8805 is given twice, first as upf.pfcp.server[0].address",
        ),
        (
            "upf:\n  pfcp:\n    server:\n      - address: 127.0.0.7\n        port: 2152\n  gtpu:\n    server:\n      - address: 127.0.0.7\n",
            "8: upf.gtpu.server[0].address: 127.0.0.7:2152 is given twice, first as upf.pfcp.server[0].address",
        ),
        (
            "upf:\n  pfcp:\n    server:\n      - dev: eth0\n      - dev: eth0\n",
            "5: upf.pfcp.server[1].dev: interface eth0 is given twice, first as upf.pfcp.server[0].dev",
        ),
        (
            "upf:\n  pfcp:\n    server:\n      - address: 127.0.0.7\n        dev: lo\n",
            "5: upf.pfcp.server[0].dev: give `address` or `dev`, not both",
        ),
        (
            "upf:\n  pfcp:\n    client:\n      smf:\n        - address: 2001:db8::5\n",
            "5: upf.pfcp.client.smf[0].address: 2001:db8::5 is IPv6, but no upf.pfcp.server has an IPv6 address: add one",
        ),
        (
            "upf:\n  pfcp:\n    client:\n      smf:\n        - address: 127.0.0.4\n        - address: 127.0.0.4\n",
            "6: upf.pfcp.client.smf[1].address: 127.0.0.4:8805 is given twice, first as upf.pfcp.client.smf[0].address",
        ),
    ];
    for (text, expected) in cases {
        assert_error(text, &format!("upf.yaml:{expected}"));
    }
}

// Input:  a wrong flag, and a flag that contradicts the file.
// Output: the flag is named instead of a line.
#[test]
fn wrong_flags() {
    let overrides = Overrides { log_level: Some("loud".into()), ..Overrides::default() };
    assert_eq!(
        errors("", &overrides),
        "--log-level (CAUSEWAY_LOG_LEVEL): logger.level: `loud` is not one of info, error, warn, debug, trace"
    );
    let overrides = Overrides { pfcp_address: vec!["127.0.0.7:2152".into()], ..Overrides::default() };
    assert_eq!(
        errors("upf:\n  gtpu:\n    server:\n      - address: 127.0.0.7\n", &overrides),
        "upf.yaml:4: upf.gtpu.server[0].address: 127.0.0.7:2152 is given twice, first as upf.pfcp.server[0].address"
    );
    let overrides = Overrides { smf_address: vec!["2001:db8::5".into()], ..Overrides::default() };
    assert_eq!(
        errors("", &overrides),
        "--smf-address (CAUSEWAY_SMF_ADDRESS): upf.pfcp.client.smf[0].address: 2001:db8::5 is IPv6, but no \
         upf.pfcp.server has an IPv6 address: add one"
    );
}

// Input:  three mistakes in one file.
// Output: three lines, in the order of the file.
#[test]
fn every_mistake_is_told_at_once() {
    assert_error(
        "logger:\n  level: loud\n  levle: info\nupf:\n  max_sessions: many\n",
        "upf.yaml:2: logger.level: `loud` is not one of info, error, warn, debug, trace\n\
         upf.yaml:3: logger.levle: unknown key, did you mean `level`?\n\
         upf.yaml:5: upf.max_sessions: `many` is not a whole number from 1 to 10000000",
    );
}

// Input:  a file that is not there, and one that is no text.
// Output: the file and the reason.
#[test]
fn files_that_cannot_be_read() {
    let error = Config::load(Some(Path::new("/nonexistent/upf.yaml")), &Overrides::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "/nonexistent/upf.yaml: cannot read the configuration: No such file or directory (os error 2)"
    );
    let endless = Config::load(Some(Path::new("/dev/zero")), &Overrides::default()).unwrap_err();
    assert_eq!(endless.to_string(), "/dev/zero: larger than 1048576 octets: this is no configuration file");
}

proptest::proptest! {
    // Input:  the sample file with octets replaced, left out and repeated at random.
    // Output: a configuration or errors, each one line with a place; never a panic.
    #[test]
    fn a_damaged_file_never_panics(
        edits in proptest::collection::vec((0_usize..3000, 0_u8..3, proptest::prelude::any::<u8>()), 0..20),
    ) {
        let mut octets = include_bytes!("../upf.yaml").to_vec();
        for (at, what, with) in edits {
            let at = at % octets.len();
            match what {
                0 => octets[at] = with,
                1 => drop(octets.remove(at)),
                _ => octets.insert(at, octets[at]),
            }
        }
        let text = String::from_utf8_lossy(&octets);
        if let Err(errors) = Config::parse(Some(Path::new("upf.yaml")), &text, &Overrides::default()) {
            for error in &errors.0 {
                proptest::prop_assert!(error.to_string().starts_with("upf.yaml:"), "{}", error);
            }
        }
    }
}

// Input:  applications without an id, without anything to detect, with what cannot be read.
// Output: file, line, key, and what would be right.
#[test]
fn applications() {
    assert_error(
        "upf:\n  applications:\n    - domain: example.com\n",
        "upf.yaml:3: upf.applications[0].id: missing: give the Application ID that SMFs name",
    );
    assert_error(
        "upf:\n  applications:\n    - id: video\n",
        "upf.yaml:3: upf.applications[0]: missing: give a `flow`, a `url` or a `domain`",
    );
    assert_error(
        "upf:\n  applications:\n    - id: video\n      flow: permit everything\n",
        "upf.yaml:4: upf.applications[0].flow: `permit everything` is not a flow description such as \
         `permit out 17 from 198.51.100.0/24 to assigned`: the direction is \"everything\"; only out is supported",
    );
    assert_error(
        "upf:\n  predefined_rules:\n    - name: browsing\n",
        "upf.yaml:3: upf.predefined_rules[0]: missing: give a `flow` or an `application`",
    );
}

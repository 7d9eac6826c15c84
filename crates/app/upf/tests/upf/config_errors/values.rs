//! Values of single keys.

use crate::config_errors::assert_error;

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
        ("upf:\n  max_sessions: 0\n", "2: upf.max_sessions: `0` is not a whole number from 1 to 20000000"),
        (
            "upf:\n  switch:\n    address: 2001:db8::9:9559\n",
            "3: upf.switch.address: `2001:db8::9:9559` is not a host and a port, for example 192.0.2.9:9559, [2001:db8::9]:9559 or switch.example:9559",
        ),
        (
            "upf:\n  switch:\n    route:\n      - {to: 0.0.0.0/0, port: 1, mac: '01:00:5e:00:00:01', next_hop: '02:00:00:00:00:002'}\n",
            "4: upf.switch.route[0].mac: `01:00:5e:00:00:01` is not the MAC address of one station, for example 02:00:5e:00:53:01\n\
             upf.yaml:4: upf.switch.route[0].next_hop: `02:00:00:00:00:002` is not the MAC address of one station, for example 02:00:5e:00:53:01",
        ),
        (
            "upf:\n  pfcp:\n    server:\n      - address: localhost\n",
            "4: upf.pfcp.server[0].address: `localhost` is not an IPv4 or IPv6 address, for example 192.0.2.1 or 2001:db8::1",
        ),
        (
            "upf:\n  pfcp:\n    server:\n      - address: 0.0.0.0\n",
            "4: upf.pfcp.server[0].address: 0.0.0.0 cannot be announced to a peer: give one unicast address of this host",
        ),
        (
            "upf:\n  pfcp:\n    server:\n      - address: fe80::1\n  gtpu:\n    server:\n      - {address: 127.0.0.7, advertise: febf::1}\n",
            "4: upf.pfcp.server[0].address: fe80::1 is a link-local address: give a global or unique local one (of 2000::/3 or fd00::/8)\n\
             upf.yaml:7: upf.gtpu.server[0].advertise: febf::1 is a link-local address: give a global or unique local one (of 2000::/3 or fd00::/8)",
        ),
        (
            "upf:\n  gtpu:\n    server:\n      - address: fe80::1\n",
            "4: upf.gtpu.server[0].address: fe80::1 is a link-local address: give a global or unique local one (of 2000::/3 or fd00::/8)",
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
            "upf:\n  workers:\n    count: 0\n",
            "3: upf.workers.count: `0` is not auto, or a whole number from 1 to 63",
        ),
        (
            "upf:\n  workers:\n    count: many\n",
            "3: upf.workers.count: `many` is not auto, or a whole number from 1 to 63",
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

// Input:  applications without an id, without anything to detect, with what cannot be read.
// Output: file, line, key, and what would be right.
#[test]
fn applications() {
    assert_error(
        "upf:\n  applications:\n    - domain: example.com\n",
        "upf.yaml:3: upf.applications[0].id: missing: give the Application ID that SMFs use",
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

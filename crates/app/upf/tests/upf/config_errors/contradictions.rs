//! Keys that cannot work together.

use crate::config_errors::assert_error;

// Input:  keys that are legal alone and cannot work together.
// Output: the line of the later one, with the key of the earlier one.
#[test]
fn contradictions() {
    let cases = [
        (
            "upf:\n  pfcp:\n    server:\n      - address: 192.0.2.1\n        advertise: 2001:db8::7\n",
            "5: upf.pfcp.server[0].advertise: 2001:db8::7 stands for 192.0.2.1, which is of the other IP version: give an address of the same",
        ),
        (
            "upf:\n  gtpu:\n    server:\n      - address: 2001:db8::1\n        advertise: 198.51.100.7\n",
            "5: upf.gtpu.server[0].advertise: 198.51.100.7 stands for 2001:db8::1, which is of the other IP version: give an address of the same",
        ),
        (
            "upf:\n  management:\n    server:\n      - address: 192.0.2.1\n",
            "4: upf.management.server[0].address: 192.0.2.1 is reachable from other hosts: give `upf.management.tls` with `certificate` and `key`, or a loopback address",
        ),
        (
            "upf:\n  management:\n    tls: {certificate: a, key: b}\n    server:\n      - address: '::'\n",
            "5: upf.management.server[0].address: :: is reachable from other hosts: give `upf.management.token_file` or `upf.management.tls.client_ca`, which tell who may call",
        ),
        (
            "upf:\n  management:\n    tls:\n      certificate: a\n",
            "3: upf.management.tls.key: missing: give the file of the private key of the certificate",
        ),
        (
            "upf:\n  management:\n    tls:\n      key: a\n",
            "3: upf.management.tls.certificate: missing: give the file of the certificate of this key",
        ),
        (
            "upf:\n  management:\n    tls:\n      client_ca: a\n",
            "3: upf.management.tls.certificate: missing: give the certificate of the server; client certificates need TLS",
        ),
        (
            "upf:\n  management:\n    socket:\n      group: operators\n",
            "3: upf.management.socket.path: missing: give the path of the socket whose group this is",
        ),
        (
            "upf:\n  management:\n    server:\n      - address: 127.0.0.1\n        port: 9098\n",
            "4: upf.management.server[0].address: 127.0.0.1:9098 is given twice, first as upf.metrics.server[0].address",
        ),
        (
            "upf:\n  session:\n    - subnet: 10.45.0.0/16\n    - subnet: 10.45.128.0/17\n",
            "4: upf.session[1].subnet: 10.45.128.0/17 overlaps 10.45.0.0/16 of upf.session[0].subnet: give each UE address one pool",
        ),
        (
            "upf:\n  session:\n    - subnet: 0.0.0.0/0\n",
            "3: upf.session[0].subnet: 0.0.0.0/0 holds loopback or multicast addresses: give a prefix for UEs alone, for example 10.45.0.0/16",
        ),
        (
            "upf:\n  session:\n    - subnet: 127.0.0.0/16\n",
            "3: upf.session[0].subnet: 127.0.0.0/16 holds loopback or multicast addresses: give a prefix for UEs alone, for example 10.45.0.0/16",
        ),
        (
            "upf:\n  session:\n    - subnet: 224.0.0.0/3\n",
            "3: upf.session[0].subnet: 224.0.0.0/3 holds loopback or multicast addresses: give a prefix for UEs alone, for example 10.45.0.0/16",
        ),
        (
            "upf:\n  session:\n    - subnet: \"::/0\"\n",
            "3: upf.session[0].subnet: ::/0 holds loopback or multicast addresses: give a prefix for UEs alone, for example 10.45.0.0/16",
        ),
        (
            "upf:\n  session:\n    - subnet: ff0e::/16\n",
            "3: upf.session[0].subnet: ff0e::/16 holds loopback or multicast addresses: give a prefix for UEs alone, for example 10.45.0.0/16",
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
            "4: upf.session[1].dev: causeway0 already carries `internet` (of upf.session[0].dnn): give `ims` another device",
        ),
        (
            "upf:\n  session:\n    - subnet: 10.45.0.0/16\n    - subnet: 10.46.0.0/16\n      dev: n6\n",
            "5: upf.session[1].dev: `internet` is already on causeway0 (of upf.session[0].dev): put all its pools on one device",
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
            "upf:\n  dataplane: switch\n  switch:\n    address: 192.0.2.9:9559\n    route:\n      - {to: '2001:db8::/32', of: tunnels, port: 1, mac: '02:00:00:00:00:01', next_hop: '02:00:00:00:00:02'}\n",
            "3: upf.switch.p4info: missing: give the P4Info of the switch's program, for example p4/p4info/hip4.bmv2.txtpb\n\
             upf.yaml:5: upf.switch.route: missing: give a route `of: network` towards the data network\n\
             upf.yaml:6: upf.switch.route[0].to: the switch supports no tunnels over IPv6: give an IPv4 address",
        ),
        (
            "upf:\n  dataplane: switch\n  gtpu:\n    mode: af_xdp\n    server:\n      - {address: '2001:db8::1', dev: eth1, port: 2153}\n  ethernet: [{dnn: lan}]\n  n6_tunnel: [{address: 192.0.2.6}]\n  \
             switch:\n    address: 192.0.2.9:9559\n    p4info: a\n    route:\n      - {to: 0.0.0.0/0, of: tunnels, port: 1, mac: '02:00:00:00:00:01', next_hop: '02:00:00:00:00:02'}\n      \
             - {to: 0.0.0.0/0, port: 1, mac: '02:00:00:00:00:01', next_hop: '02:00:00:00:00:02'}\n",
            "6: upf.gtpu.server[0].port: mode af_xdp uses port 2152 only: remove `port`\n\
             upf.yaml:4: upf.gtpu.mode: the switch (upf.switch.address) provides the ports: remove it\n\
             upf.yaml:6: upf.gtpu.server[0].dev: the switch (upf.switch.address) provides the ports: remove it\n\
             upf.yaml:6: upf.gtpu.server[0].port: mode switch uses port 2152 only: remove `port`\n\
             upf.yaml:7: upf.ethernet[0]: a switch (upf.switch.address) does not support this: remove it\n\
             upf.yaml:8: upf.n6_tunnel[0]: a switch (upf.switch.address) does not support this: remove it",
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
            "upf:\n  session:\n    - subnet: 10.45.0.0/16\n      mode: af_xdp\n      nat: true\n      dev: eth2\n",
            "5: upf.session[0].nat: packets of mode af_xdp bypass the kernel, which would translate addresses: remove `nat`, or use mode tun",
        ),
        (
            "upf:\n  session:\n    - subnet: 10.45.0.0/16\n      nat: true\n      dev: a*b\n",
            "4: upf.session[0].nat: rules for a*b cannot be written: give `dev` a name of letters, digits, `-`, `_` and `.`",
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
            "upf:\n  session:\n    - subnet: 10.45.0.0/16\n      framed_routes: 172.16.0.0/12, 0.0.0.0/0\n",
            "4: upf.session[0].framed_routes: 0.0.0.0/0 holds loopback, link-local, multicast or reserved addresses: give prefixes behind UEs",
        ),
        (
            "upf:\n  session:\n    - subnet: 10.45.0.0/16\n    - subnet: 10.46.0.0/16\n      dnn: ims\n      dev: ims0\n      framed_routes: 10.45.8.0/24\n",
            "7: upf.session[1].framed_routes: 10.45.8.0/24 overlaps 10.45.0.0/16 of upf.session[0].subnet: give each data network ranges of its own",
        ),
        (
            "upf:\n  ethernet:\n    - dnn: internet\n",
            "3: upf.ethernet[0].dnn: `internet` is already a data network (upf.session[0].dnn): give each a unique name",
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
        (
            "upf:\n  workers:\n    count: 2\n    pin: 1\n",
            "4: upf.workers.pin: cores: 1, packet threads: 2: give one core for each (upf.workers.count), or none",
        ),
        (
            "upf:\n  workers:\n    pin: 2, 3\n",
            "3: upf.workers.pin: cores: 2, packet threads: 1: give one core for each (upf.workers.count), or none",
        ),
        (
            "upf:\n  gtpu:\n    mode: tpacket\n    server:\n      - dev: eth1\n  workers:\n    count: 2\n",
            "7: upf.workers.count: mode tpacket has one packet thread: set upf.workers.count to 1, or use mode udp or af_xdp",
        ),
        (
            "upf:\n  dataplane: switch\n  session:\n    - {subnet: '2001:db8:1::/64'}\n    - {subnet: '2001:db8:2::/96'}\n    - {subnet: '2001:db8:3::/48', ue_pool: '2001:db8:3::/65'}\n",
            "5: upf.session[1].subnet: 2001:db8:2::/96 has no room for the /64 that a switch has for each UE: give a /64 or shorter, or use upf.dataplane fastpath\n\
             upf.yaml:6: upf.session[2].ue_pool: 2001:db8:3::/65 has no room for the /64 that a switch has for each UE: give a /64 or shorter, or use upf.dataplane fastpath",
        ),
        (
            "upf:\n  dataplane: switch\n  workers:\n    count: 2\n",
            "4: upf.workers.count: upf.dataplane switch has one packet thread: set upf.workers.count to 1 or auto",
        ),
        (
            "upf:\n  dataplane: switch\n  pfcp:\n    accelerate: true\n",
            "4: upf.pfcp.accelerate: upf.dataplane switch has no packet thread that could answer: remove the key, or use fastpath",
        ),
        (
            "upf:\n  pfcp:\n    mode: af_xdp\n    server:\n      - address: 192.0.2.1\n",
            "5: upf.pfcp.server[0].dev: missing: mode af_xdp needs the interface of the address\n\
             upf.yaml:3: upf.pfcp.mode: mode af_xdp is for N4 in a packet thread: add upf.pfcp.accelerate: true, or use mode udp",
        ),
        (
            "upf:\n  pfcp:\n    mode: af_xdp\n    accelerate: true\n    server:\n      - dev: eth1\n        address: 192.0.2.1\n  \
             gtpu:\n    mode: af_xdp\n    server:\n      - dev: eth1\n",
            "6: upf.pfcp.server[0].dev: interface eth1 is given twice, first as upf.gtpu.server[0].dev",
        ),
        (
            "upf:\n  dataplane: switch\n  routing:\n    decrement_ttl: false\n",
            "4: upf.routing.decrement_ttl: upf.dataplane switch always decrements the TTL: remove the key, or use another data plane",
        ),
        (
            "upf:\n  dataplane: switch\n  traffic:\n    heavy_hitters: {threshold: 5Mbps, window: 2s, memory: 80KiB, flow: five_tuple}\n\
             \x20   classes: {model: a.json}\n",
            "4: upf.traffic.heavy_hitters.threshold: the switch counts packets, 1 to 949 in a second: give 1pps to 949pps, or use upf.dataplane fastpath\n\
             upf.yaml:4: upf.traffic.heavy_hitters.threshold: a switch finds heavy hitters or application classes, not both: remove this key or upf.traffic.classes.model, or use upf.dataplane fastpath\n\
             upf.yaml:4: upf.traffic.heavy_hitters.window: upf.dataplane switch looks for heavy hitters among the packets of 805 ms: remove the key, or use upf.dataplane fastpath\n\
             upf.yaml:4: upf.traffic.heavy_hitters.memory: upf.dataplane switch looks for heavy hitters among 8,192 flows at a time: remove the key, or use upf.dataplane fastpath\n\
             upf.yaml:4: upf.traffic.heavy_hitters.flow: upf.dataplane switch looks for heavy hitters among the packets of UEs: remove the key, or use upf.dataplane fastpath",
        ),
        (
            "upf:\n  dataplane: switch\n  traffic:\n    heavy_hitters: {threshold: 950pps}\n",
            "4: upf.traffic.heavy_hitters.threshold: the switch counts packets, 1 to 949 in a second: give 1pps to 949pps, or use upf.dataplane fastpath",
        ),
        (
            "upf:\n  dataplane: hybrid\n  routing:\n    decrement_ttl: false\n  traffic:\n    heavy_hitters:\n      threshold: 5Mbps\n  \
             hybrid:\n    promote_at: 500kbps\n    demote_below: 1Mbps\n",
            "10: upf.hybrid.demote_below: above upf.hybrid.promote_at, 500kbps: give at most that; half of it is usual\n\
             upf.yaml:4: upf.routing.decrement_ttl: upf.dataplane hybrid always decrements the TTL: remove the key, or use another data plane\n\
             upf.yaml:7: upf.traffic.heavy_hitters.threshold: upf.dataplane hybrid looks for no heavy hitters: remove the key, or use another data plane",
        ),
        (
            "upf:\n  dataplane: hybrid\n  workers:\n    count: 2\n  switch:\n    address: 192.0.2.9:9559\n    link:\n      - {port: 1, software: 3}\n\
             \x20     - {port: 3, software: 3}\n",
            "5: upf.switch.p4info: missing: give the P4Info of the switch's program, one with the tables software_ports and armed_rules\n\
             upf.yaml:5: upf.switch.route: missing: give a route `of: tunnels` towards the gNBs\n\
             upf.yaml:5: upf.switch.route: missing: give a route `of: network` towards the data network\n\
             upf.yaml:9: upf.switch.link[1].port: port 3 of the switch is in a link already: each port has one\n\
             upf.yaml:9: upf.switch.link[1].software: port 3 of the switch is in a link already: each port has one",
        ),
        (
            "upf:\n  dataplane: hybrid\n  switch:\n    address: 192.0.2.9:9559\n    p4info: a\n    route:\n\
             \x20     - {to: 0.0.0.0/0, of: tunnels, port: 1, mac: '02:00:00:00:00:07', next_hop: '02:00:00:00:00:08'}\n\
             \x20     - {to: 0.0.0.0/0, port: 2, mac: '02:00:00:00:00:07', next_hop: '02:00:00:00:00:08'}\n",
            "3: upf.switch.link: missing: give the switch's ports with N3 and N6, and those of the UPF's interfaces: `{port: 1, software: 3}`",
        ),
        (
            "upf:\n  dataplane: switch\n  switch:\n    address: 192.0.2.9:9559\n    p4info: a\n    route:\n\
             \x20     - {to: 0.0.0.0/0, of: tunnels, port: 1, mac: '02:00:00:00:00:07', next_hop: '02:00:00:00:00:08'}\n\
             \x20     - {to: 0.0.0.0/0, port: 2, mac: '02:00:00:00:00:07', next_hop: '02:00:00:00:00:08'}\n    link: [{port: 1, software: 3}]\n",
            "9: upf.switch.link: links are for a switch in front of the UPF's own ports: remove them, or use upf.dataplane hybrid",
        ),
        (
            "upf:\n  dataplane: hybrid\n  gtpu: {mode: vxlan, server: [{address: 192.0.2.1, dev: a}]}\n  vxlan:\n\
             \x20   - {name: a, vni: 5, local: 192.0.2.1, remote: 192.0.2.9, mac: '02:00:00:00:00:01', next_hop: '02:00:00:00:00:02'}\n\
             \x20   - {name: b, vni: 6, local: 192.0.2.3, remote: 192.0.2.9, mac: '02:00:00:00:00:01', next_hop: '02:00:00:00:00:02'}\n\
             \x20 session:\n    - subnet: 10.45.0.0/16\n      mode: vxlan\n      dev: b\n  switch:\n    address: 192.0.2.9:9559\n    p4info: a\n    route:\n\
             \x20     - {to: 0.0.0.0/0, of: tunnels, port: 1, mac: '02:00:00:00:00:07', next_hop: '02:00:00:00:00:08'}\n\
             \x20     - {to: 0.0.0.0/0, port: 2, mac: '02:00:00:00:00:07', next_hop: '02:00:00:00:00:08'}\n    link: [{port: 1, software: 3}]\n",
            "5: upf.vxlan[0].remote: no item of upf.switch.route leads to 192.0.2.9: add one `of: underlay`\n\
             upf.yaml:6: upf.vxlan[1].remote: no item of upf.switch.route leads to 192.0.2.9: add one `of: underlay`\n\
             upf.yaml:5: upf.vxlan[0].local: 192.0.2.1 is also an address of upf.gtpu.server: a switch tells VXLAN and GTP-U by their addresses, so give another one",
        ),
        (
            "upf:\n  dataplane: xplane\n  cold_storage:\n    folder: /tmp\n",
            "4: upf.cold_storage.folder: upf.dataplane xplane keeps all sessions in memory: remove it, or use fastpath or hybrid",
        ),
    ];
    for (text, expected) in cases {
        assert_error(text, &format!("upf.yaml:{expected}"));
    }
}

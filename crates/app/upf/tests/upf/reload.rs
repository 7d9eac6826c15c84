//! A configuration that is reloaded while the UPF runs.

use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use causeway_pfcp::Cause;
use causeway_ports::netlink::Netlink;
use causeway_types::{Bitrate, Span, Teid};
use causeway_upf::config::{Config, ForwardingPolicy, KEYS, Overrides, Reloaded, Session, Slice, Upf};
use causeway_upf::{Daemon, ReloadError};

use crate::common::namespace::{in_namespace, in_namespace_of_root};
use crate::common::smf::Smf;
use crate::common::{Gnb, PATIENCE, Running, SERVER, UE, config, fetch, loopback, next, packet, run, until};
use crate::config_keys::values::OTHER_VALUES;
use crate::config_keys::with_value;
use crate::tun::nat_tables;

const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 1);
const DEVICE: &str = "n6reload";

fn reload(upf: &Running, next: Upf) -> Reloaded {
    try_reload(upf, next).unwrap()
}

/// Whether a key changed, or an item of its list came.
fn names(changes: &[String], path: &str) -> bool {
    let list = path.split_once("[].").map(|(list, _)| format!("{list}: "));
    let came = |change: &String| list.as_ref().is_some_and(|list| change.starts_with(list));
    changes.iter().any(|change| change == path || came(change))
}

fn try_reload(upf: &Running, next: Upf) -> Result<Reloaded, ReloadError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(upf.daemon.reload(next))
}

// Input:  each key alone, with another value than that of the running UPF, then the value before.
// Output: a key that is documented as live is applied, any other one takes effect at the next start; the configuration
//         that is shown follows the former only. A file that does not exist is an error of its key, without an effect.
#[test]
fn every_key_is_applied_or_waits_for_a_restart() {
    let upf = loopback();
    let mut at_start = config(upf);
    let silver = ForwardingPolicy { name: "silver".into(), ..ForwardingPolicy::default() };
    at_start.upf.forwarding_policy.push(silver);
    let running = run(&at_start, upf).unwrap();
    let shown = || running.fetch("/api/v1/config").1;
    let parsed = |text: &str| Config::parse(Some(Path::new("upf.yaml")), text, &Overrides::default());
    let before = Upf { forwarding_policy: at_start.upf.forwarding_policy.clone(), ..parsed("").unwrap().upf };
    reload(&running, before.clone());
    let at_first = shown();
    for (path, value) in OTHER_VALUES.iter().filter(|(path, _)| path.starts_with("upf.")) {
        // Some are right only beside others.
        let Ok(next) = parsed(&with_value(path, value)) else { continue };
        let live = KEYS.iter().find(|key| key.path == *path).unwrap().live;
        // A policy stays when it goes; address translation would be that of this host.
        if ["upf.forwarding_policy[].name", "upf.session[].nat"].contains(path) {
            continue;
        }
        if path.starts_with("upf.management.tls") || path.ends_with("token_file") {
            let error = try_reload(&running, next.upf).unwrap_err().to_string();
            assert!(
                error.starts_with("upf.management.t") && error.contains("No such file"),
                "{path}: {error}"
            );
            assert_eq!(shown(), at_first, "{path}");
            continue;
        }
        let Reloaded { applied, at_restart } = reload(&running, next.upf);
        assert_eq!(names(&applied, path), live, "{path}: {applied:?} {at_restart:?}");
        assert_eq!(shown() != at_first, live, "{path}");
        reload(&running, before.clone());
    }
}

// Input:  an SMF with a session; a configuration that permits another host only, with another dataplane and a shorter
//         heartbeat interval.
// Output: the keys, each by its effect. The SMF keeps its session and establishes another one; an SMF at a third address
//         gets no association.
#[test]
fn sessions_stay_while_the_permitted_smfs_change() {
    let upf = loopback();
    let before = config(upf);
    let running = run(&before, upf).unwrap();
    let mut smf = Smf::new(loopback().into(), running.n4());
    smf.associate();
    assert_eq!(smf.try_establish(Ipv4Addr::new(10, 45, 0, 2)), Cause::RequestAccepted);
    let mut next = before.upf.clone();
    next.pfcp.allow = vec!["192.0.2.1/32".parse().unwrap()];
    next.qos.averaging_window = Span::from_millis(9);
    let Reloaded { applied, at_restart } = reload(&running, next);
    assert!(names(&applied, "upf.pfcp.allow"), "{applied:?}");
    assert!(names(&at_restart, "upf.qos.averaging_window"), "{at_restart:?}");
    assert_eq!(smf.try_establish(Ipv4Addr::new(10, 45, 0, 3)), Cause::RequestAccepted);
    assert_eq!(running.metric("pfcp_sessions"), 2.0);
    let mut other = Smf::new(loopback().into(), running.n4());
    assert_eq!(other.associate(), Cause::RequestRejected);
    reload(&running, before.upf);
    assert_eq!(other.associate(), Cause::RequestAccepted);
}

/// Sends packets of a UE to the gateway one after the other, each as soon as the one before was answered, until it is told
/// to end. Returns their number.
fn traffic(
    upf: Ipv4Addr,
    gnb: Gnb,
    teid: Teid,
    ue: Ipv4Addr,
    server: UdpSocket,
) -> (Sender<()>, JoinHandle<(u32, Gnb, UdpSocket)>) {
    let (end, ended) = channel();
    let thread = thread::spawn(move || {
        let (mut number, mut buffer) = (0_u32, [0; 64]);
        while ended.try_recv().is_err() {
            number += 1;
            gnb.send(upf, teid, &packet(ue, GATEWAY, &number.to_be_bytes()));
            let (len, from) = server.recv_from(&mut buffer).expect("a packet of the UE");
            assert_eq!((&buffer[..len], from.ip()), (&number.to_be_bytes()[..], ue.into()));
            server.send_to(&number.to_be_bytes(), from).unwrap();
            // The UPF sends Echo Requests meanwhile, too.
            let user = std::iter::repeat_with(|| gnb.receive()).find(|datagram| datagram[1] == 255).unwrap();
            assert!(user.ends_with(&number.to_be_bytes()), "packet {number} to the UE");
        }
        (number, gnb, server)
    });
    (end, thread)
}

/// The pools, as the API shows them: the range, whether it is drained, and how many addresses are allocated.
fn pools(daemon: &Daemon) -> Vec<(String, bool, u64)> {
    let pools: serde_json::Value = serde_json::from_str(&fetch(daemon, "/api/v1/pools").1).unwrap();
    let of = |pool: &serde_json::Value| {
        let text = pool["range"].as_str().unwrap().to_owned();
        (text, pool["draining"].as_bool().unwrap(), pool["allocated"].as_u64().unwrap())
    };
    pools["pools"].as_array().unwrap().iter().map(of).collect()
}

fn addresses() -> Vec<String> {
    let mut netlink = Netlink::open().unwrap();
    let link = netlink.link(DEVICE).unwrap().unwrap().index;
    let all = netlink.addresses().unwrap().into_iter().filter(|(index, _)| *index == link);
    all.map(|(_, net)| net.to_string()).filter(|net| !net.starts_with("fe80")).collect()
}

// Input:  a UE with traffic; while it sends, pools come and go: another one, the one of the UE goes, comes back, goes
//         again, and the interval of Echo Requests, a policy and a rate change; in the end the session is deleted.
// Output: no packet of the UE is lost. The device has the addresses of the pools in force and of the one that is drained,
//         until the session is gone; a UE of the new pool is reached at once.
#[test]
fn pools_come_and_go_under_traffic() {
    in_namespace("reload::pools_come_and_go_under_traffic", || {
        let upf = loopback();
        let mut at_start = config(upf);
        let old = Session { dev: DEVICE.into(), ..Session::default() };
        let new = Session {
            subnet: "10.46.0.0/16".parse().unwrap(),
            gateway: "10.46.0.1".parse().ok(),
            ..old.clone()
        };
        at_start.upf.session = vec![old.clone()];
        at_start.upf.host.reachable = vec!["10.45.0.1/32".parse().unwrap(), "10.46.0.1/32".parse().unwrap()];
        let silver = ForwardingPolicy { name: "silver".into(), ..ForwardingPolicy::default() };
        at_start.upf.forwarding_policy = vec![silver];
        let daemon = Daemon::start(&at_start).unwrap();
        let server = UdpSocket::bind((GATEWAY, 2)).unwrap();
        server.set_read_timeout(Some(PATIENCE)).unwrap();
        let (mut smf, gnb) = (Smf::new(loopback().into(), daemon.pfcp_addresses()[0]), Gnb::new());
        smf.associate();
        let session = smf.establish();
        smf.forward(session, Teid::new(7).unwrap(), gnb.address);
        let address = gnb.address;
        let (end, thread) = traffic(upf, gnb, session.uplink.teid, UE, server);
        let set = |pools: &[&Session], seconds: u64, drop: bool| {
            let mut next = at_start.upf.clone();
            next.session = pools.iter().map(|pool| (*pool).clone()).collect();
            next.gtpu.echo.interval = Span::from_secs(seconds);
            next.forwarding_policy[0].drop = drop;
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let reloaded = runtime.block_on(daemon.reload(next)).unwrap();
            assert!(reloaded.at_restart.is_empty(), "{reloaded:?}");
        };
        let [of_old, of_new] = ["10.45.0.1/16", "10.46.0.1/16"];
        for (n, (pools, expected)) in [
            (vec![&old, &new], vec![of_old, of_new]),
            (vec![&new], vec![of_old, of_new]),
            (vec![&new, &old], vec![of_old, of_new]),
            (vec![&old], vec![of_old]),
            (vec![&new], vec![of_old, of_new]),
        ]
        .into_iter()
        .enumerate()
        {
            set(&pools, if n % 2 == 0 { 0 } else { 60 + n as u64 }, n % 2 == 0);
            until("the addresses of the device", || addresses() == expected);
        }
        assert_eq!(pools(&daemon), [("10.46.0.0/16".into(), false, 0), ("10.45.0.0/16".into(), true, 1)]);
        let other = Ipv4Addr::new(10, 46, 0, 2);
        let second = smf.establish_forwarding(other, Teid::new(8).unwrap(), address);
        end.send(()).unwrap();
        let (sent, gnb, server) = thread.join().unwrap();
        eprintln!("{sent} packets in each direction, none lost");
        assert!(sent > 0);
        let gateway = Ipv4Addr::new(10, 46, 0, 1);
        let there = UdpSocket::bind((gateway, 2)).unwrap();
        there.set_read_timeout(Some(PATIENCE)).unwrap();
        gnb.send(upf, second.uplink.teid, &packet(other, gateway, b"hello"));
        let mut buffer = [0; 64];
        let (len, from) = there.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..len], from.ip()), (&b"hello"[..], other.into()));
        drop((server, there));
        smf.delete(session);
        until("the drained pool is gone", || pools(&daemon).len() == 1);
        until("its address is gone", || addresses() == [of_new]);
    });
}

// Input:  a UE with traffic to the gateway; while it sends, a reload has the kernel translate the addresses of its pool, and another
//         one ends this.
// Output: both are in force at once, nftables has a table of the pool meanwhile, and no packet of the UE is lost.
#[test]
fn address_translation_begins_and_ends_under_traffic() {
    const TEST: &str = "reload::address_translation_begins_and_ends_under_traffic";
    in_namespace_of_root(TEST, || {
        if nat_tables().is_none() {
            return eprintln!("SKIPPED upf::{TEST}: needs nft (not on PATH)");
        }
        let upf = loopback();
        let mut at_start = config(upf);
        at_start.upf.session = vec![Session { dev: DEVICE.into(), ..Session::default() }];
        at_start.upf.host.reachable = vec!["10.45.0.1/32".parse().unwrap()];
        let daemon = Daemon::start(&at_start).unwrap();
        let server = UdpSocket::bind((GATEWAY, 2)).unwrap();
        server.set_read_timeout(Some(PATIENCE)).unwrap();
        let (mut smf, gnb) = (Smf::new(loopback().into(), daemon.pfcp_addresses()[0]), Gnb::new());
        smf.associate();
        let session = smf.establish_forwarding(UE, Teid::new(7).unwrap(), gnb.address);
        let (end, thread) = traffic(upf, gnb, session.uplink.teid, UE, server);
        for nat in [true, false, true, false] {
            let mut next = at_start.upf.clone();
            next.session[0].nat = nat;
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let Reloaded { applied, at_restart } = runtime.block_on(daemon.reload(next)).unwrap();
            assert_eq!((applied, at_restart), (vec!["upf.session[].nat".to_owned()], Vec::new()));
            let has_table =
                nat_tables().is_some_and(|tables| tables.contains(&format!("causeway-{DEVICE}-")));
            assert_eq!(has_table, nat);
        }
        end.send(()).unwrap();
        let (sent, ..) = thread.join().unwrap();
        eprintln!("{sent} packets in each direction, none lost");
        assert!(sent > 0);
    });
}

/// Sends so many packets of a UE to the server, and waits until the UPF has received them. Returns how many more than `before` it has
/// dropped for the rate of a slice.
fn dropped_for_the_slice(running: &Running, gnb: &Gnb, (ue, teid): (Ipv4Addr, Teid), before: f64) -> f64 {
    const PACKETS: usize = 20;
    let received = || running.metric("fivegs_ep_n3_gtp_indatapktn3upf");
    let expected = received() + PACKETS as f64;
    (0..PACKETS).for_each(|_| gnb.send(running.upf, teid, &packet(ue, SERVER, &[7; 200])));
    until("the packets are received", || received() == expected);
    running.metric("causeway_drop_total{reason=\"slice_rate_exceeded\"}") - before
}

// Input:  a UPF without slices, a session of a slice, and one of another slice, both with traffic; a reload limits the former slice to
//         8 kbit/s, another one the rate to 1 Gbit/s, a third one has no slice.
// Output: each is in force at once: packets of the slice, and of no other, are dropped under the first limit, and under none else. The
//         session stays.
#[test]
fn a_slice_comes_and_goes() {
    let upf = loopback();
    let before = config(upf);
    let mut running = run(&before, upf).unwrap();
    let (mut smf, gnb) = (Smf::new(loopback().into(), running.n4()), Gnb::new());
    smf.associate();
    let other_ue = Ipv4Addr::new(10, 45, 0, 3);
    let limited = smf.establish_of_slice(UE, 1, Teid::new(7).unwrap(), gnb.address);
    let other = smf.establish_of_slice(other_ue, 2, Teid::new(8).unwrap(), gnb.address);
    let (limited, other) = ((UE, limited.uplink.teid), (other_ue, other.uplink.teid));
    assert_eq!(dropped_for_the_slice(&running, &gnb, limited, 0.0), 0.0);
    let with = |kbps| {
        let mut next = before.upf.clone();
        next.qos.slice = vec![Slice { sst: 1, sd: None, uplink: Bitrate::from_kbps(kbps), downlink: None }];
        next
    };
    let came = reload(&running, with(8));
    assert_eq!(came.applied, ["upf.qos.slice: sst 1 added"]);
    assert!(came.at_restart.is_empty(), "{came:?}");
    let drops = dropped_for_the_slice(&running, &gnb, limited, 0.0);
    assert!(drops > 0.0, "the limit is in force");
    assert_eq!(dropped_for_the_slice(&running, &gnb, other, drops), 0.0);
    assert_eq!(reload(&running, with(1_000_000)).applied, ["upf.qos.slice[].uplink"]);
    assert_eq!(dropped_for_the_slice(&running, &gnb, limited, drops), 0.0);
    let went = reload(&running, before.upf.clone());
    assert_eq!(went.applied, ["upf.qos.slice: sst 1 removed"]);
    assert!(went.at_restart.is_empty(), "{went:?}");
    assert_eq!(dropped_for_the_slice(&running, &gnb, limited, drops), 0.0);
    assert_eq!(running.metric("pfcp_sessions"), 2.0);
    let arrived = 100 - drops as usize;
    (0..arrived).for_each(|_| drop(next(&mut running.server)));
}

// Input:  a UPF without forwarding policies; a request that names one, before and after a reload that adds it; the policy then drops.
// Output: the request is refused at first, with the cause of the policy, then accepted; packets follow the policy. A UPF without
//         policies advertises them all the same.
#[test]
fn the_first_policy_comes() {
    let upf = loopback();
    let before = config(upf);
    let mut running = run(&before, upf).unwrap();
    let (mut smf, gnb) = (Smf::new(loopback().into(), running.n4()), Gnb::new());
    smf.associate();
    assert_eq!(smf.try_establish_steered(UE, "silver").unwrap_err(), Cause::InvalidForwardingPolicy);
    let with = |drop| {
        let mut next = before.upf.clone();
        next.forwarding_policy =
            vec![ForwardingPolicy { name: "silver".into(), drop, ..ForwardingPolicy::default() }];
        next
    };
    let Reloaded { applied, at_restart } = reload(&running, with(false));
    assert!(applied == ["upf.forwarding_policy: silver added"] && at_restart.is_empty(), "{applied:?}");
    let session = smf.try_establish_steered(UE, "silver").unwrap();
    gnb.send(running.upf, session.uplink.teid, &packet(UE, SERVER, b"hello"));
    assert!(next(&mut running.server).ends_with(b"hello"));
    reload(&running, with(true));
    // A packet may come before the packet thread has the change.
    until("the policy drops", || {
        gnb.send(running.upf, session.uplink.teid, &packet(UE, SERVER, b"hello"));
        running.metric("causeway_drop_total{reason=\"policy_drop\"}") >= 1.0
    });
}

// Input:  a session to a gNB, without supervision of paths; Echo Requests every minute are switched on, then off.
// Output: the gNB gets one at once, and the API shows its path; then no path is supervised any more.
#[test]
fn echo_requests_are_switched_on_and_off() {
    let upf = loopback();
    let before = config(upf);
    let running = run(&before, upf).unwrap();
    let (mut smf, gnb) = (Smf::new(loopback().into(), running.n4()), Gnb::new());
    smf.associate();
    smf.establish_forwarding(UE, Teid::new(7).unwrap(), gnb.address);
    let peers = || {
        let peers: serde_json::Value = serde_json::from_str(&running.fetch("/api/v1/peers").1).unwrap();
        peers["peers"].as_array().unwrap().len()
    };
    assert_eq!(peers(), 0);
    let mut next = before.upf.clone();
    next.gtpu.echo.interval = Span::from_secs(60);
    assert_eq!(reload(&running, next).applied, ["upf.gtpu.echo.interval"]);
    assert_eq!(gnb.receive()[1], 1);
    until("the path is supervised", || peers() == 1);
    assert_eq!(reload(&running, before.upf).applied, ["upf.gtpu.echo.interval"]);
    until("no path is supervised", || peers() == 0);
}

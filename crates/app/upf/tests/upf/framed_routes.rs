//! Framed routes of the daemon in the kernel, in a network namespace of its own.

use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;

use causeway_pfcp::{Cause, HeartbeatRequest, Message, RecoveryTimeStamp};
use causeway_types::{NtpSeconds, Teid};
use causeway_upf::Daemon;
use causeway_upf::config::{Config, Session};

use crate::common::namespace::{in_namespace, ip};
use crate::common::smf::{Smf, decode};
use crate::common::{Gnb, PATIENCE, config, loopback, metric, until};

const DEVICE: &str = "n6test";

/// A daemon behind a TUN device whose UEs may have 172.16.0.0/12, 2001:db8:f00::/40 and 192.0.2.0/24 behind them.
fn daemon(change: impl FnOnce(&mut Config)) -> Daemon {
    let mut config = config(loopback());
    let framed_routes = ["172.16.0.0/12", "2001:db8:f00::/40", "192.0.2.0/24"];
    let framed_routes = framed_routes.map(|net| net.parse().unwrap()).to_vec();
    config.upf.session = vec![Session { dev: DEVICE.into(), framed_routes, ..Session::default() }];
    change(&mut config);
    Daemon::start(&config).unwrap()
}

fn smf(daemon: &Daemon) -> Smf {
    let mut smf = Smf::new(loopback().into(), daemon.pfcp_addresses()[0]);
    smf.associate();
    smf
}

fn ue(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 45, 1, number)
}

/// A link to somebody else.
fn connect(name: &str) {
    ip(&format!("link add {name} type veth peer name {name}-peer"));
    ip(&format!("link set {name} up"));
    ip(&format!("link set {name}-peer up"));
}

/// What `ip` says.
fn shown(words: &str) -> String {
    let output = Command::new("ip").args(words.split(' ')).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Our rules, and our routes.
fn ours() -> [String; 4] {
    let of = |words: &str| {
        shown(words).lines().filter(|line| line.contains("proto 205")).collect::<Vec<_>>().join("\n")
    };
    [
        of("-d rule show"),
        of("-6 -d rule show"),
        shown("route show table 8805"),
        shown("-6 route show table 8805"),
    ]
}

// Input:  routes and rules as a daemon leaves them that was killed, and one route of somebody else in the table; a session with
//         an IPv4 and an IPv6 route; the daemon ends with the session there.
// Output: what was left is gone at the start, the other's route stays; the routes are in the table of their own and not in
//         main; at the end nothing of ours is left.
#[test]
fn routes_are_in_a_table_of_their_own_and_go_with_the_daemon() {
    in_namespace("framed_routes::routes_are_in_a_table_of_their_own_and_go_with_the_daemon", || {
        connect("left");
        ip("route add 172.16.9.0/24 dev left table 8805 proto 205");
        ip("-6 route add 2001:db8:f09::/48 dev left table 8805 proto 205");
        ip("route add 198.18.0.0/24 dev left table 8805 proto static");
        for family in ["-4", "-6"] {
            ip(&format!("{family} rule add pref 32700 lookup main suppress_prefixlength 0 protocol 205"));
            ip(&format!("{family} rule add pref 32701 lookup 8805 protocol 205"));
        }
        let running = daemon(|_| {});
        let mut smf = smf(&running);
        let routes = ["172.16.5.0/24 0.0.0.0 1", "2001:db8:f05::/48"];
        let (cause, ..) = smf.try_establish_with_routes(ue(1), &routes);
        assert_eq!(cause, Cause::RequestAccepted);
        let [rules, rules6, v4, v6] = ours();
        assert!(rules.lines().count() == 2 && rules6.lines().count() == 2, "{rules}\n{rules6}");
        assert!(v4.contains(&format!("172.16.5.0/24 dev {DEVICE}")) && v4.contains("198.18.0.0/24"), "{v4}");
        assert!(!v4.contains("172.16.9.0/24") && !v6.contains("2001:db8:f09::/48"), "{v4}\n{v6}");
        assert!(v6.contains(&format!("2001:db8:f05::/48 dev {DEVICE}")), "{v6}");
        assert!(!shown("route show").contains("172.16.") && !shown("-6 route show").contains("f05"));
        assert!(shown("route get 172.16.5.9").contains(DEVICE), "{}", shown("route get 172.16.5.9"));
        assert_eq!(metric(&running, "causeway_framed_routes"), 2.0);
        drop(running);
        let [rules, rules6, v4, v6] = ours();
        assert_eq!((rules, rules6, v6), Default::default());
        assert_eq!(v4.lines().count(), 1, "{v4}");
    });
}

// Input:  framed routes over the default route, a network that this host is connected to, the SMF, and an address outside of the
//         ranges; then a network that it is connected to later, inside a route that a session has.
// Output: each of the first is refused with the IE, and the kernel hears of none; packets to the later network go there, the
//         others to the UE.
#[test]
fn routes_take_nothing_from_the_host() {
    in_namespace("framed_routes::routes_take_nothing_from_the_host", || {
        connect("lan");
        ip("address add 192.0.2.1/25 dev lan");
        ip("route add default via 192.0.2.9");
        let running = daemon(|_| {});
        let mut smf = smf(&running);
        let smf_route = format!("{}/32", smf.local().ip());
        for route in
            ["0.0.0.0/0", "192.0.2.64/26", "192.0.2.0/24", &smf_route, "198.51.100.0/24", "10.45.0.1/32"]
        {
            let (cause, ie, _) = smf.try_establish_with_routes(ue(1), &[route]);
            assert_eq!((cause, ie), (Cause::RuleCreationModificationFailure, Some(153)), "{route}");
        }
        let (cause, ie, _) = smf.try_establish_with_routes(ue(1), &["::/0"]);
        assert_eq!((cause, ie), (Cause::RuleCreationModificationFailure, Some(155)));
        assert_eq!(ours()[2..], ["", ""]);
        assert_eq!(smf.try_establish_with_routes(ue(1), &["172.16.0.0/16"]).0, Cause::RequestAccepted);
        connect("later");
        ip("address add 172.16.7.1/24 dev later");
        assert!(shown("route get 172.16.7.9").contains("later"));
        assert!(shown("route get 172.16.8.9").contains(DEVICE));
        assert!(shown("route get 203.0.113.1").contains("lan"));
    });
}

// Input:  twenty requests at once for sessions of sixty-four routes each, and a heartbeat behind them; up to three times.
// Output: all sessions are answered when their routes are in, and the heartbeat overtakes some of them, at least once: what else
//         the machine does may delay the heartbeat alone.
#[test]
fn many_routes_delay_no_other_session() {
    in_namespace("framed_routes::many_routes_delay_no_other_session", || {
        let running = daemon(|_| {});
        let (mut smf, other) = (smf(&running), UdpSocket::bind((loopback(), 0)).unwrap());
        other.connect(running.pfcp_addresses()[0]).unwrap();
        other.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut octets = Vec::new();
        let heartbeat = HeartbeatRequest::new(RecoveryTimeStamp(NtpSeconds(0xe000_0000)));
        Message::from(heartbeat).encode(None, 1, &mut octets).unwrap();
        let overtakes = |round: u8| {
            for number in 20 * round..20 * (round + 1) {
                let route = |at: u8| format!("172.{}.{}.0/24", 16 + number / 4, 64 * (number % 4) + at);
                let routes: Vec<String> = (0..64).map(route).collect();
                smf.send_routes(ue(number), &routes.iter().map(String::as_str).collect::<Vec<_>>());
            }
            other.send(&octets).unwrap();
            let mut buffer = [0; 2048];
            let len = other.recv(&mut buffer).unwrap();
            let mut answers = smf.receive_waiting();
            let earlier = answers.len();
            assert!(matches!(decode(&buffer[..len]).1, Message::HeartbeatResponse(_)));
            answers.resize_with(20, || smf.receive());
            let is_accepted = |answer: &Vec<u8>| match decode(answer).1 {
                Message::SessionEstablishmentResponse(response) => response.cause.is_accepted(),
                other => panic!("{other:?}"),
            };
            assert!(answers.iter().all(is_accepted));
            assert_eq!(ours()[2].lines().count(), usize::from(round + 1) * 20 * 64);
            earlier < 20
        };
        assert!((0..3).any(overtakes), "each heartbeat waited for all sessions");
    });
}

// Input:  the TUN device goes down and comes up, which makes the kernel forget its routes.
// Output: they are made again.
#[test]
fn routes_come_back_with_their_device() {
    in_namespace("framed_routes::routes_come_back_with_their_device", || {
        let running = daemon(|_| {});
        let mut smf = smf(&running);
        assert_eq!(smf.try_establish_with_routes(ue(1), &["172.16.5.0/24"]).0, Cause::RequestAccepted);
        assert!(ours()[2].contains("172.16.5.0/24"));
        ip(&format!("link set {DEVICE} down"));
        assert!(ours()[2].is_empty());
        ip(&format!("link set {DEVICE} up"));
        until("the routes are there again", || ours()[2].contains("172.16.5.0/24"));
    });
}

// Input:  a second SMF asks for a framed route over the UE of the first one's session, with a tunnel to itself; then the data
//         network writes to that UE.
// Output: refused with the Framed-Route; the packet goes to the first UE's gNB.
#[test]
fn a_framed_route_does_not_intercept_another_subscriber() {
    in_namespace("framed_routes::a_framed_route_does_not_intercept_another_subscriber", || {
        let running =
            daemon(|config| config.upf.session[0].framed_routes.push("10.45.0.0/16".parse().unwrap()));
        let (mut victims, gnb) = (smf(&running), Gnb::new());
        let session = victims.establish();
        victims.forward(session, Teid::new(7).unwrap(), gnb.address);
        let mut attacker = smf(&running);
        for route in ["10.45.0.2/32", "10.45.0.2/31", "10.45.0.0/29"] {
            let (cause, ie, _) = attacker.try_establish_with_routes(ue(9), &[route]);
            assert_eq!((cause, ie), (Cause::RuleCreationModificationFailure, Some(153)), "{route}");
        }
        assert!(!attacker.try_establish(crate::common::UE).is_accepted());
        let host = UdpSocket::bind((Ipv4Addr::new(10, 45, 0, 1), 0)).unwrap();
        host.send_to(b"for the first UE", (crate::common::UE, 9)).unwrap();
        let datagram = gnb.receive();
        assert!(datagram.ends_with(b"for the first UE"), "{datagram:02x?}");
    });
}

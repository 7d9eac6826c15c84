//! The copy of the kernel's tables, compared while they change.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use causeway_ports::netlink::{NextHop, RouteMonitor, Table};

use crate::common::{in_namespace, ip};

fn addr(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Refreshes until `expected` holds, or two seconds are over.
fn until(watch: &mut RouteMonitor, expected: impl Fn(&Table) -> bool) {
    let end = Instant::now() + Duration::from_secs(2);
    while !expected(watch.table()) {
        assert!(Instant::now() < end, "the table did not follow");
        std::thread::sleep(Duration::from_millis(5));
        watch.refresh().unwrap();
    }
}

/// A veth pair `n3` and `gnb`, both up, with 192.0.2.1/24 and 2001:db8::1/64 on `n3`.
fn veth() {
    for command in [
        "link add n3 type veth peer name gnb",
        "link set n3 up",
        "link set gnb up",
        "address add 192.0.2.1/24 dev n3",
        "address add 2001:db8::1/64 dev n3 nodad",
    ] {
        ip(command);
    }
}

fn index(watch: &RouteMonitor) -> u32 {
    watch.table().link("n3").unwrap().index
}

// Input:  links, addresses and routes from before the monitor is opened.
// Output: they are in the table.
#[test]
fn existing_entries_are_listed() {
    in_namespace("existing_entries_are_listed", || {
        veth();
        ip("route add 198.51.100.0/24 via 192.0.2.9 metric 7");
        let watch = RouteMonitor::open().unwrap();
        let table = watch.table();
        let link = table.link("n3").unwrap();
        assert!(link.up && link.mtu == 1500 && link.mac.is_some());
        assert!(table.is_local(addr("192.0.2.1")) && table.is_local(addr("2001:db8::1")));
        assert!(!table.is_local(addr("192.0.2.9")));
        let route = table.routes.lookup(addr("198.51.100.5")).unwrap();
        assert_eq!((route.metric, route.hops[0].gateway), (7, Some(addr("192.0.2.9"))));
        let direct = table.routes.lookup(addr("192.0.2.77")).unwrap();
        assert_eq!((direct.hops[0].gateway, direct.source), (None, Some(addr("192.0.2.1"))));
        assert!(table.routes.lookup(addr("203.0.113.1")).is_none());
    });
}

// Input:  routes added, replaced, deleted, for both families; a route that drops; two next hops to one prefix.
// Output: the next hop follows each.
#[test]
fn routes_are_followed() {
    in_namespace("routes_are_followed", || {
        veth();
        let mut watch = RouteMonitor::open().unwrap();
        let link = index(&watch);
        let to = addr("203.0.113.1");
        ip("route add default via 192.0.2.9");
        until(&mut watch, |table| table.next_hop(link, to) == NextHop::Unknown(addr("192.0.2.9")));
        ip("route replace default via 192.0.2.8");
        until(&mut watch, |table| table.next_hop(link, to) == NextHop::Unknown(addr("192.0.2.8")));
        ip("route add blackhole 203.0.113.0/24");
        until(&mut watch, |table| table.next_hop(link, to) == NextHop::NoRoute);
        ip("route del blackhole 203.0.113.0/24");
        until(&mut watch, |table| table.next_hop(link, to) == NextHop::Unknown(addr("192.0.2.8")));
        ip("route add 203.0.113.0/24 nexthop via 192.0.2.6 nexthop via 192.0.2.7");
        until(&mut watch, |table| table.routes.lookup(to).is_some_and(|route| route.hops.len() == 2));
        let six = addr("2001:db8:1::1");
        ip("-6 route add 2001:db8:1::/48 via 2001:db8::9");
        until(&mut watch, |table| table.next_hop(link, six) == NextHop::Unknown(addr("2001:db8::9")));
        ip("-6 route del 2001:db8:1::/48");
        until(&mut watch, |table| table.next_hop(link, six) == NextHop::NoRoute);
        assert_eq!(watch.table().next_hop(link + 1000, to), NextHop::NoRoute);
    });
}

// Input:  the link goes down, which removes IPv4 routes without a message each; then it is deleted.
// Output: the routes are gone from the table; then the link and its addresses.
#[test]
fn changes_without_an_event_are_noticed() {
    in_namespace("changes_without_an_event_are_noticed", || {
        veth();
        ip("route add default via 192.0.2.9");
        let mut watch = RouteMonitor::open().unwrap();
        let link = index(&watch);
        ip("link set n3 down");
        until(&mut watch, |table| table.next_hop(link, addr("203.0.113.1")) == NextHop::NoRoute);
        ip("link set n3 up");
        until(&mut watch, |table| table.next_hop(link, addr("192.0.2.5")) != NextHop::NoRoute);
        ip("address del 192.0.2.1/24 dev n3");
        until(&mut watch, |table| table.next_hop(link, addr("192.0.2.5")) == NextHop::NoRoute);
        ip("link del n3");
        until(&mut watch, |table| table.links.len() == 1 && !table.is_local(addr("2001:db8::1")));
    });
}

// Input:  a neighbour set by hand, aged, deleted; a request for one that does not exist.
// Output: known, to be confirmed, unknown; unreachable after the kernel's timeout.
#[test]
fn neighbours_are_followed() {
    in_namespace("neighbours_are_followed", || {
        veth();
        ip("link set gnb arp off");
        let mut watch = RouteMonitor::open().unwrap();
        let link = index(&watch);
        let gnb = addr("192.0.2.9");
        ip("neigh replace 192.0.2.9 lladdr 02:00:00:00:00:09 dev n3 nud permanent");
        until(&mut watch, |table| matches!(table.next_hop(link, gnb), NextHop::Known { confirm: None, .. }));
        ip("neigh replace 192.0.2.9 lladdr 02:00:00:00:00:09 dev n3 nud stale");
        until(
            &mut watch,
            |table| matches!(table.next_hop(link, gnb), NextHop::Known { confirm: Some(ip), .. } if ip == gnb),
        );
        ip("neigh del 192.0.2.9 dev n3");
        until(&mut watch, |table| !matches!(table.next_hop(link, gnb), NextHop::Known { .. }));
        std::fs::write("/proc/sys/net/ipv4/neigh/n3/retrans_time_ms", "100").unwrap();
        watch.resolve(link, gnb).unwrap();
        assert_eq!(watch.table().next_hop(link, gnb), NextHop::Unknown(gnb));
        until(&mut watch, |table| table.next_hop(link, gnb) == NextHop::Unreachable(gnb));
    });
}

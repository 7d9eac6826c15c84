//! The operator's firewall on a switch: rows over real gRPC, and reloads.

use std::net::Ipv4Addr;
use std::time::Instant;

use causeway_types::Teid;
use causeway_upf::Daemon;
use causeway_upf::config::{Config, Overrides, Upf};

use super::{N3, N6, QFI, Served, Switch, frame, from_ue, in_tunnel, of_profile, start, to_ue};
use crate::common::{PATIENCE, SERVER, UE, metric, one_hop_on, packet, until};

/// A server that firewalls may deny.
pub(super) const OTHER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 66);

/// The same configuration with a firewall.
pub(super) fn with(upf: &Upf, firewall: &str) -> Upf {
    let text = format!("upf:\n  firewall:\n{firewall}");
    let read = Config::parse(None, &text, &Overrides::default()).unwrap();
    Upf { firewall: read.upf.firewall, ..upf.clone() }
}

pub(super) fn reload(daemon: &Daemon, next: Upf) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let reloaded = runtime.block_on(daemon.reload(next)).unwrap();
    assert!(reloaded.at_restart.is_empty() && !reloaded.applied.is_empty(), "{reloaded:?}");
}

pub(super) fn drops(daemon: &Daemon, reason: &str) -> f64 {
    metric(daemon, &format!("causeway_drop_total{{reason=\"{reason}\"}}"))
}

/// Sends a packet to a server, and then one that passes in any case; returns whether the former has left.
pub(super) fn passes(switch: &mut Served, teid: Teid, to: Ipv4Addr) -> bool {
    let (asked, mark) = (packet(UE, to, b"asked"), from_ue(7));
    switch.put(N3, &in_tunnel(teid, &asked));
    switch.put(N3, &in_tunnel(teid, &mark));
    let first = switch.next().1[14..].to_vec();
    if first == one_hop_on(mark.clone()) {
        return false;
    }
    assert_eq!(first, one_hop_on(asked));
    assert_eq!(switch.next().1[14..], one_hop_on(mark));
    true
}

// Input:  a switch in profile `hip4` with the firewall, over P4Runtime; a firewall that is replaced by reloads under traffic, by one with more rows
//         than the switch has, and by none.
// Output: each firewall is in force after a while, and never passes a packet what that and the former deny; the one with too many rows is
//         not put into force. What is denied is counted under its direction and is no usage.
#[test]
fn the_firewall_of_a_switch_follows_reloads() {
    let mut switch = Served::at("127.0.0.1:0".parse().unwrap());
    let config = of_profile(&switch, "hip4-vxlan.bmv2.txtpb");
    let first = with(&config.upf, "    rules: |\n      deny in ip from any to 198.51.100.66\n");
    let (daemon, mut smf) = start(&Config { upf: first, ..config.clone() });
    let session = smf.establish_flow(UE, QFI);
    let teid = session.uplink.teid;
    assert!(!passes(&mut switch, teid, OTHER));
    assert!(passes(&mut switch, teid, SERVER));
    until("the drop is told", || drops(&daemon, "firewall_uplink") == 1.0);
    // Two packets of 100 octets, and one of 33; the denied one is no usage.
    assert_eq!(smf.query(session), (100 + 33 + 100, 0));

    // What both deny never passes; what the next one permits passes in a while.
    let next = "    uplink: deny\n    rules: |\n      permit in udp from any to 198.51.100.1\n      permit in udp from any to 198.51.100.77\n";
    let third = Ipv4Addr::new(198, 51, 100, 77);
    reload(&daemon, with(&config.upf, next));
    let begin = Instant::now();
    loop {
        assert!(!passes(&mut switch, teid, OTHER));
        assert!(passes(&mut switch, teid, third));
        if !passes(&mut switch, teid, Ipv4Addr::new(198, 51, 100, 78)) {
            break;
        }
        assert!(begin.elapsed() < PATIENCE, "the switch does not get the firewall");
    }
    assert!(!passes(&mut switch, teid, OTHER));

    // More rows than the switch has: the one before stays.
    let many: String =
        (1..600).map(|port| format!("      permit in udp from 10.45.0.0/16 to any {port}\n")).collect();
    reload(&daemon, with(&config.upf, &format!("    rules: |\n{many}")));
    assert_eq!(smf.query(session).1, 0);
    assert!(!passes(&mut switch, teid, OTHER));

    // None: all passes.
    reload(&daemon, config.upf.clone());
    let begin = Instant::now();
    while !passes(&mut switch, teid, OTHER) {
        assert!(begin.elapsed() < PATIENCE, "the switch keeps the firewall");
    }
    assert!(drops(&daemon, "firewall_uplink") >= 1.0);

    // To UEs, from one port alone.
    reload(&daemon, with(&config.upf, "    downlink: deny\n"));
    smf.forward(session, Teid::new(super::GNB_TEID).unwrap(), super::GNB);
    until("downlink packets are denied", || {
        switch.put(N6, &frame(&to_ue(2)));
        while switch.switch.poll_sent().is_some() {}
        drops(&daemon, "firewall_downlink") >= 1.0
    });
}

// Input:  a firewall for a switch whose program has none, and one with more rows than its table.
// Output: the UPF does not start, and says what to do.
#[test]
fn a_switch_without_space_for_the_firewall_is_refused() {
    let switch = Served::at("127.0.0.1:0".parse().unwrap());
    let started = |p4info: &str, firewall: &str| {
        let config = of_profile(&switch, p4info);
        Daemon::start(&Config { upf: with(&config.upf, firewall), ..config }).err().unwrap().to_string()
    };
    let error = started("hip4.bmv2.txtpb", "    downlink: deny\n");
    assert!(
        error.contains("the switch's program has no firewall") && error.contains("hip4-vxlan"),
        "{error}"
    );
    let many: String =
        (1..600).map(|port| format!("      deny out udp from 192.0.2.9 {port} to any\n")).collect();
    let error = started("hip4-vxlan.bmv2.txtpb", &format!("    rules: |\n{many}"));
    assert!(
        error.contains("`deny out 17 from 192.0.2.9 512 to any` needs row 513 of table firewall_downlink"),
        "{error}"
    );
}

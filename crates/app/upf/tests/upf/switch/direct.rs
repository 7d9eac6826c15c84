//! Profile `direct` on a switch over real gRPC: TEIDs of pools are those of entries by number.

use std::time::Instant;

use causeway_types::{IpNet, Teid};
use causeway_upf::Daemon;
use causeway_upf::config::{Config, Session};

use super::firewall::{OTHER, drops, passes, with};
use super::{
    GNB, GNB_TEID, N3, N6, N6_ROUTER, QFI, Served, Switch, carry_and_buffer, entries, frame, from_ue,
    in_tunnel, of_profile, out_of_tunnel, start, to_ue,
};
use crate::common::smf::{self, Smf};
use crate::common::{PATIENCE, SERVER, UE, one_hop_on, until};

/// The entries of the tables of sessions by number, and of those of rules with an entry of their own.
const TABLES: [&str; 6] = [
    "ue_pools",
    "source_guard",
    "ul_sessions_low",
    "dl_sessions_middle",
    "ul_to_n6_simple",
    "dl_from_n6_simple",
];

/// What they hold with one session by number.
const BY_NUMBER: [Option<usize>; 6] = [Some(1), Some(2), Some(1), Some(1), Some(0), Some(0)];

fn counts(daemon: &Daemon) -> [Option<usize>; 6] {
    TABLES.map(|table| entries(daemon, table))
}

/// Sessions of the UE, one after the other, until one has a TEID that `fits`, which follows from its SEID, and entries by number. A number
/// is free a moment after the session that had it.
fn by_number(daemon: &Daemon, smf: &mut Smf, fits: impl Fn(Teid) -> bool) -> smf::Session {
    let start = Instant::now();
    loop {
        let session = smf.establish_flow(UE, QFI);
        if fits(session.uplink.teid) && counts(daemon) == BY_NUMBER {
            return session;
        }
        smf.delete(session).unwrap();
        assert!(start.elapsed() < PATIENCE, "no session has entries by number");
    }
}

// Input:  profile `direct` over P4Runtime with a pool of IPv4 UEs; an idle UE, with packets both ways; its session ends, and others of
//         the UE begin, until one has its other TEID; a late packet in the tunnel of the first, and one in that of the last.
// Output: the story of the other profiles, with two entries by number and none of rules; the other TEID is of the same number and another
//         generation, so that the late packet is dropped and no usage.
#[test]
fn a_pool_has_teids_of_entries_by_number() {
    let mut switch = Served::at("127.0.0.1:0".parse().unwrap());
    let (daemon, mut smf) = start(&of_profile(&switch, "direct.bmv2.txtpb"));
    assert_eq!(carry_and_buffer(&mut switch, &mut smf), Some((100, 400)));
    assert_eq!(counts(&daemon), [Some(1), Some(2), Some(0), Some(0), Some(0), Some(0)]);

    let first = by_number(&daemon, &mut smf, |_| true);
    let old = first.uplink.teid;
    smf.delete(first).unwrap();
    let second = by_number(&daemon, &mut smf, |teid| teid != old);
    let new = second.uplink.teid;
    assert_eq!((old.value() ^ new.value(), old.value() >> 22, new.value() >> 22), (1 << 18, 0, 0));
    switch.put(N3, &in_tunnel(old, &from_ue(1)));
    switch.put(N3, &in_tunnel(new, &from_ue(2)));
    assert_eq!(switch.next().1[14..], one_hop_on(from_ue(2)));
    assert_eq!(smf.delete(second), Some((100, 0)));
}

// Input:  subnets of more than 2^17 addresses.
// Output: the UPF does not start, and says for which subnet, and what to do.
#[test]
fn more_ues_than_numbers_are_refused() {
    let switch = Served::at("127.0.0.1:0".parse().unwrap());
    let mut config = of_profile(&switch, "direct.bmv2.txtpb");
    let subnet = |net: &str| net.parse::<IpNet>().unwrap();
    let first = Session { subnet: subnet("10.44.0.0/15"), ..config.upf.session[0].clone() };
    config.upf.session = vec![Session { subnet: subnet("10.46.0.0/24"), ..first.clone() }, first];
    let error = Daemon::start(&config).err().unwrap().to_string();
    assert!(error.contains("UEs of 10.46.0.0/24") && error.contains("2^17 addresses"), "{error}");
}

// Input:  the same with VXLAN and a firewall in the program, and a firewall; packets to a denied server and to another; packets both ways.
// Output: what is denied is counted under its direction, and is no usage; the others pass, by entries by number.
#[test]
fn direct_has_the_firewall() {
    let mut switch = Served::at("127.0.0.1:0".parse().unwrap());
    let config = of_profile(&switch, "direct-vxlan.bmv2.txtpb");
    let rules =
        "    rules: |\n      deny in ip from any to 198.51.100.66\n      deny out udp from any 5000 to any\n";
    let (daemon, mut smf) = start(&Config { upf: with(&config.upf, rules), ..config });
    let session = smf.establish_flow(UE, QFI);
    let teid = session.uplink.teid;
    assert_eq!(counts(&daemon), BY_NUMBER);
    assert!(!passes(&mut switch, teid, OTHER));
    assert!(passes(&mut switch, teid, SERVER));
    until("the drop is told", || drops(&daemon, "firewall_uplink") == 1.0);
    // Two packets of 100 octets, and one of 33; the denied one is no usage.
    assert_eq!(smf.query(session), (100 + 33 + 100, 0));

    smf.forward(session, Teid::new(GNB_TEID).unwrap(), GNB);
    switch.put(N6, &frame(&to_ue(2)));
    let (port, sent) = switch.next();
    assert_eq!((port, out_of_tunnel(&sent)), (N3, one_hop_on(to_ue(2))));
    switch.put(N3, &in_tunnel(teid, &from_ue(3)));
    let (port, sent) = switch.next();
    assert_eq!((port, &sent[..6]), (N6, &N6_ROUTER.0[..]));
    assert_eq!(smf.delete(session), Some((100, 200)));
    assert_eq!(counts(&daemon), [Some(1), Some(2), Some(0), Some(0), Some(0), Some(0)]);
}

//! A UPF between two tunnels. SMF, and the nodes at the ends of both tunnels, are in network namespaces of their own.

use std::net::Ipv4Addr;

use causeway_packet::gtpu::prefix;
use causeway_types::Teid;
use causeway_upf::Daemon;
use causeway_upf::config::{DataPlane, PfcpServer};

use crate::common::far::far_end;
use crate::common::namespace::in_namespace;
use crate::common::smf::Smf;
use crate::common::{SERVER, UE, config, metric, packet, until};

const N4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 33);
const N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// The node before the UPF and behind it.
const PEER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);

// Input:  packets of a tunnel that go on in another one, with 64 hops, with two, with the last one, and with two again; on each software
//         data plane.
// Output: all go on but that with the last hop, which is dropped under its name.
#[test]
fn relayed_packets_end_with_their_last_hop() {
    let name = "relay::relayed_packets_end_with_their_last_hop";
    in_namespace(name, || relay(DataPlane::FastPath));
}

#[test]
fn relayed_packets_end_with_their_last_hop_on_the_slow_path() {
    let name = "relay::relayed_packets_end_with_their_last_hop_on_the_slow_path";
    in_namespace(name, || relay(DataPlane::SlowPath));
}

fn relay(dataplane: DataPlane) {
    let smf = far_end(
        "n4",
        "192.0.2.33/28",
        &["address add 192.0.2.34/28 dev far", "link set far up"],
        ([192, 0, 2, 34].into(), 0),
    );
    let peer =
        far_end("n3", "192.0.2.1/28", &["address add 192.0.2.9/28 dev far", "link set far up"], (PEER, 2152));
    let mut config = config(N3);
    config.upf.metrics.server[0].address = Ipv4Addr::LOCALHOST.into();
    config.upf.pfcp.server = vec![PfcpServer::at(N4.into(), 0)];
    config.upf.dataplane = dataplane;
    let daemon = Daemon::start(&config).unwrap();
    let mut smf = Smf::over(smf, daemon.pfcp_addresses()[0]);
    smf.associate();
    let (session, next) = (smf.establish(), Teid::new(0x9001).unwrap());
    smf.relay(session, next, PEER);
    let expired = || metric(&daemon, r#"causeway_drop_total{reason="outer_ttl_expired"}"#);
    for (number, hops) in (0_u8..).zip([64, 2, 1, 2]) {
        let user = packet(UE, SERVER, &[number; 40]);
        peer.set_ttl(hops).unwrap();
        let header = prefix::without_extensions(session.uplink.teid, user.len()).unwrap();
        peer.send_to(&[&header[..], &user].concat(), (N3, 2152)).unwrap();
        if hops == 1 {
            until("the last hop is used up", || expired() >= 1.0);
            continue;
        }
        let mut got = [0; 256];
        let len = peer.recv(&mut got).unwrap();
        assert_eq!((&got[4..8], &got[len - 40..len]), (&next.value().to_be_bytes()[..], &[number; 40][..]));
    }
    assert_eq!(expired(), 1.0);
}

//! Addresses that peers are told, behind address translation.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;

use causeway_packet::gtpu::prefix;
use causeway_types::Teid;
use causeway_upf::Daemon;
use causeway_upf::config::{GtpuServer, PfcpServer};

use crate::common::far::far_ends;
use crate::common::namespace::in_namespace_of_root;
use crate::common::smf::Smf;
use crate::common::{PATIENCE, UE, config, loopback, packet};

/// The address of the UPF, which its peers do not know.
const OWN: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// The address that they do.
const TOLD: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 7);
const PEER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 1);
const N4: u16 = 8805;
const N3: u16 = 2152;

/// Translates what comes for the one address to the other, as a firewall or a cloud does.
const TRANSLATION: &str = "table ip behind {\n\
    chain prerouting {\n\
      type nat hook prerouting priority dstnat;\n\
      ip daddr 203.0.113.7 udp dport { 2152, 8805 } dnat to 192.0.2.1\n\
    }\n\
  }\n";

fn has_nft() -> bool {
    Command::new("nft").arg("--version").output().is_ok_and(|output| output.status.success())
}

fn behind_translation() {
    let commands =
        &["address add 192.0.2.9/24 dev far", "link set far up", "route add 203.0.113.7/32 via 192.0.2.1"];
    let mut far = far_ends("n3", "192.0.2.1/24", commands, vec![(PEER, N4), (PEER, N3)]);
    let (gnb, smf) = (far.pop().unwrap(), far.pop().unwrap());
    let rules = std::env::temp_dir().join(format!("behind-{}.nft", std::process::id()));
    std::fs::write(&rules, TRANSLATION).unwrap();
    assert!(Command::new("nft").arg("-f").arg(&rules).status().unwrap().success());
    std::fs::remove_file(&rules).unwrap();
    let mut config = config(loopback());
    config.upf.pfcp.server =
        vec![PfcpServer { advertise: vec![TOLD.into()], ..PfcpServer::at(OWN.into(), N4) }];
    let address = Some(OWN.into());
    config.upf.gtpu.server =
        vec![GtpuServer { address, advertise: vec![TOLD.into()], ..GtpuServer::default() }];
    let _daemon = Daemon::start(&config).unwrap();
    let told = SocketAddr::from((TOLD, N4));
    let mut smf = Smf::over(smf, told);
    smf.associate();
    let (f_seid, tunnel) = smf.told(UE, Teid::new(7).unwrap(), PEER);
    assert_eq!((f_seid.addr.v4, f_seid.addr.v6), (Some(TOLD), None));
    assert_eq!((tunnel.addr.v4, tunnel.addr.v6), (Some(TOLD), None));
    let server = std::net::UdpSocket::bind((GATEWAY, 2)).unwrap();
    server.set_read_timeout(Some(PATIENCE)).unwrap();
    let user = packet(UE, GATEWAY, b"question");
    let header = prefix::without_extensions(tunnel.teid, user.len()).unwrap();
    gnb.send_to(&[&header[..], &user].concat(), (TOLD, N3)).unwrap();
    let mut buffer = [0; 128];
    let (len, from) = server.recv_from(&mut buffer).unwrap();
    assert_eq!((&buffer[..len], from.ip()), (&b"question"[..], IpAddr::from(UE)));
    server.send_to(b"reply", from).unwrap();
    let (len, from) = gnb.recv_from(&mut buffer).unwrap();
    assert!(buffer[..len].ends_with(b"reply"), "{:02x?}", &buffer[..len]);
    assert_eq!(from, (TOLD, N3).into());
    // A tunnel that no session has: the Error Indication names the address that the gNB knows.
    let header = prefix::without_extensions(Teid::new(0x77).unwrap(), user.len()).unwrap();
    gnb.send_to(&[&header[..], &user].concat(), (TOLD, N3)).unwrap();
    let (len, from) = gnb.recv_from(&mut buffer).unwrap();
    assert_eq!((buffer[1], from), (26, (TOLD, N3).into()));
    assert!(buffer[..len].windows(4).any(|octets| octets == TOLD.octets()), "{:02x?}", &buffer[..len]);
}

// Input:  a UPF whose N3 and N4 address nobody knows, behind a DNAT of nftables; an SMF and a gNB that know the address
//         before it; N3 on a UDP socket.
// Output: F-SEID, F-TEID and Error Indication have the address that they know, and packets cross in both directions.
#[test]
fn peers_reach_a_upf_behind_address_translation() {
    if !has_nft() {
        return eprintln!(
            "SKIPPED advertise::peers_reach_a_upf_behind_address_translation: needs nft (not on PATH)"
        );
    }
    in_namespace_of_root("advertise::peers_reach_a_upf_behind_address_translation", || {
        behind_translation();
    });
}

// Input:  an interface with two IPv4 addresses, and one address that is advertised for it.
// Output: an error with the key: it is not known for which of them it stands.
#[test]
fn an_advertised_address_stands_for_one_address() {
    in_namespace_of_root("advertise::an_advertised_address_stands_for_one_address", || {
        crate::common::namespace::ip("link add two type veth peer name other");
        crate::common::namespace::ip("address add 192.0.2.1/24 dev two");
        crate::common::namespace::ip("address add 198.51.100.1/24 dev two");
        crate::common::namespace::ip("link set two up");
        let mut config = config(loopback());
        let dev = Some("two".to_owned());
        config.upf.gtpu.server =
            vec![GtpuServer { dev, advertise: vec![TOLD.into()], ..GtpuServer::default() }];
        let error = Daemon::start(&config).unwrap_err().to_string();
        assert!(
            error.starts_with("upf.gtpu.server[0].advertise: 203.0.113.7 would stand for 2 addresses"),
            "{error}"
        );
        let mut server = config.upf.gtpu.server.remove(0);
        server.advertise = vec!["2001:db8::7".parse().unwrap()];
        config.upf.gtpu.server = vec![server];
        let error = Daemon::start(&config).unwrap_err().to_string();
        assert!(error.contains("would stand for 0 addresses"), "{error}");
    });
}

//! The memory of the first sessions. A separate program, since the memory of other tests would count.

use std::net::Ipv4Addr;

use causeway_dataplane::{Dataplane, Disposition, GtpuEndpoint, Ingress, Network, PacketEngine, Topology};
use causeway_fastpath::FastPath;
use causeway_model::{Far, Forwarding, HeaderRemoval, Pdi, Pdr, Plan, RuleSet, UeAddress, UeSide};
use causeway_packet::gtpu::prefix;
use causeway_packet::{IpProtocol, IpRepr, Ipv4Repr, UdpRepr};
use causeway_slowpath::Limits;
use causeway_types::{FTeid, FarId, Interface, NetworkInstance, PdrId, Qfi, Seid, Teid, Time};

const N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 100);

/// The resident memory of the process, in kB.
fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// TEIDs that an SMF chooses across all 32 bits.
fn teid(number: u32) -> Teid {
    Teid::new((number + 1).wrapping_mul(0x9e37_79b1)).unwrap()
}

/// UE addresses across a pool of 24 bits.
fn ue(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0000 | (number + 1).wrapping_mul(0x0079_b179) & 0x00ff_ffff)
}

fn rules(number: u32) -> RuleSet {
    let ue = |side| Some(UeAddress { v4: Some(ue(number)), v6: None, side });
    let tunnel = FTeid { teid: teid(number), addr: N3.into() };
    let uplink = Pdi { tunnel: Some(tunnel), ue: ue(UeSide::Source), ..Pdi::new(Interface::Access) };
    let downlink = Pdi { ue: ue(UeSide::Destination), ..Pdi::new(Interface::Core) };
    let gnb = FTeid { teid: teid(number), addr: Ipv4Addr::new(192, 0, 2, 7).into() };
    let mut rules = RuleSet::default();
    rules.pdrs.extend([
        (PdrId(1), Pdr { removal: Some(HeaderRemoval::GTPU_IPV4), ..Pdr::new(PdrId(1), uplink, FarId(1)) }),
        (PdrId(2), Pdr::new(PdrId(2), downlink, FarId(2))),
    ]);
    rules.fars.extend([
        (FarId(1), Far::forward(FarId(1), Forwarding::to(Interface::Core))),
        (FarId(2), Far::forward(FarId(2), Forwarding::into_tunnel(Interface::Access, gnb))),
    ]);
    rules
}

// Input:  a data plane for 1.1 million sessions, without any; then fifty sessions whose SMF chooses TEIDs and addresses
//         across the whole range, each with a packet.
// Output: less than 32 MB of memory without a session; none of these takes a huge page, whose clearing by the kernel
//         would delay the thread. Where tables are in huge pages the first ones take several each.
#[test]
fn first_sessions_touch_little_memory() {
    let topology = Topology {
        gtpu: vec![GtpuEndpoint::new(N3.into())],
        networks: vec![Network::new(NetworkInstance::new("internet"), vec!["10.0.0.0/8".parse().unwrap()])],
        ..Topology::default()
    };
    let before = resident_kb();
    let limits = Limits { max_sessions: 1_100_000, ..Limits::default() };
    let mut plane = FastPath::new(topology, limits).unwrap();
    assert!(resident_kb() - before < 32_000, "{} kB", resident_kb() - before);
    let now = Time::from_secs(1_700_000_000);
    let ingress = Ingress::Gtpu {
        local: N3.into(),
        peer: (Ipv4Addr::new(192, 0, 2, 7), 2152).into(),
        tos: 0,
        hops: None,
    };
    let (mut most, mut sent) = (0, Vec::new());
    for number in 0..50 {
        let mut packet = prefix::uplink(teid(number), Qfi::from_low_bits(9), 128).unwrap().to_vec();
        let ip = Ipv4Repr::new(ue(number), Ipv4Addr::new(203, 0, 113, 1), IpProtocol::UDP);
        let ports = UdpRepr { src_port: 40_000, dst_port: 7000 };
        IpRepr::V4(ip).write_udp(ports, true, &[&[0; 100]], &mut packet).unwrap();
        let before = resident_kb();
        plane.apply(now, &Plan::install(Seid(u64::from(number) + 1), rules(number).clone())).unwrap();
        let disposition = plane.process(now, &ingress, &packet, &mut sent);
        assert_eq!(disposition, Disposition::Forwarded);
        most = most.max(resident_kb().saturating_sub(before));
    }
    assert_eq!(sent.len(), 50);
    assert!(most < 2000, "{most} kB");
}

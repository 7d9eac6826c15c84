//! Random rules and packets that match often: both consist of few numbers and adjacent ones.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

use causeway_fastpath::filters::Rule;
use causeway_model::{FlowAddress, FlowDescription, FlowEnd, SdfFilter, TrafficClass};
use causeway_packet::{Flow, FlowLabel, Fragment, IpProtocol, Ports};
use causeway_types::{Direction, IpNet, Qfi, QfiSet};
use proptest::collection::vec;
use proptest::option::{self, weighted};
use proptest::prelude::*;
use proptest::sample::select;

use super::Packet;

const V4: [u32; 3] = [0xc633_6409, 0x0a2d_0002, 0];
const V6: [u128; 3] =
    [0x2001_0db8_0001_0002_0003_0004_0005_0006, 0x2001_0db8_0045_0000_0000_0000_0000_0002, 0];
const PROTOCOLS: [u8; 5] = [1, 6, 17, 50, 51];
const SPIS: [u32; 3] = [0, 0x0035_0035, u32::MAX];
const LABELS: [u32; 3] = [0, 0x1_2345, FlowLabel::MAX];

/// Addresses that belong to the UE: those with an odd number, so that adjacent ones do not.
pub(crate) fn is_assigned(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => u32::from(ip) & 1 == 1,
        IpAddr::V6(ip) => u128::from(ip) & 1 == 1,
    }
}

/// At most this many rules.
pub(crate) fn rules(most: usize) -> impl Strategy<Value = Vec<Rule>> {
    let filters =
        prop_oneof![1 => Just(0..1_usize), 12 => Just(1..4)].prop_flat_map(|count| vec(filter(), count));
    let rule = (qfis(), filters).prop_map(|(qfis, filters)| Rule { qfis, filters });
    vec(rule, 0..=most)
}

fn qfis() -> impl Strategy<Value = QfiSet> {
    let few = vec(0..=Qfi::MAX, 0..4).prop_map(|few| few.into_iter().filter_map(Qfi::new).collect());
    let range =
        (0..=Qfi::MAX, 0..=Qfi::MAX).prop_map(|(from, to)| (from..=to).filter_map(Qfi::new).collect());
    prop_oneof![4 => Just(QfiSet::EMPTY), 2 => few, 1 => range]
}

fn filter() -> impl Strategy<Value = SdfFilter> {
    let class =
        (any::<u8>(), select(vec![0_u8, 0xfc, 0xff])).prop_map(|(value, mask)| TrafficClass { value, mask });
    let parts = (weighted(0.2, class), weighted(0.1, select(&SPIS)), weighted(0.1, select(&LABELS)));
    (option::of(select(&PROTOCOLS)), end(), end(), parts, any::<Option<u32>>()).prop_map(
        |(protocol, remote, local, (traffic_class, spi, flow_label), id)| {
            let flow = FlowDescription { protocol, remote, local };
            SdfFilter { flow, traffic_class, spi, flow_label, id }
        },
    )
}

fn end() -> impl Strategy<Value = FlowEnd> {
    let net = (address(), 0..=128_u8).prop_map(|(ip, len)| match ip {
        IpAddr::V4(ip) => IpNet::new(ip.into(), len % 33).unwrap(),
        IpAddr::V6(ip) => IpNet::new(ip.into(), len).unwrap(),
    });
    let address = prop_oneof![
        3 => Just(FlowAddress::Any),
        1 => Just(FlowAddress::Assigned),
        2 => net.prop_map(FlowAddress::Net),
    ];
    let ports = prop_oneof![2 => Just(Vec::new()), 1 => ranges()];
    (address, ports).prop_map(|(address, ports)| FlowEnd { address, ports })
}

fn ranges() -> impl Strategy<Value = Vec<RangeInclusive<u16>>> {
    let width = select(vec![0, 1, 20, 0x7fff, u16::MAX]);
    vec((port(), width).prop_map(|(low, width)| low..=low.saturating_add(width)), 1..4)
}

fn port() -> impl Strategy<Value = u16> {
    let near = (select(vec![0_u16, 53, 1000, 0x8000, u16::MAX]), 0..3_u16);
    prop_oneof![3 => near.prop_map(|(port, off)| port.wrapping_add(off).wrapping_sub(1)), 1 => any::<u16>()]
}

/// One of the few addresses, or one that differs from it in one bit.
fn address() -> impl Strategy<Value = IpAddr> {
    let bit = || option::of(0..128_u32);
    let v4 = (select(&V4), bit())
        .prop_map(|(ip, bit)| IpAddr::V4((ip ^ bit.map_or(0, |bit| 1 << (bit % 32))).into()));
    let v6 =
        (select(&V6), bit()).prop_map(|(ip, bit)| IpAddr::V6((ip ^ bit.map_or(0, |bit| 1 << bit)).into()));
    prop_oneof![v4, v6]
}

/// A packet with every field that its protocol and fragment allow.
pub(crate) fn packet() -> impl Strategy<Value = Packet> {
    let fragment = prop_oneof![
        8 => Just(Fragment::Whole),
        1 => Just(Fragment::First),
        1 => Just(Fragment::Later),
    ];
    let direction = select(vec![Direction::Uplink, Direction::Downlink]);
    let qfi = option::of((0..=Qfi::MAX).prop_map(Qfi::from_low_bits));
    let headers =
        (select(&PROTOCOLS), fragment, (port(), port()), select(&SPIS), select(&LABELS), any::<u8>());
    (address(), address(), headers, direction, qfi).prop_map(|(src, dst, headers, direction, qfi)| {
        let (protocol, fragment, (src_port, dst_port), spi, label, tos) = headers;
        let dst = in_family(dst, src.is_ipv6());
        let (protocol, here) = (IpProtocol(protocol), fragment != Fragment::Later);
        let has_spi = here && matches!(protocol, IpProtocol::ESP | IpProtocol::AH);
        let flow = Flow {
            src,
            dst,
            protocol,
            ports: (here && protocol.has_ports()).then_some(Ports { src: src_port, dst: dst_port }),
            tos,
            flow_label: FlowLabel::new(label).filter(|_| src.is_ipv6()),
            fragment,
            spi: has_spi.then_some(spi),
        };
        Packet { flow, direction, qfi }
    })
}

fn in_family(ip: IpAddr, is_v6: bool) -> IpAddr {
    match (ip, is_v6) {
        (IpAddr::V4(ip), true) => Ipv6Addr::from(V6[0] ^ u128::from(u32::from(ip))).into(),
        (IpAddr::V6(ip), false) => Ipv4Addr::from(u128::from(ip) as u32).into(),
        (ip, _) => ip,
    }
}

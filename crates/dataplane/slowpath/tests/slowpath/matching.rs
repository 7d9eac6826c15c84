//! PDR matching, compared with an independent matcher: both are built from the same few numbers, and this one
//! compares the numbers.

use std::net::Ipv4Addr;

use causeway_dataplane::{Disposition, DropReason, Op};
use causeway_model::{Far, FlowDescription, Pdr, SdfFilter, TrafficClass};
use causeway_packet::{IpProtocol, Ipv4Repr};
use causeway_types::{FarId, PdrId, Precedence};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::common::{Bench, GNB, SERVER, UE, downlink_pdr, gnb_tunnel, install, to_gnb};

/// An endpoint address as numbers: network and prefix length, or any.
type Net = Option<(u32, u8)>;

/// A filter as numbers.
#[derive(Clone, Debug)]
struct Numbers {
    protocol: Option<u8>,
    remote: Net,
    remote_ports: Vec<(u16, u16)>,
    local_ports: Vec<(u16, u16)>,
    tos: Option<(u8, u8)>,
    spi: Option<u32>,
}

/// A downlink packet as numbers.
#[derive(Clone, Debug)]
struct PacketNumbers {
    protocol: u8,
    src: u32,
    ports: (u16, u16),
    tos: u8,
    later_fragment: bool,
}

fn net() -> impl Strategy<Value = Net> {
    option::of((select(ADDRESSES.to_vec()), select(vec![0_u8, 1, 8, 23, 24, 31, 32])))
}

const ADDRESSES: &[u32] = &[0xc633_6409, 0xc633_6408, 0xc633_6509, 0x4633_6409, 0x0a2d_0002];

fn ports() -> impl Strategy<Value = Vec<(u16, u16)>> {
    let range = (select(vec![0_u16, 1, 53, 80, 65535]), 0..3_u16);
    vec(range.prop_map(|(low, more)| (low, low.saturating_add(more))), 0..3)
}

fn numbers() -> impl Strategy<Value = Numbers> {
    let protocol = option::of(select(vec![1_u8, 6, 17, 50]));
    let tos = option::of((select(vec![0_u8, 0xb8, 0xbb]), select(vec![0_u8, 0xfc, 0xff])));
    let spi = option::weighted(0.2, select(vec![0x0035_0035_u32, 5]));
    (protocol, net(), ports(), ports(), tos, spi).prop_map(
        |(protocol, remote, remote_ports, local_ports, tos, spi)| Numbers {
            protocol,
            remote,
            remote_ports,
            local_ports,
            tos,
            spi,
        },
    )
}

fn packet() -> impl Strategy<Value = PacketNumbers> {
    let port = || select(vec![0_u16, 1, 2, 53, 54, 80, 443, 65535]);
    let ports = (port(), port());
    let (protocol, tos) = (select(vec![1_u8, 6, 17, 50]), select(vec![0_u8, 0xb8, 0xb9, 0xbb]));
    (protocol, select(ADDRESSES.to_vec()), ports, tos, prop::bool::weighted(0.1)).prop_map(
        |(protocol, src, ports, tos, later_fragment)| PacketNumbers {
            protocol,
            src,
            ports,
            tos,
            later_fragment,
        },
    )
}

impl Numbers {
    /// The filter as an SMF writes it.
    fn filter(&self) -> SdfFilter {
        let protocol = self.protocol.map_or("ip".to_owned(), |protocol| protocol.to_string());
        let remote =
            self.remote.map_or("any".to_owned(), |(net, len)| format!("{}/{len}", Ipv4Addr::from(net)));
        let text = format!(
            "permit out {protocol} from {remote}{} to assigned{}",
            list(&self.remote_ports),
            list(&self.local_ports)
        );
        let flow: FlowDescription = text.parse().expect("a flow description");
        assert_eq!(flow.to_string().parse(), Ok(flow.clone()));
        let traffic_class = self.tos.map(|(value, mask)| TrafficClass { value, mask });
        SdfFilter { traffic_class, spi: self.spi, ..flow.into() }
    }

    fn matches(&self, packet: &PacketNumbers) -> bool {
        let with_ports = [6, 17].contains(&packet.protocol) && !packet.later_fragment;
        let in_list = |list: &[(u16, u16)], port: u16| {
            list.is_empty() || with_ports && list.iter().any(|(low, high)| port >= *low && port <= *high)
        };
        let spi = u32::from(packet.ports.0) << 16 | u32::from(packet.ports.1);
        self.protocol.is_none_or(|protocol| protocol == packet.protocol)
            && self.remote.is_none_or(|(net, len)| len == 0 || (net ^ packet.src) >> (32 - len) == 0)
            && in_list(&self.remote_ports, packet.ports.0)
            && in_list(&self.local_ports, packet.ports.1)
            && self.tos.is_none_or(|(value, mask)| value & mask == packet.tos & mask)
            && self.spi.is_none_or(|asked| packet.protocol == 50 && !packet.later_fragment && asked == spi)
    }
}

fn list(ports: &[(u16, u16)]) -> String {
    let ranges: Vec<_> = ports.iter().map(|(low, high)| format!("{low}-{high}")).collect();
    if ranges.is_empty() { String::new() } else { format!(" {}", ranges.join(",")) }
}

impl PacketNumbers {
    fn octets(&self) -> Vec<u8> {
        let header = Ipv4Repr {
            tos: self.tos,
            fragment_units: u16::from(self.later_fragment) * 10,
            ..Ipv4Repr::new(Ipv4Addr::from(self.src), UE, IpProtocol(self.protocol))
        };
        let ports = [self.ports.0.to_be_bytes(), self.ports.1.to_be_bytes()].concat();
        let mut out = Vec::new();
        header.write(&[], &[&ports[..], &[0; 28]].concat(), &mut out).expect("short enough");
        out
    }
}

/// Downlink PDRs, each with a tunnel of its own number.
fn bench(rules: &[(u32, Vec<Numbers>)]) -> Bench {
    let mut setup = Bench::empty(causeway_slowpath::Limits::default());
    let mut ops = Vec::new();
    for (index, (precedence, filters)) in rules.iter().enumerate() {
        let id = index as u16 + 1;
        let far = Far { id: FarId(id.into()), ..to_gnb(gnb_tunnel(GNB, id.into())) };
        let mut pdr =
            Pdr { id: PdrId(id), far: far.id, precedence: Precedence(*precedence), ..downlink_pdr() };
        pdr.pdi.filters = filters.iter().map(Numbers::filter).collect();
        ops.extend([Op::PutFar(far.into()), Op::PutPdr(pdr.into())]);
    }
    setup.apply(install(ops)).expect("legal rules");
    setup
}

/// The index of the PDR that must match: the lowest precedence value, then the lowest id.
fn expected(rules: &[(u32, Vec<Numbers>)], packet: &PacketNumbers) -> Option<usize> {
    let fits =
        |filters: &[Numbers]| filters.is_empty() || filters.iter().any(|filter| filter.matches(packet));
    let matching = rules.iter().enumerate().filter(|(_, (_, filters))| fits(filters));
    matching.min_by_key(|(index, (precedence, _))| (*precedence, *index)).map(|(index, _)| index)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    // Input:  any PDRs with any filters, and any packets.
    // Output: each packet matches the PDR that the comparison of numbers yields, or none.
    #[test]
    fn the_right_pdr_is_found(
        rules in vec((0..3_u32, vec(numbers(), 0..3)), 1..6),
        packets in vec(packet(), 1..8),
    ) {
        let mut setup = bench(&rules);
        for packet in packets {
            let disposition = setup.downlink(&packet.octets());
            let sent = setup.take_sent();
            match expected(&rules, &packet) {
                Some(index) => {
                    prop_assert_eq!(disposition, Disposition::Forwarded, "{:?}", packet);
                    prop_assert_eq!(&sent[0].1[4..8], &(index as u32 + 1).to_be_bytes(), "{:?}", packet);
                }
                None => prop_assert_eq!(disposition, Disposition::Dropped(DropReason::NoMatchingPdr), "{:?}", packet),
            }
        }
    }
}

// Input:  a packet to a host on a framed route of the UE, with the route and without.
// Output: it finds the session only with the route; the longest route wins among sessions by construction.
#[test]
fn a_framed_route_is_in_the_index() {
    let mut setup = Bench::new();
    let behind = crate::common::udp((SERVER, 53), (Ipv4Addr::new(172, 16, 5, 9), 40000), 0, 10);
    assert_eq!(setup.downlink(&behind), Disposition::Dropped(DropReason::UnknownUe));
    let mut pdr = downlink_pdr();
    pdr.pdi.routes = vec!["172.16.5.0/24".parse().unwrap()];
    setup.apply(vec![Op::PutPdr(pdr.into())]).unwrap();
    assert_eq!(setup.downlink(&behind), Disposition::Forwarded);
    setup.apply(vec![Op::PutPdr(downlink_pdr().into())]).unwrap();
    assert_eq!(setup.downlink(&behind), Disposition::Dropped(DropReason::UnknownUe));
}

//! The VXLAN segments of the switch, and the data networks that it tells apart by them.
//!
//! A data network in a segment is a tenant: what arrives with its VNI is compared with its rules alone, and what its UEs send leaves to
//! it. What comes without a segment is of tenant 0, the first data network without one. Others are not served.
//!
//! A segment has one number, its place in the configuration and one: in routes, and as the tenant of its data network. Segments of gNBs
//! have no tenant: only GTP-U is taken from them.

use causeway_p4::names::{action, parameter, table};
use std::net::{IpAddr, Ipv4Addr};

use causeway_packet::LinkEnd;
use causeway_types::{MacAddr, NetworkInstance};

use super::config::{Config, Hop};
use super::layout::Layout;
use crate::driver::{Entry, FieldMatch};

/// A VXLAN segment (RFC 7348).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    /// What is in it.
    pub of: SegmentOf,
    /// Its VXLAN Network Identifier, of 24 bits.
    pub vni: u32,
    /// The address of the switch in the underlay.
    pub local: IpAddr,
    /// The address of the other end, of the same IP version.
    pub remote: IpAddr,
    /// The MAC address of the switch in the segment.
    pub mac: [u8; 6],
    /// The address of the switch in the segment; the software behind the switch answers ARP requests for it.
    pub address: Option<Ipv4Addr>,
    /// The MAC address that frames in the segment are sent to.
    pub next_hop: [u8; 6],
    /// The way to the other end in the underlay.
    pub hop: Hop,
    /// Octets of the largest IP packet in the segment.
    pub mtu: u32,
}

/// The network in a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SegmentOf {
    /// That of the gNBs, N3.
    Access,
    /// A data network, N6.
    Network(NetworkInstance),
}

/// Why the switch cannot have the segments.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SegmentError {
    /// The program has no tables for them.
    #[error(
        "the switch's program has no VXLAN: use one that is compiled with it (hip4-vxlan, direct-vxlan or hip4-hybrid-vxlan), or take the segments out of the \
         configuration"
    )]
    NoTables,
    /// Its underlay has the other IP version.
    #[error(
        "the segment with VNI {vni} ends at {remote}: the underlay of the switch's program has the other IP version"
    )]
    Underlay {
        /// The segment.
        vni: u32,
        /// Its other end.
        remote: IpAddr,
    },
    /// There are more than it has numbers or entries for.
    #[error(
        "the segments need {needed} entries, one each and one more with an `address`: the switch's program has {available}"
    )]
    TooMany {
        /// Entries that the segments of the configuration need.
        needed: usize,
        /// Entries that are possible.
        available: usize,
    },
}

/// The number of a data network on the switch: that of its segment, zero for what comes without a segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(super) struct Tenant(pub(super) u8);

/// The tenant of segments of gNBs. What comes from them without a tunnel is for no rule.
const ACCESS: u8 = 255;

/// The tenant of frames for all of a segment. No packet of them is for a rule, in whatever segment; ARP goes to the software.
const BROADCAST: u8 = 254;

/// The most segments.
const MOST: usize = BROADCAST as usize - 1;

/// The MAC address of frames for all.
const EVERYBODY: [u8; 6] = [0xff; 6];

/// Octets in front of a packet in a segment beside its Ethernet header: Ethernet, IP, UDP and VXLAN.
const UNDERLAY_IPV4: u64 = 50;
const UNDERLAY_IPV6: u64 = 70;

impl Segment {
    /// The switch within the segment. Neighbour Solicitations do not come to the software.
    pub(super) const fn end(&self) -> LinkEnd {
        LinkEnd { mac: MacAddr(self.mac), address: self.address, address6: None }
    }

    /// Octets of headers that a frame of the segment has more than one without it.
    const fn octets(&self) -> u64 {
        if self.local.is_ipv4() { UNDERLAY_IPV4 } else { UNDERLAY_IPV6 }
    }
}

impl Config {
    /// Segments with their numbers.
    fn numbered(&self) -> impl Iterator<Item = (u8, &Segment)> {
        (1..BROADCAST).zip(&self.segments)
    }

    /// The number and the segment of a data network.
    fn segment_of(&self, network: &NetworkInstance) -> Option<(u8, &Segment)> {
        self.numbered().find(|(_, segment)| matches!(&segment.of, SegmentOf::Network(of) if of == network))
    }

    /// The data network that comes without a segment.
    fn plain_network(&self) -> Option<&NetworkInstance> {
        let mut networks = self.topology.networks.iter().map(|network| &network.instance);
        networks.find(|network| self.segment_of(network).is_none())
    }

    /// The tenant of a data network. `None`: the switch does not serve it.
    pub(super) fn tenant_of(&self, network: &NetworkInstance) -> Option<Tenant> {
        match self.segment_of(network) {
            Some((number, _)) => Some(Tenant(number)),
            None => (self.plain_network() == Some(network)).then_some(Tenant::default()),
        }
    }

    /// All tenants.
    pub(super) fn tenants(&self) -> impl Iterator<Item = Tenant> {
        self.topology.networks.iter().filter_map(|network| self.tenant_of(&network.instance))
    }

    /// The data network of a tenant.
    pub(super) fn network_of(&self, tenant: Tenant) -> Option<&NetworkInstance> {
        let mut networks = self.topology.networks.iter().map(|network| &network.instance);
        networks.find(|network| self.tenant_of(network) == Some(tenant))
    }

    /// The segment of a tenant, if it is in one.
    pub(super) fn segment(&self, tenant: Tenant) -> Option<&Segment> {
        let is_it =
            |(number, segment): &(u8, &Segment)| *number == tenant.0 && segment.of != SegmentOf::Access;
        self.numbered().find(is_it).map(|(_, segment)| segment)
    }

    /// The segment with this VNI between these ends.
    pub(super) fn segment_between(&self, vni: u32, remote: IpAddr) -> Option<&Segment> {
        self.segments.iter().find(|segment| (segment.vni, segment.remote) == (vni, remote))
    }

    /// Octets of the underlay around frames of a tenant.
    pub(super) fn underlay_octets(&self, tenant: Tenant) -> u64 {
        self.segment(tenant).map_or(0, Segment::octets)
    }

    /// Octets of the underlay around frames from gNBs and to them.
    pub(super) fn access_octets(&self) -> u64 {
        self.access().map_or(0, |(_, segment)| segment.octets())
    }

    /// The segment of the first GTP-U address, if gNBs are in one.
    fn access(&self) -> Option<(u8, &Segment)> {
        self.numbered().find(|(_, segment)| segment.of == SegmentOf::Access)
    }
}

/// Checks that the program can have these segments.
///
/// # Errors
/// It has no tables for them, its underlay has the other IP version, or there are too many.
pub(super) fn check(layout: &Layout, segments: &[Segment]) -> Result<(), SegmentError> {
    if segments.is_empty() {
        return Ok(());
    }
    let tables = [table::VXLAN_ARRIVALS, table::VXLAN_DEPARTURES].map(|name| layout.table(name));
    let [Some(arrivals), Some(departures)] = tables else { return Err(SegmentError::NoTables) };
    let asked = segments.iter().filter(|segment| segment.address.is_some()).count();
    let (count, rows) = (segments.len(), segments.len() + asked);
    for (needed, available) in [(count, departures.size.min(MOST)), (rows, arrivals.size)] {
        if needed > available {
            return Err(SegmentError::TooMany { needed, available });
        }
    }
    let bits = if arrivals.keys.iter().any(|key| key.width == 128) { 128 } else { 32 };
    let fits = |segment: &&Segment| [segment.local, segment.remote].iter().all(|end| width(*end) == bits);
    match segments.iter().find(|segment| !fits(segment)) {
        Some(Segment { vni, remote, .. }) => Err(SegmentError::Underlay { vni: *vni, remote: *remote }),
        None => Ok(()),
    }
}

const fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The entries of all segments: where frames come from, how they leave, and the routes into each.
pub(super) fn entries(layout: &Layout, config: &Config) -> Vec<Entry> {
    let of_segment = |(number, segment): (u8, &Segment)| {
        let tenant = if segment.of == SegmentOf::Access { ACCESS } else { number };
        let asked = segment.address.map(|_| arrival(layout, segment, EVERYBODY, BROADCAST));
        let ways = [arrival(layout, segment, segment.mac, tenant), departure(layout, number, segment)];
        let routes = match segment.of {
            SegmentOf::Network(_) => [table::NETWORK_LPM, table::NETWORK_LPM_IPV6]
                .map(|name| route(layout, (name, action::HOP), number, segment, &[])),
            SegmentOf::Access => [None, None],
        };
        ways.into_iter().chain(asked).chain(routes).flatten()
    };
    let local = config.topology.gtpu.iter().find_map(|end| end.addr.v4);
    let tunnels = config.access().zip(local).and_then(|((number, segment), local)| {
        let own = [(parameter::ADDRESS, u32::from(local).into())];
        route(layout, (table::TUNNEL_LPM, action::TUNNEL_HOP), number, segment, &own)
    });
    config.numbered().flat_map(of_segment).chain(tunnels).collect()
}

/// What comes in the segment for this MAC address is of this tenant.
fn arrival(layout: &Layout, segment: &Segment, to: [u8; 6], tenant: u8) -> Option<Entry> {
    let fields = [segment.vni.into(), bits(segment.remote), mac(to)];
    let fields = fields.map(FieldMatch::Exact).to_vec();
    layout.plain(table::VXLAN_ARRIVALS, fields, action::SET_TENANT, &[(parameter::TENANT, tenant.into())])
}

fn departure(layout: &Layout, number: u8, segment: &Segment) -> Option<Entry> {
    let Hop { port, source, neighbour } = segment.hop;
    let parameters = [
        (parameter::PORT, port.into()),
        (parameter::SOURCE, mac(source)),
        (parameter::NEIGHBOUR, mac(neighbour)),
        (parameter::VNI, segment.vni.into()),
        (parameter::LOCAL, bits(segment.local)),
        (parameter::REMOTE, bits(segment.remote)),
        (parameter::TOO_BIG, segment.mtu.saturating_add(1).min(0xffff).into()),
    ];
    let fields = vec![FieldMatch::Exact(number.into())];
    layout.plain(table::VXLAN_DEPARTURES, fields, action::ENTER_SEGMENT, &parameters)
}

/// The route of all packets of a segment's tenant, or of all tunnels, to the next hop in the segment.
fn route(
    layout: &Layout,
    (table, action): (&str, &str),
    number: u8,
    segment: &Segment,
    own: &[(&str, u128)],
) -> Option<Entry> {
    let parameters = [
        (parameter::PORT, segment.hop.port.into()),
        (parameter::SOURCE, mac(segment.mac)),
        (parameter::NEIGHBOUR, mac(segment.next_hop)),
        (parameter::SEGMENT, number.into()),
    ];
    let everything = FieldMatch::Lpm { value: 0, prefix: 0 };
    let fields = layout.of_tenant(table, Tenant(number), vec![everything]);
    layout.plain(table, fields, action, &[&parameters, own].concat())
}

pub(super) fn mac(octets: [u8; 6]) -> u128 {
    octets.iter().fold(0, |value, octet| value << 8 | u128::from(*octet))
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

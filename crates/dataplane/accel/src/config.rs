//! What the data plane must know to decide as N4 would.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use causeway_model::{Capabilities, LocalEndpoints};
use causeway_pfcp::{self as pfcp, Ie};
use causeway_types::{DualIp, Ipv4Net, NetworkInstance, NodeId, Teid, TeidScheme};

use crate::Class;
use crate::answer::Templates;

/// Bits of a session's index in its SEID and TEID.
pub(crate) const INDEX_BITS: u32 = 24;

/// Why the data plane cannot answer session messages with this configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotPossible {
    /// GTP-U must arrive at exactly one IPv4 address, for all network instances.
    Endpoint,
    /// There is no data network of IP packets.
    NoNetwork,
    /// The data plane lacks bit rates or PDU Session Containers.
    Capabilities,
    /// More sessions than TEIDs of the range.
    TooManySessions,
    /// The UPF's Node ID is too long.
    Node,
}

impl fmt::Display for NotPossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Endpoint => "GTP-U needs exactly one IPv4 address, without a network instance",
            Self::NoNetwork => "there is no data network of IP packets",
            Self::Capabilities => "the data plane lacks bit rates or PDU Session Containers",
            Self::TooManySessions => "the range of TEIDs is too short for the sessions",
            Self::Node => "the Node ID cannot be encoded",
        })
    }
}

impl std::error::Error for NotPossible {}

/// The configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// The class.
    pub class: Class,
    /// Sessions, at most.
    pub sessions: u32,
    /// Keys in each table, at most: as many as sessions here and at N4.
    pub keys: u32,
    /// SMFs, at most.
    pub smfs: usize,
    /// The highest 16 bits of the UPF's SEIDs. No SEID of N4 may begin with them.
    pub seid_tag: u16,
    /// The slot of the first TEID that is chosen here; N4 chooses none of this and the following slots.
    pub first_slot: u32,
    /// N4 chooses TEIDs of the slots from 1 to this one. Those that an SMF chose among them go to N4.
    pub last_slot_of_n4: u32,
    /// How TEIDs are made of slots and generations; the same as N4's.
    pub teids: TeidScheme,
    /// Makes the places of keys unpredictable.
    pub seed: u64,
    /// UE addresses that go to N4, beside the UPF's own: for example those from which N4 chooses.
    pub reserved_addresses: Vec<Ipv4Net>,
    pub(crate) gtpu: Ipv4Addr,
    pub(crate) has_v6: bool,
    pub(crate) networks: Vec<(Vec<u8>, NetworkInstance)>,
    own: Vec<Ipv4Addr>,
    ends: Vec<Ipv4Addr>,
    pub(crate) templates: Templates,
}

impl Config {
    /// For 65,536 sessions of a UPF with this Node ID, N4 address and topology.
    ///
    /// # Errors
    /// [`NotPossible`]: N4 has to do it all.
    pub fn new(
        node: &NodeId,
        address: DualIp,
        endpoints: &LocalEndpoints,
        capabilities: &Capabilities,
    ) -> Result<Self, NotPossible> {
        let [endpoint] = &endpoints.gtpu[..] else { return Err(NotPossible::Endpoint) };
        let gtpu =
            endpoint.addr.v4.filter(|_| endpoint.network_instance.is_none() && capabilities.outer_ipv4);
        let gtpu = gtpu.ok_or(NotPossible::Endpoint)?;
        if !(capabilities.mbr && capabilities.pdu_session_container) {
            return Err(NotPossible::Capabilities);
        }
        if endpoints.networks.is_empty() {
            return Err(NotPossible::NoNetwork);
        }
        let ends: Vec<_> = endpoints.n6_tunnels.iter().filter_map(|end| end.addr.v4).chain([gtpu]).collect();
        Ok(Self {
            class: Class {
                end_markers: capabilities.end_marker,
                buffering: capabilities.buffering,
                ..Class::SMFS
            },
            sessions: 65_536,
            keys: 65_536,
            smfs: 64,
            seid_tag: 0xacce,
            first_slot: 1,
            last_slot_of_n4: 0,
            teids: TeidScheme::default(),
            seed: 0,
            reserved_addresses: Vec::new(),
            gtpu,
            has_v6: endpoint.addr.v6.is_some() && capabilities.outer_ipv6,
            networks: endpoints.networks.iter().flat_map(forms).collect(),
            own: own_addresses(endpoints),
            ends,
            templates: Templates::new(node, address, gtpu).ok_or(NotPossible::Node)?,
        })
    }

    /// The same with another class. One with End Markers or buffering needs a data plane that has them.
    pub fn with_class(self, class: Class) -> Self {
        let end_markers = class.end_markers && self.class.end_markers;
        let buffering = class.buffering && self.class.buffering;
        Self { class: Class { end_markers, buffering, ..class }, ..self }
    }

    /// Networks that are there no more are not found; the numbers of all others stay.
    pub(crate) fn set_endpoints(&mut self, endpoints: &LocalEndpoints) {
        let forms: Vec<_> = endpoints.networks.iter().flat_map(forms).collect();
        for (octets, name) in &mut self.networks {
            if !forms.iter().any(|(form, it)| form == octets && it == name) {
                octets.clear();
            }
        }
        for form in forms {
            // A number has eight bits.
            if !self.networks.contains(&form) && self.networks.len() < usize::from(u8::MAX) {
                self.networks.push(form);
            }
        }
        self.own = own_addresses(endpoints);
    }

    /// The number of a network by its octets in a message.
    pub(crate) fn network(&self, octets: &[u8]) -> Option<u8> {
        let at = self.networks.iter().position(|(form, _)| form == octets && !form.is_empty())?;
        u8::try_from(at).ok()
    }

    /// N4 may choose this TEID.
    pub(crate) fn is_of_n4(&self, teid: Teid) -> bool {
        self.teids.parts(teid).0 <= self.last_slot_of_n4 && self.last_slot_of_n4 > 0
    }

    /// A UE of the class may have the address. N4 accepts others as well.
    pub(crate) fn may_be_ue(&self, ip: Ipv4Addr) -> bool {
        is_usual(ip)
            && !self.own.contains(&ip)
            && !self.ends.contains(&ip)
            && !self.reserved_addresses.iter().any(|net| net.contains(&ip))
    }

    /// A gNB of the class may have the address. N4 accepts others as well.
    pub(crate) fn may_be_peer(&self, ip: Ipv4Addr) -> bool {
        // A UPF at a loopback address has its gNBs there.
        let is_near = ip.is_loopback() && self.gtpu.is_loopback();
        (is_usual(ip) || is_near) && !self.ends.contains(&ip)
    }
}

/// The IPv4 addresses of the UPF that no UE may have.
fn own_addresses(endpoints: &LocalEndpoints) -> Vec<Ipv4Addr> {
    let v4 = |ip: &IpAddr| if let IpAddr::V4(ip) = ip { Some(*ip) } else { None };
    endpoints.own.iter().filter_map(v4).collect()
}

/// The forms in which SMFs send the name of a network: text, and labels of DNS.
fn forms(network: &NetworkInstance) -> Vec<(Vec<u8>, NetworkInstance)> {
    let name = network.as_str();
    let forms = [pfcp::NetworkInstance::text(name), pfcp::NetworkInstance::labels(name)].map(|ie| {
        let mut octets = Vec::new();
        ie.encode(&mut octets);
        octets
    });
    let means_it = |octets: &Vec<u8>| {
        pfcp::NetworkInstance::decode(octets).is_ok_and(|decoded| decoded.to_owned() == *network)
    };
    forms.into_iter().filter(means_it).map(|octets| (octets, network.clone())).collect()
}

/// A unicast address that is not the loopback's.
const fn is_usual(ip: Ipv4Addr) -> bool {
    let [first, ..] = ip.octets();
    first >= 1 && first < 224 && !ip.is_loopback()
}

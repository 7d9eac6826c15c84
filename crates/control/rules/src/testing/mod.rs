//! A fixture for tests: a UPF with one access and one core address, and a UE.

#![cfg_attr(
    not(test),
    allow(dead_code, unused_imports, reason = "the tests of other crates need random rule sets and no more")
)]

mod fit;
mod generate;
mod model;

pub(crate) use fit::fit;
pub(crate) use generate::changes;
pub use generate::rule_set;
pub(crate) use model::apply;

use causeway_model::{
    ApplyAction, Capabilities, Far, Forwarding, HeaderRemoval, KnownPolicy, LocalEndpoint, LocalEndpoints,
    N6Address, OuterHeader, PolicyName, UeAddress, UeSide, Urr,
};
use causeway_types::{FTeid, FarId, Interface, NetworkInstance, PdrId, Precedence, Seid, Teid, UrrId};

use crate::edits::{PdiDraft, PdrDraft, RequestedChanges, TunnelRequest};
use crate::validate::Context;
use crate::{AddressPool, Addresses, Change, Rejection, Resources, SessionRules, Tunnels, change};

pub(crate) const SESSION: Seid = Seid(1);

pub(crate) fn capabilities() -> Capabilities {
    Capabilities::all(1000, 16)
}

/// GTP-U at 192.0.2.1 and 2001:db8::1; one data network, `internet`.
pub(crate) fn endpoints() -> LocalEndpoints {
    let addr = causeway_types::DualIp {
        v4: Some([192, 0, 2, 1].into()),
        v6: Some("2001:db8::1".parse().expect("an address")),
    };
    LocalEndpoints {
        gtpu: vec![LocalEndpoint { addr, network_instance: None }],
        networks: vec![internet()],
        n6_tunnels: vec![N6Address {
            addr: std::net::Ipv4Addr::new(192, 0, 2, 6).into(),
            network: internet(),
        }],
        ethernet: vec![lan()],
        policies: vec![KnownPolicy { name: known_policy(), answers_http: false }],
        routable: vec![(internet(), routable())],
        neighbours: Vec::new(),
        own: vec![std::net::Ipv4Addr::new(10, 45, 255, 254).into()],
    }
}

/// Framed routes may lie anywhere.
fn routable() -> Vec<causeway_types::IpNet> {
    ["0.0.0.0/0", "::/0"].map(|net| net.parse().expect("a prefix")).to_vec()
}

/// 10.45.128.0/29, whose first address is the gateway's, and 2001:db8:45::/60, both for `internet`.
pub(crate) fn addresses() -> Addresses {
    let pool = |range: &str, name: &str| AddressPool {
        network: internet(),
        range: range.parse().expect("a prefix"),
        name: Some(name.to_owned()),
        reserved: vec!["10.45.128.1/32".parse().expect("an address")],
    };
    let rest = causeway_types::Span::from_secs(10);
    Addresses::new(vec![pool("10.45.128.0/29", "four"), pool("2001:db8:45::/60", "six")], rest)
}

pub(crate) fn internet() -> NetworkInstance {
    NetworkInstance::new("internet")
}

/// A data network of Ethernet frames.
pub(crate) fn lan() -> NetworkInstance {
    NetworkInstance::new("lan")
}

/// A tunnel endpoint of a gNB.
pub(crate) fn gnb(teid: u32) -> FTeid {
    FTeid { teid: Teid::new(teid).expect("not zero"), addr: std::net::Ipv4Addr::new(198, 51, 100, 1).into() }
}

pub(crate) fn ue(side: UeSide) -> UeAddress {
    UeAddress { v4: Some([10, 45, 0, 2].into()), v6: None, side }
}

pub(crate) const CHOOSE: TunnelRequest = TunnelRequest::Choose { v4: true, v6: false, choose_id: None };

/// A PDR for packets from the access, in a tunnel.
pub(crate) fn uplink_pdr(id: u16, tunnel: TunnelRequest, far: u32) -> PdrDraft {
    let pdi =
        PdiDraft { tunnel: Some(tunnel), ue: Some(ue(UeSide::Source)), ..PdiDraft::new(Interface::Access) };
    let removal = Some(HeaderRemoval::GTPU_IPV4);
    PdrDraft {
        id: PdrId(id),
        precedence: Precedence(100),
        pdi,
        removal,
        vlan_removal: None,
        far: FarId(far),
        qers: vec![],
        urrs: vec![],
        activate: vec![],
        active_from: None,
        active_until: None,
    }
}

/// A PDR for packets from the data network, found by the UE's address.
pub(crate) fn downlink_pdr(id: u16, far: u32) -> PdrDraft {
    let pdi = PdiDraft {
        network_instance: Some(internet()),
        ue: Some(ue(UeSide::Destination)),
        ..PdiDraft::new(Interface::Core)
    };
    PdrDraft { pdi, removal: None, ..uplink_pdr(id, CHOOSE, far) }
}

/// A FAR that forwards to the data network.
pub(crate) fn to_internet(id: u32) -> Far {
    let forwarding = Forwarding { network_instance: Some(internet()), ..Forwarding::to(Interface::Core) };
    Far::forward(FarId(id), forwarding)
}

/// A FAR that forwards to a gNB.
pub(crate) fn to_gnb(id: u32, tunnel: FTeid) -> Far {
    Far::forward(FarId(id), Forwarding::into_tunnel(Interface::Access, tunnel))
}

/// A forwarding policy that is configured.
pub(crate) fn known_policy() -> PolicyName {
    PolicyName::new(b"gold")
}

/// A FAR that forwards through a tunnel over N6.
pub(crate) fn through_n6(id: u32) -> Far {
    let outer = Some(OuterHeader::Udp(([203, 0, 113, 9], 5000).into()));
    Far::forward(FarId(id), Forwarding { outer, ..Forwarding::to(Interface::Core) })
}

/// A FAR that buffers and notifies.
pub(crate) fn buffering(id: u32) -> Far {
    Far::new(FarId(id), ApplyAction::Buffer { notify: true })
}

/// A URR that measures volume and reports on query.
pub(crate) fn urr(id: u32) -> Urr {
    Urr::new(UrrId(id), causeway_model::MeasurementMethod { volume: true, ..Default::default() })
}

pub(crate) fn bar(id: u8) -> causeway_model::Bar {
    causeway_model::Bar::new(causeway_types::BarId(id))
}

/// The usual session: uplink to the internet through a chosen tunnel, downlink to a gNB.
pub(crate) fn usual() -> RequestedChanges {
    let mut changes = RequestedChanges::default();
    changes.pdrs.create = vec![uplink_pdr(1, CHOOSE, 1), downlink_pdr(2, 2)];
    changes.fars.create = vec![to_internet(1), to_gnb(2, gnb(0x100))];
    changes
}

/// Cause and offending IE of the response.
pub(crate) fn answer(rejection: &Rejection) -> (u8, Option<u16>) {
    (rejection.cause().code(), rejection.offending_ie().map(|ie| ie.0))
}

/// One session of a UPF, and its tunnels.
pub(crate) struct TestUpf {
    pub(crate) capabilities: Capabilities,
    pub(crate) endpoints: LocalEndpoints,
    pub(crate) resources: Resources,
    pub(crate) session: SessionRules,
}

impl TestUpf {
    pub(crate) fn new() -> Self {
        Self {
            capabilities: capabilities(),
            endpoints: endpoints(),
            resources: Resources::new(Tunnels::new(100, 0), addresses()),
            session: SessionRules::default(),
        }
    }

    /// With the session that these changes make.
    pub(crate) fn with(changes: RequestedChanges) -> Self {
        let mut upf = Self::new();
        let change = upf.establish(changes).expect("a legal session");
        upf.keep(change);
        upf
    }

    pub(crate) fn establish(&mut self, changes: RequestedChanges) -> Result<Change, Rejection> {
        let context = Context {
            capabilities: &self.capabilities,
            endpoints: &self.endpoints,
            catalogue: &crate::Catalogue::default(),
        };
        change::establish_with(changes, SESSION, &context, &mut self.resources)
    }

    pub(crate) fn modify(&mut self, changes: RequestedChanges) -> Result<Change, Rejection> {
        let context = Context {
            capabilities: &self.capabilities,
            endpoints: &self.endpoints,
            catalogue: &crate::Catalogue::default(),
        };
        change::modify_with(&self.session, changes, SESSION, &context, &mut self.resources)
    }

    /// The data plane has applied the change.
    pub(crate) fn keep(&mut self, change: Change) {
        self.session = change.session;
        self.resources.commit(change.resources);
    }
}

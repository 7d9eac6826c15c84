//! Ethernet sessions and their frames.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use causeway_dataplane::{Dataplane, Ingress, Plan};
use causeway_model::{Far, Forwarding, HeaderRemoval, Pdi, Pdr, PduSessionType, RuleSet, SessionChange};
use causeway_packet::gtpu::prefix;
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::{FTeid, FarId, Interface, PdrId, Seid, Teid, Time};

use super::{GNB, UPF, lan, topology};

pub type Mac = [u8; 6];

/// An Ethernet session on the network, with a tunnel of its own in both directions.
pub fn session(number: u32) -> RuleSet {
    let tunnel =
        |teid: u32, addr: Ipv4Addr| FTeid { teid: Teid::new(teid + number).unwrap(), addr: addr.into() };
    let uplink = Pdi { tunnel: Some(tunnel(0x1000, UPF)), ..Pdi::new(Interface::Access) };
    let downlink =
        Pdi { network_instance: Some(lan()), whole_ethernet_session: true, ..Pdi::new(Interface::Core) };
    let to_lan = Forwarding { network_instance: Some(lan()), ..Forwarding::to(Interface::Core) };
    let to_gnb = Forwarding::into_tunnel(Interface::Access, tunnel(0x2000, GNB));
    let removal = Some(HeaderRemoval::GTPU_IPV4);
    let mut rules = RuleSet { pdu_type: PduSessionType::Ethernet, ..RuleSet::default() };
    rules.pdrs.extend([
        (PdrId(1), Pdr { removal, ..Pdr::new(PdrId(1), uplink, FarId(1)) }),
        (PdrId(2), Pdr::new(PdrId(2), downlink, FarId(2))),
    ]);
    rules
        .fars
        .extend([(FarId(1), Far::forward(FarId(1), to_lan)), (FarId(2), Far::forward(FarId(2), to_gnb))]);
    rules
}

pub fn frame(dst: Mac, src: Mac) -> Vec<u8> {
    let mut octets = [&dst[..], &src[..], &[0x88, 0xb5]].concat();
    octets.resize(80, 7);
    octets
}

/// A frame in the tunnel of a session.
pub fn tunnelled(number: u32, frame: &[u8]) -> (Ingress, Vec<u8>) {
    let header = prefix::without_extensions(Teid::new(0x1000 + number).unwrap(), frame.len()).unwrap();
    let peer = SocketAddr::new(GNB.into(), 2152);
    (Ingress::Gtpu { local: IpAddr::V4(UPF), peer, tos: 0, hops: None }, [&header[..], frame].concat())
}

pub fn from_lan(frame: Vec<u8>) -> (Ingress, Vec<u8>) {
    (Ingress::Ethernet { network: lan() }, frame)
}

/// Sessions of one network, with the SEIDs from 1 on.
pub struct Sessions {
    pub plane: SlowPath,
    pub now: Time,
}

impl Sessions {
    pub fn new(rules: impl IntoIterator<Item = RuleSet>) -> Self {
        let (mut plane, now) = (SlowPath::new(topology(), Limits::default()), Time::from_secs(1_700_000_000));
        for (seid, rules) in (1..).zip(rules) {
            plane.apply(now, &Plan::install(Seid(seid), rules)).unwrap();
        }
        Self { plane, now }
    }

    pub fn change(&mut self, seid: u64, change: SessionChange) {
        self.plane.apply(self.now, &Plan { session: Seid(seid), change }).unwrap();
    }
}

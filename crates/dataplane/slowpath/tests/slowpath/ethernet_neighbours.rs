//! Addresses that stations of Ethernet networks claim, and the requests that the UPF answers from them.

use std::net::Ipv4Addr;
use std::sync::Arc;

use causeway_dataplane::{Dataplane, Disposition, DropReason, Egress, Op, PacketEngine, Plan};
use causeway_model::{Far, Forwarding, Gate, Proxying, Qer, RuleSet, SessionChange};
use causeway_packet::{Arp, EtherType, Ethernet, MacAddr};
use causeway_slowpath::Limits;
use causeway_types::{FarId, Interface, PdrId, QerId, Seid, UrrId};

use crate::common::ethernet::{Sessions, from_lan, session, tunnelled};
use crate::common::{GNB, gnb_tunnel, lan, volume_urr};

const HOST: MacAddr = MacAddr([2, 0, 0, 0, 0, 0x99]);

/// The downlink of a session; `arp`: requests of the network are answered.
fn downlink(number: u32, arp: bool) -> Far {
    let to_gnb = Forwarding::into_tunnel(Interface::Access, gnb_tunnel(GNB, 0x2000 + number));
    let proxying = Proxying { arp, ..Proxying::default() };
    Far::forward(FarId(2), Forwarding { proxying, ..to_gnb })
}

fn proxied(number: u32) -> RuleSet {
    let mut rules = session(number);
    rules.fars.insert(FarId(2), downlink(number, true));
    rules
}

fn station(number: u32) -> MacAddr {
    MacAddr([2, 0, 0, 0, 1, number as u8])
}

/// A request of a station with this address for another one.
fn request(sender: (MacAddr, Ipv4Addr), target: Ipv4Addr) -> Vec<u8> {
    let (mut payload, mut bytes) = (Vec::new(), Vec::new());
    Arp { is_request: true, sender, target: (MacAddr([0; 6]), target) }.write(&mut payload);
    let (dst, src, ether_type) = (MacAddr([255; 6]), sender.0, Some(EtherType::ARP));
    Ethernet { dst, src, tags: [None; 2], ether_type, payload: &payload }.write(&mut bytes).unwrap();
    bytes
}

impl Sessions {
    /// A station of the session claims the address, in a request for one that nobody has.
    fn claim(&mut self, number: u32, ip: Ipv4Addr) -> Disposition {
        let frame = request((station(number), ip), Ipv4Addr::new(10, 9, 9, 9));
        let (ingress, packet) = tunnelled(number, &frame);
        self.plane.process(self.now, &ingress, &packet, &mut Vec::new())
    }

    /// Who has the address, by the answer to a request of the network.
    fn owner_of(&mut self, ip: Ipv4Addr) -> Option<MacAddr> {
        let (ingress, packet) = from_lan(request((HOST, Ipv4Addr::new(10, 8, 8, 8)), ip));
        let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
        self.plane.process(self.now, &ingress, &packet, &mut sent);
        let answer = sent.iter().find(|(egress, _)| *egress == Egress::Ethernet { network: lan() });
        answer.map(|(_, bytes)| Arp::parse(&bytes[14..]).unwrap().unwrap().sender.0)
    }
}

// Input:  one UE that claims 20,000 addresses, then a UE of another session that claims one; the first session ends.
// Output: requests of the network are answered for the other UE, before and after; for the first UE as many as one
//         session may have, then none.
#[test]
fn one_session_leaves_the_cache_to_others() {
    let mut sessions = Sessions::new([proxied(1), proxied(2)]);
    let many = |number: u32| Ipv4Addr::from(0x0a01_0000 + number);
    for number in 0..20_000 {
        assert_eq!(sessions.claim(1, many(number)), Disposition::Forwarded);
    }
    let other = Ipv4Addr::new(10, 2, 0, 1);
    sessions.claim(2, other);
    assert_eq!(sessions.owner_of(other), Some(station(2)));
    let known = (0..1000).filter(|number| sessions.owner_of(many(*number)) == Some(station(1))).count();
    assert_eq!(known, Limits::default().neighbours_per_session);
    sessions.change(1, SessionChange::Remove);
    assert_eq!((sessions.owner_of(many(0)), sessions.owner_of(other)), (None, Some(station(2))));
}

// Input:  a claim that a closed gate stops, beside one that passes.
// Output: only the one that passes is learnt.
#[test]
fn a_claim_that_is_stopped_is_not_learnt() {
    let mut closed = proxied(1);
    closed.qers.insert(QerId(1), Qer { uplink: Gate::Closed, ..Qer::new(QerId(1)) });
    closed.pdrs.get_mut(&PdrId(1)).unwrap().qers = vec![QerId(1)];
    let mut sessions = Sessions::new([closed, proxied(2)]);
    let [stopped, passed] = [1, 2].map(|last| Ipv4Addr::new(10, 1, 0, last));
    assert!(matches!(sessions.claim(1, stopped), Disposition::Dropped(_)));
    sessions.claim(2, passed);
    assert_eq!([stopped, passed].map(|ip| sessions.owner_of(ip)), [None, Some(station(2))]);
}

// Input:  claims before a FAR of any session of the network requests answers, then while the FAR of another session
//         does, and after it no longer does; at last it does again.
// Output: only the second one is learnt.
#[test]
fn addresses_are_learnt_where_they_are_asked_for() {
    let mut sessions = Sessions::new([session(1), session(2)]);
    let [early, meanwhile, late] = [1, 2, 3].map(|last| Ipv4Addr::new(10, 1, 0, last));
    for (ip, arp) in [(early, true), (meanwhile, false), (late, true)] {
        sessions.claim(1, ip);
        sessions.change(2, vec![Op::PutFar(Arc::new(downlink(2, arp)))].into());
    }
    let owners = [early, meanwhile, late].map(|ip| sessions.owner_of(ip));
    assert_eq!(owners, [None, Some(station(1)), None]);
}

/// A session with URR 1, whose requests the UPF answers; `uplink`: the gate of its uplink.
fn measured(number: u32, uplink: Gate) -> RuleSet {
    let mut rules = session(number);
    let proxying = Proxying { arp: true, ..Proxying::default() };
    let to_lan = Forwarding { network_instance: Some(lan()), ..Forwarding::to(Interface::Core) };
    rules.fars.insert(FarId(1), Far::forward(FarId(1), Forwarding { proxying, ..to_lan }));
    rules.qers.insert(QerId(1), Qer { uplink, ..Qer::new(QerId(1)) });
    rules.urrs.insert(UrrId(1), volume_urr(1, None));
    for pdr in rules.pdrs.values_mut() {
        (pdr.qers, pdr.urrs) = (vec![QerId(1)], vec![UrrId(1)]);
    }
    rules
}

// Input:  a host of the network that claims an address; a UE that asks for it, with an open and with a closed gate.
// Output: the open gate: an answer, and the request and the answer are usage of the UE, as if the host had answered. The closed
//         gate: the request is dropped, and nothing is sent or counted.
#[test]
fn an_answered_request_is_usage_of_the_ue() {
    let address = Ipv4Addr::new(10, 1, 0, 9);
    for (gate, fate, volume) in [
        (Gate::Open, Disposition::Consumed, (42, 42)),
        (Gate::Closed, Disposition::Dropped(DropReason::GateClosed), (0, 0)),
    ] {
        let mut sessions = Sessions::new([measured(1, gate)]);
        let Sessions { plane, now } = &mut sessions;
        let (ingress, claim) = from_lan(request((HOST, address), Ipv4Addr::new(10, 8, 8, 8)));
        plane.process(*now, &ingress, &claim, &mut Vec::new());
        // The claim was a frame to the UE.
        let query = || Plan { session: Seid(1), change: vec![Op::QueryUrr(UrrId(1))].into() };
        plane.apply(*now, &query()).unwrap();
        let asks = request((station(1), Ipv4Addr::new(10, 1, 0, 1)), address);
        let (ingress, packet) = tunnelled(1, &asks);
        let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
        assert_eq!(plane.process(*now, &ingress, &packet, &mut sent), fate);
        let usage = plane.apply(*now, &query()).unwrap().usage;
        let measured = usage.first().and_then(|usage| usage.volume).unwrap_or_default();
        assert_eq!((measured.uplink, measured.downlink), volume);
        assert_eq!(sent.len(), usize::from(gate == Gate::Open));
        assert!(sent.iter().all(|(egress, _)| matches!(egress, Egress::Gtpu { .. })));
    }
}

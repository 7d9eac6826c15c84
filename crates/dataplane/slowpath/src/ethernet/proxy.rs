//! ARP requests and Neighbour Solicitations that the UPF answers (TS 29.244 clause 5.13.3).
//!
//! The UPF learns an address only from the station that claims it: the sender of ARP, the source of a solicitation,
//! the target of an advertisement. It learns only in networks where a FAR of a session requests an answer, and from a
//! UE only by frames that it answers or that the session's rules let pass. Requests for an unknown address are forwarded like any frame, and so are
//! announcements and probes, which request nothing. Both sides receive answers as the requested station would send
//! them.
//!
//! Gates, meters, quotas and URRs treat a request of a UE, and the answer to it, as if the requested station had answered: the
//! usage of the UE does not depend on who does. A request of the network that the UPF answers does not go to the UE, and is
//! no usage of it.

use std::net::IpAddr;

use causeway_dataplane::{Disposition, Egress};
use causeway_model::{ApplyAction, Pdr, Proxying};
use causeway_packet::icmp::{NeighbourAdvertisement, NeighbourSolicitation};
use causeway_packet::{Arp, EtherType, Ethernet, MacAddr};
use causeway_types::{NetworkInstance, Seid, Time};

use super::Frame;
use super::neighbours::{NeighbourKey, NeighbourLimits};
use crate::engine::SlowPath;
use crate::route::DropWithError;

/// A request for the MAC address of an IP address.
enum ResolutionRequest {
    Arp(Arp),
    Neighbour(NeighbourSolicitation),
}

impl ResolutionRequest {
    /// The request in a frame, if the UPF has to answer it.
    fn of(frame: &Frame<'_>, proxying: Proxying) -> Option<Self> {
        let arp = arp_of(frame).filter(|arp| proxying.arp && arp.is_request && !arp.is_announcement());
        let user = frame.user.as_ref().filter(|_| proxying.neighbour_solicitation);
        let requested = || {
            user.and_then(NeighbourSolicitation::of).filter(|requested| !requested.source.is_unspecified())
        };
        arp.map(Self::Arp).or_else(|| requested().map(Self::Neighbour))
    }

    /// The requested address.
    fn target(&self) -> IpAddr {
        match self {
            Self::Arp(arp) => arp.target.1.into(),
            Self::Neighbour(requested) => requested.target.into(),
        }
    }

    /// The answer to the frame, in its VLANs.
    fn answer(&self, frame: &Frame<'_>, mac: MacAddr) -> Option<Vec<u8>> {
        let mut payload = Vec::new();
        let ether_type = match self {
            Self::Arp(arp) => {
                let reply = Arp { is_request: false, sender: (mac, arp.target.1), target: arp.sender };
                reply.write(&mut payload);
                EtherType::ARP
            }
            Self::Neighbour(requested) => {
                // The answer of a proxy does not override that of the station itself (RFC 4861 clause 7.2.8).
                let advertisement = NeighbourAdvertisement {
                    target: requested.target,
                    link: mac,
                    solicited: true,
                    overrides: false,
                };
                advertisement.write(requested.target, requested.source, &mut payload).ok()?;
                EtherType::IPV6
            }
        };
        let (dst, tags) = (frame.ethernet.src, frame.ethernet.tags);
        let mut bytes = Vec::new();
        let answer = Ethernet { dst, src: mac, tags, ether_type: Some(ether_type), payload: &payload };
        answer.write(&mut bytes).ok()?;
        Some(bytes)
    }
}

fn arp_of(frame: &Frame<'_>) -> Option<Arp> {
    let is_arp = frame.ethernet.ether_type == Some(EtherType::ARP);
    if is_arp { Arp::parse(frame.ethernet.payload).ok().flatten() } else { None }
}

/// The address that a frame asks for, whether or not the UPF answers such requests.
pub(super) fn requested_address(frame: &Frame<'_>) -> Option<IpAddr> {
    let any = Proxying { arp: true, neighbour_solicitation: true };
    ResolutionRequest::of(frame, any).map(|request| request.target())
}

/// The address that the sender of a frame claims. Only a claim for its own MAC address counts.
fn claimed_address(frame: &Frame<'_>) -> Option<IpAddr> {
    let arp = arp_of(frame).map(|arp| (arp.sender.0, arp.sender.1.into()));
    let claimed = arp.or_else(|| {
        let user = frame.user.as_ref()?;
        let asks = NeighbourSolicitation::of(user).and_then(|asks| Some((asks.link?, asks.source.into())));
        asks.or_else(|| {
            NeighbourAdvertisement::of(user)
                .map(|advertisement| (advertisement.link, advertisement.target.into()))
        })
    });
    let (mac, ip): (MacAddr, IpAddr) = claimed?;
    (mac == frame.ethernet.src && !ip.is_unspecified()).then_some(ip)
}

impl SlowPath {
    /// Records the claim of the sender of a frame, if the UPF answers requests in its network. `frame` is as the
    /// network sees it.
    pub(super) fn learn_neighbour(
        &mut self,
        now: Time,
        network: &NetworkInstance,
        frame: &Frame<'_>,
        session: Option<Seid>,
    ) {
        if !self.index.is_proxied(network) {
            return;
        }
        if let Some(ip) = claimed_address(frame) {
            let place = NeighbourKey { network: network.clone(), vlans: frame.vlans(), ip };
            let limits = NeighbourLimits {
                of_session: self.limits.neighbours_per_session,
                of_network: self.limits.neighbours_per_network,
                in_all: self.limits.neighbours,
            };
            self.neighbours.learn_neighbour(place, frame.ethernet.src, session, now, limits);
        }
    }

    /// The proxying that the FAR of a PDR requests: none unless it forwards.
    fn proxying_of(&self, seid: Seid, pdr: &Pdr) -> Proxying {
        let far = self.sessions.get(&seid).and_then(|session| session.far_of(pdr.id));
        let forwards = far.filter(|far| far.action == ApplyAction::Forward);
        forwards
            .and_then(|far| far.forwarding.as_ref())
            .map_or(Proxying::default(), |forwarding| forwarding.proxying)
    }

    /// The answer to a request from this session, or from the network itself.
    fn response_of(
        &self,
        now: Time,
        network: &NetworkInstance,
        frame: &Frame<'_>,
        proxying: Proxying,
        from: Option<Seid>,
    ) -> Option<Vec<u8>> {
        let question = ResolutionRequest::of(frame, proxying)?;
        let place = NeighbourKey { network: network.clone(), vlans: frame.vlans(), ip: question.target() };
        let (mac, session) = self.neighbours.find(&place, now)?;
        // A station on the side of the request answers it itself.
        if session == from { None } else { question.answer(frame, mac) }
    }

    /// The answer to a request of a UE. `outside` is the frame as the network would see it.
    pub(super) fn response_to_ue(
        &self,
        now: Time,
        seid: Seid,
        pdr: &Pdr,
        network: &NetworkInstance,
        outside: &Frame<'_>,
    ) -> Option<Vec<u8>> {
        self.response_of(now, network, outside, self.proxying_of(seid, pdr), Some(seid))
    }

    /// Answers a request of a UE into its tunnel.
    pub(super) fn respond_to_ue(&mut self, now: Time, seid: Seid, network: &NetworkInstance, answer: &[u8]) {
        let mut deliver = || {
            let answer = Frame::parse(answer)?;
            let pdr = self.match_frame(now, seid, network, true, &answer)?;
            self.deliver(now, seid, &pdr, &answer)
        };
        let disposition =
            deliver().unwrap_or_else(|refusal: DropWithError| Disposition::Dropped(refusal.reason));
        self.counters.copies += 1;
        self.count_disposition(disposition);
    }

    /// Answers a request of the network once, for however many sessions it is.
    pub(super) fn respond_to_network(
        &mut self,
        now: Time,
        seid: Seid,
        pdr: &Pdr,
        network: &NetworkInstance,
        frame: &Frame<'_>,
        answered: &mut bool,
    ) -> bool {
        let proxying = self.proxying_of(seid, pdr);
        let Some(bytes) = self.response_of(now, network, frame, proxying, None) else { return false };
        if !std::mem::replace(answered, true) {
            self.send(Egress::Ethernet { network: network.clone() }, bytes);
        }
        true
    }
}

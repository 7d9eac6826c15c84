//! A part of N4, for tests.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::num::NonZeroU8;
use std::sync::Arc;

use causeway_dataplane::Topology;
use causeway_fastpath::FastPath;
use causeway_model::{Capabilities, LocalEndpoint, LocalEndpoints};
use causeway_n4::{Config, N4};
use causeway_pfcp::testing::{uplink_far, uplink_pdr};
use causeway_pfcp::{
    AssociationSetupRequest, Message, NodeId, RecoveryTimeStamp, SessionDeletionRequest,
    SessionEstablishmentRequest,
};
use causeway_ports::udp::pfcp_socket_of_new;
use causeway_slowpath::Limits;
use causeway_types::{DualIp, FSeid, NetworkInstance, NtpSeconds};

use super::*;
use crate::clock::Clock;
use crate::config::{Config as Configuration, Overrides};
use crate::worker::{PortSet, Schedule, WorkerHandle};

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SMF: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8805);
const NOW: Time = Time::from_secs(5);

/// The first of two parts of N4, as its packet thread has it, with an association. The packet threads have ended.
pub(in crate::control) struct FirstPart {
    pub(in crate::control) part: ControlPart,
    pub(in crate::control) node: Box<Node>,
    pub(in crate::control) sockets: Sockets,
}

impl FirstPart {
    pub(in crate::control) fn new() -> Self {
        let endpoints = LocalEndpoints {
            gtpu: vec![LocalEndpoint { addr: DualIp::from(UPF), network_instance: None }],
            networks: vec![NetworkInstance::new("internet")],
            ..LocalEndpoints::default()
        };
        let config = Config::new(causeway_types::NodeId::Ip(UPF.into()), UPF.into());
        let (capabilities, recovery) = (Capabilities::all(10_000, 16), NtpSeconds(3_900_000_000));
        let mut n4 = N4::in_parts(config, capabilities, endpoints, recovery, NonZeroU8::new(2).unwrap());
        let setup = AssociationSetupRequest::new(NodeId::Ip(SMF.ip()), RecoveryTimeStamp(recovery));
        n4.datagram(NOW, SMF, &octets(setup.into(), None, 1));
        while n4.poll_output().is_some() {}
        let (mut node, mut part) = (n4.vacant_node(), n4.vacant_part());
        n4.exchange_node(&mut node);
        n4.exchange_part(0, &mut part);
        let upf = Configuration::parse(None, "", &Overrides::default()).unwrap().upf;
        let data_plane = Box::new(FastPath::new(Topology::default(), Limits::default()).unwrap());
        let schedule = Schedule::default();
        let threads = WorkerHandle::spawn(data_plane, PortSet::default(), Clock::new(), schedule).unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let sockets = Sockets::new(vec![socket], true).unwrap();
        let datagrams = Datagrams::of(&sockets, Arc::default());
        let plans = threads.another_plan_queue();
        let part = ControlPart::new(0, part, plans, Networks::new(&upf), datagrams);
        Self { part, node, sockets }
    }
}

fn octets(message: Message<'_>, seid: Option<Seid>, sequence: u32) -> Vec<u8> {
    let mut octets = Vec::new();
    message.encode(seid, sequence, &mut octets).unwrap();
    octets
}

/// Establishments of sessions that the first of two parts has, as a thread has received them.
pub(in crate::control) fn establishments() -> impl Iterator<Item = Received> {
    (1..).filter(|cp_seid| pfcp_socket_of_new(*cp_seid, 2) == 0).zip(2..).map(establishment)
}

fn establishment((cp_seid, sequence): (u64, u32)) -> Received {
    // 10.45.0.0/16.
    let pdr = uplink_pdr(Ipv4Addr::from(0x0a2d_0000 + sequence));
    let cp = FSeid { seid: Seid(cp_seid), addr: SMF.ip().into() };
    let request = SessionEstablishmentRequest::new(NodeId::Ip(SMF.ip()), cp, [pdr], [uplink_far()]);
    (NOW, SMF, LocalSource::Socket(0), octets(request.into(), Some(Seid(0)), sequence))
}

/// Deletions of sessions that these parts would have, in this order in one datagram; nobody has the sessions. `of`: one of the parts.
fn deletions(of: &ControlPart, parts: &[usize]) -> Vec<u8> {
    let delete = |part: usize, sequence: u32| {
        let request = |seid| octets(SessionDeletionRequest::default().into(), Some(Seid(seid)), sequence);
        (1..1_u64 << 32).map(|half| request(half << 32 | half)).find(|it| of.n4.part_of(it) == Some(part))
    };
    let mut all = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let mut message = delete(*part, 10 + at as u32).expect("a SEID of this part");
        // Another one follows.
        message[0] |= if at + 1 == parts.len() { 0 } else { 4 };
        all.extend(message);
    }
    all
}

// Input:  to the first of two parts, a datagram of messages for both in turn; one of messages for the other part alone.
// Output: the first message is answered, and the control thread gets all others, in one piece; the other part gets the second datagram.
#[test]
fn a_datagram_does_not_go_back_and_forth() {
    let FirstPart { mut part, node, .. } = FirstPart::new();
    let (of_both, of_other) = (deletions(&part, &[0, 1, 0, 1]), deletions(&part, &[1, 1]));
    let rest = of_both[deletions(&part, &[0]).len()..].to_vec();
    let mut handle = |octets: &[u8]| {
        part.datagram(&node, (NOW, NOW), (SMF, LocalSource::Socket(0)), octets);
        let left: Vec<_> = part.left.datagrams.drain(..).map(|(.., octets)| octets).collect();
        let others: Vec<_> = part.for_others.drain(..).map(|(part, (.., octets))| (part, octets)).collect();
        (left, others, part.handled)
    };
    assert_eq!(handle(&of_both), (vec![rest], vec![], 1));
    assert_eq!(handle(&of_other), (vec![], vec![(1, of_other.clone())], 1));
}

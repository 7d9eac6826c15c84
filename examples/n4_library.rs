//! N4 without a daemon: PFCP requests as octets go in, plans for a data plane and PFCP responses come out.
//!
//! [`N4`] opens no socket and reads no clock. Its caller passes it datagrams, the results of plans, events and the time, and
//! executes its outputs.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};

use causeway_dataplane::{Dataplane, GtpuEndpoint, Network, PacketEngine, Topology};
use causeway_n4::{Config, N4, Output};
use causeway_pfcp::{
    self as pfcp, ApplyAction, AssociationSetupRequest, CreateFar, CreatePdr, DestinationInterface, FTeid,
    ForwardingParameters, Header, Message, OuterHeaderRemoval, Pdi, RecoveryTimeStamp, RemovedHeader,
    SessionEstablishmentRequest, SourceInterface,
};
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::{
    DualIp, FSeid, FarId, NetworkInstance, NodeId, NtpSeconds, PdrId, Precedence, Seid, Time,
};

const SMF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 7);
const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

/// An association, as an SMF requests it.
fn association() -> Message<'static> {
    AssociationSetupRequest::new(pfcp::NodeId::Ip(SMF.into()), RecoveryTimeStamp(NtpSeconds(1))).into()
}

/// A session that forwards what a UE sends to the data network, from a tunnel that the UPF chooses.
fn establishment() -> Message<'static> {
    let choose = FTeid::Choose { v4: true, v6: false, choose_id: None };
    let pdi = Pdi { local_f_teid: Some(choose), ..Pdi::new(SourceInterface::Access) };
    let pdr = CreatePdr {
        outer_header_removal: Some(OuterHeaderRemoval::new(RemovedHeader::GtpuIpv4)),
        far_id: Some(FarId(1)),
        ..CreatePdr::new(PdrId(1), Precedence(255), pdi)
    };
    let forwarding = ForwardingParameters::new(DestinationInterface::Core);
    let far =
        CreateFar { forwarding_parameters: Some(forwarding), ..CreateFar::new(FarId(1), ApplyAction::FORW) };
    let f_seid = FSeid { seid: Seid(77), addr: DualIp::from(SMF) };
    SessionEstablishmentRequest::new(pfcp::NodeId::Ip(SMF.into()), f_seid, [pdr], [far]).into()
}

fn main() -> Result<(), Box<dyn Error>> {
    let network = Network::new(NetworkInstance::new("internet"), vec!["10.45.0.0/16".parse()?]);
    let topology = Topology {
        gtpu: vec![GtpuEndpoint::new(UPF.into())],
        networks: vec![network],
        ..Topology::default()
    };
    let mut data_plane = SlowPath::new(topology, Limits::default());
    let config = Config::new(NodeId::Ip(UPF.into()), UPF.into());
    let endpoints = data_plane.topology().endpoints();
    let mut n4 = N4::new(config, data_plane.capabilities(), endpoints, NtpSeconds(2));

    let (smf, now) = (SocketAddr::from((SMF, 8805)), Time::from_secs(1_700_000_000));
    for (sequence, (request, seid)) in (1..).zip([(association(), None), (establishment(), Some(Seid(0)))]) {
        let mut octets = Vec::new();
        request.encode(seid, sequence, &mut octets)?;
        println!("<- {:?}, {} octets", request.message_type(), octets.len());
        n4.datagram(now, smf, &octets);
        while let Some(output) = n4.poll_output() {
            match output {
                // The session exists for the SMF only after the data plane has it.
                Output::Apply { id, plan } => {
                    println!("   plan of session {}: {} writes", plan.session, plan.ops().len());
                    let result = data_plane.apply(now, &plan);
                    n4.applied(now, id, result);
                }
                Output::Send { to, bytes } => {
                    let (header, body, _) = Header::decode(&bytes)?;
                    println!("-> {to}: {:?}", Message::decode(&header, body)?);
                }
                Output::Applications(applications) => data_plane.set_applications(&applications),
                Output::Notice(notice) => println!("   {notice}"),
            }
        }
    }
    println!("the data plane has {} session", data_plane.counters().sessions);
    assert_eq!((n4.occupancy().sessions, data_plane.counters().sessions), (1, 1));
    Ok(())
}

// Input:  the program.
// Output: it succeeds.
#[test]
fn it_runs() {
    main().unwrap();
}

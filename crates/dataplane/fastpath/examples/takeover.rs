//! Measures what the new primary of a chain does before it has all sessions: N4 reads and plans the records of the old one, the fast path applies the
//! plans, N4 notes the results.
//!
//! `cargo run --release -p causeway-fastpath --example takeover -- 100000`: so many sessions of one SMF, each established and activated. With `different` behind the
//! number each has another volume threshold, so that no two share a profile. Times are CPU time, as Linux counts it.

#![forbid(unsafe_code)]

use std::error::Error;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};

use causeway_dataplane::{Applied, Dataplane, GtpuEndpoint, Network, Plan, Topology};
use causeway_fastpath::FastPath;
use causeway_model::{Capabilities, LocalEndpoint, LocalEndpoints};
use causeway_n4::{ApplyId, Config, N4, Output};
use causeway_pfcp::testing::{downlink_far, downlink_pdr, uplink_far, uplink_pdr, volume_urr};
use causeway_pfcp::*;
use causeway_slowpath::Limits;
use causeway_types::{DualIp, FSeid, FarId, NetworkInstance, NodeId as Node, NtpSeconds, Seid, Time, UrrId};

const NOW: Time = Time::from_secs(1_700_000_000);
const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 100);
const SMF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 10);
const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(SMF), 8805);

fn main() -> Result<(), Box<dyn Error>> {
    let wanted = std::env::args().nth(1).map_or(Ok(100_000), |text| text.parse::<u32>())?;
    let is_different = std::env::args().nth(2).is_some_and(|word| word == "different");
    let mut first = n4(wanted)?;
    first.record_changes(NOW);
    let setup = AssociationSetupRequest::new(NodeId::Ip(SMF.into()), RecoveryTimeStamp(NtpSeconds(1000)));
    ask(&mut first, None, 0, setup.into())?;
    for number in 1..=wanted {
        let answer = ask(&mut first, Some(Seid(0)), 2 * number, establishment(number, is_different).into())?;
        let (header, body, _) = Header::decode(&answer)?;
        let Message::SessionEstablishmentResponse(answer) = Message::decode(&header, body)? else {
            return Err("another response than that to the establishment".into());
        };
        let seid = answer.up_f_seid.ok_or("N4 refuses a session")?.seid;
        ask(&mut first, Some(seid), 2 * number + 1, activation(number).into())?;
    }
    let associations: Vec<_> = first.association_records().map(|(_, octets)| octets).collect();
    let records: Vec<_> = (0..wanted).filter_map(|index| first.session_record(index)).collect();
    let octets: usize = records.iter().map(Vec::len).sum();

    let mut second = n4(wanted)?;
    second.number_from(NtpSeconds(3_900_000_009), 2);
    let mut plane = FastPath::new(topology()?, Limits { max_sessions: wanted, ..Limits::default() })?;
    let begin = cpu_time()?;
    for octets in &associations {
        second.restore_association(NOW, octets)?;
    }
    for octets in &records {
        second.restore_session(NOW, octets)?;
    }
    let planned = cpu_time()? - begin;
    let plans: Vec<(ApplyId, Plan)> =
        std::iter::from_fn(|| second.poll_output()).filter_map(plan_of).collect();
    let begin = cpu_time()?;
    let results: Vec<_> = plans.iter().map(|(id, plan)| (*id, plane.apply(NOW, plan))).collect();
    let applied = cpu_time()? - begin;
    let begin = cpu_time()?;
    for (id, result) in results {
        second.applied(NOW, id, result);
    }
    let noted = cpu_time()? - begin;
    let restored = second.sessions().count();
    writeln!(
        std::io::stdout(),
        "{restored} of {wanted} sessions, {octets} octets of records: planned in {} ms, applied in {} ms, noted in {} ms",
        planned / 1_000_000,
        applied / 1_000_000,
        noted / 1_000_000
    )?;
    Ok(())
}

/// Nanoseconds for which this thread ran.
fn cpu_time() -> Result<u64, Box<dyn Error>> {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(line.split_whitespace().next().ok_or("the kernel does not count CPU time")?.parse()?)
}

fn n4(sessions: u32) -> Result<N4, Box<dyn Error>> {
    let mut config = Config::new(Node::Ip(UPF.into()), UPF.into());
    config.limits.sessions = usize::try_from(sessions)?;
    let endpoints = LocalEndpoints {
        gtpu: vec![LocalEndpoint { addr: DualIp::from(N3), network_instance: None }],
        networks: vec![NetworkInstance::new("internet")],
        ..LocalEndpoints::default()
    };
    let capabilities = Capabilities { outer_ipv6: false, ..Capabilities::all(sessions, 16) };
    Ok(N4::new(config, capabilities, endpoints, NtpSeconds(3_900_000_000)))
}

fn topology() -> Result<Topology, Box<dyn Error>> {
    let network = Network::new(NetworkInstance::new("internet"), vec!["10.0.0.0/8".parse()?]);
    Ok(Topology { gtpu: vec![GtpuEndpoint::new(N3.into())], networks: vec![network], ..Topology::default() })
}

fn plan_of(output: Output) -> Option<(ApplyId, Plan)> {
    if let Output::Apply { id, plan } = output { Some((id, plan)) } else { None }
}

/// The response of an N4 whose data plane accepts everything.
fn ask(
    n4: &mut N4,
    seid: Option<Seid>,
    sequence: u32,
    request: Message<'_>,
) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut octets = Vec::new();
    request.encode(seid, sequence, &mut octets)?;
    n4.datagram(NOW, PEER, &octets);
    let mut response = None;
    while let Some(output) = n4.poll_output() {
        match output {
            Output::Send { bytes, .. } => response = Some(bytes),
            Output::Apply { id, .. } => n4.applied(NOW, id, Ok(Applied::default())),
            Output::Applications(_) | Output::Notice(_) => {}
        }
    }
    while n4.next_changed_session().is_some() || n4.next_response().is_some() {}
    response.ok_or_else(|| "N4 gives no response".into())
}

/// A session of one UE: its uplink from a tunnel that the UPF chooses, its downlink buffered, both measured.
fn establishment(number: u32, is_different: bool) -> SessionEstablishmentRequest<'static> {
    let address = Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 0)) + number);
    let mut pdrs = [uplink_pdr(address), downlink_pdr(address)];
    pdrs.iter_mut().for_each(|pdr| pdr.urr_ids = [UrrId(1)].into());
    let fars = [uplink_far(), CreateFar { forwarding_parameters: None, ..downlink_far() }];
    let threshold = if is_different { 1_000_000 + u64::from(number) } else { 1_000_000 };
    let create_urrs = [volume_urr(1, threshold)].into();
    let cp = FSeid { seid: Seid(number.into()), addr: SMF.into() };
    let request = SessionEstablishmentRequest::new(NodeId::Ip(SMF.into()), cp, pdrs, fars);
    SessionEstablishmentRequest { create_urrs, pdn_type: Some(PdnType::Ipv4), ..request }
}

/// The downlink goes to a tunnel of one of a hundred gNBs.
fn activation(number: u32) -> SessionModificationRequest<'static> {
    let gnb = Ipv4Addr::from(u32::from(Ipv4Addr::new(192, 0, 2, 101)) + number % 100);
    let forwarding = UpdateForwardingParameters {
        destination_interface: Some(DestinationInterface::Access),
        outer_header_creation: Some(OuterHeaderCreation::gtpu(number, DualIp::from(gnb))),
        ..UpdateForwardingParameters::default()
    };
    let far = UpdateFar {
        apply_action: Some(ApplyAction::FORW),
        update_forwarding_parameters: Some(forwarding),
        ..UpdateFar::new(FarId(2))
    };
    SessionModificationRequest { update_fars: [far].into(), ..SessionModificationRequest::default() }
}

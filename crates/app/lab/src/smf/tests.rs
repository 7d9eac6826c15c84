//! The SMF's messages as a UPF decodes them.

use std::net::UdpSocket;
use std::sync::mpsc::channel;

use causeway_pfcp::{
    DownlinkDataReport, ReportType, SessionReportRequest, UrSeqn, UsageReport, VolumeMeasurement, Volumes,
};
use causeway_types::{Bitrate, DualIp, FTeid, NetworkInstance, Qfi, Teid, UsageReportTrigger};

use super::*;

const SMF: Ipv4Addr = Ipv4Addr::new(10, 40, 0, 2);

fn plan() -> SessionPlan {
    SessionPlan {
        ue: Ipv4Addr::new(10, 45, 0, 2).into(),
        dnn: NetworkInstance::new("internet"),
        qfi: Qfi::new(9).unwrap(),
        mbr: Bitrate::from_kbps(5000).unwrap(),
        volume_threshold: 1000,
    }
}

fn encoded(message: &Message<'_>, seid: u64) -> Vec<u8> {
    let mut octets = Vec::new();
    message.encode(Some(Seid(seid)), 1, &mut octets).unwrap();
    octets
}

// Input:  the establishment of a session, as octets.
// Output: two PDRs, the uplink one with a tunnel to choose and the QFI; two FARs; every reference leads to a rule.
#[test]
fn an_establishment_holds_all_rules() {
    let octets = encoded(&build::establishment(SMF, Seid(7), &plan()), 0);
    let Message::SessionEstablishmentRequest(request) = decode::message(&octets).unwrap().1 else { panic!() };
    assert_eq!((request.create_pdrs.len(), request.create_fars.len()), (2, 2));
    let uplink = request.create_pdrs.first().unwrap();
    assert!(matches!(uplink.pdi.local_f_teid, Some(causeway_pfcp::FTeid::Choose { v4: true, .. })));
    assert_eq!(uplink.pdi.qfis.first(), Qfi::new(9));
    for pdr in &request.create_pdrs {
        assert!(request.create_fars.iter().any(|far| Some(far.far_id) == pdr.far_id));
        assert_eq!(pdr.qer_ids.first(), request.create_qers.first().map(|qer| qer.qer_id));
        assert_eq!(pdr.urr_ids.first(), request.create_urrs.first().map(|urr| urr.urr_id));
    }
}

// Input:  the establishment of a session of type IPv4v6.
// Output: both PDRs have the address and the prefix, as source and as destination; the PDN type says so.
#[test]
fn a_dual_stack_session_has_both_addresses() {
    let prefix = "2001:db8:45:7::/64".parse().unwrap();
    let plan = SessionPlan { ue: UeAddresses::Ipv4v6(Ipv4Addr::new(10, 45, 0, 2), prefix), ..plan() };
    let octets = encoded(&build::establishment(SMF, Seid(7), &plan), 0);
    let Message::SessionEstablishmentRequest(request) = decode::message(&octets).unwrap().1 else { panic!() };
    assert_eq!(request.pdn_type, Some(causeway_pfcp::PdnType::Ipv4v6));
    for (pdr, destination) in request.create_pdrs.iter().zip([false, true]) {
        let ue = pdr.pdi.ue_ip_addresses.first().unwrap();
        assert_eq!((ue.ipv4, ue.ipv6), (plan.ue.ipv4(), Some(prefix.addr())));
        assert_eq!(ue.destination, destination);
    }
}

// Input:  a handover to a new tunnel.
// Output: one Update FAR with FORW, the tunnel, and SNDEM.
#[test]
fn a_handover_asks_for_an_end_marker() {
    let tunnel = FTeid { teid: Teid::new(5).unwrap(), addr: DualIp::from(SMF) };
    let octets = encoded(&build::downlink(Downlink::HandOver(tunnel)), 3);
    let Message::SessionModificationRequest(request) = decode::message(&octets).unwrap().1 else { panic!() };
    let far = request.update_fars.first().unwrap();
    assert_eq!(far.apply_action, Some(causeway_pfcp::ApplyAction::FORW));
    let forwarding = far.update_forwarding_parameters.unwrap();
    assert_eq!(forwarding.outer_header_creation.unwrap().teid, Some(5));
    assert_eq!(forwarding.flags, Some(causeway_pfcp::SessionModificationFlags::SNDEM));
}

fn server(sessions: Sessions) -> (Server, Receiver<SessionReport>) {
    let (sender, reports) = channel();
    (Server { address: SMF, recovery: NtpSeconds(1), sessions, reports: sender }, reports)
}

// Input:  a report of downlink data and usage for a session, and for one that does not exist.
// Output: the first is accepted, told, and answered with the UPF's SEID; the second is refused with SEID zero.
#[test]
fn reports_are_answered_and_told() {
    let sessions = Sessions::default();
    sessions.lock().unwrap().insert(Seid(7), Seid(70));
    let (server, reports) = server(sessions);
    let octets = Volumes { total: Some(30), uplink: Some(10), downlink: Some(20) };
    let usage = UsageReport {
        volume_measurement: Some(VolumeMeasurement { octets, ..VolumeMeasurement::default() }),
        ..UsageReport::new(URR, UrSeqn(4), UsageReportTrigger::VOLTH)
    };
    let request: Message<'_> = SessionReportRequest {
        downlink_data_report: Some(DownlinkDataReport::new([DOWNLINK_PDR])),
        usage_reports: [usage].into(),
        ..SessionReportRequest::new(ReportType::DLDR | ReportType::USAR)
    }
    .into();
    let (_, to) = server.answer(&encoded(&request, 7)).unwrap();
    assert_eq!(to, Some(Seid(70)));
    let told = reports.try_recv().unwrap();
    assert_eq!(told.downlink_data, [DOWNLINK_PDR]);
    let usage = told.usage[0];
    assert_eq!((usage.trigger, usage.sequence), (UsageTrigger::VolumeThreshold, 4));
    assert_eq!((usage.volume.uplink, usage.volume.downlink), (10, 20));
    let (Message::SessionReportResponse(refusal), to) = server.answer(&encoded(&request, 8)).unwrap() else {
        panic!()
    };
    assert_eq!((refusal.cause, to), (Cause::SessionContextNotFound, Some(Seid(0))));
    assert!(reports.try_recv().is_err());
}

// Input:  what the SMF sends in a handover and at a query; an answer that accepts and one that refuses.
// Output: names that tell them apart; only the refusal shows its cause.
#[test]
fn messages_are_told_apart_by_name() {
    let tunnel = FTeid { teid: Teid::new(5).unwrap(), addr: DualIp::from(SMF) };
    let name = |message: &Message<'_>| describe::describe(message);
    assert_eq!(
        name(&build::downlink(Downlink::HandOver(tunnel))),
        "Session Modification Request (FORW SNDEM)"
    );
    assert_eq!(name(&build::downlink(Downlink::Buffer)), "Session Modification Request (BUFF NOCP)");
    assert_eq!(name(&build::query_and_rearm(1000)), "Session Modification Request (query)");
    let answer = |cause| Message::from(causeway_pfcp::SessionDeletionResponse::new(cause));
    assert_eq!(name(&answer(Cause::RequestAccepted)), "Session Deletion Response");
    let refusal = name(&answer(Cause::SessionContextNotFound));
    assert_eq!(refusal, "Session Deletion Response (SessionContextNotFound)");
}

// Input:  a refusal with an offending IE.
// Output: an error that names cause and IE, by number and by name.
#[test]
fn a_refusal_is_told_in_full() {
    let refusal = decode::accepted("session", Cause::MandatoryIeMissing, Some(OffendingIe(21))).unwrap_err();
    let text = refusal.to_string();
    assert!(text.contains("66") && text.contains("F-TEID") && text.contains("21"), "{text}");
    assert!(decode::accepted("session", Cause::RequestAccepted, None).is_ok());
}

/// An exchange over the loopback, and the UPF's end of it.
fn over_loopback() -> (Exchange, UdpSocket, Receiver<SessionReport>) {
    let upf = UdpSocket::bind("127.0.0.1:0").unwrap();
    let smf = UdpSocket::bind("127.0.0.1:0").unwrap();
    upf.connect(smf.local_addr().unwrap()).unwrap();
    smf.connect(upf.local_addr().unwrap()).unwrap();
    smf.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    upf.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let sessions = Sessions::default();
    sessions.lock().unwrap().insert(Seid(7), Seid(70));
    let (server, reports) = server(sessions);
    (Exchange::with_socket(smf, server, Timeline::default()).unwrap(), upf, reports)
}

fn receive(socket: &UdpSocket) -> Vec<u8> {
    let mut buffer = [0; 2048];
    let length = socket.recv(&mut buffer).unwrap();
    buffer[..length].to_vec()
}

// Input:  a UPF that answers only the second copy of a request; a UPF that never answers.
// Output: the same octets twice and one retransmission, then the response; a timeout that names the request.
#[test]
fn a_request_is_sent_again_until_it_is_answered() {
    let (exchange, upf, _reports) = over_loopback();
    let patience = RetransmissionTimer { t1: Duration::from_millis(50), times: 3 };
    let answering = std::thread::spawn(move || {
        let (first, second) = (receive(&upf), receive(&upf));
        assert_eq!(first, second);
        let (header, _) = decode::message(&first).unwrap();
        let mut answer = Vec::new();
        let response = causeway_pfcp::HeartbeatResponse::new(causeway_pfcp::RecoveryTimeStamp(NtpSeconds(5)));
        Message::from(response).encode(None, header.sequence, &mut answer).unwrap();
        upf.send(&answer).unwrap();
        upf
    });
    let response = exchange.request(build::heartbeat(NtpSeconds(1)), None, patience).unwrap();
    assert!(matches!(decode::message(&response).unwrap().1, Message::HeartbeatResponse(_)));
    assert_eq!(exchange.retransmissions(), 1);
    let _upf = answering.join().unwrap();
    let silence =
        exchange.request(build::query_and_rearm(1000), Some(Seid(70)), patience).unwrap_err().to_string();
    assert_eq!(
        silence,
        "a response to the Session Modification Request (query) did not happen within 0.15 s"
    );
}

// Input:  the same report twice, as a UPF sends it whose answer was lost.
// Output: two equal answers, but the report is told once.
#[test]
fn a_repeated_request_is_answered_and_not_heard_again() {
    let (_exchange, upf, reports) = over_loopback();
    let report = SessionReportRequest {
        downlink_data_report: Some(DownlinkDataReport::new([DOWNLINK_PDR])),
        ..SessionReportRequest::new(ReportType::DLDR)
    };
    let octets = encoded(&report.into(), 7);
    upf.send(&octets).unwrap();
    let first = receive(&upf);
    upf.send(&octets).unwrap();
    assert_eq!(receive(&upf), first);
    assert!(reports.recv_timeout(Duration::from_secs(1)).is_ok());
    assert!(reports.try_recv().is_err());
}

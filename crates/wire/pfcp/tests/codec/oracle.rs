//! Comparison with `rs-pfcp`, an independent codec, in both directions.

use std::net::Ipv4Addr;

use causeway_pfcp::{
    CreateFar, CreatePdr, CreateQer, CreateUrr, FTeid, GateStatus, Header, Ie, Mbr, Message, MessageType,
    NetworkInstance, NodeId, SourceInterface, UeIpAddress, UsageReport, VolumeThreshold,
};
use causeway_types::{
    Bitrate, FarId, PdrId, Precedence, QerId, Qfi, ReportingTriggers, Seid, UrrId, UsageReportTrigger,
};
use proptest::collection::vec;
use proptest::prelude::*;
use rs_pfcp::ie as theirs;
use rs_pfcp::message as their_message;

use crate::oracle_ies::THEIRS;
use crate::support::{Tape, decode, ies_of, mandatory_of, value, write};

const SMF: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);

/// A message after decoding and encoding by `rs-pfcp`; `None` if it refuses the message.
fn through_theirs(message: &Message<'_>) -> Option<Vec<u8>> {
    let seid = message.message_type().is_session_related().then_some(Seid(5));
    let mut octets = Vec::new();
    message.encode(seid, 9, &mut octets).unwrap();
    Some(their_message::parse(&octets).ok()?.marshal())
}

proptest! {
    // Input:  a valid value of any IE that both codecs know.
    // Output: `rs-pfcp` refuses it (spare codes, text that is not UTF-8), or writes the same octets.
    #[test]
    fn both_code_ies_alike(at in 0..THEIRS.len(), tape in vec(any::<u8>(), 0..400)) {
        let (ie_type, theirs) = THEIRS[at];
        let value = value(ie_type, &mut Tape(&tape));
        if let Some(octets) = theirs(&value) {
            prop_assert_eq!(octets, value);
        }
    }

    // Input:  a valid message of any type but PFD management, whose repeated PFDs `rs-pfcp` merges.
    // Output: `rs-pfcp` refuses it (for example empty groups), or returns an equal message.
    #[test]
    fn both_code_messages_alike(
        message_type in proptest::sample::select(MessageType::ALL),
        tape in vec(any::<u8>(), 0..1000),
    ) {
        prop_assume!(message_type != MessageType::PfdManagementRequest);
        let octets = write(&ies_of(message_type, &tape));
        let message = decode(message_type, &octets);
        if let Some(theirs) = through_theirs(&message) {
            let (header, body, _) = Header::decode(&theirs).unwrap();
            prop_assert_eq!(header.sequence, 9);
            prop_assert_eq!(Message::decode(&header, body).unwrap(), message);
        }
    }
}

// Input:  each message with its mandatory IEs; responses reject, since `rs-pfcp` requires more of an acceptance.
// Output: `rs-pfcp` accepts each of them, and returns an equal message. It requires an F-SEID in a rejecting
// Session Establishment Response, which clause 7.2.3.2 does not; that one is left out.
#[test]
fn theirs_takes_every_message() {
    let asks_for_more = |message_type: &&_| **message_type != MessageType::SessionEstablishmentResponse;
    for message_type in MessageType::ALL.iter().filter(asks_for_more) {
        let mut ies = mandatory_of(*message_type);
        ies.iter_mut().filter(|ie| ie.0 == 19).for_each(|cause| cause.1 = vec![64]);
        let octets = write(&ies);
        let message = decode(*message_type, &octets);
        let theirs = through_theirs(&message).unwrap_or_else(|| panic!("{message_type:?}"));
        let (header, body, _) = Header::decode(&theirs).unwrap();
        assert_eq!(Message::decode(&header, body).unwrap(), message);
    }
}

/// A session with a rule of each kind, built by `rs-pfcp`.
fn their_establishment() -> Vec<u8> {
    let pdi = theirs::pdi::PdiBuilder::new(source_interface())
        .f_teid(theirs::f_teid::FteidBuilder::new().choose_ipv4().choose_id(3).build().unwrap())
        .network_instance(theirs::network_instance::NetworkInstance::new("internet"))
        .ue_ip_address(theirs::ue_ip_address::UeIpAddress::new(Some(UE), None))
        .qfi(theirs::qfi::Qfi::new(9).unwrap())
        .build()
        .unwrap();
    let pdr = theirs::create_pdr::CreatePdrBuilder::new(theirs::pdr_id::PdrId::new(1))
        .precedence(theirs::precedence::Precedence::new(255))
        .pdi(pdi)
        .far_id(theirs::far_id::FarId::new(1))
        .urr_id(theirs::urr_id::UrrId::new(1))
        .qer_id(theirs::qer_id::QerId::new(1))
        .build()
        .unwrap();
    let far = theirs::create_far::CreateFar::builder(theirs::far_id::FarId::new(1))
        .forward_to(theirs::destination_interface::Interface::Core)
        .build()
        .unwrap();
    let qer = theirs::create_qer::CreateQer::with_rate_limit(theirs::qer_id::QerId::new(1), 10_000, 20_000);
    their_message::session_establishment_request::SessionEstablishmentRequestBuilder::new(0, 7)
        .node_id(SMF)
        .fseid(0x1122, SMF)
        .add_pdr(pdr)
        .add_far(far)
        .add_qer(qer)
        .add_urr(their_urr())
        .marshal()
        .unwrap()
}

fn source_interface() -> theirs::source_interface::SourceInterface {
    theirs::source_interface::SourceInterface::new(theirs::source_interface::SourceInterfaceValue::Access)
}

fn their_urr() -> theirs::create_urr::CreateUrr {
    theirs::create_urr::CreateUrr::builder(theirs::urr_id::UrrId::new(1))
        .measurement_method(theirs::measurement_method::MeasurementMethod::new(false, true, false))
        .reporting_triggers(theirs::reporting_triggers::ReportingTriggers::unmarshal(&[2, 0, 0]).unwrap())
        .volume_threshold_bytes(1_000_000)
        .build()
        .unwrap()
}

// Input:  an establishment request with a PDR, FAR, QER and URR that `rs-pfcp` built.
// Output: the same values after decoding.
#[test]
fn we_read_the_session_that_theirs_builds() {
    let octets = their_establishment();
    let (header, body, _) = Header::decode(&octets).unwrap();
    assert_eq!((header.seid, header.sequence), (Some(Seid(0)), 7));
    let Message::SessionEstablishmentRequest(request) = Message::decode(&header, body).unwrap() else {
        panic!()
    };
    assert_eq!(request.node_id, NodeId::Ip(SMF.into()));
    assert_eq!((request.cp_f_seid.seid, request.cp_f_seid.addr), (Seid(0x1122), SMF.into()));
    check_pdr(&request.create_pdrs.first().unwrap());
    let far: CreateFar<'_> = request.create_fars.first().unwrap();
    assert_eq!(far.far_id, FarId(1));
    assert!(far.forwarding_parameters.is_some());
    let qer: CreateQer<'_> = request.create_qers.first().unwrap();
    let rate = |kbps| Bitrate::from_kbps(kbps).unwrap();
    assert_eq!((qer.qer_id, qer.gate_status), (QerId(1), GateStatus::OPEN));
    assert_eq!(qer.mbr, Some(Mbr { uplink: rate(10_000), downlink: rate(20_000) }));
    let urr: CreateUrr<'_> = request.create_urrs.first().unwrap();
    assert_eq!((urr.urr_id, urr.reporting_triggers), (UrrId(1), ReportingTriggers::VOLTH));
    assert_eq!(urr.volume_threshold.map(|VolumeThreshold(octets)| octets.total), Some(Some(1_000_000)));
}

fn check_pdr(pdr: &CreatePdr<'_>) {
    assert_eq!((pdr.pdr_id, pdr.precedence, pdr.far_id), (PdrId(1), Precedence(255), Some(FarId(1))));
    assert_eq!((pdr.urr_ids.first(), pdr.qer_ids.first()), (Some(UrrId(1)), Some(QerId(1))));
    assert_eq!(pdr.pdi.source_interface, SourceInterface::Access);
    let choose = FTeid::Choose { v4: true, v6: false, choose_id: Some(3) };
    assert_eq!(pdr.pdi.local_f_teid, Some(choose));
    assert_eq!(pdr.pdi.network_instance, Some(NetworkInstance::text("internet")));
    let ue = UeIpAddress { ipv4: Some(UE), ..UeIpAddress::default() };
    assert_eq!(pdr.pdi.ue_ip_addresses.first(), Some(ue));
    assert_eq!(pdr.pdi.qfis.first(), Qfi::new(9));
}

// Input:  an encoded usage report.
// Output: `rs-pfcp` reads the same numbers.
#[test]
fn theirs_reads_our_usage_report() {
    let octets = causeway_pfcp::Volumes { total: Some(30), uplink: Some(10), downlink: Some(20) };
    let measured = causeway_pfcp::VolumeMeasurement { octets, ..Default::default() };
    let report = UsageReport {
        volume_measurement: Some(measured),
        ..UsageReport::new(UrrId(4), causeway_pfcp::UrSeqn(2), UsageReportTrigger::VOLTH)
    };
    let mut value = Vec::new();
    report.encode(&mut value);
    let theirs = theirs::usage_report::UsageReport::unmarshal(&value).unwrap();
    assert_eq!((theirs.urr_id.id, theirs.ur_seqn.marshal().as_slice()), (4, &[0, 0, 0, 2][..]));
    let volume = theirs.volume_measurement.unwrap();
    assert_eq!((volume.total_volume, volume.uplink_volume), (Some(30), Some(10)));
    assert_eq!(volume.downlink_volume, Some(20));
}

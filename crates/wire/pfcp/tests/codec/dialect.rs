//! Lengths and forms in the messages of real SMFs.

use causeway_pfcp::*;
use causeway_types::{FarId, NtpSeconds, PdrId, QerId, ReportingTriggers, UrrId, UsageReportTrigger};

use crate::support::{decode, octets, write};

/// Decodes a value from hexadecimal digits.
fn value<T: Ie<'static>>(hex: &str) -> Result<T, IeError> {
    T::decode(octets(hex).leak())
}

// Input:  Apply Action of Release 15 (1 octet), of Release 16 (2) and of a later one (3).
// Output: the same action; unknown octets are ignored.
#[test]
fn apply_action_has_one_octet_or_two() {
    assert_eq!(value("0c"), Ok(ApplyAction::BUFF | ApplyAction::NOCP));
    assert_eq!(value("0c00"), Ok(ApplyAction::BUFF | ApplyAction::NOCP));
    assert_eq!(value("0c04"), Ok(ApplyAction::BUFF | ApplyAction::NOCP | ApplyAction::DDPN));
    assert_eq!(value("02e0ff"), Ok(ApplyAction::FORW));
    assert_eq!(value::<ApplyAction>(""), Err(IeError::length()));
}

#[test]
fn reporting_triggers_have_one_to_three_octets() {
    assert_eq!(value("02"), Ok(ReportingTriggers::VOLTH));
    assert_eq!(value("0201"), Ok(ReportingTriggers::VOLTH | ReportingTriggers::VOLQU));
    assert_eq!(value("020002"), Ok(ReportingTriggers::VOLTH | ReportingTriggers::UPINT));
    assert_eq!(value("02"), Ok(UsageReportTrigger::VOLTH));
    assert_eq!(value("0008"), Ok(UsageReportTrigger::TERMR));
    assert_eq!(value("000802"), Ok(UsageReportTrigger::TERMR | UsageReportTrigger::TEBUR));
}

#[test]
fn outer_header_removal_has_one_octet_or_two() {
    assert_eq!(value("00"), Ok(OuterHeaderRemoval::new(RemovedHeader::GtpuIpv4)));
    assert_eq!(value("06"), Ok(OuterHeaderRemoval::new(RemovedHeader::GtpuIp)));
    let with =
        |extensions| OuterHeaderRemoval { header: RemovedHeader::GtpuIp, extensions: Some(extensions) };
    assert_eq!(value("0600"), Ok(with(0)));
    assert_eq!(value("0601"), Ok(with(OuterHeaderRemoval::PDU_SESSION_CONTAINER)));
    assert_eq!(value("ff"), Ok(OuterHeaderRemoval::new(RemovedHeader::Spare(255))));
}

#[test]
fn feature_bitmaps_have_any_length() {
    assert_eq!(value("10"), Ok(UpFeatures::FTUP));
    assert_eq!(value("1001"), Ok(UpFeatures::FTUP | UpFeatures::EMPU));
    assert_eq!(value("000000000000003f 00ff"), Ok(UpFeatures::empty()));
    assert_eq!(value("0000000000002000"), Ok(UpFeatures::UPIDP));
    assert_eq!(value("01"), Ok(CpFeatures::LOAD));
    assert_eq!(value("010100"), Ok(CpFeatures::LOAD | CpFeatures::PSUCC));
}

#[test]
fn numbers_of_a_later_release_may_be_longer() {
    assert_eq!(value("0001 ff"), Ok(PdrId(1)));
    assert_eq!(value("00000001 ffff"), Ok(FarId(1)));
    assert_eq!(value("e0000001 00000000"), Ok(RecoveryTimeStamp(NtpSeconds(0xe000_0001))));
    assert_eq!(value::<PdrId>("00"), Err(IeError::length()));
}

#[test]
fn spare_bits_and_codes_are_told_apart() {
    assert_eq!(value("f1"), Ok(SourceInterface::Core), "spare bits are ignored");
    assert_eq!(value("09"), Ok(SourceInterface::Spare(9)), "spare codes are kept");
    assert_eq!(value("0f"), Ok(GateStatus { uplink_open: false, downlink_open: false }));
    assert_eq!(value("ff"), Ok(MeasurementMethod::all()));
}

#[test]
fn short_forms_of_early_releases() {
    let node_only = value::<FqCsid<'_>>("01 0a000001 0007").unwrap();
    assert_eq!(node_only.node, None);
    let no_tags = value::<MacAddressesDetected<'_>>("01 020000000001").unwrap();
    assert_eq!((no_tags.0.c_tag, no_tags.0.s_tag), (None, None));
    let url = value::<RedirectInformation<'_>>("02 0001 61").unwrap();
    assert_eq!((url.other_server, url.port), (None, None));
    let port = value::<RedirectInformation<'_>>("06 0001 61 0050").unwrap();
    assert_eq!((port.other_server, port.port), (None, Some(80)));
}

/// An Update PDR inside a modification request.
fn updated_pdr(hex: &str) -> UpdatePdr<'static> {
    let body = write(&[(9, octets(hex))]).leak();
    let Message::SessionModificationRequest(request) = decode(MessageType::SessionModificationRequest, body)
    else {
        panic!()
    };
    request.update_pdrs.first().unwrap()
}

// Input:  an Update PDR with a URR ID of null length (clause 5.6.3), and one with two QER IDs.
// Output: the URRs are removed, the QERs are a list, and no field has an empty value.
#[test]
fn a_null_length_asks_for_removal() {
    let pdr = updated_pdr("0038 0002 0001  0051 0000  006d 0004 00000001  006d 0004 00000002");
    assert!(pdr.urr_ids.is_empty());
    assert!(pdr.other.removes::<UrrId>());
    assert!(!pdr.other.removes::<QerId>());
    assert_eq!(pdr.qer_ids.iter().collect::<Vec<_>>(), [QerId(1), QerId(2)]);

    let urr = UpdateUrr { other: vec![RawIe::null(73)].into(), ..UpdateUrr::new(UrrId(1)) };
    let mut out = Vec::new();
    urr.write(&mut out);
    assert_eq!(out, octets("000d 000c 0051 0004 00000001 0049 0000"));
    let again = UpdateUrr::decode(&out[4..]).unwrap();
    assert!(again.other.removes::<VolumeQuota>());
    assert_eq!(again.volume_quota, None);
}

// Input:  an empty Provide ATSSS Control Information, in which nothing is mandatory, and a mandatory PDI of null
//         length.
// Output: the first is a value, the second lacks its source interface.
#[test]
fn a_group_may_be_empty_if_nothing_in_it_is_mandatory() {
    let body = write(&[(220, vec![])]);
    let Message::SessionModificationRequest(request) = decode(MessageType::SessionModificationRequest, &body)
    else {
        panic!()
    };
    assert_eq!(request.provide_atsss_control_information, Some(Default::default()));
    assert!(!request.other.removes_type(220));
    let error = CreatePdr::decode(&octets("0038 0002 0001  001d 0004 00000001  0002 0000")).unwrap_err();
    assert_eq!((error.cause(), error.path.as_slice()), (Cause::MandatoryIeMissing, &[2, 20][..]));
}

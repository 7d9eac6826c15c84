//! Headers, bundles, dumps, and messages of wrong length.

use causeway_pfcp::dump::{Dump, DumpIes};
use causeway_pfcp::*;
use causeway_types::{NtpSeconds, Seid, UrrId};

use crate::support::octets;

fn heartbeat() -> Message<'static> {
    HeartbeatRequest::new(RecoveryTimeStamp(NtpSeconds(1))).into()
}

#[test]
fn a_node_related_and_a_session_related_header() {
    let datagram = octets("20 01 000c 000007 00  0060 0004 00000001");
    let (header, body, rest) = Header::decode(&datagram).unwrap();
    let expected = Header { message_type: 1, sequence: 7, ..Header::default() };
    assert_eq!((header, body.len(), rest.len()), (expected, 8, 0));
    assert_eq!(Message::decode(&header, body).unwrap(), heartbeat());

    let datagram = octets("23 36 000c 0102030405060708 ffffff a0");
    let (header, body, _) = Header::decode(&datagram).unwrap();
    let expected = Header {
        message_type: 54,
        seid: Some(Seid(0x0102_0304_0506_0708)),
        sequence: 0xff_ffff,
        priority: Some(10),
        follow_on: false,
    };
    assert_eq!((header, body), (expected, &[][..]));
    let mut out = Vec::new();
    Message::decode(&header, body).unwrap().encode_with(&header, &mut out).unwrap();
    assert_eq!(out, datagram);
}

// Input:  two messages in one datagram, the first with the follow-on flag (clause 6.5).
// Output: both in order; without the flag, a length error.
#[test]
fn bundled_messages_are_decoded_one_by_one() {
    let mut datagram = Vec::new();
    let first = Header { sequence: 1, follow_on: true, ..Header::default() };
    heartbeat().encode_with(&first, &mut datagram).unwrap();
    heartbeat().encode(None, 2, &mut datagram).unwrap();
    let (header, _, rest) = Header::decode(&datagram).unwrap();
    assert_eq!((header.sequence, header.follow_on), (1, true));
    let (header, _, rest) = Header::decode(rest).unwrap();
    assert_eq!((header.sequence, header.follow_on, rest.len()), (2, false, 0));

    datagram[0] &= !4;
    let error = Header::decode(&datagram).unwrap_err();
    assert!(matches!(error, HeaderError::Length { declared: 12, available: 28, .. }), "{error}");
}

#[test]
fn headers_that_cannot_be_used() {
    assert_eq!(Header::decode(&[]), Err(HeaderError::Truncated { octets: 0 }));
    assert_eq!(Header::decode(&octets("20010004 0000")), Err(HeaderError::Truncated { octets: 6 }));
    assert_eq!(
        Header::decode(&octets("21360004 00000000 00000000")),
        Err(HeaderError::Truncated { octets: 12 })
    );
    for version in [0, 2, 7] {
        let error = Header::decode(&[version << 5]).unwrap_err();
        assert_eq!(error, HeaderError::Version { version });
    }
    let too_long = Header::decode(&octets("20 01 0005 000007 00")).unwrap_err();
    assert!(
        matches!(too_long, HeaderError::Length { declared: 5, available: 4, header } if header.sequence == 7)
    );
    let too_short = Header::decode(&octets("24 01 0003 000007 00")).unwrap_err();
    assert!(matches!(too_short, HeaderError::Length { declared: 3, .. }));
}

#[test]
fn unknown_messages_have_no_answer() {
    for message_type in [0, 18, 49, 58, 255] {
        let header = Header { message_type, ..Header::default() };
        let error = Message::decode(&header, &[]).unwrap_err();
        assert_eq!(error, DecodeError::UnknownMessage(message_type));
        assert_eq!((error.cause(), error.offending()), (None, None));
    }
}

#[test]
fn each_request_has_its_response() {
    for message_type in MessageType::ALL {
        let name = message_type.name();
        assert_eq!(message_type.is_request(), name.ends_with("Request"), "{name}");
        let response = message_type.response().map(MessageType::name);
        assert_eq!(
            response,
            message_type.is_request().then(|| name.replace("Request", "Response")).as_deref()
        );
        assert_eq!(message_type.is_session_related(), message_type.code() >= 50);
    }
}

// Input:  70000 octets of application identifiers.
// Output: a length error, and an unchanged buffer.
#[test]
fn a_message_of_more_than_65535_octets_is_not_sent() {
    let name = [b'a'; 1000];
    let pfds = vec![ApplicationIdsPfds::new(ApplicationId(&name)); 70];
    let request =
        PfdManagementRequest { application_ids_pfds: pfds.into(), ..PfdManagementRequest::default() };
    let mut out = vec![1, 2, 3];
    let error = Message::from(request).encode(None, 0, &mut out).unwrap_err();
    assert_eq!((error.octets, out), (70 * 1008 + 4, vec![1, 2, 3]));
}

// Input:  a report request with a usage report, an IE of a vendor, an unknown one, an incorrect one and a truncated
// one.
// Output: one line each, groups indented.
#[test]
fn a_dump_shows_one_line_for_each_ie() {
    let datagram = octets(
        "21 38 0046 0000000000000011 000005 00
         0027 0001 03
         0050 001b 0051 0004 00000001  0068 0004 00000002  003f 0003 020000 0051 0000
         9c40 0003 48f905
         0190 0001 07
         0015 0001 01
         0060 0004 00",
    );
    let text = "\
PFCP Session Report Request, SEID 0x11, sequence 5
  Report Type (39): ReportType(DLDR | USAR)
  Usage Report (80)
    URR ID (81): UrrId(1)
    UR-SEQN (104): UrSeqn(2)
    Usage Report Trigger (63): UsageReportTrigger(VOLTH)
    URR ID (81): null
  IE 40000 of enterprise 18681 0x05
  IE 400 0x07
  F-TEID (21): invalid length: 0x01
  broken off: invalid length: Recovery Time Stamp (96)
";
    assert_eq!(Dump(&datagram).to_string(), text);
    assert_eq!(Dump(&[0x40]).to_string(), "not a message: PFCP version 2 is not supported: 0x40\n");
    assert_eq!(DumpIes(&octets("0038 0002 0007")).to_string(), "PDR ID (56): PdrId(7)\n");
}

#[test]
fn an_error_names_the_way_to_the_ie() {
    let error = CreatePdr::decode(&octets("0002 0004 0014 0000")).unwrap_err();
    assert_eq!(error.to_string(), "invalid length: PDI (2) > Source Interface (20)");
}

// Input:  an establishment request with a rule of each kind, decoded and iterated down to the last IE.
// Output: no allocation.
#[test]
fn decoding_does_not_allocate() {
    let mut datagram = Vec::new();
    crate::session::full_establishment().encode(Some(Seid(0)), 1, &mut datagram).unwrap();
    let allocations = allocation_counter::measure(|| {
        let (header, body, _) = Header::decode(&datagram).unwrap();
        let Message::SessionEstablishmentRequest(request) = Message::decode(&header, body).unwrap() else {
            panic!()
        };
        let filters = request.create_pdrs.iter().map(|pdr| pdr.pdi.sdf_filters.iter().count());
        assert_eq!(filters.sum::<usize>(), 2);
        assert_eq!(request.create_fars.iter().count() + request.create_qers.len(), 2);
        assert_eq!(request.create_urrs.first().map(|urr| urr.urr_id), Some(UrrId(1)));
    });
    assert_eq!(allocations.count_total, 0);
}

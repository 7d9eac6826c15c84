//! The messages of an SMF that establishes a session, octet by octet.

use std::net::{IpAddr, Ipv4Addr};

use causeway_types::{FSeid, FarId, PdrId, Precedence, QerId, ReportingTriggers, Seid, UrrId};

use causeway_pfcp::{
    ApplyAction, CreateFar, CreatePdr, CreateQer, CreateUrr, DestinationInterface, FTeid,
    ForwardingParameters, GateStatus, Header, MeasurementMethod, Message, NetworkInstance, NodeId, Pdi,
    SdfFilter, SessionEstablishmentRequest, SourceInterface,
};

use crate::support::octets;

fn establishment() -> SessionEstablishmentRequest<'static> {
    let pdi = Pdi {
        local_f_teid: Some(FTeid::Choose { v4: true, v6: false, choose_id: Some(5) }),
        network_instance: Some(NetworkInstance::labels("internet")),
        ..Pdi::new(SourceInterface::Access)
    };
    let pdr = CreatePdr { far_id: Some(FarId(1)), ..CreatePdr::new(PdrId(1), Precedence(255), pdi) };
    let far = CreateFar {
        forwarding_parameters: Some(ForwardingParameters::new(DestinationInterface::Core)),
        ..CreateFar::new(FarId(1), ApplyAction::FORW)
    };
    let smf = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    let f_seid = FSeid { seid: Seid(0x1122), addr: smf.into() };
    SessionEstablishmentRequest::new(NodeId::Ip(smf), f_seid, [pdr], [far])
}

const ESTABLISHMENT: &str = "
    21 32 0077 0000000000000000 000007 00
    003c 0005 00 0a000001
    0039 000d 02 0000000000001122 0a000001
    0001 0032
      0038 0002 0001
      001d 0004 000000ff
      0002 0018
        0014 0001 00
        0015 0002 0d 05
        0016 0009 08 696e7465726e6574
      006c 0004 00000001
      ";

// Input:  an establishment request with one uplink PDR whose F-TEID the UPF chooses, and its FAR.
// Output: the octets of clauses 7.5.2 and 8.2, and the same request after decoding.
#[test]
fn an_establishment_request_octet_by_octet() {
    let request = Message::from(establishment());
    let mut out = Vec::new();
    request.encode(Some(Seid(0)), 7, &mut out).unwrap();
    let far = "0003 0017 006c 0004 00000001 002c 0002 0200 0004 0005 002a 0001 01";
    assert_eq!(out, octets(&format!("{ESTABLISHMENT}{far}")));

    let (header, body, rest) = Header::decode(&out).unwrap();
    assert_eq!((header.seid, header.sequence, rest), (Some(Seid(0)), 7, &[][..]));
    assert_eq!(Message::decode(&header, body).unwrap(), request);
}

/// An establishment request with a PDR, FAR, QER and URR.
pub(crate) fn full_establishment() -> Message<'static> {
    let sdf = |text: &'static str| SdfFilter { flow_description: Some(text.into()), ..Default::default() };
    let mut request = establishment();
    let mut pdr = request.create_pdrs.first().unwrap();
    pdr.pdi.sdf_filters =
        [sdf("permit out ip from any to assigned"), sdf("permit out 17 from any to any")].into();
    pdr.qer_ids = [QerId(1)].into();
    pdr.urr_ids = [UrrId(1)].into();
    request.create_pdrs = [pdr].into();
    request.create_qers = [CreateQer::new(QerId(1), GateStatus::OPEN)].into();
    let triggers = ReportingTriggers::VOLTH;
    request.create_urrs = [CreateUrr::new(UrrId(1), MeasurementMethod::VOLUM, triggers)].into();
    request.into()
}

//! Comparison of checking and decoding a group.

use causeway_pfcp::*;
use causeway_types::{FarId, PdrId, Precedence, QerId, ReportingTriggers, UrrId};

fn encoded<'a>(group: &impl Ie<'a>) -> Vec<u8> {
    let mut out = Vec::new();
    group.encode(&mut out);
    out
}

/// Every prefix of the value, and the value with each octet changed in several ways.
fn damaged(value: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let prefixes = (0..=value.len()).map(|end| value[..end].to_vec());
    let masks = [1, 2, 4, 16, 0x80, 0xff];
    let changed = (0..value.len()).flat_map(move |at| masks.map(|mask| (at, mask))).map(|(at, mask)| {
        let mut value = value.to_vec();
        value[at] ^= mask;
        value
    });
    prefixes.chain(changed)
}

macro_rules! agree {
    ($($group:ident: $value:expr;)*) => {$({
        let value = encoded(&$value);
        let (mut sound, mut wrong) = (0, 0);
        for octets in damaged(&value) {
            let decoded = $group::decode(&octets).map(drop);
            assert_eq!($group::check(&octets), decoded, "{} {octets:02x?}", stringify!($group));
            match decoded {
                Ok(()) => sound += 1,
                Err(_) => wrong += 1,
            }
        }
        assert!(sound > 0 && wrong > 0, "{}: {sound} sound, {wrong} wrong", stringify!($group));
    })*};
}

fn pdi() -> Pdi<'static> {
    let ue = UeIpAddress { ipv4: Some([10, 45, 0, 2].into()), ..UeIpAddress::default() };
    let flow = SdfFilter {
        flow_description: Some(Octets(b"permit out ip from any to any")),
        ..SdfFilter::default()
    };
    Pdi {
        local_f_teid: Some(FTeid::Choose { v4: true, v6: false, choose_id: Some(5) }),
        network_instance: Some(NetworkInstance::text("internet")),
        ue_ip_addresses: [ue, ue].into(),
        sdf_filters: [flow].into(),
        ..Pdi::new(SourceInterface::Access)
    }
}

fn forwarding() -> ForwardingParameters<'static> {
    let addr = std::net::Ipv4Addr::new(192, 0, 2, 11);
    ForwardingParameters {
        network_instance: Some(NetworkInstance::text("internet")),
        outer_header_creation: Some(OuterHeaderCreation::gtpu(7, addr.into())),
        ..ForwardingParameters::new(DestinationInterface::Access)
    }
}

// Input:  nested groups, cut after each octet and with each octet changed.
// Output: checking finds the same error as decoding, with the same path, or none if decoding succeeds.
#[test]
fn checking_agrees_with_decoding() {
    let threshold = VolumeThreshold(Volumes { total: Some(1000), ..Volumes::default() });
    agree! {
        Pdi: pdi();
        CreatePdr: CreatePdr {
            far_id: Some(FarId(1)),
            qer_ids: [QerId(1), QerId(2)].into(),
            urr_ids: [UrrId(1)].into(),
            ..CreatePdr::new(PdrId(1), Precedence(255), pdi())
        };
        UpdatePdr: UpdatePdr { pdi: Some(pdi()), ..UpdatePdr::new(PdrId(1)) };
        CreateFar: CreateFar {
            forwarding_parameters: Some(forwarding()),
            ..CreateFar::new(FarId(1), ApplyAction::FORW)
        };
        CreateUrr: CreateUrr {
            volume_threshold: Some(threshold),
            ..CreateUrr::new(UrrId(1), MeasurementMethod::VOLUM, ReportingTriggers::VOLTH)
        };
        CreateQer: CreateQer::new(QerId(1), GateStatus::OPEN);
    }
}

// Input:  a Create PDR with an incorrect UE address between two correct ones, and IEs of another type among them.
// Output: the message is refused: with an incorrect UE address the rule would match more packets. Without the
// incorrect one, both others are found, in their order.
#[test]
fn repeated_ies_are_found_among_others() {
    let mut octets = Vec::new();
    SourceInterface::Core.write(&mut octets);
    let ue = |last| UeIpAddress { ipv4: Some([10, 45, 0, last].into()), ..UeIpAddress::default() };
    ue(1).write(&mut octets);
    NetworkInstance::text("internet").write(&mut octets);
    ue(2).write(&mut octets);
    let pdi = Pdi::decode(&octets).unwrap();
    assert_eq!(pdi.ue_ip_addresses.iter().collect::<Vec<_>>(), [ue(1), ue(2)]);
    assert_eq!(pdi.ue_ip_addresses.iter().size_hint(), (2, Some(2)));
    // A UE address without its flags octet.
    octets.extend([0, 93, 0, 0]);
    assert_eq!(Pdi::decode(&octets).unwrap().ue_ip_addresses.len(), 2);
    octets.extend([0, 93, 0, 1, 2]);
    assert_eq!(Pdi::check(&octets), Pdi::decode(&octets).map(drop));
    assert!(Pdi::check(&octets).is_err());
}

//! The P4 text that is generated from the codec's IEs, and its parser in software.

use std::net::Ipv4Addr;

use causeway_accel::switch::parse;
use causeway_accel::{Class, Direction, Kind, fits};

/// What the switch's parser takes is in its fields, so that no other message is the same to a switch. What the class takes, too, both
/// read as the same. True if both take it.
pub(crate) fn agree(datagram: &[u8]) -> bool {
    let Some(body) = datagram.get(16..) else { return false };
    let parsed = parse(body);
    if parsed.is_misfit {
        return false;
    }
    let fields = &parsed.fields;
    assert_eq!(fields.encode(), body, "the fields are the message");
    let Ok(request) = fits(&Class::PUBLISHED, datagram) else { return false };
    let word = |name: &str| fields.get(name) as u32;
    let id = |high: &str, low: &str| word(high) << 16 | word(low);
    let same = |Direction { pdr, far }: &Direction<'_>| {
        assert_eq!((fields.get("pdr_id"), id("pdr_far_high", "pdr_far")), (pdr.id.0.into(), pdr.far.0));
        assert_eq!((word("precedence"), id("far_high", "far_id")), (pdr.precedence.0, far.id.0));
        assert_eq!(Some(Ipv4Addr::from(word("ue"))), pdr.pdi.ue);
        let peer = far.parameters.and_then(|parameters| parameters.peer);
        let peer = peer.map(|peer| (peer.teid.value(), u32::from(peer.addr)));
        assert_eq!((fields.form("form_peer") != 0).then(|| (word("peer_teid"), word("peer"))), peer);
    };
    match &request.kind {
        Kind::Establish(establishment) => {
            assert_eq!(Ipv4Addr::from(word("node")), establishment.node);
            let seid = fields.get("cp_high") << 32 | fields.get("cp_low");
            assert_eq!(
                (seid, word("cp_address")),
                (establishment.cp.seid.0.into(), establishment.cp.addr.into())
            );
            same(&establishment.uplink);
        }
        Kind::Modify(modification) => {
            modification.downlink.iter().for_each(same);
            for far in modification.fars.iter().flatten() {
                assert_eq!((fields.form("form_far"), id("far_high", "far_id")), (2, far.id.0));
            }
        }
        Kind::Delete { cp } => assert_eq!(fields.form("form_cp") != 0, cp.is_some()),
    }
    true
}

// Input:  `p4/blocks/pfcp_ies.p4` and `p4/blocks/pfcp_parser.p4`, as committed.
// Output: they are what is generated now.
#[test]
fn the_parser_is_the_generated_one() {
    use causeway_accel::switch::{ies, states};
    let blocks = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../p4/blocks");
    for (name, text) in [("pfcp_ies.p4", ies()), ("pfcp_parser.p4", states())] {
        let committed = std::fs::read_to_string(blocks.join(name)).expect("it is committed");
        assert!(committed == text, "p4/blocks/{name} is not what the codec says: run scripts/p4 pfcp");
    }
}

// Input:  octets of any kind.
// Output: no panic; what ends within an IE, or has an IE that the switch does not parse, is not of the class.
#[test]
fn any_octets_are_parsed() {
    let mut random = fastrand::Rng::with_seed(7);
    for length in 0..2_000_usize {
        let octets: Vec<u8> = (0..length % 64).map(|_| random.u8(..)).collect();
        let parsed = parse(&octets);
        assert!(parsed.is_misfit || octets.is_empty(), "{octets:02x?}");
    }
    let node = [0, 60, 0, 5, 0, 192, 0, 2, 21];
    assert!((0..node.len()).all(|end| parse(&node[..end]).is_misfit == (end > 0)));
    assert!(!parse(&node).is_misfit);
}

// Input:  an establishment, a modification with a downlink and one with another tunnel, as they are and with up to three octets changed.
// Output: what both the class and the parser of the switch take, they read as the same.
#[test]
fn parser_and_class_read_alike() {
    let ie = |ie_type: u16, value: &[u8]| {
        [&ie_type.to_be_bytes()[..], &(value.len() as u16).to_be_bytes(), value].concat()
    };
    let id = |number: u8| ie(108, &[0, 0, 0, number]);
    let pdi =
        [ie(20, &[0]), ie(21, &[5]), ie(22, b"internet"), ie(93, &[2, 10, 45, 0, 1]), ie(124, &[9])].concat();
    let pdr =
        [ie(56, &[0, 1]), ie(29, &[0, 0, 0, 32]), ie(2, &pdi), ie(95, &[0]), id(1), ie(109, &[0, 0, 0, 1])];
    let far = [id(1), ie(44, &[2]), ie(4, &[ie(42, &[1]), ie(22, b"internet")].concat())].concat();
    let qer = [ie(109, &[0, 0, 0, 1]), ie(25, &[0]), ie(26, &[0, 0, 0, 0, 9, 0, 0, 0, 0, 9])].concat();
    let cp = ie(57, &[2, 0, 0, 0, 1, 0, 0, 0, 9, 192, 0, 2, 21]);
    let node = ie(60, &[0, 192, 0, 2, 21]);
    let establishment =
        [node, cp.clone(), ie(1, &pdr.concat()), ie(3, &far), ie(7, &qer), ie(113, &[1])].concat();
    let tunnel = ie(84, &[1, 0, 0, 0, 0, 5, 192, 0, 2, 11]);
    let pdi = [ie(20, &[1]), ie(93, &[6, 10, 45, 0, 1])].concat();
    let pdr = [ie(56, &[0, 2]), ie(29, &[0, 0, 0, 32]), ie(2, &pdi), id(2)].concat();
    let far = [id(2), ie(44, &[2]), ie(4, &[ie(42, &[0]), tunnel.clone()].concat())].concat();
    let create = [cp, ie(1, &pdr), ie(3, &far)].concat();
    let update = ie(10, &[id(2), ie(44, &[2]), ie(11, &tunnel)].concat());
    let message = |kind: u8, body: &[u8]| {
        let length = (body.len() as u16 + 12).to_be_bytes();
        [&[0x21, kind], &length[..], &[0; 12], body].concat()
    };
    let mut random = fastrand::Rng::with_seed(11);
    for whole in [message(50, &establishment), message(52, &create), message(52, &update)] {
        assert!(agree(&whole), "{whole:02x?}");
        let mut taken = 0;
        for _ in 0..4_000 {
            let mut octets = whole.clone();
            for _ in 0..random.u8(1..4) {
                let at = random.usize(16..octets.len());
                octets[at] =
                    if random.bool() { random.u8(..) } else { octets[at].wrapping_add(random.u8(0..3)) };
            }
            taken += u32::from(agree(&octets));
        }
        assert!(taken > 200, "{taken}");
    }
}

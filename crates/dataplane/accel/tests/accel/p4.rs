//! The P4 text that is generated from the codec's IEs.

use std::path::Path;

use causeway_accel::switch::{ies, parse, states};

// Input:  `p4/blocks/pfcp_ies.p4` and `p4/blocks/pfcp_parser.p4`, as committed.
// Output: they are what is generated now.
#[test]
fn the_parser_is_the_generated_one() {
    let blocks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../p4/blocks");
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

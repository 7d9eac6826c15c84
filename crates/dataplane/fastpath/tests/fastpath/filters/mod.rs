//! Filter sets: they match like the slow path, and equal content is shared.

mod interning;
mod matching;
mod random;

use causeway_fastpath::filters::{Compare, FilterSets, FullPacketKey, Rule};
use causeway_model::{FlowDescription, SdfFilter};
use causeway_packet::{Flow, Fragment, IpProtocol};
use causeway_types::{Direction, Qfi, QfiSet};

/// A packet with the other inputs of classification.
#[derive(Clone, Debug)]
struct Packet {
    flow: Flow,
    direction: Direction,
    qfi: Option<Qfi>,
}

/// A UDP packet from port 53 of the first address to port 1000 of the second.
fn packet(src: &str, dst: &str) -> Packet {
    let flow = Flow {
        src: src.parse().unwrap(),
        dst: dst.parse().unwrap(),
        protocol: IpProtocol::UDP,
        ports: Some(causeway_packet::Ports { src: 53, dst: 1000 }),
        tos: 0,
        flow_label: None,
        fragment: Fragment::Whole,
        spi: None,
    };
    Packet { flow, direction: Direction::Downlink, qfi: None }
}

/// The rules that new filter sets yield for packets, with each implementation that this processor supports.
fn matches(rules: &[Rule], keys: &[FullPacketKey]) -> Vec<Option<u8>> {
    let mut answers = Compare::available().map(|compare| {
        let mut sets = FilterSets::comparing(256, compare).unwrap();
        let set = sets.insert(rules).unwrap();
        (compare.name(), keys.iter().map(|key| sets.first_match(set, key)).collect())
    });
    let (_, answer) = answers.next().unwrap();
    answers.for_each(|(way, other)| assert_eq!(other, answer, "{way}"));
    answer
}

/// As [`matches`], for one packet.
fn first_match(rules: &[Rule], key: FullPacketKey) -> Option<u8> {
    matches(rules, &[key])[0]
}

fn rule(qfis: &[u8], filters: Vec<SdfFilter>) -> Rule {
    Rule { qfis: qfis.iter().filter_map(|qfi| Qfi::new(*qfi)).collect::<QfiSet>(), filters }
}

/// A rule of one filter for a protocol.
fn protocol_rule(protocol: u8) -> Rule {
    rule(&[], vec![FlowDescription { protocol: Some(protocol), ..FlowDescription::ANY }.into()])
}

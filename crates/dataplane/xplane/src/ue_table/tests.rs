use causeway_model::{FlowDescription, TrafficClass, UeSide};
use causeway_packet::{Flow, Fragment};
use causeway_packet::{IpProtocol, Ports};
use causeway_slowpath::matches_filter;
use proptest::prelude::*;

use super::*;

const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);

fn ue() -> UeMatch {
    UeMatch { side: UeSide::Source, is_named: true, v4: Some(UE), v6: Some(7), has_more: false }
}

fn rule(account: u8) -> Target {
    Target::Rule(RuleRef { account, meters: 0, action: 0, reports_drops: false, counts_drops: false })
}

/// Walks the blocks of a record as it is in memory.
fn walk(pdrs: &[Pdr], fields: &Fields, direction: Direction) -> (Option<Target>, usize) {
    let record = encode_rules(&[], pdrs);
    let blocks = record[MAX_ACTIONS * ACTION..].chunks(BLOCK);
    for (number, block) in blocks.enumerate() {
        let left = pdrs.len().saturating_sub(number * PDRS_OF_A_BLOCK);
        if left == 0 {
            return (None, number);
        }
        if let Some(target) = match_block(block, left, fields, direction) {
            return (Some(target), number + 1);
        }
    }
    (None, BLOCKS)
}

fn address() -> impl Strategy<Value = FlowAddress> {
    prop_oneof![
        3 => Just(FlowAddress::Any),
        2 => Just(FlowAddress::Assigned),
        4 => (0..4_u8, prop_oneof![Just(8_u8), Just(24), Just(32)])
            .prop_map(|(host, length)| FlowAddress::Net(IpNet::new([198, 51, 100, host].into(), length).unwrap())),
        2 => Just(FlowAddress::Net(IpNet::new(IpAddr::V4(UE), 32).unwrap())),
        1 => Just(FlowAddress::Net("2001:db8::/32".parse().unwrap())),
    ]
}

fn end() -> impl Strategy<Value = FlowEnd> {
    let ports = prop_oneof![
        3 => Just(vec![]),
        2 => Just(vec![80..=80]),
        1 => Just(vec![80..=81, 443..=443]),
        1 => Just(vec![1..=1, 3..=3, 5..=5, 7..=7, 9..=9, 80..=80, 82..=82, 84..=84, 443..=443]),
    ];
    (address(), ports).prop_map(|(address, ports)| FlowEnd { address, ports })
}

fn filter() -> impl Strategy<Value = SdfFilter> {
    let class = prop_oneof![
        5 => Just(None),
        1 => Just(Some(TrafficClass { value: 0xb8, mask: 0xfc })),
        1 => Just(Some(TrafficClass { value: 0xb9, mask: 0xff })),
    ];
    let protocol = prop_oneof![Just(None), Just(Some(17)), Just(Some(6))];
    let more = prop_oneof![6 => Just((None, None)), 1 => Just((Some(5), None)), 1 => Just((None, Some(9)))];
    (end(), end(), protocol, class, more).prop_map(
        |(remote, local, protocol, traffic_class, (spi, flow_label))| {
            let flow = FlowDescription { protocol, remote, local };
            SdfFilter { flow, traffic_class, spi, flow_label, id: None }
        },
    )
}

fn packet() -> impl Strategy<Value = (Flow, Option<Qfi>)> {
    let ports = prop_oneof![
        Just(None),
        (prop_oneof![Just(80), Just(443), Just(5)], prop_oneof![Just(80), Just(1000)])
            .prop_map(|(src, dst)| Some(Ports { src, dst }))
    ];
    let v4 = (0..4_u8).prop_map(|host| IpAddr::from([198, 51, 100, host]));
    let far = prop_oneof![4 => v4, 1 => Just("2001:db8::9".parse::<IpAddr>().unwrap())];
    let protocol = prop_oneof![Just(17), Just(6), Just(1)];
    (far, ports, protocol, prop_oneof![Just(0), Just(0xb8), Just(0xb9)], proptest::option::of(0..12_u8))
        .prop_map(|(dst, ports, protocol, tos, qfi)| {
            let src = if dst.is_ipv4() {
                IpAddr::V4(UE)
            } else {
                IpAddr::from([0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 9])
            };
            let ports = ports.filter(|_| protocol != 1);
            let flow = Flow {
                src,
                dst,
                protocol: IpProtocol(protocol),
                ports,
                tos,
                flow_label: None,
                fragment: Fragment::Whole,
                spi: None,
            };
            (flow, qfi.and_then(Qfi::new))
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_096))]

    // Input:  up to 12 rules of one to three filters, with QFIs; a packet, in the directions of both.
    // Output: the walk ends with the rule that the slow path's filters find first, or with the slow path.
    #[test]
    fn a_walk_finds_what_the_slow_path_finds(
        rules in proptest::collection::vec((proptest::collection::vec(filter(), 0..4), proptest::collection::vec(0..12_u8, 0..3), 0..20_u8), 0..12),
        (flow, qfi) in packet(),
        is_uplink in any::<bool>(),
    ) {
        let direction = if is_uplink { Direction::Uplink } else { Direction::Downlink };
        let flow = if is_uplink { flow } else {
            let ports = flow.ports.map(|Ports { src, dst }| Ports { src: dst, dst: src });
            Flow { src: flow.dst, dst: flow.src, ports, ..flow }
        };
        // Rules with many QFIs, too.
        let qfis = |numbers: &[u8], more: u8| if more == 0 { (0..12).filter_map(Qfi::new).collect() } else { numbers.iter().filter_map(|qfi| Qfi::new(*qfi)).collect::<QfiSet>() };
        let rules: Vec<_> = rules.iter().enumerate().map(|(number, (filters, numbers, more))| (qfis(numbers, *more), filters.as_slice(), rule(number as u8))).collect();
        let pdrs = compile(rules.iter().copied(), &ue());
        let is_ue = |ip: IpAddr| match ip { IpAddr::V4(ip) => ip == UE, IpAddr::V6(ip) => u128::from(ip) >> 64 == 7 };
        let matches = |(qfis, filters, _): &&(QfiSet, &[SdfFilter], Target)| {
            (qfis.is_empty() || qfi.is_some_and(|qfi| qfis.contains(qfi)))
                && (filters.is_empty() || filters.iter().any(|filter| matches_filter(filter, &flow, direction, is_ue)))
        };
        let expected = rules.iter().find(matches).map(|(.., target)| *target);
        let (found, _) = walk(&pdrs, &Fields::new(&flow, qfi), direction);
        prop_assert!(found == expected || found == Some(Target::SlowPath), "{found:?} instead of {expected:?}");
    }
}

// Input:  forty rules, each for a port; packets of the first, the sixth, the last, and of none; then 41 rules.
// Output: blocks one, two and eight; none in eight; the 41st is for the slow path.
#[test]
fn forty_pdrs_are_eight_blocks() {
    let port = |port: u16| {
        let remote = FlowEnd { address: FlowAddress::Any, ports: vec![port..=port] };
        vec![SdfFilter::from(FlowDescription {
            protocol: None,
            remote,
            local: FlowEnd { address: FlowAddress::Any, ports: vec![] },
        })]
    };
    let filters: Vec<_> = (1..=41).map(port).collect();
    let compiled = |count: usize| {
        let rules = filters[..count].iter().enumerate();
        compile(rules.map(|(number, filters)| (QfiSet::EMPTY, filters.as_slice(), rule(number as u8))), &ue())
    };
    let fields = |port| Fields {
        src: UE.into(),
        dst: [198, 51, 100, 1].into(),
        protocol: 17,
        ports: Some(Ports { src: 1000, dst: port }),
        dscp: 0,
        qfi: None,
    };
    let walked = |count, port| walk(&compiled(count), &fields(port), Direction::Uplink);
    assert_eq!(walked(40, 1), (Some(rule(0)), 1));
    assert_eq!(walked(40, 6), (Some(rule(5)), 2));
    assert_eq!(walked(40, 40), (Some(rule(39)), 8));
    assert_eq!(walked(40, 41), (None, 8));
    assert_eq!(walked(41, 39), (Some(rule(38)), 8));
    assert_eq!(walked(41, 41), (Some(Target::SlowPath), 8));
}

// Input:  the header of a record, and PDRs.
// Output: what was written is read; zeroes are no record.
#[test]
fn records_survive_memory() {
    let header = UeHeader::new(UeKey::of_number(9), 3, 17, Direction::Uplink, &ue());
    assert_eq!(UeHeader::decode(&header.encode()), Some(header));
    assert_eq!(UeHeader::decode(&[0; HEADER]), None);
    let mut out = Writer::of_size(PDR);
    let pdr = Pdr {
        qfi: Qfi::new(9),
        class: (0xb8, 0xfc),
        family: Family::V6,
        protocol: Some(6),
        ..Pdr::any(rule(4))
    };
    pdr.encode(&mut out);
    let octets = out.finish(PDR);
    assert_eq!(Pdr::decode(&mut Reader::new(&octets)), Some(pdr));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_096))]

    // Input:  any octets as records of external memory.
    // Output: no panic; a packet that a state of any octets counts leaves a state that is read as it was written.
    #[test]
    fn any_octets_are_read(octets in proptest::collection::vec(any::<u8>(), 0..700), small in 0..7_u8) {
        let mut octets = octets;
        // Few accounts and meters, so that states are read at all.
        if let Some(head) = octets.first_chunk_mut::<8>() {
            *head = [0, 0, 0, small, 0, 0, 0, small / 2];
        }
        prop_assert!(UeHeader::decode(&octets).is_none_or(|header| header.pdrs <= 40));
        prop_assert!(Action::decode(&octets).is_none_or(|action| Action::decode(&action.encode()) == Some(action)));
        let generations = crate::flows::Generations::new(4, 1);
        let fields = Fields { src: UE.into(), dst: UE.into(), protocol: 6, ports: None, dscp: 0, qfi: None };
        crate::flows::find(&octets, &UeKey::of_number(1), &fields.key(), &generations, |_, _| false);
        match_block(&octets, 5, &fields, Direction::Uplink);
        if let Some(mut state) = UeState::decode(&octets) {
            for account in &mut state.accounts {
                account.pass(1500, causeway_types::Time::from_secs(1));
                account.drop_packet(1500, causeway_types::Time::from_secs(1), true);
            }
            for (rate, meter) in &mut state.meters {
                meter.fill(*rate, causeway_types::Time::from_secs(1));
                meter.charge(1500);
            }
            prop_assert_eq!(UeState::decode(&state.encode()), Some(state));
        }
    }
}

//! Arbitrary messages to the server.

use causeway_p4runtime::server::{Code, Method, Offline, PROFILES};
use proptest::prelude::*;

/// A register of one word and one of a struct.
const REGISTERS: &str = include_str!("registers.txtpb");

fn server() -> Offline {
    let hip4 = PROFILES.iter().find(|(name, _)| *name == "hip4").unwrap().1;
    Offline::new(&format!("{hip4}{REGISTERS}")).unwrap()
}

/// A field of a message: its number and content.
fn field(number: u64, content: &Content) -> Vec<u8> {
    let mut octets = Vec::new();
    let (wire_type, content) = match content {
        Content::Number(value) => {
            let mut content = Vec::new();
            varint(*value, &mut content);
            (0, content)
        }
        Content::Octets(inner) => {
            let mut content = Vec::new();
            varint(inner.len() as u64, &mut content);
            content.extend(inner);
            (2, content)
        }
    };
    varint(number << 3 | wire_type, &mut octets);
    octets.extend(content);
    octets
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[derive(Clone, Debug)]
enum Content {
    Number(u64),
    Octets(Vec<u8>),
}

fn message(fields: &[(u64, Content)]) -> Vec<u8> {
    fields.iter().flat_map(|(number, content)| field(*number, content)).collect()
}

fn inside(fields: &[(u64, Content)]) -> Content {
    Content::Octets(message(fields))
}

/// Ids of the program, near them, and any.
fn ids() -> impl Strategy<Value = u64> {
    prop_oneof![
        0_u64..6,
        (0_u64..0x60).prop_map(|id| 0x0200_0000 + id),
        Just(0x1200_005a),
        Just(0x1400_0032),
        Just(0x1600_0001),
        Just(0x1600_0002),
        Just(0x03de_fd73),
        Just(0x0167_3b73),
        any::<u64>(),
    ]
}

/// A match of a key, with any match kind and any octets.
fn matches() -> impl Strategy<Value = Content> {
    let value = prop::collection::vec(any::<u8>(), 0..20);
    let way = prop_oneof![Just(2_u64), Just(3), Just(4), Just(6), Just(7), Just(100)];
    let second = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..6).prop_map(Content::Octets),
        any::<u64>().prop_map(Content::Number),
    ];
    (0_u64..5, way, value, second).prop_map(|(id, way, value, second)| {
        let matched = inside(&[(1, Content::Octets(value)), (2, second)]);
        inside(&[(1, Content::Number(id)), (way, matched)])
    })
}

fn table_entry() -> impl Strategy<Value = Content> {
    let params = prop::collection::vec((0_u64..6, prop::collection::vec(any::<u8>(), 0..9)), 0..4);
    let flags = prop::collection::vec((prop_oneof![Just(5_u64), Just(8), Just(9), Just(13)], 0_u64..2), 0..2);
    (ids(), prop::collection::vec(matches(), 0..4), any::<Option<u64>>(), ids(), params, flags).prop_map(
        |(table, matches, priority, action, params, flags)| {
            let params = params
                .into_iter()
                .map(|(id, value)| (4, inside(&[(2, Content::Number(id)), (3, Content::Octets(value))])));
            let action: Vec<_> = std::iter::once((1, Content::Number(action))).chain(params).collect();
            let mut fields = vec![(1, Content::Number(table)), (3, inside(&[(1, inside(&action))]))];
            fields.extend(matches.into_iter().map(|matched| (2, matched)));
            fields.extend(priority.map(|priority| (4, Content::Number(priority))));
            fields.extend(flags.into_iter().map(|(number, flag)| (number, Content::Number(flag))));
            inside(&fields)
        },
    )
}

/// Anything that can be written or read.
fn entity() -> impl Strategy<Value = Content> {
    let numbered = (ids(), any::<Option<u64>>(), any::<[u64; 4]>()).prop_map(|(id, index, rates)| {
        let rates: Vec<_> = (1..).zip(rates.map(Content::Number)).collect();
        let mut fields = vec![(1, Content::Number(id)), (3, inside(&rates))];
        fields.extend(index.map(|index| (2, inside(&[(1, Content::Number(index))]))));
        inside(&fields)
    });
    let data = prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 0..4).prop_map(|members| {
        let member = |octets| (1, inside(&[(1, Content::Octets(octets))]));
        (5, inside(&members.into_iter().map(member).collect::<Vec<_>>()))
    });
    let bits = prop::collection::vec(any::<u8>(), 0..6).prop_map(|octets| (1, Content::Octets(octets)));
    let register =
        (ids(), prop::option::of(0_u64..12), prop_oneof![data, bits]).prop_map(|(id, index, data)| {
            let mut fields = vec![(1, Content::Number(id)), (3, inside(&[data]))];
            fields.extend(index.map(|index| (2, inside(&[(1, Content::Number(index))]))));
            inside(&[(11, inside(&fields))])
        });
    prop_oneof![
        2 => register,
        4 => table_entry().prop_map(|entry| inside(&[(2, entry)])),
        1 => table_entry().prop_map(|entry| inside(&[(8, inside(&[(1, entry)]))])),
        2 => (1_u64..13, numbered).prop_map(|(kind, entry)| inside(&[(kind, entry)])),
        1 => prop::collection::vec(matches(), 0..3).prop_map(|matches| {
            let members = matches.into_iter().map(|matched| (2, inside(&[(1, matched)])));
            let fields: Vec<_> = std::iter::once((1, Content::Number(0x03de_fd73))).chain(members).collect();
            inside(&[(10, inside(&fields))])
        }),
        1 => prop::collection::vec(any::<u8>(), 0..30).prop_map(Content::Octets),
    ]
}

/// A batch with the rights of the primary controller.
fn write() -> impl Strategy<Value = Vec<u8>> {
    let updates = prop::collection::vec((0_u64..5, entity()), 0..6);
    (updates, 0_u64..4).prop_map(|(updates, atomicity)| {
        let election = inside(&[(2, Content::Number(1))]);
        let mut fields = vec![(1, Content::Number(1)), (3, election), (5, Content::Number(atomicity))];
        fields.extend(
            updates.into_iter().map(|(kind, entity)| (4, inside(&[(1, Content::Number(kind)), (2, entity)]))),
        );
        message(&fields)
    })
}

fn read() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(entity(), 0..4).prop_map(|entities| {
        let entities = entities.into_iter().map(|entity| (2, entity));
        message(&std::iter::once((1, Content::Number(1))).chain(entities).collect::<Vec<_>>())
    })
}

fn any_call() -> impl Strategy<Value = (Method, Vec<u8>)> {
    let noise = (0..Method::ALL.len(), prop::collection::vec(any::<u8>(), 0..60))
        .prop_map(|(method, octets)| (Method::ALL[method], octets));
    prop_oneof![
        6 => write().prop_map(|request| (Method::Write, request)),
        3 => read().prop_map(|request| (Method::Read, request)),
        1 => noise,
    ]
}

/// How many entries all tables have.
fn entries(server: &mut Offline) -> usize {
    let all = message(&[(1, Content::Number(1)), (2, inside(&[(2, Content::Octets(Vec::new()))]))]);
    server.call(Method::Read, &all).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // Input:  sequences of batches and reads, right and wrong in every part, and noise, by the primary controller.
    // Output: a response to each, never an internal error or a panic; a batch that is refused as a whole changes
    //         nothing; the switch still serves.
    #[test]
    fn whatever_comes_is_answered(calls in prop::collection::vec(any_call(), 1..40)) {
        let mut server = server();
        for (method, request) in calls {
            let before = entries(&mut server);
            let answer = server.call(method, &request);
            prop_assert_ne!(answer, Err(Code::Internal));
            let was_whole = matches!(answer, Err(code) if code != Code::Unknown);
            if was_whole {
                prop_assert_eq!(entries(&mut server), before, "{:?} {:x?}", method, request);
            }
        }
    }

    // Input:  a P4Info with octets changed, removed and inserted, set as the program.
    // Output: it is refused, or runs; never a panic, and the switch still responds.
    #[test]
    fn any_program_is_judged(
        profile in 0_usize..PROFILES.len(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), cut: prop::sample::Index,
        is_cut: bool,
    ) {
        let mut donor = Offline::new(PROFILES[profile].1).unwrap();
        let mut info = donor.p4info();
        for (place, octet) in changes {
            let place = place.index(info.len());
            info[place] = octet;
        }
        if is_cut {
            info.truncate(cut.index(info.len()));
        }
        let election = inside(&[(2, Content::Number(1))]);
        let config = inside(&[(1, Content::Octets(info))]);
        let request = message(&[(1, Content::Number(1)), (3, election), (4, Content::Number(3)), (5, config)]);
        let set = donor.call(Method::SetPipeline, &request);
        prop_assert!(matches!(set, Ok(_) | Err(Code::InvalidArgument)), "{set:?}");
        entries(&mut donor);
    }
}

// Input:  batches of another device, role and election id, and updates each of which has a different error.
// Output: the status that the specification has for each.
#[test]
fn each_mistake_has_its_status() {
    let mut server = server();
    let election = |id| inside(&[(2, Content::Number(id))]);
    let device = |id| (1, Content::Number(id));
    let call = |server: &mut Offline, fields: &[(u64, Content)]| server.call(Method::Write, &message(fields));
    assert_eq!(call(&mut server, &[device(2), (3, election(1))]), Err(Code::NotFound));
    let role = (6, Content::Octets(b"other".to_vec()));
    assert_eq!(call(&mut server, &[device(1), (3, election(1)), role]), Err(Code::NotFound));
    assert_eq!(call(&mut server, &[device(1), (3, election(9))]), Err(Code::PermissionDenied));
    assert_eq!(call(&mut server, &[device(1)]), Err(Code::PermissionDenied));
    let atomicity = (5, Content::Number(7));
    assert_eq!(call(&mut server, &[device(1), (3, election(1)), atomicity]), Err(Code::InvalidArgument));
    assert_eq!(call(&mut server, &[device(1), (3, election(1))]), Ok(0), "a batch of nothing");
    let update = inside(&[(1, Content::Number(1)), (2, inside(&[(2, Content::Octets(Vec::new()))]))]);
    assert_eq!(call(&mut server, &[device(1), (3, election(1)), (4, update)]), Err(Code::Unknown));
    assert_eq!(server.call(Method::Read, &message(&[device(3)])), Err(Code::NotFound));
    assert_eq!(server.call(Method::Write, &[0xff]), Err(Code::InvalidArgument));
    let commit = message(&[device(1), (3, election(1)), (4, Content::Number(4))]);
    assert_eq!(server.call(Method::SetPipeline, &commit), Err(Code::NotFound));
    let nothing = message(&[device(1), (3, election(1)), (4, Content::Number(3))]);
    assert_eq!(server.call(Method::SetPipeline, &nothing), Err(Code::InvalidArgument));
}

// Input:  a batch of the most updates, all of which are wrong; and of one more.
// Output: one status for all of them, and that it is too large; the switch holds nothing.
#[test]
fn a_huge_batch_is_refused() {
    let mut server = server();
    let update = || (4, inside(&[(1, Content::Number(1)), (2, inside(&[(2, Content::Octets(Vec::new()))]))]));
    let mut fields = vec![(1, Content::Number(1)), (3, inside(&[(2, Content::Number(1))]))];
    fields.extend(std::iter::repeat_with(update).take(65_536));
    assert_eq!(server.call(Method::Write, &message(&fields)), Err(Code::Unknown));
    fields.push(update());
    assert_eq!(server.call(Method::Write, &message(&fields)), Err(Code::ResourceExhausted));
    assert_eq!(entries(&mut server), 0);
}

// Input:  reads of all registers, of one, of a cell, of a cell beyond, and of a register that is not there; a cell that is set,
//         one beyond, all cells at once, and insertions and deletions of cells.
// Output: as many cells as there are; the others are refused, and the switch still serves.
#[test]
fn registers_are_served() {
    let mut server = server();
    let device = (1, Content::Number(1));
    let entry = |id: u64, index: Option<u64>, bits: Option<&[u8]>| {
        let mut fields = vec![(1, Content::Number(id))];
        fields.extend(index.map(|index| (2, inside(&[(1, Content::Number(index))]))));
        fields.extend(bits.map(|bits| (3, inside(&[(1, Content::Octets(bits.to_vec()))]))));
        inside(&[(11, inside(&fields))])
    };
    let mut read =
        |id, index| server.call(Method::Read, &message(&[device.clone(), (2, entry(id, index, None))]));
    let seen = 0x1600_0001;
    assert_eq!((read(0, None), read(seen, None), read(seen, Some(8))), (Ok(18), Ok(9), Ok(1)));
    assert!(read(seen, Some(9)).is_err() && read(seen, Some(u64::MAX)).is_err() && read(7, None).is_err());
    let mut write = |kind, entry| {
        let update = inside(&[(1, Content::Number(kind)), (2, entry)]);
        let election = inside(&[(2, Content::Number(1))]);
        server.call(Method::Write, &message(&[device.clone(), (3, election), (4, update)]))
    };
    let (insert, modify, delete) = (1, 2, 3);
    assert_eq!(write(modify, entry(seen, Some(8), Some(&[1]))), Ok(0));
    for (kind, bad) in [
        (modify, entry(seen, Some(9), Some(&[1]))),
        (modify, entry(seen, None, Some(&[1]))),
        (modify, entry(seen, Some(1), Some(&[1, 0, 0]))),
        (modify, entry(seen, Some(1), None)),
        (modify, entry(0, Some(1), Some(&[1]))),
        (insert, entry(seen, Some(1), Some(&[1]))),
        (delete, entry(seen, Some(1), Some(&[1]))),
    ] {
        assert_eq!(write(kind, bad), Err(Code::Unknown));
    }
    assert_eq!(entries(&mut server), 0);
}

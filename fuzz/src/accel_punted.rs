//! Any frame as one of the CPU port of a switch that answers session messages: the software takes a session of it, once, or names what is
//! wrong, and has no session more.

use std::net::Ipv4Addr;

use causeway_accel::Config;
use causeway_accel::switch::parse;
use causeway_model::{Capabilities, LocalEndpoint, LocalEndpoints};
use causeway_switch::accel::{Entry, Fallback, HandoverError, Op, Tables};
use causeway_types::{NetworkInstance, NodeId};

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SMF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 20);

/// IEs of an establishment, policy 1, and of a modification that creates the downlink, policy 2.
const FIRST: &[u8] = &[
    0, 60, 0, 5, 0, 192, 0, 2, 20, 0, 57, 0, 13, 2, 0, 0, 0, 0, 0, 0, 0, 9, 192, 0, 2, 20, 0, 1, 0, 50, 0,
    56, 0, 2, 0, 1, 0, 29, 0, 4, 0, 0, 0, 32, 0, 2, 0, 19, 0, 20, 0, 1, 0, 0, 21, 0, 1, 5, 0, 93, 0, 5, 2,
    10, 46, 0, 63, 0, 95, 0, 1, 0, 0, 108, 0, 4, 0, 0, 0, 1, 0, 3, 0, 22, 0, 108, 0, 4, 0, 0, 0, 1, 0, 44, 0,
    1, 2, 0, 4, 0, 5, 0, 42, 0, 1, 1,
];
const SECOND: &[u8] = &[
    0, 1, 0, 40, 0, 56, 0, 2, 0, 2, 0, 29, 0, 4, 0, 0, 0, 32, 0, 2, 0, 14, 0, 20, 0, 1, 1, 0, 93, 0, 5, 6,
    10, 46, 0, 63, 0, 108, 0, 4, 0, 0, 0, 2, 0, 3, 0, 36, 0, 108, 0, 4, 0, 0, 0, 2, 0, 44, 0, 1, 2, 0, 4, 0,
    19, 0, 42, 0, 1, 0, 0, 84, 0, 10, 1, 0, 0, 0, 0, 5, 192, 0, 2, 11,
];

/// The software, and the tables of the switch.
fn start() -> (Fallback, Tables) {
    let endpoints = LocalEndpoints {
        gtpu: vec![LocalEndpoint { addr: UPF.into(), network_instance: None }],
        networks: vec![NetworkInstance::new("internet")],
        ..LocalEndpoints::default()
    };
    let capabilities = Capabilities { outer_ipv6: false, ..Capabilities::all(100, 16) };
    let config = Config::new(&NodeId::Ip(UPF.into()), UPF.into(), &endpoints, &capabilities).expect("a UPF");
    let (mut fallback, mut tables) =
        (Fallback::new(config).expect("tables that hold a session"), Tables::new([UPF; 3]));
    tables.add_pool("10.46.0.0/16".parse().expect("a prefix"), 0);
    tables.set_smf(SMF, SMF, 1);
    fallback.set_smf(SMF, SMF, 1);
    for (message, ies, op) in [(50, FIRST, Op::Establish), (52, SECOND, Op::Create)] {
        let fields = parse(ies).fields;
        assert_eq!(fields.encode(), ies);
        let length = ies.len() as u8 + 12;
        let policy = tables.admit(message, length, &fields, op).expect("a number");
        fallback.admitted(policy, &fields);
    }
    (fallback, tables)
}

/// Handles these octets.
pub fn run(frame: &[u8]) {
    let (mut fallback, tables) = start();
    if let Some(octets) = frame.get(24..).and_then(|rest| rest.first_chunk()) {
        let entry = Entry::decode(octets);
        assert_eq!(Entry::decode(&entry.encode()), entry);
    }
    let Ok(punted) = fallback.punted(&tables, frame) else {
        assert!(fallback.is_empty());
        return;
    };
    let Some(session) = punted.session else {
        assert!(punted.void.is_none_or(|index| fallback.ended(index).is_some()));
        assert!(fallback.is_empty());
        return;
    };
    // The last half of a SEID of the switch.
    let index = session.seid.0 as u32;
    assert_eq!(fallback.punted(&tables, frame), Err(HandoverError::SecondOwner { index }));
    assert!(fallback.ended(index).is_some() && fallback.is_empty());
}

//! Profile `accel`: a session's life by PFCP messages, on BMv2 and on the model of its registers, which must answer the same octets.

use std::net::{Ipv4Addr, SocketAddrV4};

use causeway_switch::accel::{Direction, Op, Passage};

use self::frames::{GNB, SERVER, ethernet, ie, ipv4, message, udp};
use self::switch::{Outcome, Own, Switch};
use crate::N6;
use crate::bmv2::{is_inside, run_inside};

mod chain;
mod frames;
mod migration;
mod random;
mod software;
mod switch;

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SMF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 20);
const UE: Ipv4Addr = Ipv4Addr::new(10, 46, 0, 63);
const FROM: SocketAddrV4 = SocketAddrV4::new(SMF, 40_000);

const OWN: Own = Own { n4: UPF, n3: UPF };
const POOLS: [(&str, u32); 1] = [("10.46.0.0/16", 0x10000)];
const PEERS: &str = "192.0.2.8/29";

/// BMv2 and the model, with an SMF.
fn start() -> Switch {
    let mut switch = Switch::new(OWN, &POOLS, PEERS, true);
    switch.set_smf(SMF, 7);
    switch
}

/// The same with a program that may be one of a chain.
fn start_of_chain() -> Switch {
    let mut switch = Switch::of_chain(OWN, &POOLS, PEERS);
    switch.set_smf(SMF, 7);
    switch
}

/// The answer to a message.
fn answered(switch: &mut Switch, message: &[u8]) -> Vec<u8> {
    let Outcome::Answered(answer) = switch.message(FROM, message) else {
        panic!("there is no answer to {message:02x?}")
    };
    answer
}

/// A session's first message, of this UE, with a FAR of this ID.
fn establishment(ue: Ipv4Addr, sequence: u32, far: u32, qer: &[u8]) -> Vec<u8> {
    let id = ie(108, far.to_be_bytes());
    let pdi = [ie(20, [0]), ie(21, [5]), ie(22, "internet"), ie(93, [&[2][..], &ue.octets()].concat())];
    let of_pdr = if qer.is_empty() { vec![] } else { ie(109, [0, 0, 0, 1]) };
    let pdr = [ie(56, [0, 1]), ie(29, [0, 0, 0, 32]), ie(2, pdi.concat()), ie(95, [0]), id.clone(), of_pdr];
    let far = [id, ie(44, [2]), ie(4, ie(42, [1]))];
    let ies = [
        ie(60, [&[0][..], &SMF.octets()].concat()),
        cp_f_seid(),
        ie(1, pdr.concat()),
        ie(3, far.concat()),
        if qer.is_empty() { vec![] } else { ie(7, qer) },
    ];
    message(50, 0, sequence, &ies.concat())
}

fn cp_f_seid() -> Vec<u8> {
    ie(57, [&[2][..], &((7_u64 << 32) | 9).to_be_bytes(), &SMF.octets()].concat())
}

fn tunnel(teid: u8) -> Vec<u8> {
    ie(84, [&[1, 0, 0, 0, 0, teid][..], &GNB.octets()].concat())
}

/// The message that adds the downlink, with a FAR of this ID.
fn creation(seid: u64, sequence: u32, ue: Ipv4Addr, far: u32, qer: &[u8]) -> Vec<u8> {
    let id = ie(108, far.to_be_bytes());
    let pdi = [ie(20, [1]), ie(93, [&[6][..], &ue.octets()].concat())];
    let pdr = [ie(56, [0, 2]), ie(29, [0, 0, 0, 32]), ie(2, pdi.concat()), id.clone(), qer.to_vec()];
    let far = [id, ie(44, [2]), ie(4, [ie(42, [0]), tunnel(5)].concat())];
    message(52, seid, sequence, &[cp_f_seid(), ie(1, pdr.concat()), ie(3, far.concat())].concat())
}

fn seid_of(answer: &[u8]) -> u64 {
    u64::from_be_bytes(answer[35..43].try_into().unwrap())
}

fn teid_of(answer: &[u8]) -> u32 {
    u32::from_be_bytes(answer[62..66].try_into().unwrap())
}

// Input:  a session is established, gets its downlink, is handed over to another tunnel, and each message comes twice; packets of the UE in both
//         directions; a message with an IE that the switch does not parse; packets again. Then another session with other FARs of the same
//         policies: its downlink, a change of a FAR that it does not have; and a third one, which is deleted. Then sessions whose downlink is
//         noted, and not made: the message that adds it once more, a change once more, and a later change; and one of which a change is noted.
// Output: BMv2 sends the octets of the model's answers, and the packets in and out of their tunnels. The last message leaves by the CPU port as
//         it came, behind the entry of its session, and so do packets of the UE from then on. The second session is the software's by the
//         change that names no FAR of it. Sessions whose last message is not made are the software's by its repetition, and those without a downlink
//         by a change of it. So does a program that has the option of a chain, and is alone.
#[test]
fn a_session_lives_by_its_messages() {
    if !is_inside() {
        return run_inside("accel::a_session_lives_by_its_messages");
    }
    live(&mut start());
    live(&mut start_of_chain());
}

fn live(world: &mut Switch) {
    let first = establishment(UE, 1, 1, &[]);
    let uplink = world.admit(&first, Op::Establish);
    world.open_uplink(uplink, None, 0);
    let answer = answered(world, &first);
    assert_eq!(answered(world, &first), answer);
    let (seid, teid) = (seid_of(&answer), teid_of(&answer));

    let create = creation(seid, 2, UE, 2, &[]);
    let downlink = world.admit(&create, Op::Create);
    world.admit_change([uplink, 0, downlink], 1);
    world.open_downlink(uplink, downlink, 9, 0);
    answered(world, &create);
    answered(world, &create);
    let update = |seid, sequence, far: u32| {
        message(52, seid, sequence, &ie(10, [ie(108, far.to_be_bytes()), ie(11, tunnel(6))].concat()))
    };
    let change = update(seid, 3, 2);
    let handover = world.admit(&change, Op::Update);
    world.admit_change([uplink, downlink, handover], 0);
    answered(world, &change);
    answered(world, &change);
    assert_eq!(world.uplink(teid, 9, UE), Passage::Decapsulated(0));
    assert_eq!(world.downlink(UE), Passage::Encapsulated(6, GNB, 9, 0));
    assert_eq!(world.uplink(teid ^ 1 << 20, 9, UE), Passage::Dropped);

    // To the software, with the session.
    let complex = message(52, seid, 4, &ie(6, []));
    let Outcome::ToSoftware(Some(entry)) = world.message(FROM, &complex) else { panic!() };
    assert_eq!((entry.peer, entry.fars), (Some((6, GNB)), [1, 2]));
    assert_eq!(world.uplink(teid, 9, UE), Passage::ToSoftware);
    assert_eq!(world.downlink(UE), Passage::ToSoftware);

    // Another UE of the same policies, whose FARs have other IDs.
    let other = Ipv4Addr::new(10, 46, 1, 1);
    let seid = seid_of(&answered(world, &establishment(other, 9, 77, &[])));
    answered(world, &creation(seid, 10, other, 78, &[]));
    answered(world, &update(seid, 11, 78));
    assert_eq!(world.downlink(other), Passage::Encapsulated(6, GNB, 9, 0));
    let Outcome::ToSoftware(Some(entry)) = world.message(FROM, &update(seid, 12, 2)) else { panic!() };
    assert_eq!((entry.fars, entry.is_noted), ([77, 78], true));

    let third = Ipv4Addr::new(10, 46, 1, 2);
    let seid = seid_of(&answered(world, &establishment(third, 20, 79, &[])));
    let deletion = message(54, seid, 21, &[]);
    world.admit(&deletion, Op::Delete);
    answered(world, &deletion);
    answered(world, &deletion);

    // As between both passes of the message that adds the downlink, or that changes it.
    let drops =
        |seid, sequence| message(52, seid, sequence, &ie(10, [ie(108, [0, 0, 0, 81]), ie(44, [1])].concat()));
    let dropping = world.admit(&drops(1, 1), Op::Update);
    world.admit_change([uplink, downlink, dropping], 2);
    for (last, action) in [(3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (8, 1), (9, 2)] {
        let ue = Ipv4Addr::new(10, 46, 1, last);
        let index = world.model.tables.place(ue.into()).unwrap();
        let seid = seid_of(&answered(world, &establishment(ue, 30, 80, &[])));
        let create = creation(seid, 31, ue, 81, &[]);
        answered(world, &create);
        let (noted, next) = match last {
            3 => (None, create),
            4 => (Some(update(seid, 32, 81)), update(seid, 32, 81)),
            5 => (Some(drops(seid, 32)), drops(seid, 32)),
            6 => (None, update(seid, 32, 81)),
            7 => (None, drops(seid, 32)),
            _ => (Some(drops(seid, 32)), drops(seid, 32)),
        };
        noted.iter().for_each(|noted| _ = answered(world, noted));
        world.write("downlink_actions", index, [action, 0]);
        match world.message(FROM, &next) {
            Outcome::Answered(_) => assert_eq!(action, 2),
            Outcome::ToSoftware(entry) => {
                let entry = entry.unwrap();
                assert_eq!((entry.is_noted, u32::from(entry.downlink_action)), (true, action));
                assert_ne!(action, 2);
            }
        }
    }
}

// Input:  a session without an MBR, and one whose QER has an MBR of 190 kbit/s: 200 packets of 1,000 octets to each UE, in groups of 20.
// Output: all pass to the first one. To the other one pass what the rate allows in the time that BMv2 took, the burst, and those before a draw.
#[test]
fn packets_over_the_rate_are_dropped() {
    if !is_inside() {
        return run_inside("accel::packets_over_the_rate_are_dropped");
    }
    let mut world = start();
    let mbr = ie(26, [0, 0, 0, 0, 190, 0, 0, 0, 0, 190]);
    let qer = [ie(109, [0, 0, 0, 1]), ie(25, [0]), mbr].concat();
    world.set_rate(Direction::Downlink, 4, 190_000);
    let mut passed = Vec::new();
    for (qer, rate, ue) in [(&[][..], 0, Ipv4Addr::new(10, 46, 1, 1)), (&qer[..], 4, UE)] {
        let first = establishment(ue, 1, 1, qer);
        let uplink = world.admit(&first, Op::Establish);
        let seid = seid_of(&answered(&mut world, &first));
        let of_pdr = if qer.is_empty() { vec![] } else { ie(109, [0, 0, 0, 1]) };
        let create = creation(seid, 2, ue, 2, &of_pdr);
        let downlink = world.admit(&create, Op::Create);
        world.admit_change([uplink, 0, downlink], 1);
        world.open_downlink(uplink, downlink, 9, rate);
        answered(&mut world, &create);
        let packet = ethernet(&ipv4(SERVER, ue, 17, &udp(2000, 1000, &[0; 972])));
        let begin = std::time::Instant::now();
        let count: u32 = (0..10).map(|_| world.flood(N6, &packet, 20, rate == 0).unwrap()).sum();
        passed.push((count, begin.elapsed().as_millis()));
    }
    // A packet takes 42 ms. 60 packets without a draw are less likely than one in 3,000.
    let [(free, _), (policed, millis)] = passed[..] else { panic!() };
    assert_eq!(free, 200);
    assert!(policed > 0 && u128::from(policed) <= millis / 42 + 64, "{policed} of 200 in {millis} ms");
}

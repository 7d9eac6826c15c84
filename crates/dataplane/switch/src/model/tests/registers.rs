//! Registers, and what a packet asks for besides leaving: stories of packets.

use super::*;
use crate::driver::{DriverError, Register, Rejected, Reply, Request, SwitchDriver, Update, WriteError};
use crate::model::register::{
    Change, Comparison, Condition, Modification, Operand, RegisterAction, RegisterError, Relation, Returned,
    Side, Word,
};
use crate::model::{
    Bounds, Config, DIGEST_OCTETS, Digest, Model, Pass, PassCounters, Recirculation, Refused, Timing,
};

const SEEN: u32 = 400;
const PAIRS: u32 = 401;
const AGAIN: u16 = 68;

/// An array of one word of 16 bits, and one of two words.
fn registers() -> Vec<Register> {
    vec![
        Register { id: SEEN, name: "seen".to_owned(), size: 4, first: 16, second: None },
        Register { id: PAIRS, name: "pairs".to_owned(), size: 4, first: 32, second: Some(32) },
    ]
}

/// Each packet executes one thing by its first octet: see [`Behaviour::ingress`].
struct Behaviour {
    count: RegisterAction,
}

impl Behaviour {
    fn new() -> Self {
        let add = Change::AddSaturating(Operand::Input(0));
        let always = Modification { word: Word::First, when: Condition::Always, change: add };
        let count = RegisterAction::new(&registers()[0], &[], &[always], Returned::After(Word::First));
        Self { count: count.unwrap() }
    }
}

impl Pipeline for Behaviour {
    type Packet = Vec<u8>;

    /// - `c N`: counts N in cell 1, and leaves with the count.
    /// - `d`: counts twice. `x`: counts in cell 9, which is not there. `e`: counts at egress, too.
    /// - `r N`: is resubmitted N times, then leaves with the number of its passes.
    /// - `l N`: is recirculated N times, one less each time.
    /// - `m N`: makes N mirrored copies. `g N`: sends a digest of N octets.
    fn ingress(
        &mut self,
        state: &mut State,
        _: Time,
        port: u16,
        frame: &[u8],
        out: &mut Output<Self::Packet>,
    ) {
        let (what, number) = (frame[0], frame.get(1).copied().unwrap_or(0));
        let queued =
            |port, packet: Vec<u8>| QueuedPacket { port, queue: 0, octets: packet.len() as u64, packet };
        let Pass { resubmissions, recirculations, data } = out.pass();
        let mut count = |index| state.access(&self.count, index, [number.into(), 0]);
        match what {
            b'c' => {
                let counted = count(1).unwrap() as u8;
                out.push(queued(1, vec![b'c', counted]));
            }
            b'd' => {
                assert!(count(1).is_ok() && count(1).is_err());
                out.push(queued(1, frame.to_vec()));
            }
            b'x' => {
                let _refused = count(9);
                out.push(queued(1, frame.to_vec()));
            }
            b'e' => {
                count(1).unwrap();
                out.push(queued(1, frame.to_vec()));
            }
            b'r' if resubmissions < number => {
                out.push(queued(1, vec![b'!']));
                out.resubmit(data + 10);
            }
            b'r' => out.push(queued(1, vec![b'r', resubmissions, data as u8])),
            b'l' if number > 0 => out.push(queued(AGAIN, vec![b'l', number - 1])),
            b'l' => out.push(queued(1, vec![b'l', recirculations, port as u8])),
            b'm' => {
                (0..number).for_each(|_| out.mirror(frame, |copy| queued(7, copy)));
                out.push(queued(1, frame.to_vec()));
            }
            _ => {
                out.digest(500, vec![1; number.into()]);
                out.push(queued(1, frame.to_vec()));
            }
        }
    }

    fn egress(&mut self, state: &mut State, _: Time, _: u16, packet: Vec<u8>) -> Option<Vec<u8>> {
        if packet.first() == Some(&b'e') {
            let refused = state.access(&self.count, 1, [1, 0]);
            assert_eq!(refused, Err(RegisterError::BothSides { register: "seen".to_owned() }));
        }
        Some(packet)
    }
}

const BOUNDS: Bounds = Bounds {
    resubmissions: 2,
    recirculation: Some(Recirculation { port: AGAIN, most: 3 }),
    mirrors: 2,
    mirror_octets: 4,
    egress_copies: 0,
    digest_octets: DIGEST_OCTETS,
    digests_waiting: 2,
};

fn model() -> Model<Behaviour> {
    let program = Program { registers: registers(), ..program() };
    let config = Config { timing: Timing::INSTANT, cpu_port: CPU_PORT, port_rate: None, queue_room: 10_000 };
    Model::new(program, Behaviour::new(), config).with_bounds(BOUNDS)
}

/// What a frame leaves as, with its port.
fn sent(model: &mut Model<Behaviour>, frame: &[u8]) -> Vec<(u16, Vec<u8>)> {
    model.receive(at(0), 5, frame);
    std::iter::from_fn(|| model.poll_sent()).map(|(_, port, frame)| (port, frame)).collect()
}

// Input:  packets that count 5, 7 and 200 in one cell; then more than its 16 bits hold.
// Output: each leaves with the sum so far, which stays at 65,535.
#[test]
fn packets_share_a_cell() {
    let mut model = model();
    let counts = [5, 7, 200].map(|number| sent(&mut model, &[b'c', number]));
    assert_eq!(counts, [5, 12, 212].map(|sum| vec![(1, vec![b'c', sum])]));
    (0..300).for_each(|_| _ = sent(&mut model, &[b'c', 255]));
    assert_eq!(model.state().register(SEEN, 1), Some([65_535, 0]));
    assert_eq!((model.state().register(SEEN, 0), model.refused()), (Some([0, 0]), None));
}

// Input:  a packet that accesses an array twice, one beyond the array, and one on both sides of the queues.
// Output: each is dropped and counted; the first reason is kept; what the first access did stays.
#[test]
fn what_no_switch_can_do_is_refused_by_name() {
    for (frame, expected) in [
        (b"d\x02", RegisterError::SecondAccess { register: "seen".to_owned() }),
        (b"x\x02", RegisterError::Index { register: "seen".to_owned(), index: 9, size: 4 }),
        (b"e\x02", RegisterError::BothSides { register: "seen".to_owned() }),
    ] {
        let mut model = model();
        assert_eq!(sent(&mut model, frame), []);
        assert_eq!(model.refused(), Some(&Refused::Register(expected)));
        assert_eq!(model.passes(), PassCounters { refused: 1, ..PassCounters::default() });
        let counted = if frame[0] == b'x' { 0 } else { 2 };
        assert_eq!(model.state().register(SEEN, 1), Some([counted, 0]));
    }
}

// Input:  a packet that is resubmitted twice, and one that asks for a third time, where the program says two.
// Output: the first leaves once, with what its passes added up; the second is dropped and named.
#[test]
fn resubmissions_have_a_bound() {
    let mut model = model();
    assert_eq!(sent(&mut model, b"r\x02"), [(1, vec![b'r', 2, 20])]);
    assert_eq!(model.refused(), None);
    assert_eq!(sent(&mut model, b"r\x03"), []);
    assert_eq!(model.refused(), Some(&Refused::Resubmissions { most: 2 }));
    assert_eq!(model.passes(), PassCounters { resubmitted: 4, refused: 1, ..PassCounters::default() });
}

// Input:  a packet that is recirculated three times, and one that would be four times.
// Output: the first comes back on the recirculation port each time, and leaves; the second is dropped and named.
#[test]
fn recirculations_have_a_bound() {
    let mut model = model();
    assert_eq!(sent(&mut model, b"l\x03"), [(1, vec![b'l', 3, AGAIN as u8])]);
    assert_eq!(sent(&mut model, b"l\x04"), []);
    assert_eq!(model.refused(), Some(&Refused::Recirculations { most: 3 }));
    assert_eq!(model.passes(), PassCounters { recirculated: 6, refused: 1, ..PassCounters::default() });
}

// Input:  a packet with two mirrored copies of a frame of six octets, one of two octets, and one with three copies.
// Output: the copies of the first have four octets, those of the second are whole; the third is dropped with its copies.
#[test]
fn mirrored_copies_are_truncated() {
    let mut model = model();
    let copies =
        |copy: &[u8], frame: &[u8]| vec![(1, frame.to_vec()), (7, copy.to_vec()), (7, copy.to_vec())];
    let ports = |mut sent: Vec<(u16, Vec<u8>)>| {
        sent.sort();
        sent
    };
    assert_eq!(ports(sent(&mut model, b"m\x02abcd")), copies(b"m\x02ab", b"m\x02abcd"));
    assert_eq!(ports(sent(&mut model, b"m\x02")), copies(b"m\x02", b"m\x02"));
    assert_eq!(sent(&mut model, b"m\x03"), []);
    assert_eq!(model.refused(), Some(&Refused::Mirrors { most: 2 }));
    assert_eq!(
        model.passes(),
        PassCounters { mirrored: 4, truncated: 2, refused: 1, ..PassCounters::default() }
    );
}

// Input:  three digests while two may wait, and one larger than Tofino 1 allows.
// Output: two are delivered and one is counted as lost; the packet of the last one is dropped, the others are not.
#[test]
fn digests_have_bounds() {
    let mut model = model();
    for octets in [1, 48, 3] {
        assert_eq!(sent(&mut model, &[b'g', octets]), [(1, vec![b'g', octets])]);
    }
    assert_eq!(sent(&mut model, b"g\x31"), []);
    assert_eq!(model.refused(), Some(&Refused::Digest { octets: 49, most: 48 }));
    let polled: Vec<Digest> = std::iter::from_fn(|| model.poll_digest()).collect();
    assert_eq!(polled, [1, 48].map(|octets| Digest { id: 500, data: vec![1; octets] }));
    let expected = PassCounters { digests: 3, digests_lost: 1, refused: 1, ..PassCounters::default() };
    assert_eq!(model.passes(), expected);
}

// Input:  actions that need a second comparison or change of a word, a third number, a word that is not there, a
//         comparison that is not made; and five actions on one register.
// Output: each is refused by its name.
#[test]
fn an_action_that_needs_more_than_the_alu_has_is_refused() {
    let [one, two] = <[Register; 2]>::try_from(registers()).unwrap();
    let compare = |word, with| Comparison { word, relation: Relation::AtMost, with };
    let change = |word, when, input| {
        let change = Change::Set(Operand::Input(input));
        Modification { word, when, change }
    };
    let (first, second) = (Word::First, Word::Second);
    let returned = Returned::Before(first);
    let zero = Operand::Constant(0);
    let always = Condition::Always;
    let (seen, pairs) = (|| "seen".to_owned(), || "pairs".to_owned());
    let refused = |register, comparisons: &[Comparison], changes: &[Modification], returned| {
        RegisterAction::new(register, comparisons, changes, returned).unwrap_err()
    };
    assert_eq!(
        refused(&two, &[compare(first, zero), compare(first, zero)], &[], returned),
        RegisterError::SecondComparison { register: pairs(), word: first }
    );
    assert_eq!(
        refused(&one, &[compare(first, zero); 3], &[], returned),
        RegisterError::SecondComparison { register: seen(), word: first }
    );
    assert_eq!(
        refused(&two, &[], &[change(second, always, 0), change(second, always, 1)], returned),
        RegisterError::SecondChange { register: pairs(), word: second }
    );
    let (holds, opposite) = (Condition::If(first), Condition::Unless(first));
    for third in [
        vec![change(second, holds, 0), change(second, holds, 1)],
        vec![change(second, holds, 0), change(second, opposite, 1), change(second, opposite, 1)],
    ] {
        assert_eq!(
            refused(&two, &[compare(first, zero)], &third, returned),
            RegisterError::SecondChange { register: pairs(), word: second }
        );
    }
    assert_eq!(
        refused(&two, &[], &[change(second, always, 2)], returned),
        RegisterError::ThirdInput { register: pairs(), input: 2 }
    );
    for (changes, returned) in
        [(vec![change(second, always, 0)], returned), (vec![], Returned::After(second))]
    {
        let expected = RegisterError::NoSecondWord { register: seen() };
        assert_eq!(refused(&one, &[], &changes, returned), expected);
    }
    assert_eq!(
        refused(&two, &[compare(first, zero)], &[change(first, Condition::IfBoth, 0)], returned),
        RegisterError::NoComparison { register: pairs(), word: second }
    );
    let actions = |count: u32| -> Vec<RegisterAction> {
        let constant = |value| [compare(first, Operand::Constant(value))];
        let actions = (0..count).map(|value| RegisterAction::new(&one, &constant(value), &[], returned));
        actions.collect::<Result<_, _>>().unwrap()
    };
    // The same action twice is held once.
    let four = [actions(4), actions(4)].concat();
    assert_eq!(RegisterAction::check_actions(&registers(), &four), Ok(()));
    let too_many = RegisterError::TooManyActions { register: seen(), actions: 5 };
    assert_eq!(RegisterAction::check_actions(&registers(), &actions(5)), Err(too_many));
}

// Input:  a cell of one word, which is in a range ahead of the packet's number, below it, and beyond it.
// Output: both comparisons of the word are made; the difference wraps.
#[test]
fn a_single_word_is_compared_twice() {
    let one = &registers()[0];
    let width = u32::from(one.first);
    let compare = |relation| Comparison { word: Word::First, relation, with: Operand::Input(0) };
    let range = [compare(Relation::AheadBy(3)), compare(Relation::NotAheadBy(7))];
    let action = RegisterAction::new(one, &range, &[], Returned::Whether(Condition::IfBoth)).unwrap();
    let mut state = State::new(Program { registers: registers(), ..program() });
    let highest = u32::MAX >> (32 - width);
    for (word, number, is_in) in
        [(12, 10, 0), (13, 10, 1), (16, 10, 1), (17, 10, 0), (9, 10, 0), (2, highest, 1), (1, highest, 0)]
    {
        let set = Update::SetRegister { register: one.id, index: 3, value: [word, 0] };
        state.write(at(0), &[set]).unwrap();
        state.begin_pass(Side::Ingress);
        assert_eq!(state.access(&action, 3, [number, 0]).unwrap(), is_in, "{word} and {number}");
    }
}

// Input:  a pair whose first word is a limit and whose second counts up to it: a packet at a time.
// Output: both words are compared with what they were before, and changed in one step; the limit is never exceeded.
#[test]
fn a_pair_changes_in_one_step() {
    let pairs = &registers()[1];
    let least = Comparison { word: Word::First, relation: Relation::AtLeast, with: Operand::Input(0) };
    let third = Comparison { word: Word::Second, relation: Relation::Equal, with: Operand::Constant(2) };
    let take = Change::SubtractSaturating(Operand::Input(0));
    let changes = [
        Modification { word: Word::First, when: Condition::If(Word::First), change: take },
        Modification {
            word: Word::Second,
            when: Condition::If(Word::First),
            change: Change::Add(Operand::Constant(1)),
        },
    ];
    let returned = Returned::Whether(Condition::IfBoth);
    let action = RegisterAction::new(pairs, &[least, third], &changes, returned).unwrap();
    let mut state = State::new(Program { registers: registers(), ..program() });
    let set = Update::SetRegister { register: PAIRS, index: 3, value: [100, 0] };
    state.write(at(0), &[set]).unwrap();
    let mut steps = Vec::new();
    for _ in 0..4 {
        state.begin_pass(Side::Ingress);
        let returned = state.access(&action, 3, [30, 7]).unwrap();
        steps.push((state.register(PAIRS, 3).unwrap(), returned));
    }
    assert_eq!(steps, [([70, 1], 0), ([40, 2], 0), ([10, 3], 1), ([10, 3], 0)]);
}

// Input:  a pair of an epoch and a count: packets of epochs 5, 5 and 6 that add 7 each, and reads for epochs 6 and 5.
// Output: a packet of another epoch begins anew; only a read for the cell's epoch returns its count.
#[test]
fn a_word_has_another_change_on_the_opposite_condition() {
    let pairs = &registers()[1];
    let (first, second) = (Word::First, Word::Second);
    let same = Comparison { word: first, relation: Relation::Equal, with: Operand::Input(0) };
    let change = |word, when, change| Modification { word, when, change };
    let changes = [
        change(first, Condition::Always, Change::Set(Operand::Input(0))),
        change(second, Condition::If(first), Change::AddSaturating(Operand::Input(1))),
        change(second, Condition::Unless(first), Change::Set(Operand::Input(1))),
    ];
    let count = RegisterAction::new(pairs, &[same], &changes, Returned::After(second)).unwrap();
    let returned = Returned::BeforeIf(second, Condition::If(first));
    let read = RegisterAction::new(pairs, &[same], &[], returned).unwrap();
    let mut state = State::new(Program { registers: registers(), ..program() });
    let mut access = |action, epoch| {
        state.begin_pass(Side::Ingress);
        state.access(action, 0, [epoch, 7]).unwrap()
    };
    assert_eq!([5, 5, 6].map(|epoch| access(&count, epoch)), [7, 14, 7]);
    assert_eq!([6, 5].map(|epoch| access(&read, epoch)), [7, 0]);
}

// Input:  a controller that sets two cells and reads them; indices, values and registers that are not there; a batch of
//         which one update is bad.
// Output: the cells; refusals by name, with nothing of the batch done; zero after a restart.
#[test]
fn a_controller_reads_and_writes_cells() {
    let mut model = model();
    let mut ask = |request| {
        model.submit(at(0), request);
        model.poll(at(0)).unwrap().1
    };
    let set = |register, index, value| Update::SetRegister { register, index, value };
    let read = |register, indices: &[u32]| Request::ReadRegister { register, indices: indices.to_vec() };
    let refused = |update, error| Err(DriverError::Rejected(Rejected { update, error }));
    let whole = [u32::MAX, 7];
    assert_eq!(ask(Request::Write(vec![set(SEEN, 3, [9, 0]), set(PAIRS, 0, whole)])), Ok(Reply::Done));
    assert_eq!(ask(read(SEEN, &[3, 0])), Ok(Reply::Registers(vec![[9, 0], [0, 0]])));
    assert_eq!(ask(read(PAIRS, &[0])), Ok(Reply::Registers(vec![whole])));
    assert_eq!(
        ask(read(SEEN, &[0, 4])),
        refused(1, WriteError::UnknownRegister { register: SEEN, index: 4 })
    );
    assert_eq!(ask(read(7, &[0])), refused(0, WriteError::UnknownRegister { register: 7, index: 0 }));
    for (bad, error) in [
        (set(SEEN, 4, [1, 0]), WriteError::UnknownRegister { register: SEEN, index: 4 }),
        (set(9, 0, [1, 0]), WriteError::UnknownRegister { register: 9, index: 0 }),
        (
            set(SEEN, 0, [65_536, 0]),
            WriteError::RegisterValue { register: "seen".to_owned(), value: [65_536, 0] },
        ),
        (set(SEEN, 0, [1, 1]), WriteError::RegisterValue { register: "seen".to_owned(), value: [1, 1] }),
    ] {
        assert_eq!(ask(Request::Write(vec![set(PAIRS, 0, [1, 1]), bad])), refused(1, error));
        assert_eq!(ask(read(PAIRS, &[0])), Ok(Reply::Registers(vec![whole])), "it was undone");
    }
    model.restart(at(1));
    assert_eq!(model.state().register(PAIRS, 0), Some([0, 0]));
}

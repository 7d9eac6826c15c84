//! Numbers, table access and the model together: handovers while usage is read.

use std::collections::{HashMap, VecDeque};

use super::*;
use crate::driver::{Outcome, Reply, Request, SwitchDriver, Ticket, Update};
use crate::model::{Access, Config, Model, Timing};
use crate::pendulum::{
    self, Command, FinalUsage, Mode, Pass, RoundRobin, Sample, Side, TableAccess, WriterTurn,
};
use crate::ranges::{Ranges, Template};
use crate::{Count, SwitchPdr};

/// All rules have the same action.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Only;

impl Template for Only {
    fn table(&self) -> usize {
        0
    }
}

enum Job {
    Write(u8, Option<SwitchPdr>, Time),
    Read(Pass),
    Remove(Side, Vec<SwitchPdr>),
}

/// A controller of one rule per session, over the model.
struct Controller {
    model: Model<Switch>,
    access: TableAccess<(u8, Option<SwitchPdr>, Time)>,
    ranges: Ranges<Only>,
    jobs: HashMap<Ticket, Job>,
    rules: HashMap<u8, SwitchPdr>,
    sessions: HashMap<SwitchPdr, u8>,
    robins: [RoundRobin; 2],
    finals: FinalUsage<u8>,
    usage: HashMap<u8, [Count; 2]>,
    /// How long each command took, from its submission to its outcome.
    latencies: Vec<Span>,
    ended: Vec<u8>,
}

fn partition_table(side: Side, partition: u8) -> u32 {
    let tables = if side == Side::Ingress { PRE } else { POST };
    tables[usize::from(partition)]
}

impl Controller {
    fn new(mode: Mode) -> Self {
        let config = Config {
            timing: Timing::PAPER,
            cpu_port: CPU_PORT,
            port_rate: Some(10_000_000),
            queue_room: 1_000_000,
        };
        let access = pendulum::Config { mode, capacity: [64, 64], drain: Span::from_millis(20) };
        Self {
            model: Model::new(program(), Switch, config),
            access: TableAccess::new(access),
            ranges: Ranges::bootstrap(8, &[4], &[]).unwrap().0,
            jobs: HashMap::new(),
            rules: HashMap::new(),
            sessions: HashMap::new(),
            robins: [RoundRobin::default(); 2],
            finals: FinalUsage::default(),
            usage: HashMap::new(),
            latencies: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// A new session, a handover of one, or with `last` its end.
    fn change(&mut self, now: Time, session: u8, last: bool) {
        let new = (!last).then(|| self.ranges.allocate(&Only).unwrap().number);
        let old = self.rules.get(&session).copied();
        let command = Command {
            add: new.into_iter().collect(),
            expire: old.into_iter().collect(),
            writes: (session, new, now),
        };
        if self.access.submit(now, command).is_err() {
            new.into_iter().for_each(|number| _ = self.ranges.release(number).unwrap());
        }
    }

    /// Lets everybody work until there is nothing more to do at this moment.
    fn run(&mut self, now: Time) {
        while let Some((ticket, outcome)) = self.model.poll(now) {
            self.finish(now, ticket, outcome);
        }
        if let Some(turn) = self.access.poll_write(now) {
            let WriterTurn::Write(batch) = turn else { panic!("there is room for all") };
            let (session, new, submitted) = batch.writes;
            let mut updates: Vec<Update> = Vec::new();
            for insertion in batch.insertions {
                let table = partition_table(insertion.side, insertion.partition.0);
                updates
                    .extend(insertion.numbers.iter().map(|number| Update::Insert(counting(table, number.0))));
            }
            updates.push(match (new, self.rules.contains_key(&session)) {
                (Some(new), true) => Update::Modify(self::session(session, new.0)),
                (Some(new), false) => Update::Insert(self::session(session, new.0)),
                (None, _) => Update::Delete(exact(PDR, session.into())),
            });
            let ticket = self.model.submit(now, Request::Write(updates));
            self.jobs.insert(ticket, Job::Write(session, new, submitted));
        }
        for side in Side::ALL {
            let robin = &mut self.robins[side as usize];
            let pick = |partition, members: &[SwitchPdr], budget| robin.pick(partition, members, budget);
            let Some(pass) = self.access.poll_pass(now, side, pick).cloned() else { continue };
            let table = partition_table(side, pass.partition.0);
            let keys = pass.numbers.iter().map(|number| exact(table, number.0.into())).collect();
            let ticket = self.model.submit(now, Request::ReadDirect(keys));
            self.jobs.insert(ticket, Job::Read(pass));
        }
    }

    fn finish(&mut self, now: Time, ticket: Ticket, outcome: Outcome) {
        match (self.jobs.remove(&ticket), outcome) {
            (Some(Job::Write(session, new, submitted)), Ok(Reply::Done)) => {
                self.access.written(now, true);
                self.latencies.push(now.since(submitted));
                match new {
                    Some(number) => {
                        self.rules.insert(session, number);
                        self.sessions.insert(number, session);
                        self.finals.assign(session, number);
                    }
                    None => {
                        self.rules.remove(&session);
                        assert!(!self.finals.close(session));
                    }
                }
            }
            (Some(Job::Read(pass)), Ok(Reply::Counts(counts))) => {
                let samples = pass.numbers.iter().zip(counts);
                let samples: Vec<Sample> = samples
                    .map(|(number, count)| Sample { number: *number, count: count.unwrap() })
                    .collect();
                let (readings, leaving) = self.access.read(pass.side, &samples);
                for reading in readings {
                    let session = self.sessions[&reading.number];
                    self.usage.entry(session).or_default()[pass.side as usize] += reading.usage;
                }
                let table = partition_table(pass.side, pass.partition.0);
                let gone =
                    leaving.iter().map(|number| Update::Delete(exact(table, number.0.into()))).collect();
                let ticket = self.model.submit(now, Request::Write(gone));
                self.jobs.insert(ticket, Job::Remove(pass.side, leaving));
            }
            (Some(Job::Remove(side, leaving)), Ok(Reply::Done)) => {
                for number in self.access.removed(now, side, &leaving) {
                    self.ranges.release(number).unwrap();
                    self.ended.extend(self.finals.retired(number));
                }
            }
            (_, outcome) => panic!("{outcome:?}"),
        }
    }
}

/// Sessions of five that are established, handed over at random and deleted, with packets all the time. Returns how long commands took.
fn handovers(mode: Mode) -> Vec<Span> {
    let mut controller = Controller::new(mode);
    let mut random = fastrand::Rng::with_seed(4);
    let mut sent: HashMap<u8, u64> = HashMap::new();
    (1..=5).for_each(|session| controller.change(at(0), session, false));
    let mut steps: VecDeque<u64> = (1..10_000).map(|step| step * 100).collect();
    while let Some(micros) = steps.pop_front() {
        let now = at(micros);
        if micros % 20_000 == 0 && micros < 900_000 {
            controller.change(now, random.u8(1..=5), false);
        }
        if micros == 950_000 {
            (1..=5).for_each(|session| controller.change(now, session, true));
        }
        controller.run(now);
        let session = random.u8(1..=5);
        if controller.rules.contains_key(&session) && micros < 940_000 {
            let octets = random.usize(1..1500);
            controller.model.receive(now, 5, &vec![session; octets]);
            *sent.entry(session).or_default() += octets as u64;
        }
        if steps.is_empty() && controller.ended.len() < 5 {
            assert!(micros < 60_000_000, "sessions do not end: {:?}", controller.ended);
            steps.push_back(micros + 100);
        }
    }
    for session in 1..=5 {
        let usage = controller.usage[&session].map(|count| count.octets);
        assert_eq!(usage, [sent[&session]; 2], "{mode:?}: session {session}");
    }
    assert_eq!((controller.ranges.in_use().0, controller.model.poll_packet(at(0))), (0, None));
    assert_eq!(controller.model.overflowed(), 0);
    controller.latencies.sort_unstable();
    controller.latencies
}

// Input:  handovers of five sessions each 20 ms while usage is read all the time, with the driver's timing of the paper, and packets that
//         wait in queues; in the end all sessions are deleted.
// Output: in every mode, each session's usage on both sides is what it sent, to the octet, all numbers are free, and no packet missed its
//         rule. With pendulum access no handover waits for a reader; in the other modes some do.
#[test]
fn usage_is_conserved_over_the_model() {
    let write = Timing::PAPER.write_call + Timing::PAPER.write_entry * 3;
    let pendulum = handovers(Mode::PENDULUM);
    // A step is 100 us; the five that come at once, at first and in the end, wait for each other.
    let alone = write + Span::from_micros(200);
    assert!(pendulum.iter().filter(|latency| **latency > alone).count() <= 8, "{pendulum:?}");
    for mode in [Mode::Baseline { beta: 0.75 }, Mode::SingleThread { chunk: 100 }] {
        let latencies = handovers(mode);
        let waited = latencies.iter().filter(|latency| **latency > Span::from_millis(3)).count();
        assert!(waited >= 10, "{mode:?}: {latencies:?}");
    }
}

/// Each session sends an octet in each microsecond, which is worked out when somebody looks.
struct Stream {
    settled: Time,
}

impl Pipeline for Stream {
    type Packet = ();

    fn ingress(&mut self, _: &mut State, _: Time, _: u16, _: &[u8], _: &mut Output<()>) {}

    fn egress(&mut self, _: &mut State, _: Time, _: u16, (): ()) -> Option<Vec<u8>> {
        None
    }

    fn settle(&mut self, state: &mut State, now: Time, touched: Access<'_>) {
        assert!(!matches!(touched, Access::Counter { .. }), "nobody reads one by index");
        let octets = now.since(self.settled).as_micros() as u64;
        self.settled = now;
        let rule = state.apply_many(PDR, &[1], Count::ZERO).map(|entry| entry.parameters[0]);
        for table in rule.iter().flat_map(|_| PRE) {
            let _counted =
                state.apply_many(table, &[rule.unwrap_or_default()], Count { octets, packets: octets });
        }
    }
}

// Input:  traffic that nobody makes frame by frame; its rule gets another number by one write, and both counters are read later.
// Output: the first holds all until that write took effect, the other all from then on until its own reading: not an octet is missing.
#[test]
fn traffic_can_be_worked_out_when_somebody_looks() {
    let timing =
        Timing { read_entry: Span::from_micros(7), write_call: Span::from_micros(50), ..Timing::INSTANT };
    let config = Config { timing, cpu_port: CPU_PORT, port_rate: None, queue_room: 0 };
    let mut model = Model::new(program(), Stream { settled: at(0) }, config);
    let first = vec![Update::Insert(counting(PRE[0], 10)), Update::Insert(session(1, 10))];
    model.submit(at(0), Request::Write(first));
    let second = vec![Update::Insert(counting(PRE[1], 20)), Update::Modify(session(1, 20))];
    model.submit(at(100), Request::Write(second));
    model.submit(at(200), Request::ReadDirect(vec![exact(PRE[0], 10)]));
    model.submit(at(200), Request::ReadDirect(vec![exact(PRE[1], 20)]));
    let mut counts = Vec::new();
    while let Some((_, outcome)) = model.poll(at(300)) {
        if let Ok(Reply::Counts(read)) = outcome {
            counts.extend(read.into_iter().flatten().map(|count| count.octets));
        }
    }
    assert_eq!(counts, [100, 57]);
}

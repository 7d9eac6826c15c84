//! A simulated switch whose tables can be read or written, not both, with packets passing all the time.

use std::collections::{HashMap, VecDeque};

use causeway_types::{Span, Time};

use crate::pendulum::{
    Batch, Command, Config, FinalUsage, Full, Invalid, Mode, Partition, Pass, Sample, Side, TableAccess,
    WriterTurn,
};
use crate::{Count, SwitchPdr};

/// The content of a session's PDR entry.
type Route = (u32, Option<SwitchPdr>);

/// A simulation of sessions with one rule each.
pub(super) struct Simulation {
    pub(super) access: TableAccess<Route>,
    pub(super) now: Time,
    random: fastrand::Rng,
    drain: Span,
    capacity: [usize; 2],
    partitions: usize,
    /// The numbers of packets of each session.
    routes: HashMap<u32, SwitchPdr>,
    counters: [[HashMap<SwitchPdr, Count>; 2]; 2],
    /// Between ingress and egress.
    queued: VecDeque<(Time, u32, SwitchPdr, u64)>,
    /// Packets sent by each session, at ingress and at egress.
    truth: HashMap<u32, [Count; 2]>,
    found: HashMap<u32, [Count; 2]>,
    session_of: HashMap<SwitchPdr, u32>,
    pub(super) finals: FinalUsage<u32>,
    pub(super) complete: Vec<u32>,
    writer: Option<(Time, Vec<Batch<Route>>, bool)>,
    /// Numbers are indices of counters that always exist.
    is_indexed: bool,
    readers: [Option<Job>; 2],
    pub(super) free: Vec<SwitchPdr>,
    pub(super) refused: Vec<Full>,
    /// Chance that a job fails in part, in percent.
    pub(super) faults: u8,
}

enum Job {
    Read(Time, Pass, Vec<Sample>),
    Remove(Time, Partition, Vec<SwitchPdr>),
}

impl Simulation {
    pub(super) fn new(config: Config, numbers: u32, seed: u64) -> Self {
        let is_indexed = matches!(config.mode, Mode::Indexed { .. });
        let always = if is_indexed { numbers } else { 0 };
        let zeros = || (1..=always).map(|number| (SwitchPdr(number), Count::ZERO)).collect();
        Self {
            access: TableAccess::new(config),
            is_indexed,
            now: Time::from_secs(1),
            random: fastrand::Rng::with_seed(seed),
            drain: config.drain,
            capacity: config.capacity,
            partitions: config.mode.partitions(),
            routes: HashMap::new(),
            counters: [(); 2].map(|()| [zeros(), HashMap::new()]),
            queued: VecDeque::new(),
            truth: HashMap::new(),
            found: HashMap::new(),
            session_of: HashMap::new(),
            finals: FinalUsage::default(),
            complete: Vec::new(),
            writer: None,
            readers: [None, None],
            free: (1..=numbers).map(SwitchPdr).collect(),
            refused: Vec::new(),
            faults: 0,
        }
    }

    /// Sessions with a rule on the switch.
    pub(super) fn sessions(&self) -> Vec<u32> {
        let mut sessions: Vec<u32> = self.routes.keys().copied().collect();
        sessions.sort_unstable();
        sessions
    }

    /// The session gets a rule, or a new number for it.
    pub(super) fn establish_or_modify(&mut self, session: u32) -> Result<(), Invalid> {
        let Some(number) = self.free.pop() else { return Ok(()) };
        let old = self.routes.get(&session).copied();
        let command =
            Command { add: vec![number], expire: old.into_iter().collect(), writes: (session, Some(number)) };
        let submitted = self.access.submit(self.now, command);
        if submitted.is_err() {
            self.free.push(number);
        }
        submitted.map(drop)
    }

    pub(super) fn delete(&mut self, session: u32) -> Result<(), Invalid> {
        let expire = self.routes.get(&session).copied().into_iter().collect();
        self.access.submit(self.now, Command { add: vec![], expire, writes: (session, None) }).map(drop)
    }

    /// Advances time: packets are counted, jobs end, new ones start.
    pub(super) fn step(&mut self, pick: impl FnMut(Partition, &[SwitchPdr], usize) -> Vec<SwitchPdr>) {
        self.now = self.now + Span::from_micros(self.random.u64(0..20));
        self.packets();
        self.finish_write();
        Side::ALL.into_iter().for_each(|side| self.finish_reader(side));
        self.start_write();
        self.start_readers(pick);
        self.check_partitions();
    }

    fn packets(&mut self) {
        for session in self.sessions() {
            if self.random.u8(..4) == 0 {
                let (number, octets) = (self.routes[&session], self.random.u64(40..1500));
                self.count(Side::Ingress, session, number, octets);
                let delay = self.drain.mul_f64(self.random.f64());
                self.queued.push_back((self.now + delay, session, number, octets));
            }
        }
        let now = self.now;
        let (leaving, staying): (Vec<_>, Vec<_>) = self.queued.drain(..).partition(|(at, ..)| *at <= now);
        self.queued = staying.into();
        for (_, session, number, octets) in leaving {
            self.count(Side::Egress, session, number, octets);
        }
    }

    fn count(&mut self, side: Side, session: u32, number: SwitchPdr, octets: u64) {
        let one = Count { octets, packets: 1 };
        self.truth.entry(session).or_default()[side as usize] += one;
        let entries = self.counters[side as usize].iter_mut();
        let counter = entries.filter_map(|entries| entries.get_mut(&number)).next();
        *counter.unwrap_or_else(|| panic!("a packet of {session} misses the entry of {number}")) += one;
    }

    fn start_write(&mut self) {
        match self.access.poll_write(self.now) {
            None => {}
            Some(WriterTurn::Refuse { writes: (_, number), full, .. }) => {
                self.free.extend(number);
                let free = |entries: &HashMap<_, _>| self.capacity[full.side as usize] - entries.len();
                let partitions = &self.counters[full.side as usize][..self.partitions];
                let members = self.access.members(full.side, Partition(0)).len();
                let is_full = match self.is_indexed {
                    true => self.capacity[full.side as usize] - members < full.needed,
                    false => partitions.iter().all(|entries| free(entries) < full.needed),
                };
                assert!(is_full, "{full} is not so");
                self.refused.push(full);
            }
            Some(WriterTurn::Write(batch)) => {
                assert!(self.writer.is_none(), "two batches at once");
                let done = self.now + Span::from_micros(self.random.u64(1..50));
                let fails = self.random.u8(..100) < self.faults;
                let (mut batches, more) = (vec![batch], self.random.usize(..4));
                batches.extend((0..more).map_while(|_| self.access.poll_more(self.now)));
                self.writer = Some((done, batches, fails));
            }
        }
    }

    fn finish_write(&mut self) {
        let Some((_, batches, fails)) = self.writer.take_if(|(done, ..)| *done <= self.now) else { return };
        if fails {
            self.free.extend(batches.into_iter().filter_map(|batch| batch.writes.1));
            self.access.written(self.now, false);
            return;
        }
        batches.into_iter().for_each(|batch| self.take_effect(batch));
        self.access.written(self.now, true);
    }

    fn take_effect(&mut self, batch: Batch<Route>) {
        for insertion in &batch.insertions {
            for number in &insertion.numbers {
                let partitions = &mut self.counters[insertion.side as usize];
                assert!(partitions.iter().all(|entries| !entries.contains_key(number)), "{number} is there");
                partitions[usize::from(insertion.partition.0)].insert(*number, Count::ZERO);
            }
        }
        let (session, number) = batch.writes;
        match number {
            Some(number) => {
                self.routes.insert(session, number);
                self.session_of.insert(number, session);
                self.finals.assign(session, number);
            }
            None => {
                self.routes.remove(&session);
                let is_complete = self.finals.close(session);
                assert!(!is_complete, "a deleted rule has usage to be read");
            }
        }
    }

    fn start_readers(&mut self, mut pick: impl FnMut(Partition, &[SwitchPdr], usize) -> Vec<SwitchPdr>) {
        for side in Side::ALL {
            let Some(pass) = self.access.poll_pass(self.now, side, &mut pick).cloned() else { continue };
            let early: Vec<Sample> = pass
                .numbers
                .iter()
                .filter(|number| number.0 % 2 == 0)
                .map(|number| self.sample(&pass, *number))
                .collect();
            let done = self.now + Span::from_micros(3 * pass.numbers.len() as u64);
            assert!(self.readers[side as usize].is_none(), "two passes at once");
            self.readers[side as usize] = Some(Job::Read(done, pass, early));
        }
    }

    fn finish_reader(&mut self, side: Side) {
        let now = self.now;
        let is_done =
            |job: &mut Job| matches!(job, Job::Read(done, ..) | Job::Remove(done, ..) if *done <= now);
        match self.readers[side as usize].take_if(is_done) {
            None => {}
            Some(Job::Read(_, pass, mut samples)) => {
                let late = pass.numbers.iter().filter(|number| number.0 % 2 == 1);
                let late: Vec<Sample> = late.map(|number| self.sample(&pass, *number)).collect();
                samples.extend(late);
                samples.retain(|_| self.random.u8(..100) >= self.faults);
                let (readings, leaving) = self.access.read(side, &samples);
                for reading in readings {
                    let session = self.session_of[&reading.number];
                    self.found.entry(session).or_default()[side as usize] += reading.usage;
                }
                let done = now + Span::from_micros(2 * leaving.len() as u64);
                self.readers[side as usize] = Some(Job::Remove(done, pass.partition, leaving));
            }
            Some(Job::Remove(_, partition, mut leaving)) => {
                leaving.retain(|_| self.random.u8(..100) >= self.faults);
                for number in leaving.iter().filter(|_| !self.is_indexed) {
                    let entries = &mut self.counters[side as usize][usize::from(partition.0)];
                    assert!(entries.remove(number).is_some());
                }
                let free = self.access.removed(now, side, &leaving);
                free.into_iter().for_each(|number| self.retire(number));
            }
        }
    }

    fn retire(&mut self, number: SwitchPdr) {
        let there = self.counters.iter().flatten().any(|entries| entries.contains_key(&number));
        assert!(!there || self.is_indexed, "{number} is free while an entry has it");
        self.free.push(number);
        for session in self.finals.retired(number) {
            self.complete.push(session);
            let (found, sent) = (self.found.remove(&session), self.truth.remove(&session));
            assert_eq!(found.unwrap_or_default(), sent.unwrap_or_default(), "usage of session {session}");
        }
    }

    fn sample(&self, pass: &Pass, number: SwitchPdr) -> Sample {
        let entries = &self.counters[pass.side as usize][usize::from(pass.partition.0)];
        Sample { number, count: entries[&number] }
    }

    /// A partition is read or written, not both.
    fn check_partitions(&self) {
        let Some((_, batches, _)) = &self.writer else { return };
        for insertion in batches.iter().flat_map(|batch| &batch.insertions) {
            let read = match &self.readers[insertion.side as usize] {
                Some(Job::Read(_, Pass { partition, .. }, _) | Job::Remove(_, partition, _)) => *partition,
                None => continue,
            };
            assert_ne!(insertion.partition, read, "{:?} is read and written", insertion.side);
        }
    }

    /// Something is being read or written now.
    pub(super) fn jobs(&self) -> (usize, usize) {
        (usize::from(self.writer.is_some()), self.readers.iter().flatten().count())
    }
}

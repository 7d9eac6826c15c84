//! One switch that several packet threads of a UPF drive, each a part of it.
//!
//! [`WholeSwitch`] divides the driver of a switch, [`SwitchPart`] is the driver of a part. No part knows of the others:
//!
//! - Rules have numbers of the part: on the switch its own number is in their first bits. Meters and armings are divided likewise.
//! - A row without a rule's number, such as a route, is one row for all parts that write it. It is inserted for the first of them, and
//!   deleted for the last.
//! - A part reads its own rows. Part 0 also reads those of no part, from before this process, and so removes them.

mod numbers;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use causeway_types::{Span, Time};
use foldhash::fast::RandomState;

use super::{DriverError, Entry, Link, Outcome, Program, Reply, Request, SwitchDriver, Ticket};
use numbers::{Numbers, Part};
use rows::{RowChange, SharedRows};

/// The most parts of a switch.
const MOST: usize = 64;

/// Tells the parts of a switch that its driver has something to poll. Otherwise they do not ask it.
#[derive(Debug)]
pub struct Arrivals(Vec<AtomicBool>);

impl Arrivals {
    /// For so many parts: 1 to 64.
    pub fn new(parts: usize) -> Self {
        Self((0..parts.clamp(1, MOST)).map(|_| AtomicBool::new(true)).collect())
    }

    /// Something has arrived: each part looks whether it is for it.
    pub fn tell(&self) {
        (0..self.0.len()).for_each(|part| self.tell_part(part));
    }

    fn tell_part(&self, part: usize) {
        if let Some(part) = self.0.get(part) {
            part.store(true, Ordering::Release);
        }
    }

    /// Whether something may have arrived for a part. What arrives from now on is told again.
    fn take(&self, part: usize) -> bool {
        self.0
            .get(part)
            .is_some_and(|part| part.load(Ordering::Acquire) && part.swap(false, Ordering::AcqRel))
    }

    fn is_told(&self, part: usize) -> bool {
        self.0.get(part).is_some_and(|part| part.load(Ordering::Acquire))
    }
}

/// The driver of a switch that is divided into parts.
#[derive(Debug)]
pub struct WholeSwitch<D>(Arc<Whole<D>>);

/// The driver of a part of a switch.
#[derive(Debug)]
pub struct SwitchPart<D> {
    whole: Arc<Whole<D>>,
    part: Part,
    /// What has arrived for this part and is not polled.
    arrived: Arrived,
    tickets: u64,
}

#[derive(Debug)]
struct Whole<D> {
    arrivals: Arc<Arrivals>,
    /// Whether the driver calls [`Arrivals::tell`].
    tells: bool,
    shared: Mutex<Shared<D>>,
}

#[derive(Debug, Default)]
struct Arrived {
    outcomes: VecDeque<(Ticket, Outcome)>,
    links: VecDeque<Link>,
    packets: VecDeque<Vec<u8>>,
}

#[derive(Debug)]
struct Shared<D> {
    driver: D,
    numbers: Numbers,
    rows: SharedRows,
    /// Requests in flight, by the ticket of the driver.
    flights: HashMap<Ticket, Flight, RandomState>,
    /// What has arrived for each part, until it fetches it.
    arrived: Vec<Arrived>,
    /// Requests so far.
    requests: u64,
}

/// A request of a part in flight.
#[derive(Debug)]
struct Flight {
    part: Part,
    ticket: Ticket,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Write(Written),
    /// The rows of a table, after so many requests.
    Rows(u32, u64),
    Other,
}

/// What a batch does.
#[derive(Debug, Default)]
struct Written {
    /// The places of its updates in the part's batch.
    places: Vec<usize>,
    changes: Vec<RowChange>,
}

impl<D: SwitchDriver> WholeSwitch<D> {
    /// Divides a switch with this program into as many parts as `arrivals` is for. The driver must call [`Arrivals::tell`] whenever it
    /// has something to poll.
    pub fn new(driver: D, program: &Program, arrivals: &Arc<Arrivals>) -> Self {
        Self::divide(driver, program, Arc::clone(arrivals), true)
    }

    /// The same with a driver that does not tell, such as a model: each poll asks it.
    pub fn polled(driver: D, program: &Program, parts: usize) -> Self {
        Self::divide(driver, program, Arc::new(Arrivals::new(parts)), false)
    }

    fn divide(driver: D, program: &Program, arrivals: Arc<Arrivals>, tells: bool) -> Self {
        let shared = Shared {
            driver,
            numbers: Numbers::new(program),
            rows: SharedRows::default(),
            flights: HashMap::default(),
            arrived: arrivals.0.iter().map(|_| Arrived::default()).collect(),
            requests: 0,
        };
        Self(Arc::new(Whole { arrivals, tells, shared: Mutex::new(shared) }))
    }

    /// The driver of a part, from zero. Each part has one driver.
    pub fn part(&self, number: usize) -> SwitchPart<D> {
        let part = Part::new(number, self.0.arrivals.0.len());
        SwitchPart { whole: Arc::clone(&self.0), part, arrived: Arrived::default(), tickets: 0 }
    }
}

impl<D: SwitchDriver> SwitchPart<D> {
    /// Uses the driver of the whole switch.
    pub fn with_driver<R>(&self, act: impl FnOnce(&mut D) -> R) -> R {
        act(&mut self.whole.lock().driver)
    }

    /// The program of this part: it has a share of the tables and meters of rules, and all of other tables.
    pub fn program(&self) -> Program {
        self.whole.lock().numbers.program_of(self.part)
    }

    /// The bits of rules' numbers in this part.
    pub const fn number_bits(&self) -> u8 {
        self.part.number_bits()
    }

    fn fetch(&mut self, now: Time) {
        let part = self.part.number();
        if !self.whole.arrivals.take(part) && self.whole.tells {
            return;
        }
        let mut shared = self.whole.lock();
        shared.distribute(now, &self.whole.arrivals);
        if let Some(arrived) = shared.arrived.get_mut(part) {
            self.arrived.outcomes.append(&mut arrived.outcomes);
            self.arrived.links.append(&mut arrived.links);
            self.arrived.packets.append(&mut arrived.packets);
        }
    }
}

impl<D> Whole<D> {
    fn lock(&self) -> MutexGuard<'_, Shared<D>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: SwitchDriver> Shared<D> {
    /// Submits a request of a part. `false`: the switch has nothing to do for it.
    fn submit(&mut self, now: Time, part: Part, ticket: Ticket, request: Request) -> bool {
        self.requests += 1;
        let (request, kind) = match request {
            Request::Write(updates) => {
                let is_empty = updates.is_empty();
                let (mut sent, mut written) = (Vec::new(), Written::default());
                for (place, update) in updates.into_iter().enumerate() {
                    let update = self.numbers.update_on_switch(part, update);
                    let is_shared = !self.numbers.are_rules(&update);
                    let update = match is_shared {
                        true => self.rows.update(part, self.requests, update, &mut written.changes),
                        false => Some(update),
                    };
                    if let Some(update) = update {
                        sent.push(update);
                        written.places.push(place);
                    }
                }
                if sent.is_empty() && !is_empty {
                    return false;
                }
                (Request::Write(sent), Kind::Write(written))
            }
            Request::ReadDirect(keys) => {
                let on_switch = |key| self.numbers.key_on_switch(part, key);
                (Request::ReadDirect(keys.into_iter().map(on_switch).collect()), Kind::Other)
            }
            Request::ReadEntries { table } => {
                (Request::ReadEntries { table }, Kind::Rows(table, self.requests))
            }
            other @ (Request::ReadIndexed { .. } | Request::ReadRegister { .. } | Request::PacketOut(_)) => {
                (other, Kind::Other)
            }
        };
        let submitted = self.driver.submit(now, request);
        self.flights.insert(submitted, Flight { part, ticket, kind });
        true
    }

    /// Gives each part what has arrived for it.
    fn distribute(&mut self, now: Time, arrivals: &Arrivals) {
        while let Some(link) = self.driver.poll_link(now) {
            if link == (Link::Up { emptied: true }) {
                self.rows.lost();
            }
            self.arrived.iter_mut().for_each(|arrived| arrived.links.push_back(link));
            arrivals.tell();
        }
        while let Some((ticket, outcome)) = self.driver.poll(now) {
            let Some(Flight { part, ticket, kind }) = self.flights.remove(&ticket) else { continue };
            let outcome = self.outcome_of(part, kind, outcome);
            if let Some(arrived) = self.arrived.get_mut(part.number()) {
                arrived.outcomes.push_back((ticket, outcome));
                arrivals.tell_part(part.number());
            }
        }
        // A switch in front of software sends its controller no packets of rules.
        while let Some(packet) = self.driver.poll_packet(now) {
            self.arrived.iter_mut().take(1).for_each(|arrived| arrived.packets.push_back(packet.clone()));
            arrivals.tell_part(0);
        }
    }

    /// The outcome of a request for its part.
    fn outcome_of(&mut self, part: Part, kind: Kind, outcome: Outcome) -> Outcome {
        match (kind, outcome) {
            (Kind::Write(written), Err(error)) => {
                // Otherwise the part reads the tables.
                if error != DriverError::Uncertain {
                    self.rows.take_back(part, written.changes);
                }
                let DriverError::Rejected(mut rejected) = error else { return Err(error) };
                rejected.update = written.places.get(rejected.update).copied().unwrap_or(rejected.update);
                Err(rejected.into())
            }
            (Kind::Write(written), Ok(reply)) => {
                self.rows.settle(&written.changes);
                Ok(reply)
            }
            (Kind::Rows(table, _), Ok(Reply::Entries(entries))) if self.numbers.has_rules(table) => {
                let own = |entry: Entry| self.numbers.entry_of_part(part, entry);
                Ok(Reply::Entries(entries.into_iter().filter_map(own).collect()))
            }
            (Kind::Rows(table, before), Ok(Reply::Entries(entries))) => {
                Ok(Reply::Entries(self.rows.read(part, table, before, entries)))
            }
            (_, outcome) => outcome,
        }
    }
}

impl<D: SwitchDriver> SwitchDriver for SwitchPart<D> {
    fn submit(&mut self, now: Time, request: Request) -> Ticket {
        let ticket = Ticket(self.tickets);
        self.tickets += 1;
        if !self.whole.lock().submit(now, self.part, ticket, request) {
            self.arrived.outcomes.push_back((ticket, Ok(Reply::Done)));
        }
        ticket
    }

    fn poll(&mut self, now: Time) -> Option<(Ticket, Outcome)> {
        self.fetch(now);
        self.arrived.outcomes.pop_front()
    }

    fn next_event(&self) -> Option<Time> {
        let Arrived { outcomes, links, packets } = &self.arrived;
        if !(outcomes.is_empty() && links.is_empty() && packets.is_empty())
            || self.whole.arrivals.is_told(self.part.number())
        {
            return Some(Time::default());
        }
        if self.whole.tells { None } else { self.whole.lock().driver.next_event() }
    }

    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>> {
        self.fetch(now);
        self.arrived.packets.pop_front()
    }

    /// The first part has the frames of the switch.
    fn lost_packets(&self) -> u64 {
        if self.part.number() == 0 { self.whole.lock().driver.lost_packets() } else { 0 }
    }

    fn poll_link(&mut self, now: Time) -> Option<Link> {
        self.fetch(now);
        self.arrived.links.pop_front()
    }

    /// Other parts wait meanwhile.
    fn wait(&mut self, longest: Span) -> Option<Span> {
        if self.next_event() == Some(Time::default()) {
            return Some(Span::ZERO);
        }
        self.whole.lock().driver.wait(longest)
    }
}

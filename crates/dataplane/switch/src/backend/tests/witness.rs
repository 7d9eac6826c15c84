//! A driver that fails, and records the responses to the controller: the loss of a restart is known to the octet.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use causeway_types::{Span, Time};

use crate::Count;
use crate::driver::{
    DriverError, EntryKey, FaultInjector, FaultRates, Link, Outcome, Reply, Request, SwitchDriver, Ticket,
    Update,
};
use crate::model::upf::{Command, Upf};
use crate::model::{Model, State};

/// A counter: of an entry, or by index.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Cell {
    Entry(EntryKey),
    Index(u32, u32),
}

/// Counts after QoS enforcement that were reported to the controller, between two restarts of the switch.
#[derive(Debug, Default)]
pub(super) struct Book {
    restarts: usize,
    /// The counter by index of rule 0.
    first_bank: u32,
    told: HashMap<(usize, Cell), Count>,
    /// Packets that are transmitted by the FAR of an exhausted quota are counted there, and not reported: none of them
    /// can be lost.
    uncounted: HashSet<Cell>,
    /// The same at restarts.
    were_beside: HashSet<(usize, Cell)>,
    /// Counted packets whose counts are never reported.
    pub(super) lost: i64,
    /// Packets that the switch has dropped before it restarted.
    pub(super) dropped: u64,
    /// Lengths of the controller's frames that did not reach the switch.
    pub(super) undelivered: Vec<usize>,
}

#[derive(Debug)]
pub(super) struct Witness {
    inner: FaultInjector<Model<Upf>>,
    book: Arc<Mutex<Book>>,
    readings: HashMap<Ticket, (usize, Vec<Cell>)>,
    frames: HashMap<Ticket, usize>,
    /// The tables and counters of what is counted after QoS enforcement.
    egress: Vec<u32>,
}

impl Witness {
    pub(super) fn new(model: Model<Upf>, chances: FaultRates, lateness: Span, seed: u64) -> Self {
        let book = Arc::new(Mutex::new(Book::default()));
        let known = Arc::clone(&book);
        let program = model.state().program();
        let tables = program.tables.iter().filter(|table| is_egress(&table.name)).map(|table| table.id);
        let counters = program.counters.iter().filter(|counter| is_egress(&counter.name));
        let egress = tables.chain(counters.map(|counter| counter.id)).collect();
        let first = program.counters.iter().find(|counter| counter.name == "post_qos_0");
        book.lock().unwrap().first_bank = first.map_or(0, |counter| counter.id);
        let restart = move |model: &mut Model<Upf>, now: Time| {
            known.lock().unwrap().restart(model);
            model.restart(now);
        };
        let inner = FaultInjector::new(model, chances, lateness, seed).restarting(restart);
        Self { inner, book, readings: HashMap::new(), frames: HashMap::new(), egress }
    }

    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap()
    }

    pub(super) const fn faulty(&mut self) -> &mut FaultInjector<Model<Upf>> {
        &mut self.inner
    }

    /// Responses to a controller do not reach the next one.
    pub(super) fn forget(&mut self) {
        let book = Arc::clone(&self.book);
        book.lock().unwrap().succeed(self.inner.inner());
    }

    pub(super) const fn model(&mut self) -> &mut Model<Upf> {
        self.inner.inner()
    }
}

fn is_egress(name: &str) -> bool {
    name.starts_with("post_qos")
}

/// Octets before the outer header of a frame that the controller has routed.
const ROUTED: usize = 24;

/// The packet is transmitted in a tunnel for traffic after a quota: the TEID identifies it.
pub(super) fn is_beside(frame: &[u8], before: usize) -> bool {
    let outer = &frame[before..];
    outer[0] == 0x45 && outer[9] == 17 && outer.get(34..36) == Some(&[0x20, outer[35]]) && outer[35] >= 100
}

/// Packets that a switch has dropped.
pub(super) fn drops(state: &State) -> u64 {
    let counter = state.program().counters.iter().find(|counter| counter.name == "drops").unwrap();
    let counts = (0..counter.size as u32).filter_map(|index| state.indexed_count(counter.id, index));
    counts.map(|count| count.packets).sum()
}

impl Book {
    fn restart(&mut self, model: &Model<Upf>) {
        self.dropped += drops(model.state());
        for (cell, count) in self.counts(model) {
            if self.uncounted.contains(&cell) {
                self.were_beside.insert((self.restarts, cell));
            } else {
                self.lost += count - self.told(self.restarts, &cell);
            }
        }
        self.restarts += 1;
    }

    /// Another controller takes over: counts that were not reported before are not reported.
    fn succeed(&mut self, model: &Model<Upf>) {
        for (cell, count) in self.counts(model) {
            if !self.uncounted.contains(&cell) {
                self.lost += count - self.told(self.restarts, &cell);
            }
            self.told.insert((self.restarts, cell), Count { packets: count as u64, octets: 0 });
        }
    }

    /// Packets in all counters of rules.
    fn counts(&self, model: &Model<Upf>) -> Vec<(Cell, i64)> {
        let state = model.state();
        let tables = state.program().tables.iter().filter(|table| is_egress(&table.name));
        let entries = tables.filter_map(|table| state.entries(table.id)).flatten();
        let of_entries = entries.map(|entry| {
            (Cell::Entry(entry.key.clone()), state.direct_count(&entry.key).unwrap().packets as i64)
        });
        let counters = state.program().counters.iter();
        let counters = counters.filter(|counter| counter.table.is_none() && is_egress(&counter.name));
        let indices = counters.flat_map(|counter| (0..counter.size as u32).map(|index| (counter.id, index)));
        let by_index = indices.map(|(counter, index)| {
            let count = state.indexed_count(counter, index).unwrap().packets as i64;
            (Cell::Index(counter, index), count)
        });
        let all = of_entries.chain(by_index.filter(|(_, count)| *count > 0));
        // Packets from the controller are counted for rule 0, which is no rule.
        all.filter(|(cell, _)| *cell != Cell::Index(self.first_bank, 0)).collect()
    }

    pub(super) fn set_beside(&mut self, cells: HashSet<Cell>) {
        self.uncounted = cells;
    }

    fn told(&self, when: usize, cell: &Cell) -> i64 {
        self.told.get(&(when, cell.clone())).map_or(0, |count| count.packets as i64)
    }

    /// Counters that were requested after this many restarts.
    fn hear(
        &mut self,
        when: usize,
        cells: Vec<Cell>,
        counts: &[Option<Count>],
        is_egress: impl Fn(u32) -> bool,
    ) {
        for (key, count) in cells.into_iter().zip(counts) {
            let (Cell::Entry(EntryKey { table: place, .. }) | Cell::Index(place, _)) = key;
            let Some(count) = count.filter(|_| is_egress(place)) else { continue };
            if when < self.restarts && !self.were_beside.contains(&(when, key.clone())) {
                // It was recorded as lost, and the response is late.
                self.lost -= count.packets as i64 - self.told(when, &key);
            }
            self.told.insert((when, key), count);
        }
    }
}

impl SwitchDriver for Witness {
    fn submit(&mut self, now: Time, request: Request) -> Ticket {
        let when = self.book().restarts;
        if let Request::Write(updates) = &request {
            for update in updates {
                if let Update::Insert(entry) = update {
                    self.book().told.remove(&(when, Cell::Entry(entry.key.clone())));
                }
            }
        }
        let (cells, frame): (Option<Vec<Cell>>, _) = match &request {
            Request::ReadDirect(keys) => (Some(keys.iter().cloned().map(Cell::Entry).collect()), None),
            Request::ReadIndexed { counter, indices } => {
                (Some(indices.iter().map(|index| Cell::Index(*counter, *index)).collect()), None)
            }
            Request::PacketOut(frame) if is_beside(frame, ROUTED) => (None, None),
            Request::PacketOut(frame) => (None, Some((frame.len(), frame[14] == Command::Route as u8))),
            _ => (None, None),
        };
        let ticket = self.inner.submit(now, request);
        self.readings.extend(cells.map(|cells| (ticket, (when, cells))));
        if let Some((length, is_routed)) = frame {
            self.frames.insert(ticket, length);
            // It has just restarted.
            let state = self.inner.inner().state();
            let routes = state.program().table_named("tunnel_lpm").and_then(|table| state.entries(table.id));
            if is_routed && routes.is_some_and(|mut routes| routes.next().is_none()) {
                self.frames.remove(&ticket);
                self.book().undelivered.push(length);
            }
        }
        ticket
    }

    fn poll(&mut self, now: Time) -> Option<(Ticket, Outcome)> {
        let (ticket, outcome) = self.inner.poll(now)?;
        if let (Some((when, keys)), Ok(Reply::Counts(counts))) = (self.readings.remove(&ticket), &outcome) {
            self.book().hear(when, keys, counts, |table| self.egress.contains(&table));
        }
        let frame = self.frames.remove(&ticket);
        if outcome == Err(DriverError::Unavailable) {
            self.book().undelivered.extend(frame);
        }
        Some((ticket, outcome))
    }

    fn next_event(&self) -> Option<Time> {
        self.inner.next_event()
    }

    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>> {
        self.inner.poll_packet(now)
    }

    fn poll_link(&mut self, now: Time) -> Option<Link> {
        self.inner.poll_link(now)
    }
}

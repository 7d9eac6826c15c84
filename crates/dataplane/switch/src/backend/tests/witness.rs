//! A driver that fails, and what the controller was told of it: what a restart loses is known to the octet.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use causeway_types::{Span, Time};

use crate::Count;
use crate::driver::{
    Chances, DriverError, EntryKey, Faulty, Link, Outcome, Reply, Request, SwitchDriver, Ticket, Update,
};
use crate::model::Model;
use crate::model::upf::{Command, Upf};

/// What was counted after QoS enforcement and told, between one restart of the switch and the next.
#[derive(Debug, Default)]
pub(super) struct Book {
    restarts: usize,
    told: HashMap<(usize, EntryKey), Count>,
    /// Packets that were counted, and whose counts nobody will hear of.
    pub(super) lost: i64,
    /// Lengths of the controller's frames that did not get to the switch.
    pub(super) undelivered: Vec<usize>,
}

#[derive(Debug)]
pub(super) struct Witness {
    inner: Faulty<Model<Upf>>,
    book: Arc<Mutex<Book>>,
    readings: HashMap<Ticket, (usize, Vec<EntryKey>)>,
    frames: HashMap<Ticket, usize>,
    /// The tables of what is counted after QoS enforcement.
    egress: Vec<u32>,
}

impl Witness {
    pub(super) fn new(model: Model<Upf>, chances: Chances, lateness: Span, seed: u64) -> Self {
        let book = Arc::new(Mutex::new(Book::default()));
        let known = Arc::clone(&book);
        let tables = model.state().program().tables.iter();
        let egress =
            tables.filter(|table| table.name.starts_with("post_qos")).map(|table| table.id).collect();
        let restart = move |model: &mut Model<Upf>, now: Time| {
            known.lock().unwrap().restart(model);
            model.restart(now);
        };
        let inner = Faulty::new(model, chances, lateness, seed).restarting(restart);
        Self { inner, book, readings: HashMap::new(), frames: HashMap::new(), egress }
    }

    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap()
    }

    pub(super) const fn faulty(&mut self) -> &mut Faulty<Model<Upf>> {
        &mut self.inner
    }

    pub(super) const fn model(&mut self) -> &mut Model<Upf> {
        self.inner.inner()
    }
}

impl Book {
    fn restart(&mut self, model: &Model<Upf>) {
        let state = model.state();
        let tables = state.program().tables.iter().filter(|table| table.name.starts_with("post_qos"));
        for entry in tables.filter_map(|table| state.entries(table.id)).flatten() {
            let count = state.direct_count(&entry.key).unwrap().packets as i64;
            self.lost += count - self.told(self.restarts, &entry.key);
        }
        self.restarts += 1;
    }

    fn told(&self, when: usize, key: &EntryKey) -> i64 {
        self.told.get(&(when, key.clone())).map_or(0, |count| count.packets as i64)
    }

    /// Counters that were asked for after so many restarts.
    fn hear(
        &mut self,
        when: usize,
        keys: Vec<EntryKey>,
        counts: &[Option<Count>],
        is_egress: impl Fn(u32) -> bool,
    ) {
        for (key, count) in keys.into_iter().zip(counts) {
            let Some(count) = count.filter(|_| is_egress(key.table)) else { continue };
            if when < self.restarts {
                // It was taken for lost, and the answer comes late.
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
                    self.book().told.remove(&(when, entry.key.clone()));
                }
            }
        }
        let (keys, frame) = match &request {
            Request::ReadDirect(keys) => (Some(keys.clone()), None),
            Request::PacketOut(frame) => (None, Some((frame.len(), frame[14] == Command::Route as u8))),
            _ => (None, None),
        };
        let ticket = self.inner.submit(now, request);
        self.readings.extend(keys.map(|keys| (ticket, (when, keys))));
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

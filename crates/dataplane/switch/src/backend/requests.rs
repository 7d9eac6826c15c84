//! Requests to the driver: those in flight, and those that are due again later.

use std::collections::{BTreeMap, HashMap};

use causeway_types::{Seid, Span, Time};
use foldhash::fast::RandomState;

use super::operation::Operation;
use crate::SwitchPdr;
use crate::driver::{DriverError, Outcome, Request, SwitchDriver, Ticket};

/// The minimum time between two attempts without a configured delay, so that time advances in between.
pub(super) const TICK: Span = Span::from_micros(10);

/// The least delay before a write that the switch has refused is tried again.
pub(super) const REFUSAL_PAUSE: Span = Span::from_secs(1);

/// A request in flight.
#[derive(Clone, Debug)]
pub(super) enum InFlight {
    /// The updates of an operation.
    Write(Operation),
    /// The first background batch.
    BackgroundWrite,
    /// A table, to find out which updates were made.
    ReadBack(WriteOwner, u32),
    /// A pass of a side, and its counters.
    Pass(usize),
    /// Some of the counters of a pass of a side, by their indices in it.
    Cells(usize, Vec<usize>),
    /// Initial counter values of a side, before the numbers are used.
    CounterBases(usize, Vec<SwitchPdr>),
    /// The removal of entries that a pass of a side has read for the last time.
    Removal(usize, Vec<SwitchPdr>),
    /// A frame.
    Frame,
    /// The counters of drops.
    Drops,
    /// Application classes of these sessions, at their places.
    Classes(Vec<(Seid, u32)>),
    /// A table, for a reconciliation.
    Table(u32),
    /// The missing entries of a reconciliation.
    Units,
}

/// The owner of updates whose outcome is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WriteOwner {
    /// An operation.
    Operation(Operation),
    /// The first background batch.
    BackgroundWrite,
}

/// A retry.
#[derive(Clone, Copy, Debug)]
pub(super) enum Retry {
    /// Writes the remaining updates of an operation.
    Write(Operation),
    /// Writes the remaining updates of the first background batch.
    BackgroundWrite,
    /// Reads a table.
    ReadBack(WriteOwner, u32),
    /// Reads counters of a side.
    Pass(usize),
    /// Writes the rules of a session again, unchanged.
    Rewrite(Seid),
    /// Reconciles the switch with the desired state.
    Reconcile,
}

/// The driver, with the requests that it has not answered, and the retries that are not due.
#[derive(Debug)]
pub(super) struct Requests<D> {
    driver: D,
    flights: HashMap<Ticket, InFlight, RandomState>,
    /// The delay before a request that failed is tried again.
    delay: Span,
    retries: BTreeMap<(Time, u64), Retry>,
    /// Retries so far: it orders those of one time.
    scheduled: u64,
    unavailable: u64,
}

impl<D> Requests<D> {
    pub(super) fn new(driver: D, delay: Span) -> Self {
        Self {
            driver,
            flights: HashMap::default(),
            delay,
            retries: BTreeMap::new(),
            scheduled: 0,
            unavailable: 0,
        }
    }

    pub(super) const fn driver(&mut self) -> &mut D {
        &mut self.driver
    }

    pub(super) const fn driver_ref(&self) -> &D {
        &self.driver
    }

    /// Requests that failed because the switch was unreachable.
    pub(super) const fn unavailable(&self) -> u64 {
        self.unavailable
    }

    /// Whether all requests but frames have been answered.
    pub(super) fn is_idle(&self) -> bool {
        self.flights.values().all(|flight| matches!(flight, InFlight::Frame))
    }

    /// Schedules a retry after the configured delay.
    pub(super) fn retry(&mut self, now: Time, what: Retry) {
        self.retry_at(now + self.delay, what);
    }

    /// Schedules a retry of what the switch has refused: after the configured delay, but at least a second.
    pub(super) fn retry_refused(&mut self, now: Time, what: Retry) {
        self.retry_at(now + self.delay.max(REFUSAL_PAUSE), what);
    }

    /// Schedules a retry.
    pub(super) fn retry_at(&mut self, at: Time, what: Retry) {
        self.scheduled += 1;
        self.retries.insert((at, self.scheduled), what);
    }

    /// The next retry that is due.
    pub(super) fn poll_retry(&mut self, now: Time) -> Option<Retry> {
        let entry = self.retries.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(entry.remove())
    }

    /// When the next retry is due.
    pub(super) fn next_retry(&self) -> Option<Time> {
        self.retries.first_key_value().map(|((at, _), _)| *at)
    }

    /// Cancels the other retries.
    pub(super) fn keep_retries(&mut self, is_kept: impl Fn(&Retry) -> bool) {
        self.retries.retain(|_, retry| is_kept(retry));
    }

    /// When a request that fails now is tried again: after some time in any case.
    pub(super) fn later(&self, now: Time) -> Time {
        now + self.delay.max(TICK)
    }
}

impl<D: SwitchDriver> Requests<D> {
    /// Sends a request.
    pub(super) fn send(&mut self, now: Time, request: Request, flight: InFlight) {
        let ticket = self.driver.submit(now, request);
        self.flights.insert(ticket, flight);
    }

    /// The outcome of a request that has ended.
    pub(super) fn poll(&mut self, now: Time) -> Option<(InFlight, Outcome)> {
        loop {
            let (ticket, outcome) = self.driver.poll(now)?;
            if let Some(flight) = self.flights.remove(&ticket) {
                self.unavailable += u64::from(outcome == Err(DriverError::Unavailable));
                return Some((flight, outcome));
            }
        }
    }

    /// When the driver next has an outcome or a frame, if it knows.
    pub(super) fn next_event(&self) -> Option<Time> {
        self.driver.next_event()
    }
}

//! A driver that fails.

use std::collections::{HashMap, VecDeque};

use causeway_types::{Span, Time};
use foldhash::fast::RandomState;

use super::{DriverError, Link, Outcome, Request, SwitchDriver, Ticket};

/// How likely each fault is, of a thousand requests; together at most 1000.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultRates {
    /// The switch cannot be reached: nothing is done.
    pub unavailable: u16,
    /// All is done, and no answer comes.
    pub unanswered: u16,
    /// Only the first updates of a batch are made, and no answer comes: a driver without atomic batches.
    pub half: u16,
    /// The answer comes late.
    pub late: u16,
    /// The switch restarts empty, and the request is lost ([`FaultInjector::restarting`]).
    pub restart: u16,
}

/// Wraps a driver and lets requests fail, from a seed.
#[derive(Debug)]
pub struct FaultInjector<D> {
    inner: D,
    random: fastrand::Rng,
    chances: FaultRates,
    /// How late an answer may be.
    lateness: Span,
    tickets: u64,
    /// By the ticket of the wrapped driver.
    under_way: HashMap<Ticket, (Ticket, AnswerFate), RandomState>,
    failed: VecDeque<Ticket>,
    held: Vec<(Time, Ticket, Outcome)>,
    restart: Option<Restart<D>>,
    restarts: u64,
}

/// How a switch is restarted.
struct Restart<D>(Box<Restarting<D>>);

type Restarting<D> = dyn FnMut(&mut D, Time) + Send;

impl<D> std::fmt::Debug for Restart<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Restart")
    }
}

/// What becomes of an answer.
#[derive(Clone, Copy, Debug)]
enum AnswerFate {
    Delivered,
    Lost,
    Late(Span),
}

impl<D: SwitchDriver> FaultInjector<D> {
    /// Lets requests of a driver fail; late answers come up to `lateness` later.
    pub fn new(inner: D, chances: FaultRates, lateness: Span, seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        Self {
            inner,
            random,
            chances,
            lateness,
            tickets: 0,
            under_way: HashMap::default(),
            failed: VecDeque::new(),
            held: Vec::new(),
            restart: None,
            restarts: 0,
        }
    }

    /// How to restart the switch, which is done now and then.
    #[must_use]
    pub fn restarting(mut self, restart: impl FnMut(&mut D, Time) + Send + 'static) -> Self {
        self.restart = Some(Restart(Box::new(restart)));
        self
    }

    /// How often that was done.
    pub const fn restarts(&self) -> u64 {
        self.restarts
    }

    /// Other chances from now on.
    pub const fn set_chances(&mut self, chances: FaultRates) {
        self.chances = chances;
    }

    /// The driver that is wrapped.
    pub const fn inner(&mut self) -> &mut D {
        &mut self.inner
    }

    /// What is handed on of a request, and what becomes of the answer; `None`: it is not handed on.
    fn decide(&mut self, now: Time, request: Request) -> Option<(Request, AnswerFate)> {
        let FaultRates { unavailable, unanswered, half, late, restart } = self.chances;
        let mut drawn = self.random.u16(0..1000);
        let mut falls = |chance: u16| {
            let falls = drawn < chance;
            drawn = drawn.wrapping_sub(chance);
            falls
        };
        if falls(unavailable) {
            return None;
        }
        if falls(restart)
            && let Some(Restart(restart)) = &mut self.restart
        {
            restart(&mut self.inner, now);
            self.restarts += 1;
            return None;
        }
        if falls(unanswered) {
            return Some((request, AnswerFate::Lost));
        }
        if falls(half)
            && let Request::Write(mut updates) = request
        {
            updates.truncate(updates.len() / 2);
            return Some((Request::Write(updates), AnswerFate::Lost));
        } else if falls(late) {
            let late = self.lateness.mul_f64(self.random.f64());
            return Some((request, AnswerFate::Late(late)));
        }
        Some((request, AnswerFate::Delivered))
    }

    fn take_held(&mut self, now: Time) -> Option<(Ticket, Outcome)> {
        let due = self.held.iter().position(|(at, ..)| *at <= now)?;
        let (_, ticket, outcome) = self.held.remove(due);
        Some((ticket, outcome))
    }
}

impl<D: SwitchDriver> SwitchDriver for FaultInjector<D> {
    fn submit(&mut self, now: Time, request: Request) -> Ticket {
        let ticket = Ticket(self.tickets);
        self.tickets += 1;
        match self.decide(now, request) {
            None => self.failed.push_back(ticket),
            Some((request, fate)) => {
                let inner = self.inner.submit(now, request);
                self.under_way.insert(inner, (ticket, fate));
            }
        }
        ticket
    }

    fn poll(&mut self, now: Time) -> Option<(Ticket, Outcome)> {
        if let Some(ticket) = self.failed.pop_front() {
            return Some((ticket, Err(DriverError::Unavailable)));
        }
        while let Some((inner, outcome)) = self.inner.poll(now) {
            match self.under_way.remove(&inner) {
                Some((ticket, AnswerFate::Delivered)) => return Some((ticket, outcome)),
                Some((ticket, AnswerFate::Lost)) => return Some((ticket, Err(DriverError::Uncertain))),
                Some((ticket, AnswerFate::Late(late))) => self.held.push((now + late, ticket, outcome)),
                None => {}
            }
        }
        self.take_held(now)
    }

    fn next_event(&self) -> Option<Time> {
        let held = self.held.iter().map(|(at, ..)| *at).chain(self.inner.next_event()).min();
        if self.failed.is_empty() { held } else { Some(Time::default()) }
    }

    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>> {
        self.inner.poll_packet(now)
    }

    fn poll_link(&mut self, now: Time) -> Option<Link> {
        self.inner.poll_link(now)
    }

    fn wait(&mut self, longest: Span) -> Option<Span> {
        self.inner.wait(longest)
    }
}

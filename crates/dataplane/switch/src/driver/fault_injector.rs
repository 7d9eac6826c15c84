//! A driver that injects faults.

use std::collections::{HashMap, VecDeque};

use causeway_types::{Span, Time};
use foldhash::fast::RandomState;

use super::{DriverError, Link, Outcome, Request, SwitchDriver, Ticket};

/// The probability of each fault, per thousand requests; together at most 1000.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultRates {
    /// The switch cannot be reached: the request is not carried out.
    pub unavailable: u16,
    /// The request is carried out, and its response is lost.
    pub unanswered: u16,
    /// Only the first updates of a batch are made, and the response is lost: a driver without atomic batches.
    pub half: u16,
    /// The response is late.
    pub late: u16,
    /// The switch restarts empty, and the request is lost ([`FaultInjector::restarting`]).
    pub restart: u16,
}

/// Wraps a driver and injects faults, from a seed.
#[derive(Debug)]
pub struct FaultInjector<D> {
    inner: D,
    random: fastrand::Rng,
    chances: FaultRates,
    /// The longest delay of a response.
    lateness: Span,
    tickets: u64,
    /// Requests in flight, by the ticket of the wrapped driver.
    under_way: HashMap<Ticket, (Ticket, AnswerFate), RandomState>,
    failed: VecDeque<Ticket>,
    held: Vec<(Time, Ticket, Outcome)>,
    is_disconnected: bool,
    /// Frames of the switch that were lost meanwhile.
    lost_packets: u64,
    /// Changes of the connection that were not polled.
    links: VecDeque<Link>,
    restart: Option<Restart<D>>,
    restarts: u64,
}

/// The restart procedure of the switch.
struct Restart<D>(Box<Restarting<D>>);

type Restarting<D> = dyn FnMut(&mut D, Time) + Send;

impl<D> std::fmt::Debug for Restart<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Restart")
    }
}

/// What happens to a response.
#[derive(Clone, Copy, Debug)]
enum AnswerFate {
    Delivered,
    Lost,
    Late(Span),
}

impl<D: SwitchDriver> FaultInjector<D> {
    /// Wraps a driver; late responses are delayed by up to `lateness`.
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
            is_disconnected: false,
            lost_packets: 0,
            links: VecDeque::new(),
            restart: None,
            restarts: 0,
        }
    }

    /// Sets the restart procedure of the switch, which is called at random.
    #[must_use]
    pub fn restarting(mut self, restart: impl FnMut(&mut D, Time) + Send + 'static) -> Self {
        self.restart = Some(Restart(Box::new(restart)));
        self
    }

    /// The number of restarts.
    pub const fn restarts(&self) -> u64 {
        self.restarts
    }

    /// Sets other fault rates.
    pub const fn set_chances(&mut self, chances: FaultRates) {
        self.chances = chances;
    }

    /// The connection to the switch breaks: the outcome of requests in flight is unknown, later ones fail, and frames of the switch are
    /// lost. The switch goes on.
    pub fn disconnect(&mut self) {
        self.is_disconnected = true;
        self.links.push_back(Link::Down);
        self.under_way.values_mut().for_each(|(_, fate)| *fate = AnswerFate::Lost);
        self.held.iter_mut().for_each(|(.., outcome)| *outcome = Err(DriverError::Uncertain));
    }

    /// The connection is back, and the switch has the state that it had.
    pub fn reconnect(&mut self) {
        self.is_disconnected = false;
        self.links.push_back(Link::Up { emptied: false });
    }

    /// The wrapped driver.
    pub const fn inner(&mut self) -> &mut D {
        &mut self.inner
    }

    /// The part of a request that is passed on, and what happens to its response; `None`: nothing is passed on.
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
        let passed = if self.is_disconnected { None } else { self.decide(now, request) };
        match passed {
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
        if self.failed.is_empty() && self.links.is_empty() { held } else { Some(Time::default()) }
    }

    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>> {
        if self.is_disconnected {
            while self.inner.poll_packet(now).is_some() {
                self.lost_packets += 1;
            }
            return None;
        }
        self.inner.poll_packet(now)
    }

    fn lost_packets(&self) -> u64 {
        self.lost_packets + self.inner.lost_packets()
    }

    fn poll_link(&mut self, now: Time) -> Option<Link> {
        self.links.pop_front().or_else(|| self.inner.poll_link(now))
    }

    fn wait(&mut self, longest: Span) -> Option<Span> {
        self.inner.wait(longest)
    }
}

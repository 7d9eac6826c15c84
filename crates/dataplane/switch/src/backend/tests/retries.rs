//! A wait for one counter does not cause endless readings of others.

use causeway_model::Plan;
use causeway_p4::profiles;
use causeway_slowpath::Limits;
use causeway_types::{Seid, Span, Time};

use super::fixture::{START, session, topology};
use crate::backend::local_model::parts;
use crate::backend::{Config, Switch};
use crate::driver::{DriverError, Outcome, Program, Request, SwitchDriver, Ticket};
use crate::model::Model;
use crate::model::upf::Upf;

/// A switch whose counters before QoS enforcement cannot be read for a while.
struct Deaf {
    model: Model<Upf>,
    is_deaf: bool,
    requests: u32,
    before_qos: Vec<u32>,
    failed: Vec<Ticket>,
}

impl SwitchDriver for Deaf {
    fn submit(&mut self, now: Time, request: Request) -> Ticket {
        self.requests += 1;
        assert!(self.requests < 1000, "it is asked without end");
        let fails = self.is_deaf
            && matches!(&request, Request::ReadIndexed { counter, .. } if self.before_qos.contains(counter));
        let ticket = self.model.submit(now, request);
        self.failed.extend(fails.then_some(ticket));
        ticket
    }

    fn poll(&mut self, now: Time) -> Option<(Ticket, Outcome)> {
        let (ticket, outcome) = self.model.poll(now)?;
        let fails = self.failed.contains(&ticket);
        Some((ticket, if fails { Err(DriverError::Unavailable) } else { outcome }))
    }

    fn next_event(&self) -> Option<Time> {
        self.model.next_event()
    }

    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>> {
        self.model.poll_packet(now)
    }
}

// Input:  two sessions on a switch in profile `direct`; one ends, while the counters before QoS enforcement cannot be
//         read, and then can again.
// Output: the other side's counters are not read endlessly meanwhile; in the end no state of the session is left.
#[test]
fn one_side_does_not_read_on_while_the_other_tries_again() {
    let (model, program, config) =
        parts(&Program::from(&profiles::DIRECT), topology(), Limits::default()).unwrap();
    let counters = program.counters.iter().filter(|counter| counter.name.starts_with("pre_qos"));
    let before_qos = counters.map(|counter| counter.id).collect();
    let driver = Deaf { model, is_deaf: false, requests: 0, before_qos, failed: Vec::new() };
    let config = Config { retry: Span::from_millis(1), ..config };
    let mut switch = Switch::new(driver, &program, config).unwrap();
    for number in 0..2 {
        switch.submit(START, &Plan::install(Seid(number.into()), session(number).clone()));
        switch.run(START);
    }
    assert_eq!(switch.len().0, 2);
    switch.driver().is_deaf = true;
    switch.submit(START, &Plan::removal(Seid(1)));
    for step in 0..5 {
        switch.run(START + Span::from_millis(step));
    }
    assert_eq!(switch.len().0, 2);
    switch.driver().is_deaf = false;
    switch.run(START + Span::from_millis(10));
    assert_eq!(switch.len(), (1, 2));
}

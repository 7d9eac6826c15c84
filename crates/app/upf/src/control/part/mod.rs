//! A part of the control plane: a part of N4, and what belongs to its sessions. A packet thread that receives N4
//! (`upf.pfcp.accelerate`) has one between the turns of the control thread, which has all of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem;
use std::net::SocketAddr;

use causeway_dataplane::{Applied, ApplyError, Event, Op, Plan};
use causeway_fastpath::index::prefetch_at;
use causeway_model::{Pdr, SessionChange};
use causeway_n4::{self as n4, ApplyId, Node, Output};
use causeway_types::{Seid, Time};

use super::local_source::LocalSource;
use super::log::{LateLine, LateLines};
use super::n4_io::Datagrams;
use super::networks::Networks;
use super::sockets::Sockets;
use crate::worker::{N4Exchange, PlanQueue, Report};

/// A part of N4 with what belongs to its sessions.
pub(crate) struct ControlPart {
    /// While the control thread has it, this is what is in its place.
    pub(super) n4: Box<n4::Part>,
    /// Its number, which is that of its packet thread.
    number: usize,
    pub(super) plans: PlanQueue<ApplyId>,
    pub(super) networks: Networks,
    datagrams: Datagrams,
    /// Plans of the present turn.
    unplaced: UnplacedPlans,
    routed: RoutedPlans,
    /// What the control thread has to do.
    pub(super) left: Left,
    /// Datagrams for other parts, each with the number of its part.
    pub(super) for_others: Vec<(usize, Received)>,
    /// The number of datagrams that the packet thread has handled.
    pub(super) handled: u64,
    /// The number of datagrams for other parts that were lost, since too many waited for their threads.
    pub(super) lost: u64,
}

/// A datagram that was received at this time from this peer, and where.
pub(super) type Received = (Time, SocketAddr, LocalSource, Vec<u8>);

/// What a packet thread has left to the control thread.
#[derive(Default)]
pub(super) struct Left {
    /// Outputs of N4, in order, with plans that [`ControlPart::note_plan`] knows. Later ones have to wait for them.
    pub(super) outputs: VecDeque<Output>,
    /// Results of plans and events that concern another part, or all of them, in order.
    pub(super) reports: VecDeque<Report<ApplyId>>,
    /// Datagrams of which N4 in the thread has not handled everything.
    pub(super) datagrams: VecDeque<Received>,
    /// What is to be logged.
    pub(super) lines: LateLines,
}

impl Left {
    /// The next thing is for the control thread: nothing of this part comes before it.
    fn comes_first(&self) -> bool {
        !self.outputs.is_empty() || !self.datagrams.is_empty()
    }

    /// There is something.
    fn is_any(&self) -> bool {
        self.comes_first() || !self.reports.is_empty() || !self.lines.is_empty()
    }
}

/// Plans of the present turn that no thread was given yet.
#[derive(Default)]
struct UnplacedPlans {
    plans: Vec<(ApplyId, Plan)>,
    /// The threads for them.
    threads: Vec<Result<usize, ApplyError>>,
}

impl UnplacedPlans {
    /// Finds the threads that have to apply the plans.
    fn assign(&mut self, plans: &mut PlanQueue<ApplyId>) {
        plans.assign(&self.plans, &mut self.threads);
    }

    /// The plans, each with its thread, or why none can apply it.
    fn drain(&mut self) -> impl Iterator<Item = (ApplyId, Plan, Result<usize, ApplyError>)> {
        self.plans.drain(..).zip(self.threads.drain(..)).map(|((id, plan), thread)| (id, plan, thread))
    }

    /// The memory of these, which are given to threads, serves the next ones.
    fn take_memory_of(&mut self, placed: Self) {
        self.threads = placed.threads;
        if self.plans.is_empty() {
            self.plans = placed.plans;
        }
    }
}

/// The plans of sessions with framed routes, which wait for kernel routes: the control thread submits them, and has their results.
#[derive(Default)]
struct RoutedPlans {
    /// The sessions that had a plan with a framed route, and have not ended since.
    sessions: BTreeSet<Seid>,
    /// Plans in flight with their session, which ends with a removal that is done, and with an installation that is not.
    in_flight: BTreeMap<ApplyId, (Seid, Option<bool>)>,
}

impl RoutedPlans {
    /// Notes a plan. Returns whether it is one of them.
    fn submit(&mut self, id: ApplyId, plan: &Plan) -> bool {
        let has_routes = |pdr: &Pdr| !pdr.pdi.routes.is_empty();
        let is_one = match &plan.change {
            SessionChange::Install(session) => session.profile().rules().pdrs.values().any(has_routes),
            // Routes are no session parameters.
            SessionChange::Rebind(_) => false,
            SessionChange::Update(ops) => {
                self.sessions.contains(&plan.session)
                    || ops.iter().any(|op| matches!(op, Op::PutPdr(pdr) if has_routes(pdr)))
            }
            SessionChange::Remove => self.sessions.contains(&plan.session),
        };
        if is_one {
            self.sessions.insert(plan.session);
            let ends_if_done = match &plan.change {
                SessionChange::Install(_) => Some(false),
                SessionChange::Remove => Some(true),
                SessionChange::Rebind(_) | SessionChange::Update(_) => None,
            };
            self.in_flight.insert(id, (plan.session, ends_if_done));
        }
        is_one
    }

    /// The result of this plan is for the control thread.
    fn has(&self, id: ApplyId) -> bool {
        !self.in_flight.is_empty() && self.in_flight.contains_key(&id)
    }

    /// The result of a plan.
    fn complete(&mut self, id: ApplyId, is_done: bool) {
        if let Some((session, ends_if_done)) = self.in_flight.remove(&id)
            && ends_if_done == Some(is_done)
        {
            self.sessions.remove(&session);
        }
    }
}

impl ControlPart {
    /// The part of this number. `n4` is in the place of its part of N4.
    pub(super) fn new(
        number: usize,
        n4: Box<n4::Part>,
        plans: PlanQueue<ApplyId>,
        networks: Networks,
        datagrams: Datagrams,
    ) -> Self {
        Self {
            n4,
            number,
            plans,
            networks,
            datagrams,
            unplaced: UnplacedPlans::default(),
            routed: RoutedPlans::default(),
            left: Left::default(),
            for_others: Vec::new(),
            handled: 0,
            lost: 0,
        }
    }

    /// A new plan. Returns whether it may have to wait for kernel routes.
    pub(super) fn note_plan(&mut self, id: ApplyId, plan: &Plan) -> bool {
        self.networks.submitted(id, plan);
        if let Some(session) = plan.change.installed()
            && let Some(outside) = self.networks.address_outside(session)
        {
            self.left.lines.push(LateLine::Outside(plan.session, outside));
        }
        self.routed.submit(id, plan)
    }

    /// The result of a plan. Returns whether the plan may have changed the QoS flows of its session.
    pub(super) fn note_result(&mut self, id: ApplyId, result: &Result<Applied, ApplyError>) -> bool {
        let is_gone = matches!(result, Ok(_) | Err(ApplyError::UnknownSession(_)));
        self.plans.completed(id, result.is_ok());
        self.networks.applied(id, result.is_ok(), is_gone);
        self.routed.complete(id, result.is_ok() || is_gone);
        self.networks.take_change(id)
    }

    /// Takes what sockets have for N4 and the log.
    pub(super) fn take_back(&mut self, sockets: &mut Sockets) {
        sockets.spare.drain(..).for_each(|octets| self.n4.recycle(octets));
        let errors = sockets.take_error().map(LateLine::NotReceived).into_iter();
        let unsent = sockets.unsent.drain(..).map(|(to, error)| LateLine::Unsent(to, error));
        errors.chain(unsent).for_each(|line| self.left.lines.push(line));
    }
}

/// What a packet thread does.
impl ControlPart {
    /// The next thing is for the control thread.
    pub(super) fn is_for_control_thread(&self) -> bool {
        self.left.comes_first() || self.n4.is_undecided()
    }

    /// The control thread has to have a turn soon: before its timer fires at `timer`, if it does.
    pub(super) fn needs_control_thread(&self, timer: Option<Time>) -> bool {
        let is_late = || match (self.n4.next_timer(), timer) {
            (Some(due), Some(timer)) => due < timer,
            (due, timer) => due.is_some() && timer.is_none(),
        };
        self.left.is_any() || self.n4.concerns_node() || is_late()
    }

    /// Handles the reports of the packet thread, then the datagrams that others have received for it, and those that it has received, up to something
    /// that is for the control thread. Returns their number. The responses are queued at its sockets.
    pub(super) fn turn(
        &mut self,
        node: &Node,
        now: Time,
        (sockets, from_others): (&mut Sockets, &mut VecDeque<Received>),
        exchange: &mut N4Exchange<ApplyId>,
    ) -> usize {
        self.take_back(sockets);
        // Plans that others gave the thread come before those of this turn.
        let is_behind = exchange.has_commands();
        self.plans.expect(&exchange.reports);
        while let Some(report) = exchange.reports.pop_front() {
            self.report(node, now, report);
            self.take_outputs();
        }
        let mut count = 0;
        while !self.is_for_control_thread()
            && let Some((at, from, source, datagram)) = from_others.pop_front()
        {
            self.count(node, &mut count);
            self.datagram(node, (now, at), (from, source), &datagram);
        }
        while !self.is_for_control_thread() {
            if let Some(following) = sockets.peek_next() {
                self.n4.prefetch(following, prefetch_at);
            }
            let Some((from, source, datagram)) = sockets.take() else { break };
            self.count(node, &mut count);
            self.datagram(node, (now, now), (from, source), datagram);
        }
        self.place_plans(is_behind, node, now, exchange);
        self.n4.expire(now);
        self.n4.publish(node);
        self.plans.wake();
        self.datagrams.give_queued(sockets);
        count
    }

    /// Counts a datagram of a turn. The other parts learn in time how many sessions there are.
    fn count(&self, node: &Node, count: &mut usize) {
        *count += 1;
        if count.is_multiple_of(n4::Part::MOST_DATAGRAMS) {
            self.n4.publish(node);
        }
    }

    /// Handles a datagram that arrived at this time. One that begins with a message for another part is left to that, and the rest of one
    /// that the part has begun to the control thread: it does not go back and forth.
    fn datagram(
        &mut self,
        node: &Node,
        (now, at): (Time, Time),
        (from, source): (SocketAddr, LocalSource),
        datagram: &[u8],
    ) {
        self.datagrams.received(at, from, source, datagram, |ip| node.is_smf(ip));
        let rest = self.n4.datagram(node, now, from, datagram);
        self.handled += u64::from(rest.len() < datagram.len());
        if !rest.is_empty() || datagram.is_empty() {
            let left = (at, from, source, rest.to_vec());
            let is_begun = rest.len() < datagram.len();
            match self.n4.part_of(rest).filter(|part| *part != self.number && !is_begun) {
                Some(part) => self.for_others.push((part, left)),
                None => self.left.datagrams.push_back(left),
            }
        }
        self.take_outputs();
    }

    fn report(&mut self, node: &Node, now: Time, report: Report<ApplyId>) {
        match report {
            Report::Applied(id, result) if id.part() == self.number && !self.routed.has(id) => {
                self.applied(node, now, id, result);
            }
            Report::Event(event) if event.session().is_some_and(|session| self.n4.has(session)) => {
                if matches!(event, Event::ClassChange { .. }) {
                    self.left.lines.push(LateLine::Event(event.clone()));
                }
                // One about a session does not concern the node.
                let _ = self.n4.event(node, now, event);
            }
            report => self.left.reports.push_back(report),
        }
    }

    fn applied(&mut self, node: &Node, now: Time, id: ApplyId, result: Result<Applied, ApplyError>) {
        let changes_flows = self.note_result(id, &result);
        self.n4.applied(node, now, id, result);
        if changes_flows && let Some(rules) = self.n4.rules_at(id.session_index()) {
            self.networks.set_qos_flows(id.session_index(), &rules);
        }
    }

    /// Executes the outputs of N4, up to one that is for the control thread. Plans are kept for [`ControlPart::place_plans`].
    fn take_outputs(&mut self) {
        while let Some(output) = self.n4.poll_output() {
            let is_routed = match &output {
                Output::Apply { id, plan } => self.note_plan(*id, plan),
                _ => false,
            };
            match output {
                output if is_routed || !self.left.outputs.is_empty() => self.left.outputs.push_back(output),
                Output::Send { to, bytes } => self.datagrams.queue(to, bytes),
                Output::Apply { id, plan } => self.unplaced.plans.push((id, plan)),
                output @ (Output::Applications(_) | Output::Notice(_)) => {
                    self.left.outputs.push_back(output);
                }
            }
        }
    }

    /// Gives the plans of the turn to their threads, all together: what the placement needs of them is prefetched.
    fn place_plans(&mut self, is_behind: bool, node: &Node, now: Time, exchange: &mut N4Exchange<ApplyId>) {
        // The result of a plan that no thread can apply may cause further ones.
        while !self.unplaced.plans.is_empty() {
            let mut placed = mem::take(&mut self.unplaced);
            placed.assign(&mut self.plans);
            for (id, plan, worker) in placed.drain() {
                match worker {
                    Ok(worker) if worker == self.number && !is_behind => exchange.plans.push_back((id, plan)),
                    // When the packet thread has ended, its last report ends the control thread, too.
                    Ok(worker) => drop(self.plans.apply_at(worker, id, plan)),
                    Err(error) => {
                        self.applied(node, now, id, Err(error));
                        self.take_outputs();
                    }
                }
            }
            self.unplaced.take_memory_of(placed);
        }
    }
}

#[cfg(test)]
pub(super) mod tests;

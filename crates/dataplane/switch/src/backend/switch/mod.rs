//! The backend: its components, and its main loop.

mod changes;
mod classes;
mod contract;
mod heavy_flows;
mod places;
mod recovering;
mod state;
mod usage;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

use causeway_dataplane::{Counters, Disposition, Egress, Event, Ingress, Plan, Topology};
use causeway_slowpath::lease::Software;
use causeway_slowpath::{SESSIONS_AT_A_TIME, SlowPath};
use causeway_types::{Span, Time};

use super::allocator::Allocator;
use super::application_classes::ApplicationClasses;
use super::compile_session::LookupKey;
use super::config::Config;
use super::cpu_port::CpuPortFrame;
use super::heavy_flows::HeavyFlows;
use super::layout::Layout;
use super::notice::{Cause, Notice};
use super::operation::{Operation, Operations, Progress};
use super::packet_io::PacketIo;
use super::reader::Reader;
use super::recovery::Recovery;
use super::requests::{InFlight, Requests, Retry};
use super::sessions::Sessions;
use super::start::{StartError, access, bootstrap, fixed_entries};
use super::writer::{Writer, read_table};
use places::Placing;

use crate::driver::{Outcome, Program, SwitchDriver, Update};
use crate::heavy_hitters;
use crate::model::upf::Punt;
pub use places::Counted;

/// A UPF on a switch.
///
/// Its components have their state for themselves, and none calls another one's driver requests: this type passes
/// what one returns to the next.
#[derive(Debug)]
pub struct Switch<D> {
    layout: Arc<Layout>,
    config: Arc<Config>,
    /// The software behind the switch.
    software: Box<dyn Software>,
    requests: Requests<D>,
    sessions: Sessions,
    operations: Operations,
    allocator: Allocator,
    writer: Writer,
    reader: Reader,
    recovery: Recovery,
    classes: ApplicationClasses,
    heavy: HeavyFlows,
    packet_io: PacketIo,
    /// The driver has told that the switch is unreachable, or has another controller.
    is_away: bool,
    notices: VecDeque<Notice>,
    /// The fate of the packet that the software has handled last.
    last_fate: Option<Disposition>,
    placing: Placing,
    /// Sessions whose timers may still expire in the present call; 0: those of others may be late.
    timers_left: usize,
}

impl<D: SwitchDriver> Switch<D> {
    /// A UPF on a switch with this program: an empty one, unless its driver reports otherwise
    /// ([`Link`](crate::driver::Link)). It begins to write the entries that belong to no session; operations wait for
    /// them.
    ///
    /// # Errors
    /// The program or the configuration is invalid.
    pub fn new(driver: D, program: &Program, config: Config) -> Result<Self, StartError> {
        let software = SlowPath::new(config.topology.clone(), config.limits);
        Self::with_software(driver, program, config, Box::new(software))
    }

    /// The same, with this software behind the switch, which has the topology of the configuration.
    ///
    /// # Errors
    /// The program or the configuration is invalid.
    pub fn with_software(
        driver: D,
        program: &Program,
        config: Config,
        mut software: Box<dyn Software>,
    ) -> Result<Self, StartError> {
        software.leave_timers();
        let layout = Arc::new(Layout::new(program)?);
        if !config.topology.gtpu.iter().any(|end| end.addr.v4.is_some()) {
            return Err(StartError::NoAddress);
        }
        let (ranges, templates) = bootstrap(&layout, &config)?;
        let fixed = fixed_entries(&layout, &config)?;
        let config = Arc::new(config);
        let allocator = Allocator::new(&layout, &config, ranges, &fixed);
        let recovery = Recovery::new(&layout, &config, fixed)?;
        let mut writer = Writer::new(&layout, config.attempts);
        writer.guard(recovery.has_firewall());
        writer.background().push(recovery.base_entries().into_iter().map(Update::Insert).collect());
        writer.background().push(templates);
        Ok(Self {
            software,
            requests: Requests::new(driver, config.retry),
            sessions: Sessions::default(),
            operations: Operations::default(),
            allocator,
            writer,
            reader: Reader::new(&layout, &config, access(&layout, &config)),
            recovery,
            classes: ApplicationClasses::new(program, config.pace),
            heavy: HeavyFlows::new(heavy_hitters::are_in(program) && !config.places),
            packet_io: PacketIo::new(&layout, &config),
            is_away: false,
            layout,
            config,
            notices: VecDeque::new(),
            last_fate: None,
            placing: Placing::default(),
            timers_left: SESSIONS_AT_A_TIME,
        })
    }

    /// Starts a change of a session. [`Switch::poll`] returns its progress; until it ends, later ones of the session
    /// wait.
    pub fn submit(&mut self, now: Time, plan: &Plan) -> Operation {
        self.expire_late_timers(now, plan.session);
        let operation = self.enqueue(plan.session, Some(plan.clone()));
        self.run_without_path_timers(now);
        operation
    }

    /// The next progress of an operation, oldest first.
    pub fn poll(&mut self, now: Time) -> Option<Progress> {
        if !self.operations.has_progress() {
            self.run_without_path_timers(now);
        }
        self.operations.poll()
    }

    /// Abandons an operation: it is not carried out, unless it was already.
    pub fn abandon(&mut self, operation: Operation) {
        self.operations.abandon(operation);
    }

    /// Makes all progress that is possible: responses of the switch, frames of its CPU port, writes, readings, timers. Of
    /// sessions with a timer that is due, [`SESSIONS_AT_A_TIME`] at most begin to expire; [`Switch::next_deadline`] shows whether
    /// there are others.
    pub fn run(&mut self, now: Time) {
        self.run_without_path_timers(now);
        if self.software.next_path_timer().is_some_and(|at| at <= now) {
            self.software.advance_paths(now);
            self.send_from_software(now);
            self.run_further(now);
        }
    }

    /// The same without the timers of GTP-U paths, which expire between packets and plans only.
    pub fn run_without_path_timers(&mut self, now: Time) {
        self.timers_left = SESSIONS_AT_A_TIME;
        self.run_further(now);
    }

    /// The same after a call for the same time: both together expire the timers of as many sessions as one call does.
    pub fn run_further(&mut self, now: Time) {
        self.reader.wake();
        while self.run_one(now) {}
    }

    /// When [`Switch::run`] has work without new input; responses of a driver in real time may arrive earlier.
    pub fn next_deadline(&self) -> Option<Time> {
        self.next_step().into_iter().chain(self.software.next_path_timer()).min()
    }

    /// The same without the timers of GTP-U paths.
    fn next_step(&self) -> Option<Time> {
        let of_driver = self.requests.next_event();
        if self.recovery.is_in_progress() {
            let retry = self.recovery.next_retry().filter(|_| self.requests.is_idle() && !self.is_away);
            return of_driver.into_iter().chain(retry).min();
        }
        let has_numbers = self.sessions.len().1 > 0;
        let own = [
            of_driver,
            self.software.next_session_timer().filter(|_| !self.reader.has_waiting_timers()),
            self.requests.next_retry(),
            self.reader.next_deadline(has_numbers),
            self.classes.next_deadline(|seid| self.sessions.is_at_rest(seid)),
            self.heavy.next_deadline(has_numbers),
        ];
        own.into_iter().flatten().min()
    }

    /// Reads all present counters as soon as possible.
    pub fn read_all_counters(&mut self) {
        self.reader.read_all();
    }

    /// The next event for the control plane, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.heavy.poll_event().or_else(|| self.software.poll_event())
    }

    /// The next notice for the operator, oldest first.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// The topology that it was built with, with the present addresses of the host.
    pub fn topology(&self) -> &Topology {
        self.software.topology()
    }

    /// The software behind the switch. Its rules change by plans of the switch alone, except those of sessions that the
    /// switch does not have ([`Switch::has_session`]).
    pub fn software(&mut self) -> &mut dyn Software {
        &mut *self.software
    }

    /// The same, for queries.
    pub fn software_ref(&self) -> &dyn Software {
        &*self.software
    }

    /// The drops of the switch, as they were read last.
    pub const fn drops(&self) -> &Counters {
        self.reader.drops()
    }

    /// The driver.
    pub const fn driver(&mut self) -> &mut D {
        self.requests.driver()
    }

    /// The same, for queries.
    pub(super) const fn driver_ref(&self) -> &D {
        self.requests.driver_ref()
    }

    /// The number of sessions, and of rule numbers including those that have not retired.
    pub fn len(&self) -> (usize, usize) {
        self.sessions.len()
    }

    /// There is no session and no remaining state of one.
    pub fn is_empty(&self) -> bool {
        self.sessions.len() == (0, 0) && self.operations.is_empty()
    }

    /// Event counters since the start.
    pub fn statistics(&self) -> Statistics {
        let [done, refused] = self.operations.ended();
        let [read_back, rejected_background_writes] = self.writer.counts();
        let [reconciliations, restarted_counters] = self.recovery.counts();
        let of_classes = self.classes.counts();
        Statistics {
            done,
            refused,
            read_back,
            unavailable: self.requests.unavailable(),
            lost_counters: self.reader.lost_counters(),
            ignored_frames: self.packet_io.ignored(),
            unsent_frames: self.packet_io.unsent(),
            lost_frames: self.driver_ref().lost_packets(),
            rejected_background_writes,
            reconciliations,
            restarted_counters,
            class_changes: of_classes.changes,
            class_changes_found_by_reading: of_classes.found_by_reading,
            sessions_without_class_place: of_classes.without_place,
            sessions_classified_in_software: of_classes.in_software,
            heavy_hitters_found_by_reading: self.heavy.found_by_reading(),
        }
    }

    /// Makes one step; `false`: none is possible.
    fn run_one(&mut self, now: Time) -> bool {
        if self.poll_without_readers(now) {
            self.reader.wake();
            return true;
        }
        !self.recovery.is_in_progress() && self.reader.start_passes(now, &mut self.requests)
    }

    /// The same except for passes of readers.
    fn poll_without_readers(&mut self, now: Time) -> bool {
        // Outcomes after a link change may be of another switch than before.
        if let Some(link) = self.driver().poll_link(now) {
            self.handle_link(now, link);
            return true;
        }
        if let Some((flight, outcome)) = self.requests.poll(now) {
            self.handle_outcome(now, flight, outcome);
            return true;
        }
        if let Some(frame) = self.driver().poll_packet(now) {
            self.handle_frame(now, frame);
            return true;
        }
        if self.recovery.is_in_progress() {
            return self.continue_reconcile(now);
        }
        self.poll_retries(now)
            || self.writer.write_background(now, &mut self.requests)
            || self.begin(now)
            || self.queue_prepared(now)
            || self.write(now)
            || self.advance_classes()
            || self.step_application_classes(now)
            || self.step_heavy_flows(now)
            || self.expire_due_timers(now)
            || self.reader.start_drop_read(now, self.writer.has_writes(), &mut self.requests)
    }

    /// Handles the response to a request.
    fn handle_outcome(&mut self, now: Time, flight: InFlight, outcome: Outcome) {
        let is_reconciling = self.recovery.is_in_progress();
        match flight {
            InFlight::Write(operation) if is_reconciling => {
                self.write_ended_during_reconcile(now, operation, outcome.map(drop));
            }
            // All templates are compared, and all updates with unknown outcome.
            InFlight::BackgroundWrite | InFlight::ReadBack(..) if is_reconciling => {}
            // They are read again.
            InFlight::Drops if is_reconciling => self.reader.repeat_drop_read(),
            InFlight::Table(table) => {
                self.recovery.table_read(table, outcome, self.requests.later(now));
            }
            InFlight::Units => self.units_ended(now, outcome.map(drop)),
            InFlight::Write(operation) => self.write_ended(now, operation, outcome.map(drop)),
            InFlight::BackgroundWrite => self.background_write_ended(now, outcome.map(drop)),
            InFlight::ReadBack(whose, table) => {
                let rest = self.writer.table_read(now, whose, table, outcome, &mut self.requests);
                rest.into_iter().for_each(|operation| self.write_remaining(now, operation));
            }
            InFlight::Pass(side) => self.pass_ended(now, side, outcome),
            InFlight::Cells(side, places) => self.part_ended(now, side, &places, outcome),
            InFlight::Removal(side, numbers) => {
                let removed = if outcome.is_ok() { numbers } else { Vec::new() };
                self.removal_ended(now, side, &removed);
            }
            InFlight::CounterBases(side, numbers) => self.bases_ended(now, side, &numbers, outcome),
            InFlight::Drops => self.reader.drop_read_ended(outcome),
            InFlight::Classes(read) => self.classes_read(&read, outcome),
            InFlight::Frame => self.packet_io.sent(&outcome),
        }
    }

    /// Starts the next retry that is due.
    fn poll_retries(&mut self, now: Time) -> bool {
        let Some(retry) = self.requests.poll_retry(now) else { return false };
        match retry {
            Retry::Write(operation) => self.write_remaining(now, operation),
            Retry::BackgroundWrite => self.writer.restart_background(),
            Retry::ReadBack(whose, table) => read_table(now, whose, table, &mut self.requests),
            Retry::Pass(side) => self.reader.restart_pass(side),
            Retry::Rewrite(seid) => self.rewrite(seid),
            Retry::Reconcile if self.writer.background().refused().is_some() => {
                self.recovery.start(now, Cause::Refused);
            }
            Retry::Reconcile => {}
        }
        true
    }

    /// Handles a frame of the switch for its controller.
    fn handle_frame(&mut self, now: Time, frame: Vec<u8>) {
        let Some(parsed) = CpuPortFrame::parse(&frame) else { return self.packet_io.ignore() };
        if parsed.is(Punt::Arp) {
            return self.packet_io.answer(now, &parsed, &mut self.requests);
        }
        let rule = self.packet_io.rule_of(&parsed, &self.sessions);
        let session = rule.map(|rule| rule.session);
        if parsed.is(Punt::ApplicationClass) {
            return self.class_changed(session, parsed.of);
        }
        if parsed.is(Punt::HeavyHitter) {
            let of = rule.map(|rule| (rule.session, rule.pdr, rule.direction()));
            return self.heavy_flow_reported(now, of, parsed.of);
        }
        if let Some(operation) = rule.and_then(|rule| rule.fresh.or(rule.altering))
            && self.operations.holds_packets(operation)
        {
            if !self.operations.hold_frame(operation, frame) {
                self.packet_io.ignore();
            }
            return;
        }
        match self.packet_io.ingress_of(now, &parsed, &self.sessions, &mut *self.software) {
            Some((ingress, packet)) => {
                let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
                self.last_fate = Some(self.software.process(now, &ingress, &packet, &mut sent));
                self.send(now, sent);
                // It may have exhausted a quota.
                session.into_iter().for_each(|seid| self.update_for_quota(now, seid));
            }
            None => self.packet_io.ignore(),
        }
    }

    /// Sends the software's packets, in order.
    fn send_from_software(&mut self, now: Time) {
        let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
        self.software.flush(&mut sent);
        self.send(now, sent);
    }

    fn send(&mut self, now: Time, packets: Vec<(Egress, Vec<u8>)>) {
        if self.config.places {
            return self.placing.released.extend(packets);
        }
        let has_routes = !self.is_away && !self.recovery.is_in_progress();
        self.packet_io.send(now, packets, has_routes, &mut self.requests);
    }
}

/// What a UPF in this process needs beside the contract.
impl<D> Switch<D> {
    /// Reads the counters at this interval.
    pub(super) const fn set_counter_interval(&mut self, interval: Span) {
        self.reader.set_pace(Some(interval));
        self.classes.set_interval(interval);
    }

    /// Octets after QoS enforcement are those of received frames.
    pub(super) const fn set_received_octets(&mut self) {
        self.reader.set_counts_as_received();
    }

    /// The fate of the packet that the software has handled last, since this was called.
    pub(super) const fn take_last_fate(&mut self) -> Option<Disposition> {
        self.last_fate.take()
    }

    /// The counter of drops by reason.
    pub(in crate::backend) fn drop_counter(&self) -> u32 {
        self.layout.drops
    }

    /// The key of packets to this address that a data network sends.
    pub(super) fn key_of(&self, ingress: &Ingress, to: IpAddr) -> Option<LookupKey> {
        let Ingress::Ip { network } = ingress else { return None };
        let tenant = self.config.tenant_of(network)?;
        Some(match to {
            IpAddr::V4(ip) => LookupKey::V4(tenant, ip),
            IpAddr::V6(ip) => LookupKey::V6(tenant, (u128::from(ip) >> 64) as u64),
        })
    }

    /// Whether packets with this key belong to a session.
    pub(super) fn has_key(&self, key: &LookupKey) -> bool {
        self.allocator.has_key(key)
    }
}

/// Event counters since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Operations that succeeded.
    pub done: u64,
    /// Operations that were refused.
    pub refused: u64,
    /// Batches whose outcome had to be read from the switch.
    pub read_back: u64,
    /// Requests that failed because the switch was unreachable.
    pub unavailable: u64,
    /// Counters of rules in use that were missing: the switch has lost them.
    pub lost_counters: u64,
    /// Frames for the control plane that were ignored.
    pub ignored_frames: u64,
    /// Frames of the software that the switch did not get: it was unreachable, and too many waited for it.
    pub unsent_frames: u64,
    /// Frames of the CPU port that the driver has lost: too many waited to be handled.
    pub lost_frames: u64,
    /// Writes of templates and routes that the switch refused.
    pub rejected_background_writes: u64,
    /// Reconciliations of the switch with the desired state.
    pub reconciliations: u64,
    /// Counters that started from zero then: their counts since the last reading are lost.
    pub restarted_counters: u64,
    /// Changes of sessions' application classes.
    pub class_changes: u64,
    /// Those that were found by reading, since the copy of the packet was lost.
    pub class_changes_found_by_reading: u64,
    /// Sessions that asked for the class of their traffic when no place was free: they were in the software, until one was.
    pub sessions_without_class_place: u64,
    /// Sessions that asked, with rules or a model that the switch cannot carry out: they are in the software.
    pub sessions_classified_in_software: u64,
    /// Heavy hitters that were found by reading counters, since the copy of the packet was lost.
    pub heavy_hitters_found_by_reading: u64,
}

#[cfg(test)]
mod observed {
    use causeway_types::Seid;

    use super::*;
    use crate::backend::notice::ReconcileResult;
    use crate::backend::recovery::{AtomicUpdate, DesiredState, ReadEntries};
    use crate::backend::session_state::SessionState;

    /// What tests observe.
    impl<D: SwitchDriver> Switch<D> {
        pub(in crate::backend) fn layout(&self) -> &Layout {
            &self.layout
        }

        /// The ids of the tables that the backend fills.
        pub(in crate::backend) fn tables(&self) -> Vec<u32> {
            self.layout.filled().map(|table| table.id).collect()
        }

        pub(in crate::backend) const fn sessions(&self) -> &Sessions {
            &self.sessions
        }

        pub(in crate::backend) fn session(&self, seid: u64) -> &SessionState {
            self.sessions.get(Seid(seid)).unwrap()
        }

        pub(in crate::backend) fn free_meters(&self) -> [usize; 2] {
            self.allocator.free_meters()
        }

        /// The software sends these packets.
        pub(in crate::backend) fn send_now(&mut self, now: Time, packets: Vec<(Egress, Vec<u8>)>) {
            self.send(now, packets);
        }

        pub(in crate::backend) const fn set_most_swept(&mut self, most: usize) {
            self.heavy.set_most_swept(most);
        }

        pub(in crate::backend) const fn set_drain(&mut self, drain: Span) {
            self.reader.set_drain(drain);
        }

        pub(in crate::backend) fn differences(&mut self, found: ReadEntries) -> Vec<AtomicUpdate> {
            self.writer.background().forget();
            let mut desired = DesiredState {
                allocator: &self.allocator,
                writer: &self.writer,
                sessions: &mut self.sessions,
                reader: &mut self.reader,
            };
            let mut report = ReconcileResult::new(Cause::Up);
            self.recovery.differences(&mut desired, found, false, &mut report).into()
        }
    }
}

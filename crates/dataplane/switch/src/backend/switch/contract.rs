//! Implements the data plane contract, which waits for the switch.

use std::sync::Arc;
use std::task::Poll;

use causeway_dataplane::{
    Applied, ApplyError, BackendError, Capabilities, Counters, Dataplane, Event, GtpuPath, HeavyHitterList,
    HeavyHitterSettings, HostReachability, NamedCounter, Plan, PlanId, PollApplied, SessionClasses, Settings,
};
use causeway_model::{ApplicationId, Applications};
use causeway_types::{Seid, Span, Time, WallClock};

use super::Switch;
use crate::backend::operation::{Operation, Progress};
use crate::driver::SwitchDriver;

/// How often a driver in simulated time is polled.
const MAX_POLLS: u32 = 1_000_000;

/// How long each wait for another driver lasts.
const WAIT_STEP: Span = Span::from_millis(100);

impl<D: SwitchDriver> Switch<D> {
    /// Waits for an operation: in the driver's time if it is simulated, else in real time.
    fn wait_for(&mut self, now: Time, operation: Operation) -> Result<Applied, ApplyError> {
        let (start, mut now) = (now, now);
        let mut kept = Vec::new();
        for _ in 0..MAX_POLLS {
            match self.poll(now) {
                Some(Progress::Done(done, result)) if done == operation => {
                    self.operations.put_back(kept);
                    return result;
                }
                Some(other) => kept.push(other),
                None => {
                    let next = self.next_step().map(|next| next.max(now));
                    let longest = next.map_or(WAIT_STEP, |next| next.since(now).min(WAIT_STEP));
                    now = match self.driver().wait(longest) {
                        Some(_) if now.since(start) > self.config.patience => break,
                        Some(rested) => now + rested,
                        None => next.unwrap_or(now),
                    };
                }
            }
        }
        self.abandon(operation);
        self.operations.put_back(kept);
        Err(BackendError::TimedOut.into())
    }
}

impl<D: SwitchDriver> Dataplane for Switch<D> {
    fn capabilities(&self) -> Capabilities {
        let (software, by_software) = (self.software.capabilities(), self.config.falls_back);
        Capabilities {
            outer_ipv4: true,
            outer_ipv6: false,
            qer_correlation: by_software,
            packet_rate: by_software,
            paging_by_dscp: by_software,
            ethernet: false,
            application_detection: false,
            application_classes: self.classes.are_there() && !self.config.places,
            duplication: by_software,
            redirection: by_software,
            address_replacement: by_software,
            header_enrichment: by_software,
            traffic_steering: false,
            ..software
        }
    }

    fn submit(&mut self, now: Time, id: PlanId, plan: &Plan) -> PollApplied {
        let operation = Self::submit(self, now, plan);
        self.operations.set_plan_id(operation, id);
        Poll::Pending
    }

    fn poll_applied(&mut self, now: Time) -> Option<(PlanId, Result<Applied, ApplyError>)> {
        while let Some(progress) = self.poll(now) {
            if let Progress::Done(operation, result) = progress
                && let Some(id) = self.operations.take_plan_id(operation)
            {
                return Some((id, result));
            }
        }
        None
    }

    /// Waits in the driver's time if it is simulated, else in real time.
    fn apply(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError> {
        let operation = Self::submit(self, now, plan);
        self.wait_for(now, operation)
    }

    /// Of applications only classes of traffic are detected, if the program finds them.
    fn set_applications(&mut self, applications: &Arc<Applications>) {
        self.software.set_applications(applications);
        self.set_application_classes(applications);
    }

    /// The packets that the switch forwards count, over its window of 805 ms, whatever window and memory the settings have.
    fn set_heavy_hitters(&mut self, now: Time, settings: Option<&HeavyHitterSettings>) {
        self.look_for_heavy_flows(now, settings);
    }

    fn heavy_hitters(&self, _: Time) -> Option<HeavyHitterList> {
        self.heavy.list_of_flows()
    }

    /// The software has the class of each session, also of those that the switch measures: the one whose rules are in force.
    fn session_classes(&self) -> SessionClasses {
        self.software.session_classes()
    }

    fn application_class(&self, session: Seid) -> Option<ApplicationId> {
        self.software.application_class(session)
    }

    fn set_host_reachability(&mut self, host: &Arc<HostReachability>) {
        self.software.set_host_reachability(host);
        match self.recovery.close(host) {
            Ok(updates) => self.writer.background().push(updates),
            Err(notice) => self.notices.push_back(notice),
        }
    }

    fn set_wall_clock(&mut self, now: Time, clock: WallClock) {
        self.software.set_wall_clock(now, clock);
    }

    /// The tables hold nothing of the settings but the firewall, and the gateways, which UEs must not reach. A firewall that the switch
    /// cannot have is not put into force: the former one stays, on the switch and in the software, and the operator gets a notice.
    fn reconfigure(&mut self, now: Time, settings: &Arc<Settings>) {
        let (settings, notice) = self.recovery.possible(settings);
        self.notices.extend(notice);
        self.software.reconfigure(now, &settings);
        let (firewall, closed) = self.recovery.reconfigure(&settings);
        self.writer.guard(self.recovery.has_firewall());
        self.writer.background().push(firewall);
        match closed {
            Ok(updates) => self.writer.background().push(updates),
            Err(notice) => self.notices.push_back(notice),
        }
    }

    fn follow_paths(&mut self, now: Time, old: &[GtpuPath], new: &[GtpuPath]) {
        self.software.follow_paths(now, old, new);
    }

    fn poll_event(&mut self) -> Option<Event> {
        Self::poll_event(self)
    }

    fn next_deadline(&self) -> Option<Time> {
        Self::next_deadline(self)
    }

    fn advance(&mut self, now: Time) {
        self.run(now);
    }

    fn switch_events(&self) -> Vec<NamedCounter> {
        self.events()
    }

    /// The counters of the software, and the drops of the switch. Packets that the switch forwarded are in the counters
    /// of its ports.
    fn counters(&self) -> Counters {
        self.software.counters().with(self.drops())
    }
}

//! A P4 switch elsewhere as the data plane: its ports carry the packets, P4Runtime the rules.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use causeway_dataplane::{
    Applied, ApplyError, Capabilities, Counters, Dataplane, Disposition, DropReason, Event, HostReachability,
    Ingress, PacketEngine, Plan, Transmit,
};
use causeway_p4runtime::client::{Options, P4Runtime};
use causeway_ports::Waker;
use causeway_rules::Applications;
use causeway_switch::backend::{Config, Notice, Operation, Progress, Switch};
use causeway_types::{Time, WallClock};
use tracing::{info, warn};

use super::{ApplyState, RemoteError, TIMEOUT};

/// A switch by P4Runtime.
pub struct Remote {
    switch: Switch<P4Runtime>,
    /// Wakes the packet thread, once there is one, when the switch has something to say.
    waker: Arc<OnceLock<Waker>>,
    /// The latest time that it was told; `None` before the first.
    now: Option<Time>,
    /// Since when it is out of reach, or not what it should be yet.
    away: Option<Time>,
    /// Changes that are under way, in the order in which they began, and when each is given up.
    under_way: VecDeque<(Operation, Time)>,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").field("sessions", &self.switch.len().0).finish_non_exhaustive()
    }
}

impl Remote {
    /// Begins to connect. A switch that does not answer yet is no error.
    ///
    /// # Errors
    /// The files, the address, or what the program has no room for.
    pub fn new(options: Options, config: Config) -> Result<Self, RemoteError> {
        let waker: Arc<OnceLock<Waker>> = Arc::default();
        let wakes = Arc::clone(&waker);
        let wake = move || {
            if let Some(waker) = wakes.get() {
                waker.wake();
            }
        };
        let driver = P4Runtime::connect(options, Some(Box::new(wake)))?;
        let program = driver.program().clone();
        Ok(Self {
            switch: Switch::new(driver, &program, config)?,
            waker,
            now: None,
            away: None,
            under_way: VecDeque::new(),
        })
    }

    /// From now on this is woken.
    pub(in crate::worker) fn set_waker(&self, waker: Waker) {
        // There is one thread, which is started once.
        let _first = self.waker.set(waker);
    }

    /// Begins a change. Others go on meanwhile, those of the same session one after the other.
    pub(in crate::worker) fn begin(&mut self, now: Time, plan: &Plan) -> ApplyState {
        let now = self.poll(now);
        if self.away.is_some_and(|since| now.since(since) > TIMEOUT) {
            return ApplyState::Done(Err(ApplyError::Backend("the switch is out of reach".to_owned())));
        }
        let operation = self.switch.submit(now, plan);
        self.under_way.push_back((operation, now + TIMEOUT));
        ApplyState::UnderWay(operation)
    }

    /// A change that is over by now, or that has taken too long.
    pub(in crate::worker) fn poll_finished(
        &mut self,
        now: Time,
    ) -> Option<(Operation, Result<Applied, ApplyError>)> {
        let now = self.poll(now);
        while let Some(progress) = self.switch.poll(now) {
            let Progress::Done(operation, result) = progress else { continue };
            // One that was given up is nobody's.
            if let Some(place) = self.under_way.iter().position(|(known, _)| *known == operation) {
                self.under_way.remove(place);
                return Some((operation, result));
            }
        }
        let (operation, _) = *self.under_way.front().filter(|(_, until)| *until <= now)?;
        self.under_way.pop_front();
        self.switch.abandon(operation);
        Some((operation, Err(ApplyError::Backend("the switch did not answer".to_owned()))))
    }

    /// Lets the switch go on; the time that it is now, which never goes back.
    fn poll(&mut self, now: Time) -> Time {
        if self.now.is_none() {
            // It was never there yet.
            self.away = Some(now);
        }
        let now = self.now.map_or(now, |last| last.max(now));
        self.now = Some(now);
        self.switch.run(now);
        self.tell();
        now
    }

    /// Tells the operator what the switch went through.
    fn tell(&mut self) {
        while let Some(notice) = self.switch.poll_notice() {
            match notice {
                Notice::Refilled(_) => {
                    info!("{notice}");
                    self.away = None;
                }
                Notice::Down | Notice::Superseded => {
                    warn!("{notice}");
                    self.away = self.away.or(self.now);
                }
                Notice::Refused { .. } | Notice::Closed { .. } => warn!("{notice}"),
            }
        }
    }
}

impl Dataplane for Remote {
    fn capabilities(&self) -> Capabilities {
        self.switch.capabilities()
    }

    fn apply(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError> {
        let now = self.poll(now);
        self.switch.apply(now, plan)
    }

    fn set_applications(&mut self, applications: &Arc<Applications>) {
        self.switch.set_applications(applications);
    }

    fn set_host_reachability(&mut self, host: &Arc<HostReachability>) {
        self.switch.set_host_reachability(host);
    }

    fn set_wall_clock(&mut self, now: Time, clock: WallClock) {
        let now = self.poll(now);
        self.switch.set_wall_clock(now, clock);
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.switch.poll_event()
    }

    fn next_deadline(&self) -> Option<Time> {
        let first = self.under_way.front().map(|(_, until)| *until);
        self.switch.next_deadline().into_iter().chain(first).min()
    }

    fn advance(&mut self, now: Time) {
        self.poll(now);
    }

    /// Those of the software behind the switch, and what the switch has dropped.
    fn counters(&self) -> Counters {
        self.switch.counters()
    }
}

impl PacketEngine for Remote {
    /// No packet comes by ports of this machine.
    fn process(&mut self, _: Time, _: &Ingress, _: &[u8], _: &mut dyn Transmit) -> Disposition {
        Disposition::Dropped(DropReason::NoEgress)
    }

    fn flush(&mut self, _: &mut dyn Transmit) {}
}

//! The traits of a data plane.

use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Poll, Waker};

use causeway_model::{ApplicationId, Applications, Capabilities, PacketRateReport, Plan, Usage};
use causeway_packet::Batch;
use causeway_types::{NetworkInstance, Seid, Time, WallClock};

use crate::{
    ApplyError, BackendError, ColdStorageState, Counters, Disposition, Event, Explanation, HeavyHitterList,
    HeavyHitterSettings, HostReachability, Ingress, MemoryLosses, NamedCounter, PlacedRule, ReceiveSource,
    RestoredUrr, RulePlacement, SessionClasses, SessionState, Settings, SwitchState, Topology, Transmit,
    TransmitQueue,
};

/// A data plane as the control plane sees it.
///
/// `now` never goes back from one call to the next.
pub trait Dataplane {
    /// The capabilities of the data plane. They never change.
    fn capabilities(&self) -> Capabilities;

    /// Applies a plan, all or nothing: after an error the rules are unchanged. `Ready`: the plan has been applied or
    /// refused. `Pending`: it is in flight, and [`Dataplane::poll_applied`] returns its result with this `id`, which no
    /// other plan in flight has.
    ///
    /// Call [`Dataplane::advance`] with the same time first, so that events that are due precede the plan. Plans of
    /// different sessions may complete in any order, those of one session in the order of submission. Packets
    /// see the old rules or the new ones.
    ///
    /// Packets that the plan releases (buffered packets, End Markers) are transmitted by the backend's own ports, or at
    /// the next [`PacketEngine::flush`].
    ///
    /// # Errors
    /// [`ApplyError`] when a table is full, the session is unknown, or the backend does not support a rule.
    fn submit(&mut self, now: Time, id: PlanId, plan: &Plan) -> PollApplied;

    /// The next plan in flight that has completed, in the order of completion; `None` when there is none. Each plan
    /// in flight completes, with an error if the backend does not respond.
    ///
    /// Call it until `None` while plans are in flight: at or after [`Dataplane::next_deadline`], and when the waker was
    /// called. Packets that the plan released are transmitted as for [`Dataplane::submit`].
    ///
    /// The default is that of a data plane without plans in flight.
    fn poll_applied(&mut self, now: Time) -> Option<(PlanId, Result<Applied, ApplyError>)> {
        let _ = now;
        None
    }

    /// Submits a plan and waits for its result, for tests and tools. No other plan may be in flight.
    ///
    /// The default passes from deadline to deadline, as simulated time does. A data plane that waits for another system
    /// implements it otherwise.
    ///
    /// # Errors
    /// As for [`Dataplane::submit`]; [`ApplyError::Backend`] when the plan remains in flight without a deadline.
    fn apply(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError> {
        let mut time = now;
        if let Poll::Ready(result) = self.submit(now, PlanId(u64::MAX), plan) {
            return result;
        }
        loop {
            if let Some((_, result)) = self.poll_applied(time) {
                return result;
            }
            let Some(next) = self.next_deadline() else {
                return Err(BackendError::InFlight.into());
            };
            time = next.max(time);
            self.advance(time);
        }
    }

    /// Sets the waker that the data plane calls, from any thread, when a plan in flight may have completed or an event
    /// may have occurred outside the calls of this trait. Called once, before any other call that changes state.
    ///
    /// The default is that of a data plane where that cannot happen.
    fn set_waker(&mut self, waker: Waker) {
        drop(waker);
    }

    /// Prefetches the memory that [`Dataplane::submit`] needs for a plan that follows soon. It changes no state; the
    /// plan need not follow.
    fn prefetch(&mut self, plan: &Plan) {
        let _ = plan;
    }

    /// Replaces the set of detected applications, for all sessions. PDRs of a removed application match no packet.
    /// Never fails: the control plane bounds the table.
    fn set_applications(&mut self, applications: &Arc<Applications>);

    /// Replaces the addresses of the host and their exceptions: see [`Topology::blocked_addresses`]. Never fails.
    fn set_host_reachability(&mut self, host: &Arc<HostReachability>);

    /// Replaces the wall clock, from `now` on. Absolute times from SMFs use the new clock. Nothing becomes due before
    /// `now`, and no monitoring time is reached twice. Durations do not change. Call [`Dataplane::advance`] with the
    /// same time first. Never fails; O(1).
    fn set_wall_clock(&mut self, now: Time, clock: WallClock);

    /// Replaces what may change of the topology while the data plane runs. Sessions, flow entries and counters stay; a
    /// packet sees the old settings or the new ones. [`Settings`] says what each change does. Never fails.
    ///
    /// When Echo Requests are switched on, the paths of all sessions are counted at once: O(sessions). Anything else
    /// is O(settings and supervised paths).
    ///
    /// The default is that of a data plane without such settings.
    fn reconfigure(&mut self, now: Time, settings: &Arc<Settings>) {
        let _ = (now, settings);
    }

    /// Supervises the paths `new` for a session of another data plane of the same UPF, in place of `old`, which an
    /// earlier call named for that session. Paths of own sessions are supervised without this call.
    ///
    /// The default is that of a data plane that supervises no paths.
    fn follow_paths(&mut self, now: Time, old: &[GtpuPath], new: &[GtpuPath]) {
        let _ = (now, old, new);
    }

    /// The paths that are supervised, in order, at most `most` of those behind `after`.
    ///
    /// The default is that of a data plane that supervises no paths.
    fn paths(&self, after: Option<GtpuPath>, most: usize) -> Vec<PathState> {
        let _ = (after, most);
        Vec::new()
    }

    /// The next event, oldest first; `None` when there is none. Call it until `None` after every call that takes the
    /// time. An event that precedes the result of a plan occurred before the plan.
    fn poll_event(&mut self) -> Option<Event>;

    /// When to call [`Dataplane::advance`] next; `None` when no timer runs.
    fn next_deadline(&self) -> Option<Time>;

    /// Expires timers that are due. Call at or after [`Dataplane::next_deadline`].
    fn advance(&mut self, now: Time);

    /// The counters since the start.
    fn counters(&self) -> Counters;

    /// The packets by the stage that decided them, for a data plane with several stages, for example `flow_table` and
    /// `slow_path`; always the same stages in the same order.
    fn stage_packets(&self) -> Vec<NamedCounter> {
        Vec::new()
    }

    /// The state of the P4 switch whose tables the data plane fills; `None`: it has none. O(tables and templates).
    fn switch_state(&self) -> Option<SwitchState> {
        None
    }

    /// Counters of events at that switch since the start, as [`SwitchState::events`] has them; none: there is no switch. O(1).
    fn switch_events(&self) -> Vec<NamedCounter> {
        Vec::new()
    }

    /// Looks for heavy hitters in this way from now on; `None`: no longer. Flows that were heavy are over, unless the
    /// settings are the same. Each forwarded IP packet counts once, with its octets as it was received.
    ///
    /// Settings for which [`HeavyHitterSettings::sliding`] is an error are as `None`. The default is that of a data plane
    /// that finds none.
    fn set_heavy_hitters(&mut self, now: Time, settings: Option<&HeavyHitterSettings>) {
        let _ = (now, settings);
    }

    /// The heavy hitters at this time; `None`: it looks for none.
    fn heavy_hitters(&self, now: Time) -> Option<HeavyHitterList> {
        let _ = now;
        None
    }

    /// The sessions whose traffic is measured by application class, and the changes of their classes. O(classes of the model).
    ///
    /// The default is that of a data plane that measures none.
    fn session_classes(&self) -> SessionClasses {
        SessionClasses::default()
    }

    /// The application class of a session's traffic; `None`: it is not measured, as none of its rules asks for a class. O(1).
    ///
    /// The default is that of [`Dataplane::session_classes`].
    fn application_class(&self, session: Seid) -> Option<ApplicationId> {
        let _ = session;
        None
    }

    /// The state of a session at this time, for operators; `None`: it is not in this data plane. It changes no packet,
    /// report or counter. O(rules and buffered packets of the session).
    ///
    /// The default is that of a data plane that cannot tell.
    fn session_state(&mut self, now: Time, session: Seid) -> Option<SessionState> {
        let _ = (now, session);
        None
    }

    /// What the URRs of a session have measured, as octets that [`Dataplane::restore_usage`] of a data plane of the same kind and version reads on
    /// another host. `None`: no packet of the session has arrived at `since` or later and no time was measured, there is no such session, or it has measured
    /// nothing. It changes nothing. O(URRs and flow entries of the session).
    ///
    /// The default is that of a data plane whose usage does not go on elsewhere.
    fn usage_snapshot(&self, now: Time, session: Seid, since: Time) -> Option<Vec<u8>> {
        let _ = (now, session, since);
        None
    }

    /// Goes on with what these URRs of a new session have measured elsewhere. Time stands still between snapshot and restoration for what a URR
    /// measures. Reports that are due are made. `false`: there is no such session, or the octets are no snapshot; nothing has changed. URRs that are not in both the
    /// session and the snapshot begin anew.
    ///
    /// The default is that of [`Dataplane::usage_snapshot`].
    fn restore_usage(&mut self, now: Time, session: Seid, snapshot: &[u8], urrs: &[RestoredUrr]) -> bool {
        let _ = (now, session, snapshot, urrs);
        false
    }

    /// The sessions whose state is in cold storage, and what has moved; `None`: the data plane has no cold storage. O(1).
    ///
    /// The default is that of such a data plane.
    fn cold_storage(&self) -> Option<ColdStorageState> {
        None
    }

    /// What was lost with external memory; `None`: the data plane has no state there. O(1).
    ///
    /// The default is that of such a data plane.
    fn memory_losses(&self) -> Option<MemoryLosses> {
        None
    }

    /// How many rules are on a switch and in the software behind it, and what has moved; `None`: the data plane moves none.
    /// O(1).
    ///
    /// The default is that of such a data plane.
    fn rule_placement(&self, now: Time) -> Option<RulePlacement> {
        let _ = now;
        None
    }

    /// Rules and where they are, the highest rates first, at most `most`: both of one session, which need not exist; or without
    /// one those that are not at rest in the software, and those that reached the rate for the switch and were refused.
    /// O(such rules).
    ///
    /// The default is that of a data plane that moves none.
    fn placed_rules(&self, now: Time, session: Option<Seid>, most: usize) -> Vec<PlacedRule> {
        let _ = (now, session, most);
        Vec::new()
    }
}

/// The number of a plan in flight, chosen by the caller.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PlanId(pub u64);

/// The result of [`Dataplane::submit`], if there is one yet.
pub type PollApplied = Poll<Result<Applied, ApplyError>>;

/// A GTP-U path (TS 23.007 clause 20.3): the local address, and that of the peer.
pub type GtpuPath = (IpAddr, IpAddr);

/// A supervised path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathState {
    /// The path.
    pub path: GtpuPath,
    /// The number of FARs that use it.
    pub users: u64,
    /// The peer has not failed to respond to an Echo Request and its retransmissions.
    pub is_up: bool,
}

/// The result of a plan.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Applied {
    /// Usage of queried and removed URRs, in the order of the plan; final and exact.
    pub usage: Vec<Usage>,
    /// Remaining packets of QERs that were queried, or whose status is reported at session deletion.
    pub packet_rates: Vec<PacketRateReport>,
}

/// A data plane that a packet thread owns: it handles the packets of the thread's ports.
///
/// A data plane whose packets pass elsewhere, as in a switch, has no packets to handle, and is driven in the same way.
///
/// In each turn, a packet thread
///
/// 1. receives batches, and passes each to [`PacketEngine::process_batch`] after [`Dataplane::advance`], if that is due;
/// 2. transmits the queue of each batch, frames from their buffers;
/// 3. submits the plans that have arrived, after [`Dataplane::advance`] and [`Dataplane::poll_event`];
/// 4. calls [`PacketEngine::flush`], then reports the results of plans, then events.
pub trait PacketEngine: Dataplane {
    /// The topology that it was built with, with the present addresses of the host.
    fn topology(&self) -> &Topology;

    /// Processes the frames of a batch that were received together, in order. Packets to transmit are in `queue`, which
    /// is cleared first; those among them that are frames of the batch have been rewritten in place.
    ///
    /// The default passes each frame to [`PacketEngine::process`], and queues copies.
    fn process_batch(
        &mut self,
        now: Time,
        source: ReceiveSource,
        batch: &mut Batch,
        queue: &mut TransmitQueue,
    ) {
        queue.clear();
        for frame in batch.frames() {
            if let Some(ingress) = self.topology().ingress(source, &frame.meta) {
                self.process(now, &ingress, frame.data, queue);
            }
        }
    }

    /// Processes one packet completely. Packets to transmit go to `out`. Returns the disposition of the packet.
    ///
    /// `packet` starts at the GTP-U header for [`Ingress::Gtpu`], at the IP header for [`Ingress::Ip`], and at the
    /// destination address for [`Ingress::Ethernet`], without frame check sequence. The counters hold the dispositions
    /// of all copies of a frame for several sessions; the return value is the best of them.
    fn process(&mut self, now: Time, ingress: &Ingress, packet: &[u8], out: &mut dyn Transmit)
    -> Disposition;

    /// What [`PacketEngine::process`] would do with a packet now, and by which rules. Nothing is transmitted, counted or
    /// measured: a later packet is handled as without this call. It takes tens of microseconds, for tools.
    ///
    /// `None`: the data plane explains no packets, or this one concerns too many sessions, as a frame to a group does. The default
    /// is that of such a data plane.
    fn explain(&mut self, now: Time, ingress: &Ingress, packet: &[u8]) -> Option<Explanation> {
        let _ = (now, ingress, packet);
        None
    }

    /// Whether a frame from an Ethernet data network may be for this session. O(sessions of the network) for a group frame. For
    /// tools. The default is that of a data plane without Ethernet sessions.
    fn is_frame_for(&self, network: &NetworkInstance, frame: &[u8], session: Seid) -> bool {
        let _ = (network, frame, session);
        false
    }

    /// Transmits the packets that [`Dataplane::submit`], [`Dataplane::poll_applied`] and [`Dataplane::advance`] queued, in
    /// order.
    fn flush(&mut self, out: &mut dyn Transmit);
}

#[cfg(test)]
mod tests;

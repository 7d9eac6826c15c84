//! The traits of a data plane.

use std::sync::Arc;

use causeway_model::{Applications, Capabilities, PacketRateReport, Plan, Usage};
use causeway_types::{Time, WallClock};

use crate::{ApplyError, Counters, Disposition, Event, HostReachability, Ingress, Transmit};

/// A data plane as the control plane sees it.
pub trait Dataplane {
    /// The capabilities of the data plane. They never change.
    fn capabilities(&self) -> Capabilities;

    /// Applies a plan, all or nothing: after an error the rules are unchanged. Call [`Dataplane::advance`] with the
    /// same time first, so that events that are due precede the plan.
    ///
    /// Packets that the plan releases (buffered packets, End Markers) are transmitted by the backend's own ports, or at
    /// the next [`PacketEngine::flush`].
    ///
    /// # Errors
    /// [`ApplyError`] when a table is full, the session is unknown, or the backend does not support a rule.
    fn apply(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError>;

    /// Prefetches the memory that [`Dataplane::apply`] needs for a plan that follows soon. It changes no state; the
    /// plan need not follow.
    fn prefetch(&mut self, plan: &Plan) {
        let _ = plan;
    }

    /// Replaces the set of detected applications, for all sessions. PDRs of a removed application match no packet.
    /// Never fails: the control plane bounds the table.
    fn set_applications(&mut self, applications: &Arc<Applications>);

    /// Replaces the addresses of the host and their exceptions: see [`Topology::blocked_addresses`]. Never fails.
    ///
    /// [`Topology::blocked_addresses`]: crate::Topology::blocked_addresses
    fn set_host_reachability(&mut self, host: &Arc<HostReachability>);

    /// Replaces the wall clock, from `now` on. Absolute times from SMFs use the new clock. Nothing becomes due before
    /// `now`, and no monitoring time is reached twice. Durations do not change. Call [`Dataplane::advance`] with the
    /// same time first. Never fails; O(1).
    fn set_wall_clock(&mut self, now: Time, clock: WallClock);

    /// The next event, oldest first; `None` when there is none.
    fn poll_event(&mut self) -> Option<Event>;

    /// When to call [`Dataplane::advance`] next; `None` when no timer runs.
    fn next_deadline(&self) -> Option<Time>;

    /// Expires timers that are due. Call at or after [`Dataplane::next_deadline`].
    fn advance(&mut self, now: Time);

    /// The counters since the start.
    fn counters(&self) -> Counters;
}

/// The result of a plan.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Applied {
    /// Usage of queried and removed URRs, in the order of the plan; final and exact.
    pub usage: Vec<Usage>,
    /// Remaining packets of QERs that were queried, or whose status is reported at session deletion.
    pub packet_rates: Vec<PacketRateReport>,
}

/// A data plane that handles packets in the caller's thread.
pub trait PacketEngine: Dataplane {
    /// Processes one packet completely. Packets to transmit go to `out`. Returns the disposition of the packet.
    ///
    /// `packet` starts at the GTP-U header for [`Ingress::Gtpu`], at the IP header for [`Ingress::Ip`], and at the
    /// destination address for [`Ingress::Ethernet`], without frame check sequence. The counters hold the dispositions
    /// of all copies of a frame for several sessions; the return value is the best of them.
    fn process(&mut self, now: Time, ingress: &Ingress, packet: &[u8], out: &mut dyn Transmit)
    -> Disposition;

    /// Transmits the packets that [`Dataplane::apply`] and [`Dataplane::advance`] queued, in order.
    fn flush(&mut self, out: &mut dyn Transmit);
}

//! The traits of a data plane.

use std::sync::Arc;

use causeway_rules::{Applications, Capabilities, PacketRateReport, Plan, Usage};
use causeway_types::{Time, WallClock};

use crate::{ApplyError, Counters, Disposition, Event, HostReachability, Ingress, Transmit};

/// A data plane as the control plane sees it.
pub trait Dataplane {
    /// What it can do. Constant over its life.
    fn capabilities(&self) -> Capabilities;

    /// Carries out a plan, all or nothing: on an error the rules are as before. Call [`Dataplane::advance`] with the
    /// same time first: what is due before the plan is an event before it.
    ///
    /// Packets that this sets free (buffered ones, End Markers) leave by the backend's own ports, or at
    /// the next [`PacketEngine::flush`].
    ///
    /// # Errors
    /// [`ApplyError`] when the backend has no room, does not know the session, or cannot do what is asked.
    fn apply(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError>;

    /// Fetches what [`Dataplane::apply`] will need for a plan that follows soon, where that may be far away. It changes nothing else,
    /// whether the plan comes or not.
    fn prefetch(&mut self, plan: &Plan) {
        let _ = plan;
    }

    /// Detects these applications from now on, and no others, in all sessions. PDRs of an application that is gone
    /// match no packet. Never fails: the table is bounded by the control plane.
    fn set_applications(&mut self, applications: &Arc<Applications>);

    /// The machine has these addresses from now on, and UEs reach no others of it than these say: see [`Topology::blocked_addresses`]. Never
    /// fails.
    ///
    /// [`Topology::blocked_addresses`]: crate::Topology::blocked_addresses
    fn set_host_reachability(&mut self, host: &Arc<HostReachability>);

    /// The wall clock says this from `now` on: it was set. Times that SMFs have given mean what it says: what they are for is due when it says
    /// them, but nothing becomes due before `now` by that, and no monitoring time a second time. Durations are not concerned. Call
    /// [`Dataplane::advance`] with the same time first. Never fails; O(1).
    fn set_wall_clock(&mut self, now: Time, clock: WallClock);

    /// The next event, oldest first; `None` when there is none.
    fn poll_event(&mut self) -> Option<Event>;

    /// When [`Dataplane::advance`] has something to do; `None` when no timer runs.
    fn next_deadline(&self) -> Option<Time>;

    /// Lets timers that are due expire. Call at or after [`Dataplane::next_deadline`].
    fn advance(&mut self, now: Time);

    /// The counters since the start.
    fn counters(&self) -> Counters;
}

/// What a plan yielded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Applied {
    /// Usage of queried and removed URRs, in the order of the plan; final and exact.
    pub usage: Vec<Usage>,
    /// What is left of the packets of QERs that were queried, or asked to report it at the end of the session.
    pub packet_rates: Vec<PacketRateReport>,
}

/// A data plane that handles packets in the caller's thread.
pub trait PacketEngine: Dataplane {
    /// Handles one packet to its end: what leaves goes to `out`, and the return value says what became of it.
    ///
    /// `packet` starts at the GTP-U header for [`Ingress::Gtpu`], at the IP header for [`Ingress::Ip`], and at the
    /// destination address for [`Ingress::Ethernet`], without frame check sequence. What becomes of the copies
    /// of a frame for several sessions is in the counters; the return value is the best of their fates.
    fn process(&mut self, now: Time, ingress: &Ingress, packet: &[u8], out: &mut dyn Transmit)
    -> Disposition;

    /// Sends what [`Dataplane::apply`] and [`Dataplane::advance`] left to be sent, in order.
    fn flush(&mut self, out: &mut dyn Transmit);
}

//! The stub for a binary without P4Runtime: a configured switch is an error.

use std::convert::Infallible;
use std::sync::Arc;

use causeway_dataplane::{
    Applied, ApplyError, Capabilities, Counters, Dataplane, Disposition, Event, HostReachability, Ingress,
    PacketEngine, Plan, Topology, Transmit,
};
use causeway_model::Applications;
use causeway_ports::Waker;
use causeway_reference::Limits;
use causeway_rules::TeidPool;
use causeway_switch::backend::Operation;
use causeway_types::{Time, WallClock};

use super::ApplyState;
use crate::config::P4Switch;

/// A failure to start the P4Runtime driver.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// This binary was built without P4Runtime.
    #[error(
        "this binary was built without P4Runtime: take one with cargo feature `p4runtime`, which is on by default, or remove \
         upf.switch.address"
    )]
    NotBuilt,
}

/// A switch over P4Runtime; it cannot be created.
#[derive(Debug)]
pub struct Remote(Infallible);

/// Refuses the switch of a configuration.
///
/// # Errors
/// Always.
pub(crate) fn remote(
    _: &P4Switch,
    _: &str,
    _: &[TeidPool],
    _: Topology,
    _: Limits,
) -> Result<Remote, RemoteError> {
    Err(RemoteError::NotBuilt)
}

impl Remote {
    pub(in crate::worker) fn set_waker(&self, _: Waker) {
        match self.0 {}
    }

    pub(in crate::worker) fn begin(&mut self, _: Time, _: &Plan) -> ApplyState {
        match self.0 {}
    }

    pub(in crate::worker) fn poll_finished(
        &mut self,
        _: Time,
    ) -> Option<(Operation, Result<Applied, ApplyError>)> {
        match self.0 {}
    }
}

impl Dataplane for Remote {
    fn capabilities(&self) -> Capabilities {
        match self.0 {}
    }

    fn apply(&mut self, _: Time, _: &Plan) -> Result<Applied, ApplyError> {
        match self.0 {}
    }

    fn set_applications(&mut self, _: &Arc<Applications>) {
        match self.0 {}
    }

    fn set_host_reachability(&mut self, _: &Arc<HostReachability>) {
        match self.0 {}
    }

    fn set_wall_clock(&mut self, _: Time, _: WallClock) {
        match self.0 {}
    }

    fn poll_event(&mut self) -> Option<Event> {
        match self.0 {}
    }

    fn next_deadline(&self) -> Option<Time> {
        match self.0 {}
    }

    fn advance(&mut self, _: Time) {
        match self.0 {}
    }

    fn counters(&self) -> Counters {
        match self.0 {}
    }
}

impl PacketEngine for Remote {
    fn process(&mut self, _: Time, _: &Ingress, _: &[u8], _: &mut dyn Transmit) -> Disposition {
        match self.0 {}
    }

    fn flush(&mut self, _: &mut dyn Transmit) {
        match self.0 {}
    }
}

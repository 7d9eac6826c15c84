//! Builds the data plane that the configuration names.

mod cold_storage;
mod hybrid;
#[cfg(feature = "p4runtime")]
mod p4runtime;
#[cfg(not(feature = "p4runtime"))]
#[path = "without_p4runtime.rs"]
mod p4runtime;
mod xplane;

use std::sync::Arc;

use causeway_dataplane::{PacketEngine, Topology};
use causeway_hybrid::SharedSwitch;
use causeway_p4::profiles;
use causeway_slowpath::{Limits, SlowPath};
use causeway_switch::backend::InProcess;
use causeway_switch::driver::Program;
use causeway_types::Span;

use crate::config::{Config, DataPlane};
use crate::error::StartError;

/// The data plane of a packet thread.
pub type BoxedDataPlane = Box<dyn PacketEngine + Send>;

/// What a data plane is built from.
pub(crate) struct Parts<'a> {
    /// The configuration, for keys of this data plane alone.
    pub(crate) config: &'a Config,
    pub(crate) topology: Topology,
    pub(crate) limits: Limits,
    /// The limit on the address space of the process, as a text for the operator.
    pub(crate) address_space: Option<String>,
    pub(crate) common: &'a Common,
    /// The number of the packet thread, of so many.
    pub(crate) number: usize,
    pub(crate) workers: usize,
}

/// What the data planes of all packet threads have in common.
pub(crate) struct Common {
    /// The entries of the switch in front of them.
    switch: Arc<SharedSwitch>,
    drivers: p4runtime::Drivers,
}

impl Common {
    /// For so many packet threads.
    pub(crate) fn new(workers: usize) -> Self {
        Self { switch: Arc::new(SharedSwitch::new(workers)), drivers: Default::default() }
    }
}

/// An empty data plane.
///
/// # Errors
/// The system lacks the memory or another resource, or the data plane does not support the topology.
pub(crate) fn build(data_plane: DataPlane, parts: &Parts<'_>) -> Result<BoxedDataPlane, StartError> {
    match data_plane {
        DataPlane::FastPath => fast_path(parts),
        DataPlane::SlowPath => slow_path(parts),
        DataPlane::Switch => switch(parts),
        DataPlane::Hybrid => hybrid::build(parts),
        DataPlane::XPlane => xplane::build(parts),
    }
}

fn fast_path(parts: &Parts<'_>) -> Result<BoxedDataPlane, StartError> {
    Ok(Box::new(cold_storage::fast_path(parts)?))
}

fn slow_path(parts: &Parts<'_>) -> Result<BoxedDataPlane, StartError> {
    Ok(Box::new(SlowPath::new(parts.topology.clone(), parts.limits)))
}

/// The read interval of the counters of a switch model in this process.
const COUNTER_INTERVAL: Span = Span::from_millis(20);

fn switch(parts: &Parts<'_>) -> Result<BoxedDataPlane, StartError> {
    if let Some((switch, address)) = parts.config.upf.remote_switch() {
        return p4runtime::remote_switch(switch, address, parts);
    }
    // Compiled programs have one of both; here one of both may be configured.
    let program = Program::from(&profiles::HIP4_VXLAN).with_application_classes().with_heavy_hitters();
    let model = InProcess::new(&program, parts.topology.clone(), parts.limits)?;
    Ok(Box::new(model.with_counter_interval(COUNTER_INTERVAL)))
}

//! The data planes that a configuration may name.

mod cold_storage;
mod hybrid;
#[cfg(feature = "p4runtime")]
mod p4runtime;
#[cfg(not(feature = "p4runtime"))]
#[path = "without_p4runtime.rs"]
mod p4runtime;
mod xplane;

use std::fmt;
use std::sync::Arc;

use causeway_dataplane::{PacketEngine, Topology};
use causeway_hybrid::SharedSwitch;
use causeway_p4::{Contract, profiles};
use causeway_slowpath::{Limits, SlowPath};
use causeway_switch::backend::InProcess;
use causeway_switch::driver::Program;
use causeway_types::Span;
use serde::{Serialize, Serializer};

use crate::config::Config;
use crate::error::StartError;

/// The data plane of a packet thread.
pub type BoxedDataPlane = Box<dyn PacketEngine + Send>;

/// A data plane that a configuration may name.
#[derive(Clone, Copy)]
pub struct DataPlane {
    name: &'static str,
    build: fn(&Parts<'_>) -> Result<BoxedDataPlane, StartError>,
}

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

impl DataPlane {
    /// The default: batches of packets, and a flow table that decides most of them.
    pub const FAST_PATH: Self = Self { name: "fastpath", build: fast_path };

    /// Every data plane. To add one, add a line with its name in the configuration (`upf.dataplane`) and its constructor.
    pub const ALL: &[Self] = &[
        Self::FAST_PATH,
        // One packet at a time: slow; the fast path is compared with it.
        Self { name: "slowpath", build: slow_path },
        // A P4 switch, over P4Runtime; or a slow switch model in this process, for trials.
        Self { name: Self::SWITCH, build: switch },
        // The fast path behind such a switch or model, which has the rules of high rates.
        Self { name: Self::HYBRID, build: hybrid::build },
        // Tables, counters and meters in external memory.
        Self { name: Self::XPLANE, build: xplane::build },
    ];

    /// The name of the data plane whose packets pass on ports of a switch, and that has one packet thread.
    const SWITCH: &str = "switch";

    /// The name of the data plane of a switch in front of the fast path.
    const HYBRID: &str = "hybrid";

    /// The name of the data plane over external memory.
    const XPLANE: &str = "xplane";

    /// The data plane with this name. `reference` is the former name of the slow path.
    pub fn named(name: &str) -> Option<Self> {
        let name = if name == "reference" { "slowpath" } else { name };
        Self::ALL.iter().find(|plane| plane.name == name).copied()
    }

    /// Its name in the configuration.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Whether it is a P4 switch.
    pub(crate) fn is_switch(self) -> bool {
        self.name == Self::SWITCH
    }

    /// Whether it is the fast path behind a switch.
    pub(crate) fn is_hybrid(self) -> bool {
        self.name == Self::HYBRID
    }

    /// Whether a switch handles packets: all, or those of some rules. Its tables have the pools, and it always decrements TTLs.
    pub(crate) fn has_switch(self) -> bool {
        self.is_switch() || self.is_hybrid()
    }

    /// The program of the model of a switch in this process, if it has one.
    pub(crate) fn model_program(self) -> Option<&'static Contract> {
        match self.name {
            Self::SWITCH => Some(&profiles::HIP4_VXLAN),
            Self::HYBRID => Some(&profiles::HIP4_HYBRID_VXLAN),
            _ => None,
        }
    }

    /// Whether it looks for heavy hitters.
    pub(crate) fn finds_heavy_hitters(self) -> bool {
        ["fastpath", "slowpath", Self::SWITCH].contains(&self.name)
    }

    /// Whether the state of its idle sessions can be in a file.
    pub(crate) fn has_cold_storage(self) -> bool {
        self == Self::FAST_PATH || self.is_hybrid()
    }

    /// An empty data plane.
    ///
    /// # Errors
    /// The system lacks the memory or another resource, or the data plane does not support the topology.
    pub(crate) fn build(self, parts: &Parts<'_>) -> Result<BoxedDataPlane, StartError> {
        (self.build)(parts)
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

impl Default for DataPlane {
    fn default() -> Self {
        Self::FAST_PATH
    }
}

impl PartialEq for DataPlane {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for DataPlane {}

impl fmt::Debug for DataPlane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Serialize for DataPlane {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

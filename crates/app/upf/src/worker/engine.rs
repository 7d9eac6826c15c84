//! The data plane of a packet thread.

use causeway_dataplane::{Capabilities, PacketEngine, Topology};
use causeway_fastpath::FastPath;
use causeway_fastpath::index::ArenaError;
use causeway_p4::profiles;
use causeway_ports::Waker;
use causeway_reference::{Limits, Reference};
use causeway_switch::backend::{InProcess, InProcessError};
use causeway_switch::driver::Program;
use causeway_types::Span;

use super::remote::Remote;

/// The read interval of the counters of a switch model in this process.
const COUNTER_INTERVAL: Span = Span::from_millis(20);

/// A data plane of one of the supported kinds.
#[derive(Debug)]
pub enum Engine {
    /// The software fast path, by batches.
    FastPath(Box<FastPath>),
    /// The reference data plane, one packet at a time.
    Reference(Box<Reference>),
    /// A model of a P4 switch in this process.
    Switch(Box<InProcess>),
    /// A P4 switch, by P4Runtime.
    Remote(Box<Remote>),
}

impl Engine {
    /// An empty fast path with this topology.
    ///
    /// # Errors
    /// [`ArenaError`] when the system has no memory for its tables.
    pub fn fast_path(topology: Topology, limits: Limits) -> Result<Self, ArenaError> {
        Ok(Self::FastPath(Box::new(FastPath::new(topology, limits)?)))
    }

    /// An empty reference data plane with this topology.
    pub fn reference(topology: Topology, limits: Limits) -> Self {
        Self::Reference(Box::new(Reference::new(topology, limits)))
    }

    /// A model of a P4 switch in profile `hip4`, with this topology and without sessions.
    ///
    /// # Errors
    /// [`InProcessError`] when the program does not support the topology.
    pub fn switch(topology: Topology, limits: Limits) -> Result<Self, InProcessError> {
        let program = Program::from(&profiles::HIP4);
        let engine = InProcess::new(&program, topology, limits)?.with_counter_interval(COUNTER_INTERVAL);
        Ok(Self::Switch(Box::new(engine)))
    }

    /// The capabilities of the data plane.
    pub fn capabilities(&self) -> Capabilities {
        self.data_plane().capabilities()
    }

    /// Sets the waker of events that arrive outside the ports.
    pub(super) fn set_waker(&self, waker: &Waker) -> std::io::Result<()> {
        match self {
            Self::Remote(engine) => engine.set_waker(waker.try_clone()?),
            Self::FastPath(_) | Self::Reference(_) | Self::Switch(_) => {}
        }
        Ok(())
    }

    /// The data plane through the common contract, for reading.
    pub(super) fn data_plane(&self) -> &dyn PacketEngine {
        match self {
            Self::FastPath(engine) => &**engine,
            Self::Reference(engine) => &**engine,
            Self::Switch(engine) => &**engine,
            Self::Remote(engine) => &**engine,
        }
    }

    /// The data plane through the common contract.
    pub(super) fn data_plane_mut(&mut self) -> &mut dyn PacketEngine {
        match self {
            Self::FastPath(engine) => &mut **engine,
            Self::Reference(engine) => &mut **engine,
            Self::Switch(engine) => &mut **engine,
            Self::Remote(engine) => &mut **engine,
        }
    }

    /// The number of packets that the flow table decided, and that of the slow path.
    pub(super) fn path_packets(&self) -> (u64, u64) {
        match self {
            Self::FastPath(engine) => (engine.fast_path_packets(), engine.slow_path_packets()),
            Self::Reference(_) | Self::Switch(_) | Self::Remote(_) => (0, 0),
        }
    }
}

//! The data plane in the hands of a packet thread.

use std::net::IpAddr;

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

/// How often the counters of a switch in this process are read.
const COUNTER_INTERVAL: Span = Span::from_millis(20);

/// Which data plane runs, and its state.
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
    /// An empty fast path in these surroundings.
    ///
    /// # Errors
    /// [`ArenaError`] when the system has no room for its tables.
    pub fn fast_path(topology: Topology, limits: Limits) -> Result<Self, ArenaError> {
        Ok(Self::FastPath(Box::new(FastPath::new(topology, limits)?)))
    }

    /// An empty reference data plane in these surroundings.
    pub fn reference(topology: Topology, limits: Limits) -> Self {
        Self::Reference(Box::new(Reference::new(topology, limits)))
    }

    /// A model of a P4 switch in profile `hip4`, without sessions, in these surroundings.
    ///
    /// # Errors
    /// [`InProcessError`] when the program cannot serve them.
    pub fn switch(topology: Topology, limits: Limits) -> Result<Self, InProcessError> {
        let program = Program::from(&profiles::HIP4);
        let engine = InProcess::new(&program, topology, limits)?.with_counter_interval(COUNTER_INTERVAL);
        Ok(Self::Switch(Box::new(engine)))
    }

    /// What it can do.
    pub fn capabilities(&self) -> Capabilities {
        self.data_plane().capabilities()
    }

    /// News that do not come by ports wake this.
    pub(super) fn set_waker(&self, waker: &Waker) -> std::io::Result<()> {
        match self {
            Self::Remote(engine) => engine.set_waker(waker.try_clone()?),
            Self::FastPath(_) | Self::Reference(_) | Self::Switch(_) => {}
        }
        Ok(())
    }

    /// What all data planes have in common, to be read.
    pub(super) fn data_plane(&self) -> &dyn PacketEngine {
        match self {
            Self::FastPath(engine) => &**engine,
            Self::Reference(engine) => &**engine,
            Self::Switch(engine) => &**engine,
            Self::Remote(engine) => &**engine,
        }
    }

    /// What all data planes have in common.
    pub(super) fn data_plane_mut(&mut self) -> &mut dyn PacketEngine {
        match self {
            Self::FastPath(engine) => &mut **engine,
            Self::Reference(engine) => &mut **engine,
            Self::Switch(engine) => &mut **engine,
            Self::Remote(engine) => &mut **engine,
        }
    }

    /// Our GTP-U addresses as exits count them; none where packets are said by address.
    pub(super) fn local_addresses(&self) -> &[IpAddr] {
        match self {
            Self::FastPath(engine) => engine.local_addresses(),
            Self::Reference(_) | Self::Switch(_) | Self::Remote(_) => &[],
        }
    }

    /// How many packets hot lines have decided, and how many the slow room.
    pub(super) fn path_packets(&self) -> (u64, u64) {
        match self {
            Self::FastPath(engine) => (engine.fast_path_packets(), engine.slow_path_packets()),
            Self::Reference(_) | Self::Switch(_) | Self::Remote(_) => (0, 0),
        }
    }
}

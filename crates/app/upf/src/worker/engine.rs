//! The data plane in the hands of a packet thread.

use std::net::IpAddr;

use causeway_dataplane::{Capabilities, PacketEngine, Topology};
use causeway_fastpath::FastPath;
use causeway_fastpath::index::ArenaError;
use causeway_reference::{Limits, Reference};

/// Which data plane runs, and its state.
#[derive(Debug)]
pub enum Engine {
    /// The software fast path, by batches.
    FastPath(Box<FastPath>),
    /// The reference data plane, one packet at a time.
    Reference(Box<Reference>),
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

    /// What it can do.
    pub fn capabilities(&self) -> Capabilities {
        self.contract().capabilities()
    }

    /// What all data planes have in common, to be read.
    pub(super) fn contract(&self) -> &dyn PacketEngine {
        match self {
            Self::FastPath(engine) => &**engine,
            Self::Reference(engine) => &**engine,
        }
    }

    /// What all data planes have in common.
    pub(super) fn contract_mut(&mut self) -> &mut dyn PacketEngine {
        match self {
            Self::FastPath(engine) => &mut **engine,
            Self::Reference(engine) => &mut **engine,
        }
    }

    /// Our GTP-U addresses as exits count them; none where packets are said by address.
    pub(super) fn local_addresses(&self) -> &[IpAddr] {
        match self {
            Self::FastPath(engine) => engine.local_addresses(),
            Self::Reference(_) => &[],
        }
    }

    /// How many packets hot lines have decided, and how many the slow room.
    pub(super) fn rooms(&self) -> (u64, u64) {
        match self {
            Self::FastPath(engine) => (engine.hot_packets(), engine.slow_packets()),
            Self::Reference(_) => (0, 0),
        }
    }
}

//! The data planes under test.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use causeway_dataplane::{PacketEngine, Topology};
use causeway_fastpath::FastPath;
use causeway_hybrid::Hybrid;
use causeway_memory::ModelParameters;
use causeway_p4::{Contract, profiles};
use causeway_slowpath::{Limits, SlowPath, WhenFull};
use causeway_switch::backend::InProcess;
use causeway_switch::driver::Program;
use causeway_types::Span;
use causeway_xplane::{ModelPlane, Sizes};

use crate::oracle::{self, Oracle};
use crate::random_placement::RandomPlacement;
use crate::setup::Setup;

/// A data plane that cases are run against.
pub trait Backend {
    /// Its name in test output.
    fn name(&self) -> &'static str;

    /// A fresh one, with the limits that the case asks for.
    fn build(&self, topology: Topology, setup: &Setup) -> Box<dyn PacketEngine>;
}

/// Every data plane that passes all cases, the slow path first.
pub const BACKENDS: [&dyn Backend; 2] = [&SlowPathBackend, &FastPathBackend];

/// The slow path.
#[derive(Clone, Copy, Debug)]
pub struct SlowPathBackend;

impl Backend for SlowPathBackend {
    fn name(&self) -> &'static str {
        "slowpath"
    }

    fn build(&self, topology: Topology, setup: &Setup) -> Box<dyn PacketEngine> {
        Box::new(SlowPath::new(topology, limits(setup)))
    }
}

/// The software fast path.
#[derive(Clone, Copy, Debug)]
pub struct FastPathBackend;

impl Backend for FastPathBackend {
    fn name(&self) -> &'static str {
        "fastpath"
    }

    fn build(&self, topology: Topology, setup: &Setup) -> Box<dyn PacketEngine> {
        Box::new(FastPath::new(topology, limits(setup)).unwrap_or_else(|error| panic!("{error}")))
    }
}

/// The oracle, which was written independently and does not have every feature.
#[derive(Clone, Copy, Debug)]
pub struct OracleBackend;

impl Backend for OracleBackend {
    fn name(&self) -> &'static str {
        "oracle"
    }

    fn build(&self, topology: Topology, setup: &Setup) -> Box<dyn PacketEngine> {
        Box::new(Oracle::new(topology, limits(setup).into()))
    }
}

/// The same limits for the oracle.
impl From<Limits> for oracle::Limits {
    fn from(limits: Limits) -> Self {
        Self {
            max_sessions: limits.max_sessions,
            buffer_packets_per_session: limits.buffer_packets_per_session,
            buffer_octets_per_session: limits.buffer_octets_per_session,
            buffer_packets: limits.buffer_packets,
            buffer_octets: limits.buffer_octets,
            buffer_time: limits.buffer_time,
            drops_oldest: limits.when_full == WhenFull::DropOldest,
            notify_again: limits.notify_again,
        }
    }
}

/// A P4 switch in one of the profiles, as a model in process.
#[derive(Clone, Copy, Debug)]
pub struct SwitchBackend {
    /// What its program has.
    pub contract: &'static Contract,
    /// The same with the firewall, for cases that have one.
    pub with_firewall: &'static Contract,
    /// The same with application classes, for cases that have a model.
    pub with_classes: &'static Contract,
}

impl SwitchBackend {
    /// In profile `hip4`, whose rules are in tables.
    pub const HIP4: Self = Self {
        contract: &profiles::HIP4,
        with_firewall: &profiles::HIP4_VXLAN,
        with_classes: &profiles::HIP4_CLASSES,
    };

    /// In profile `direct`, whose rules are found by index.
    pub const DIRECT: Self = Self {
        contract: &profiles::DIRECT,
        with_firewall: &profiles::DIRECT_VXLAN,
        with_classes: &profiles::DIRECT_CLASSES,
    };

    /// What the program has for a case with these settings; none has both the firewall and a model.
    pub const fn contract_for(&self, setup: &Setup) -> &'static Contract {
        match setup {
            Setup { firewall: Some(_), .. } => self.with_firewall,
            Setup { class_model: Some(_), .. } => self.with_classes,
            _ => self.contract,
        }
    }
}

impl Backend for SwitchBackend {
    fn name(&self) -> &'static str {
        self.contract.profile
    }

    fn build(&self, topology: Topology, setup: &Setup) -> Box<dyn PacketEngine> {
        let program = Program::from(self.contract_for(setup));
        Box::new(InProcess::new(&program, topology, limits(setup)).unwrap_or_else(|error| panic!("{error}")))
    }
}

/// X-PLANE over the model of external memory.
#[derive(Clone, Copy, Debug)]
pub struct XPlaneBackend;

impl XPlaneBackend {
    /// Tables that hold some hundred UEs.
    const SIZES: Sizes = Sizes {
        ue_buckets: 1 << 9,
        flow_buckets: 1 << 9,
        rings: 8,
        ring: 32,
        paging_rings: 8,
        paging_ring: 32,
    };
}

impl Backend for XPlaneBackend {
    fn name(&self) -> &'static str {
        "xplane"
    }

    fn build(&self, topology: Topology, setup: &Setup) -> Box<dyn PacketEngine> {
        // Each queue pair has a part of the flow table: fewer of them, and no flow of a case finds it full.
        let parameters = ModelParameters { queue_pairs: 4, ..ModelParameters::X_PLANE };
        let plane = ModelPlane::over_model(topology, limits(setup), parameters, Self::SIZES, 1);
        Box::new(plane.unwrap_or_else(|| panic!("the tables are too large")))
    }
}

/// The hybrid UPF: a switch in profile `hip4` in front of the fast path, where random rules move between any two steps.
#[derive(Clone, Debug)]
pub struct HybridBackend {
    /// Which rules move when.
    pub seed: u64,
    /// Counts the rules whose packets the switch has forwarded after a move.
    pub flipped: Arc<AtomicU64>,
}

impl Backend for HybridBackend {
    fn name(&self) -> &'static str {
        "hybrid"
    }

    fn build(&self, topology: Topology, setup: &Setup) -> Box<dyn PacketEngine> {
        let limits = limits(setup);
        let software = FastPath::new(topology.clone(), limits).unwrap_or_else(|error| panic!("{error}"));
        let config = causeway_hybrid::Config {
            changes_per_second: u32::MAX,
            // Packets take no time.
            longest_stay: Span::ZERO,
            strict: true,
            read_interval: None,
            retry_refused: Span::ZERO,
            ..causeway_hybrid::Config::default()
        };
        let (software, placement) =
            (Box::new(software), Box::new(RandomPlacement::new(self.seed, Arc::clone(&self.flipped))));
        let upf = Hybrid::new(&topology, limits, software, placement, config);
        Box::new(upf.unwrap_or_else(|error| panic!("{error}")))
    }
}

/// The usual limits, but for those that the case sets.
pub fn limits(setup: &Setup) -> Limits {
    let usual = Limits::default();
    Limits {
        max_sessions: setup.max_sessions.unwrap_or(usual.max_sessions),
        macs_per_session: setup.macs.unwrap_or(usual.macs_per_session),
        macs: setup.macs_in_all.unwrap_or(usual.macs),
        buffer_packets_per_session: setup.buffer_packets.unwrap_or(usual.buffer_packets_per_session),
        buffer_octets_per_session: setup.buffer_octets.unwrap_or(usual.buffer_octets_per_session),
        buffer_packets: setup.buffer_packets_in_all.unwrap_or(usual.buffer_packets),
        buffer_octets: setup.buffer_octets_in_all.unwrap_or(usual.buffer_octets),
        buffer_time: match setup.buffer_ms {
            None => usual.buffer_time,
            Some(ms) => Some(Span::from_millis(ms)).filter(|span| !span.is_zero()),
        },
        when_full: if setup.drop_oldest { WhenFull::DropOldest } else { WhenFull::DropNewest },
        notify_again: setup.notify_again_ms.map(Span::from_millis),
        ..usual
    }
}

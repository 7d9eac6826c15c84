//! The data planes that a configuration may name. `data_planes` builds them.

use causeway_p4::{Contract, profiles};
use serde::{Serialize, Serializer};

use super::enums::words;
use super::values::NamedValue;

words!(
    /// The data plane of the UPF.
    DataPlane {
        FastPath = "fastpath" "Batches of packets, and a flow table that decides most of them.",
        /// One packet at a time: slow; the fast path is compared with it.
        SlowPath = "slowpath",
        /// A P4 switch, over P4Runtime; or a slow switch model in this process, for trials. Packets pass on ports of the switch, and there
        /// is one packet thread.
        Switch = "switch",
        /// The fast path behind such a switch or model, which has the rules of high rates.
        Hybrid = "hybrid",
        /// Tables, counters and meters in external memory.
        XPlane = "xplane",
    }
);

impl DataPlane {
    /// The data plane with this word in the file.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|plane| plane.word() == word).copied()
    }

    /// Whether it is a P4 switch.
    pub(crate) fn is_switch(self) -> bool {
        self == Self::Switch
    }

    /// Whether it is the fast path behind a switch.
    pub(crate) fn is_hybrid(self) -> bool {
        self == Self::Hybrid
    }

    /// Whether a switch handles packets: all, or those of some rules. Its tables have the pools, and it always decrements TTLs.
    pub(crate) fn has_switch(self) -> bool {
        matches!(self, Self::Switch | Self::Hybrid)
    }

    /// The program of the model of a switch in this process, if it has one.
    pub(super) fn model_program(self) -> Option<&'static Contract> {
        match self {
            Self::Switch => Some(&profiles::HIP4_VXLAN),
            Self::Hybrid => Some(&profiles::HIP4_HYBRID_VXLAN),
            Self::FastPath | Self::SlowPath | Self::XPlane => None,
        }
    }

    /// Whether it looks for heavy hitters.
    pub(super) fn finds_heavy_hitters(self) -> bool {
        matches!(self, Self::FastPath | Self::SlowPath | Self::Switch)
    }

    /// Whether the state of its idle sessions can be in a file.
    pub(super) fn has_cold_storage(self) -> bool {
        matches!(self, Self::FastPath | Self::Hybrid)
    }
}

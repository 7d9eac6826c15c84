//! The keys of the packet threads.

use serde::{Serialize, Serializer};

use super::section::Section;
use super::values;
use crate::worker::MAX_WORKERS;

/// The packet threads.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Workers {
    /// How many there are.
    pub count: usize,
    /// The cores that they run on, in their order; none leaves that to the kernel.
    #[serde(serialize_with = "cores", skip_serializing_if = "Vec::is_empty")]
    pub pin: Vec<usize>,
    /// They look at their ports without pause, and take a core each also when nothing comes.
    pub busy_poll: bool,
}

impl Default for Workers {
    fn default() -> Self {
        Self { count: 1, pin: Vec::new(), busy_poll: false }
    }
}

impl Workers {
    pub(super) fn read(workers: &mut Section<'_>) -> Self {
        let default = Self::default();
        Self {
            count: workers.value("count", values::number(1..=MAX_WORKERS)).unwrap_or(default.count),
            pin: workers.value("pin", values::cores).unwrap_or_default(),
            busy_poll: workers.value("busy_poll", values::flag).unwrap_or(default.busy_poll),
        }
    }
}

fn cores<S: Serializer>(cores: &[usize], serializer: S) -> Result<S::Ok, S::Error> {
    let texts: Vec<_> = cores.iter().map(usize::to_string).collect();
    serializer.serialize_str(&texts.join(", "))
}

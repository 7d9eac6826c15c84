//! The keys of the packet threads.

use serde::{Serialize, Serializer};

use super::section::Section;
use super::values;

/// The packet threads.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Workers {
    /// The cores that they run on, in their order; none leaves that to the kernel.
    #[serde(serialize_with = "cores", skip_serializing_if = "Vec::is_empty")]
    pub pin: Vec<usize>,
    /// They look at their ports without pause, and take a core each also when nothing comes.
    pub busy_poll: bool,
}

impl Workers {
    pub(super) fn read(workers: &mut Section<'_>) -> Self {
        let default = Self::default();
        Self {
            pin: workers.value("pin", values::cores).unwrap_or_default(),
            busy_poll: workers.value("busy_poll", values::flag).unwrap_or(default.busy_poll),
        }
    }
}

fn cores<S: Serializer>(cores: &[usize], serializer: S) -> Result<S::Ok, S::Error> {
    let texts: Vec<_> = cores.iter().map(usize::to_string).collect();
    serializer.serialize_str(&texts.join(", "))
}

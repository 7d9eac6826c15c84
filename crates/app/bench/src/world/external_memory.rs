//! X-PLANE over memory of this process, with tables for so many sessions.

use causeway_dataplane::Topology;
use causeway_slowpath::Limits;
use causeway_upf::config::XPlaneKeys;
use causeway_xplane::{LocalPlane, PipelineConfig};

use crate::BenchError;
use crate::kit::available_memory;

/// Directions, in each of which a session has a flow for each PDR.
const DIRECTIONS: u32 = 2;

/// The data plane. Its tables are those of `upf.xplane` for so many UEs and flows.
///
/// # Errors
/// [`BenchError::TooLarge`] when there is not so much memory.
pub(crate) fn xplane(topology: Topology, limits: Limits, pdrs: u16) -> Result<LocalPlane, BenchError> {
    let flows = limits.max_sessions.saturating_mul(DIRECTIONS).saturating_mul(pdrs.into());
    let keys = XPlaneKeys { ues: limits.max_sessions, flows, idle_ues: 0, ..XPlaneKeys::default() };
    let sizes = keys.sizes(1);
    let too_large = || BenchError::TooLarge(format!("the tables need {} octets", sizes.octets()));
    if available_memory().is_some_and(|available| sizes.octets() > available / 10 * 9) {
        return Err(too_large());
    }
    LocalPlane::in_process(topology, limits, sizes, PipelineConfig::default()).ok_or_else(too_large)
}

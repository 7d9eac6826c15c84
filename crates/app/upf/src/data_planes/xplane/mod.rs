//! Builds the data plane over external memory.

mod remote_memory;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use causeway_memory::Place;
use causeway_types::{Seid, Span, Time};
use causeway_xplane::local_state::LocalStateConfig;
use causeway_xplane::{Awaited, LocalPlane, MODEL_RKEY, PipelineConfig, Sizes, XPlane};
use tracing::error;

use self::remote_memory::{Part, RemoteMemory};
use super::{BoxedDataPlane, Parts};
use crate::error::StartError;

/// The start waits so long for the memory server; later the data plane connects by itself.
const PATIENCE: Duration = Duration::from_millis(500);

/// The tables begin at the first octet of what a data plane has of the memory.
const BASE: Place = Place { rkey: MODEL_RKEY, address: 0 };

/// The data plane of a configuration.
///
/// # Errors
/// There is no socket to the memory server, or this process cannot have so much memory.
pub(super) fn build(parts: &Parts<'_>) -> Result<BoxedDataPlane, StartError> {
    let keys = &parts.config.upf.xplane;
    let sizes = keys.sizes(u32::try_from(parts.workers).unwrap_or(u32::MAX));
    match keys.server {
        None => in_process(sizes, parts),
        Some(server) => over_server(server, sizes, parts),
    }
}

fn in_process(sizes: Sizes, parts: &Parts<'_>) -> Result<BoxedDataPlane, StartError> {
    let (topology, limits) = (parts.topology.clone(), parts.limits);
    let plane = LocalPlane::in_process(topology, limits, sizes, config(parts));
    Ok(Box::new(plane.ok_or(StartError::XPlaneTables { octets: sizes.octets() })?))
}

fn over_server(server: SocketAddr, sizes: Sizes, parts: &Parts<'_>) -> Result<BoxedDataPlane, StartError> {
    let length = sizes.octets();
    let number = parts.number as u64;
    let part = Part { number, offset: length.saturating_mul(number), length };
    let failed = |source| StartError::MemoryServer { address: server, source };
    let mut memory = RemoteMemory::new(server, part).map_err(failed)?;
    let is_connected = connect(&mut memory);
    let plane = XPlane::new(parts.topology.clone(), parts.limits, memory, sizes, BASE, config(parts));
    let plane = plane.with_batches_in_flight().with_lost_usage(log_lost);
    Ok(Box::new(if is_connected { plane } else { plane.disconnected() }))
}

fn log_lost(session: Seid) {
    error!(
        "usage of session {session} since its last grant is lost: only the memory server had it, which has restarted or is gone"
    );
}

/// Connects, or gives up for the moment.
fn connect(memory: &mut RemoteMemory) -> bool {
    let begin = Instant::now();
    let now = || Time::default() + Span::from_nanos(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(0));
    while begin.elapsed() < PATIENCE {
        if memory.reconnect(now()) {
            return true;
        }
    }
    false
}

/// What another run has left in the memory is never applied: generations begin elsewhere.
fn config(parts: &Parts<'_>) -> PipelineConfig {
    let random = || RandomState::new().build_hasher().finish();
    let local_state = LocalStateConfig { seed: random(), ..LocalStateConfig::default() };
    PipelineConfig { local_state, first_generation: random(), flow_age: parts.config.upf.xplane.flow_age }
}

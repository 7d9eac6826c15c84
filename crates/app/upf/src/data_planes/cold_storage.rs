//! Gives the fast path a folder for the state of idle sessions.

use causeway_cold::{ColdFile, StoreNotice};
use causeway_fastpath::{ColdNotice, FastPath};
use tracing::{error, info, warn};

use super::Parts;
use crate::error::StartError;

/// The fast path of a configuration, with cold storage if a folder is configured.
///
/// # Errors
/// The tables need more memory than there is, or the folder cannot be used.
pub(super) fn fast_path(parts: &Parts<'_>) -> Result<FastPath, StartError> {
    let plane = FastPath::new(parts.topology.clone(), parts.limits)
        .map_err(|source| StartError::Tables { source, limit: parts.address_space.clone() })?;
    let keys = &parts.config.upf.cold_storage;
    let Some(folder) = &keys.folder else { return Ok(plane) };
    let store = ColdFile::create(folder, log_store)
        .map_err(|source| StartError::ColdStorage { folder: folder.clone(), source })?;
    Ok(plane.with_cold_storage(Box::new(store), keys.idle_after, log))
}

fn log_store(notice: &StoreNotice) {
    match notice {
        StoreNotice::WritesResumed => info!("{notice}"),
        _ => warn!("{notice}"),
    }
}

fn log(notice: &ColdNotice) {
    match notice {
        ColdNotice::Lost { .. } => error!("{notice}"),
        _ => warn!("{notice}"),
    }
}

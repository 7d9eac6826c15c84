//! What the data plane can do of what a configuration may ask for.

use causeway_dataplane::Capabilities;
use causeway_n4::ApplyId;
use causeway_switch::heavy_hitters;

use crate::config::Upf;
use crate::error::{NO_CLASSES, NO_HEAVY_HITTERS, ReloadError, StartError};
use crate::worker::WorkerSetup;

/// What the data plane can do.
#[derive(Debug)]
pub(super) struct Abilities {
    capabilities: Capabilities,
    finds_heavy_hitters: bool,
}

impl Abilities {
    /// Those of the data planes of these packet threads, which are all of one kind.
    pub(super) fn of(setups: &[WorkerSetup<ApplyId>]) -> Self {
        let first = setups.first().map(|setup| &setup.data_plane);
        let switch = first.and_then(|data_plane| data_plane.switch_state());
        Self {
            capabilities: first.map_or_else(Capabilities::default, |data_plane| data_plane.capabilities()),
            finds_heavy_hitters: switch.is_none_or(|switch| heavy_hitters::are_found_by(&switch)),
        }
    }

    /// What N4 is told of them.
    pub(super) const fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Whether it can do what this configuration asks for.
    ///
    /// # Errors
    /// What it cannot do.
    pub(super) fn check(&self, upf: &Upf) -> Result<(), StartError> {
        if self.lacks_classes(upf) {
            return Err(StartError::NoClasses);
        }
        if self.lacks_heavy_hitters(upf) {
            return Err(StartError::NoHeavyHitters);
        }
        Ok(())
    }

    /// As [`Abilities::check`] while the UPF runs.
    ///
    /// # Errors
    /// The key of what it cannot do.
    pub(super) fn check_reload(&self, next: &Upf) -> Result<(), ReloadError> {
        let refused =
            |key: &str, why: &str| Err(ReloadError::Refused { key: key.to_owned(), why: why.to_owned() });
        if self.lacks_classes(next) {
            return refused("upf.traffic.classes.model", NO_CLASSES);
        }
        if self.lacks_heavy_hitters(next) {
            return refused("upf.traffic.heavy_hitters.threshold", NO_HEAVY_HITTERS);
        }
        Ok(())
    }

    fn lacks_classes(&self, upf: &Upf) -> bool {
        upf.traffic.classes.model.is_some() && !self.capabilities.application_classes
    }

    fn lacks_heavy_hitters(&self, upf: &Upf) -> bool {
        upf.traffic.heavy_hitters.threshold.is_some() && !self.finds_heavy_hitters
    }
}

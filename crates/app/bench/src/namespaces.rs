//! Network namespaces of a benchmark. The host's network is not changed.

use std::sync::atomic::{AtomicU32, Ordering};

use causeway_lab::cleanup::{Cleanup, CleanupGuard};
use causeway_lab::netns::{Namespace, check_privilege, remove_stale};

use crate::BenchError;

/// The right to make network namespaces, and those that were made. They go with it, also when a signal ends the process.
pub struct BenchNamespaces {
    cleanup: Cleanup,
    _guard: CleanupGuard,
}

impl BenchNamespaces {
    /// Sees whether this process may make namespaces, and removes those that a killed one has left.
    ///
    /// # Errors
    /// [`BenchError::Needs`] when it may not, [`BenchError::Lab`] when signals cannot be heard.
    pub fn acquire() -> Result<Self, BenchError> {
        let needs = |error: causeway_lab::LabError| BenchError::Needs(error.to_string());
        check_privilege().map_err(needs)?;
        remove_stale();
        let cleanup = Cleanup::default();
        cleanup.on_signal(|| (), || ())?;
        let nets = Self { _guard: cleanup.guard(), cleanup };
        // A container may have the right and still no place to keep namespaces in.
        match nets.namespace("probe") {
            Err(BenchError::Lab(error)) => Err(needs(error)),
            made => made.map(|_| nets),
        }
    }

    /// Makes an empty namespace with its loopback up.
    ///
    /// # Errors
    /// [`BenchError::Lab`] with what the system said.
    pub fn namespace(&self, role: &str) -> Result<Namespace, BenchError> {
        // Benchmarks of one process may run side by side.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Namespace::create(&format!("{role}{number}"), &self.cleanup)?)
    }

    /// What else is to be undone, for what else is set up.
    pub fn cleanup(&self) -> &Cleanup {
        &self.cleanup
    }
}

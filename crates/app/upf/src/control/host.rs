//! The host under N4: its memory, and the addresses and interfaces of the UPF.

use std::sync::Arc;

use causeway_dataplane::HostReachability;
use causeway_n4::N4;
use causeway_types::Time;

use super::{log::Log, views};
use crate::host_addresses::{HostWatch, RefusedDatagrams};
use crate::management::MemoryStatus;
use crate::memory::{Budget, Reading, rounded};

/// What the control thread looks at from time to time.
pub(super) struct Host {
    watch: HostWatch,
    /// Datagrams of other interfaces that were logged, of N4 and of N3.
    logged: [u64; 2],
    budget: Budget,
    /// The last reading of the memory usage.
    reading: Option<Reading>,
}

impl Host {
    /// Nothing was looked at yet.
    pub(super) fn new(watch: HostWatch, budget: Budget) -> Self {
        Self { watch, logged: [0; 2], budget, reading: None }
    }

    /// Reads the memory usage. Returns whether memory is short.
    pub(super) fn look_at_memory(&mut self, now: Time, log: &mut Log) -> bool {
        let reading = self.budget.read();
        let was_short = self.reading.as_ref().is_some_and(|reading| reading.is_short);
        let is_short = reading.as_ref().is_some_and(|reading| reading.is_short);
        if let Some(Reading { limit, source, used, .. }) = reading.as_ref().filter(|_| is_short != was_short)
        {
            let (used, limit) = (rounded(*used), rounded(*limit));
            let then = if is_short { "no more sessions are accepted" } else { "sessions are accepted again" };
            let line = format_args!("memory: {used} of {limit} ({source}) are in use: {then}");
            log.warn(now, "memory", None, &line);
        }
        self.reading = reading;
        is_short
    }

    /// Logs datagrams that came by other interfaces than those that are accepted.
    pub(super) fn look_at_interfaces(&mut self, now: Time, log: &mut Log) {
        let refused = self.watch.refused();
        for (RefusedDatagrams { what, key, count }, logged) in refused.into_iter().zip(&mut self.logged) {
            let more = count.saturating_sub(*logged);
            *logged = count;
            if more > 0 {
                let line = format_args!(
                    "{what}: {more} datagrams came by interfaces that {key} does not accept, and are dropped"
                );
                log.warn(now, key, None, &line);
            }
        }
    }

    /// Updates the filters of interfaces after a change of interfaces or addresses. Returns the addresses that UEs can reach, if they have
    /// changed.
    pub(super) fn refresh(&mut self) -> Option<Arc<HostReachability>> {
        self.watch.refresh().then(|| self.watch.host())
    }

    /// The addresses that UEs can reach.
    pub(super) fn reachability(&self) -> Arc<HostReachability> {
        self.watch.host()
    }

    /// The memory figures.
    pub(super) fn memory(&self, n4: &N4) -> MemoryStatus {
        views::memory(n4, &self.budget, self.reading.as_ref())
    }

    /// The number of datagrams that came by other interfaces than those that are accepted, of N4 and of N3.
    pub(super) fn refused(&mut self) -> [(&'static str, u64); 2] {
        self.watch.refused().map(|of| (of.what, of.count))
    }
}

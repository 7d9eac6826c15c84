//! The start of the packet threads.

use std::sync::Arc;

use causeway_dataplane::Topology;
use causeway_n4::ApplyId;

use super::abilities::Abilities;
use super::announce;
use super::open_n4::OpenN4;
use crate::clock::Clock;
use crate::config::Config;
use crate::control::{SharedControl, SharedSockets};
use crate::error::StartError;
use crate::memory::Budget;
use crate::worker::{PortCounters, PortSet, Schedule, WorkerHandle};
use crate::worker_setup::worker_setups;

/// The packet threads, which run, and what the control thread shares with them.
pub(super) struct PacketThreads {
    pub(super) worker: WorkerHandle<ApplyId>,
    pub(super) abilities: Abilities,
    /// The sockets of each packet thread that receives N4; those of the control thread if none does.
    pub(super) n4: Vec<SharedSockets>,
    pub(super) shared: Arc<SharedControl>,
    /// The counters of the ports, those of N4 included.
    pub(super) counters: Vec<PortCounters>,
}

impl PacketThreads {
    /// Starts a thread for each set of ports.
    ///
    /// # Errors
    /// As for [`crate::Daemon::start`].
    pub(super) fn start(
        config: &Config,
        topology: &Topology,
        mut ports: Vec<PortSet>,
        n4: OpenN4,
        (budget, clock): (&Budget, Clock),
    ) -> Result<Self, StartError> {
        if config.upf.metrics.qos_flows {
            ports.iter_mut().for_each(PortSet::count_qos_flows);
        }
        let counters = ports.iter().flat_map(PortSet::counters).chain(n4.counters()).collect();
        let mut setups = worker_setups(config, topology, ports, budget)?;
        let abilities = Abilities::of(&setups);
        abilities.check(&config.upf)?;
        let schedules: Vec<Schedule> = setups.iter().map(|setup| setup.schedule).collect();
        let shared = Arc::new(SharedControl::new(n4.threads()));
        let n4 = n4.into_threads(&config.upf, &mut setups, (&shared, clock))?;
        let worker = WorkerHandle::spawn_all(setups, clock, topology, config.upf.max_sessions as usize)?;
        announce::data_plane(config, &abilities.capabilities(), &schedules);
        Ok(Self { worker, abilities, n4, shared, counters })
    }
}

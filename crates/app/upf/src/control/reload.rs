//! A new configuration while the UPF runs.

use std::sync::Arc;

use causeway_dataplane::HostReachability;
use causeway_types::IpNet;

use super::{Control, Reload, settings};
use crate::config::Upf;

impl Control {
    /// Handles a request of the owner.
    pub(super) fn reload(&mut self, reload: Reload) {
        // The owner may have left.
        match reload {
            Reload::Pools { upf, reply } => {
                // Addresses of pools that go are allocated until the configuration is in force.
                let all = self.in_force.with_pools_in_use(&upf);
                drop(reply.send(self.plan_routes.set_kernel_pools(&all)));
            }
            Reload::Apply { upf, smfs, neighbours, reply } => {
                self.follow(upf, smfs, neighbours);
                let _ = reply.send(());
            }
        }
    }

    fn follow(&mut self, next: Arc<Upf>, smfs: Vec<IpNet>, neighbours: Vec<IpNet>) {
        let old = self.in_force.upf();
        let host = HostReachability::clone(&self.host.reachability());
        self.in_force.drain_pools(&next);
        let mut config = settings::with_live_keys(self.n4.config().clone(), &next, smfs);
        config.address_pools = settings::address_pools(&next, &host);
        self.in_force.set_surroundings(neighbours, host);
        self.apply_settings(&next, old.session != next.session);
        self.n4.reconfigure(self.clock.now(), config, &settings::targets(&next));
        let is_changed = next.traffic.heavy_hitters != old.traffic.heavy_hitters;
        self.in_force.set(next);
        if is_changed {
            self.look_for_heavy_hitters();
        }
    }

    /// Puts the settings of the data plane into force, and what depends on them.
    fn apply_settings(&mut self, next: &Upf, has_other_pools: bool) {
        if has_other_pools {
            let all = self.in_force.pools(next);
            for part in &mut self.parts {
                part.networks.set_pools(all.iter());
            }
            self.plan_routes.set_pools(all.iter());
        }
        if let Some((before, now)) = self.in_force.set_settings(next, has_other_pools) {
            let begins = before.echo.interval.is_zero() && !now.echo.interval.is_zero();
            let paths = self.parts.iter().flat_map(|part| part.plans.paths_of_others()).collect();
            self.worker.set_settings(&Arc::new(now), begins, paths);
        }
        self.n4.set_endpoints(self.in_force.topology().endpoints());
    }

    /// Removes pools that are drained: no session has an address of them any more.
    pub(super) fn remove_drained(&mut self) {
        if self.in_force.forget_unused_pools(&self.n4) {
            let config = self.in_force.upf();
            self.apply_settings(&config, true);
            // An error is in the log of the thread; nothing depends on it.
            drop(self.plan_routes.set_kernel_pools(&self.in_force.with_drained_pools(&config)));
        }
    }
}

//! A new configuration while the UPF runs.

use std::sync::Arc;

use causeway_dataplane::{HostReachability, UeAddresses};
use causeway_types::{IpNet, NetworkInstance};
use tracing::info;

use super::{Control, Reload, settings};
use crate::config::{N6Mode, Session, Upf};
use crate::data_plane_settings::{policies, routing, slices};

impl Control {
    /// Handles a request of the owner.
    pub(super) fn reload(&mut self, reload: Reload) {
        // The owner may have left.
        match reload {
            Reload::Pools { upf, reply } => {
                // Addresses of pools that go are allocated until the configuration is in force.
                let all = with_pools(&upf, self.config.borrow().session.iter().chain(&self.drained));
                drop(reply.send(self.kernel.set_pools(&all)));
            }
            Reload::Apply { upf, smfs, neighbours, reply } => {
                self.follow(upf, smfs, neighbours);
                let _ = reply.send(());
            }
        }
    }

    fn follow(&mut self, next: Arc<Upf>, smfs: Vec<IpNet>, neighbours: Vec<IpNet>) {
        let old = Arc::clone(&self.config.borrow());
        let is_there = |pool: &&Session| !next.session.iter().any(|known| known.is_same_pool(pool));
        let gone: Vec<Session> = old.session.iter().filter(is_there).cloned().collect();
        for pool in &gone {
            info!("pool {} of {} is drained: no address of it is allocated any more", pool.subnet, pool.dnn);
        }
        self.drained.retain(|pool| is_there(&pool));
        self.drained.extend(gone);
        self.topology.neighbours = neighbours;
        self.topology.host = HostReachability::clone(&self.host.reachability());
        self.apply_settings(&next, old.session != next.session);
        let mut config = settings::with_live_keys(self.n4.config().clone(), &next, smfs);
        config.address_pools = settings::address_pools(&next, &self.topology.host);
        self.n4.reconfigure(self.clock.now(), config, &settings::targets(&next));
        let is_changed = next.traffic.heavy_hitters != old.traffic.heavy_hitters;
        self.config.send_replace(next);
        if is_changed {
            self.look_for_heavy_hitters();
        }
    }

    /// Puts the settings of the data plane into force, and what depends on them.
    fn apply_settings(&mut self, next: &Upf, has_other_pools: bool) {
        let before = self.topology.settings();
        let mut now = before.clone();
        now.echo = routing(next).echo;
        now.policies = policies(&next.forwarding_policy);
        now.slices = slices(next);
        now.firewall.clone_from(&next.firewall.compiled);
        if has_other_pools {
            let all: Vec<Session> = next.session.iter().chain(&self.drained).cloned().collect();
            for (network, addresses) in self.topology.networks.iter().zip(&mut now.networks) {
                *addresses = ue_addresses(&network.instance, &all, addresses);
            }
            self.networks.set_pools(all.iter());
            self.routes.set_pools(all.iter());
        }
        self.topology.set(&now);
        let now = self.topology.settings();
        if now != before {
            let begins = before.echo.interval.is_zero() && !now.echo.interval.is_zero();
            self.worker.set_settings(&Arc::new(now), begins);
        }
        self.n4.set_endpoints(self.topology.endpoints());
    }

    /// Removes pools that are drained: no session has an address of them any more.
    pub(super) fn remove_drained(&mut self) {
        if self.drained.is_empty() {
            return;
        }
        let n4 = &self.n4;
        let is_in_use = |pool: &Session| n4.is_in_use_within(&NetworkInstance::new(&pool.dnn), &pool.subnet);
        let (stay, gone): (Vec<Session>, Vec<Session>) =
            std::mem::take(&mut self.drained).into_iter().partition(is_in_use);
        self.drained = stay;
        if gone.is_empty() {
            return;
        }
        for pool in &gone {
            info!("pool {} of {} is gone: its last address was released", pool.subnet, pool.dnn);
        }
        let config = Arc::clone(&self.config.borrow());
        self.apply_settings(&config, true);
        let all = with_pools(&config, self.drained.iter());
        // An error is in the log of the thread; nothing depends on it.
        drop(self.kernel.set_pools(&all));
    }
}

/// The configuration with those of these pools that it does not have.
fn with_pools<'a>(upf: &Upf, pools: impl Iterator<Item = &'a Session>) -> Upf {
    let mut all = upf.clone();
    for pool in pools {
        if !all.session.iter().any(|known| known.is_same_pool(pool)) {
            all.session.push(pool.clone());
        }
    }
    all
}

/// The UE addresses of a data network with these pools. Those of an Ethernet interface stay: its port has them.
fn ue_addresses(network: &NetworkInstance, pools: &[Session], before: &UeAddresses) -> UeAddresses {
    let own = || pools.iter().filter(|pool| NetworkInstance::new(&pool.dnn) == *network);
    if own().any(|pool| pool.mode != N6Mode::Tun) {
        return before.clone();
    }
    UeAddresses {
        pools: own().map(|pool| pool.subnet).collect(),
        framed_routes: own().flat_map(|pool| &pool.framed_routes).copied().collect(),
        gateways: own().filter_map(|pool| pool.gateway).collect(),
    }
}

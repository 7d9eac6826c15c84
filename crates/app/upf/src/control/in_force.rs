//! The configuration in force, and what of earlier ones is still in use.

use std::sync::Arc;

use causeway_dataplane::{HostReachability, Settings, Topology, UeAddresses};
use causeway_n4::N4;
use causeway_types::{IpNet, NetworkInstance};
use tokio::sync::watch;
use tracing::info;

use crate::config::{N6Mode, Session, Upf};
use crate::data_plane_settings::{policies, routing, slices};

/// The configuration in force.
pub(super) struct InForce {
    upf: watch::Sender<Arc<Upf>>,
    /// The topology of the data plane, with the settings in force.
    topology: Topology,
    /// UE address pools that are not configured any more, and of which addresses are in use.
    drained: Vec<Session>,
}

impl InForce {
    /// That of the start.
    pub(super) fn new(upf: watch::Sender<Arc<Upf>>, topology: Topology) -> Self {
        Self { upf, topology, drained: Vec::new() }
    }

    /// The configuration.
    pub(super) fn upf(&self) -> Arc<Upf> {
        Arc::clone(&self.upf.borrow())
    }

    /// The topology of the data plane.
    pub(super) fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The pools of this configuration, then those that are drained.
    pub(super) fn pools(&self, upf: &Upf) -> Vec<Session> {
        upf.session.iter().chain(&self.drained).cloned().collect()
    }

    /// A configuration with all pools of which addresses may be in use.
    pub(super) fn with_pools_in_use(&self, upf: &Upf) -> Upf {
        with_pools(upf, self.upf().session.iter().chain(&self.drained))
    }

    /// A configuration with those pools that are drained.
    pub(super) fn with_drained_pools(&self, upf: &Upf) -> Upf {
        with_pools(upf, self.drained.iter())
    }

    /// The pools that the next configuration does not have are drained from now on.
    pub(super) fn drain_pools(&mut self, next: &Upf) {
        let old = self.upf();
        let is_gone = |pool: &&Session| !next.session.iter().any(|known| known.is_same_pool(pool));
        let gone: Vec<Session> = old.session.iter().filter(is_gone).cloned().collect();
        for pool in &gone {
            info!("pool {} of {} is drained: no address of it is allocated any more", pool.subnet, pool.dnn);
        }
        self.drained.retain(|pool| is_gone(&pool));
        self.drained.extend(gone);
    }

    /// Forgets the drained pools of which no session has an address any more. Returns whether there are any.
    pub(super) fn forget_unused_pools(&mut self, n4: &N4) -> bool {
        let is_in_use = |pool: &Session| n4.is_in_use_within(&NetworkInstance::new(&pool.dnn), &pool.subnet);
        let (stay, gone): (Vec<Session>, Vec<Session>) =
            std::mem::take(&mut self.drained).into_iter().partition(is_in_use);
        self.drained = stay;
        for pool in &gone {
            info!("pool {} of {} is gone: its last address was released", pool.subnet, pool.dnn);
        }
        !gone.is_empty()
    }

    /// What is around the UPF.
    pub(super) fn set_surroundings(&mut self, neighbours: Vec<IpNet>, host: HostReachability) {
        self.topology.neighbours = neighbours;
        self.topology.host = host;
    }

    /// Puts the settings of the data plane into force. Returns those before and now, if they differ.
    pub(super) fn set_settings(&mut self, next: &Upf, has_other_pools: bool) -> Option<(Settings, Settings)> {
        let before = self.topology.settings();
        let mut now = before.clone();
        now.echo = routing(next).echo;
        now.policies = policies(&next.forwarding_policy);
        now.slices = slices(next);
        now.firewall.clone_from(&next.firewall.compiled);
        if has_other_pools {
            let all = self.pools(next);
            for (network, addresses) in self.topology.networks.iter().zip(&mut now.networks) {
                *addresses = ue_addresses(&network.instance, &all, addresses);
            }
        }
        self.topology.set(&now);
        let now = self.topology.settings();
        (now != before).then_some((before, now))
    }

    /// This is the configuration from now on.
    pub(super) fn set(&self, upf: Arc<Upf>) {
        self.upf.send_replace(upf);
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

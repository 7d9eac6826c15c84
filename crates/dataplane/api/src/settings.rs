//! What may change of a topology while a data plane runs.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use causeway_types::{IpNet, SNssai};

use crate::{EchoConfig, Firewall, ForwardingPolicy, Network, SliceLimit, Topology};

/// The parts of a [`Topology`] that may change while the data plane runs: see
/// [`Dataplane::reconfigure`](crate::Dataplane::reconfigure).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    /// Echo Requests to GTP-U peers. An idle path follows a new interval at once, one that waits for a response after
    /// it. With an interval of zero no path is supervised any more, and each path that was down is reported as unused.
    pub echo: EchoConfig,
    /// The forwarding policies. Those that are not listed any more have no effect on later packets.
    pub policies: Vec<ForwardingPolicy>,
    /// The network slices whose traffic is limited. One that is not listed any more has no limit; the topology keeps it, so
    /// that its limit can come back. A P4 switch does not follow slices that its topology does not have yet.
    pub slices: Vec<SliceLimit>,
    /// The UE addresses of each data network of IP packets, in the order of [`Topology::networks`].
    pub networks: Vec<UeAddresses>,
    /// The firewall for the packets of all sessions; `None`: all pass. Later packets follow it.
    pub firewall: Option<Arc<Firewall>>,
}

/// The UE addresses of a data network.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UeAddresses {
    /// The UE address pools that are routed to this UPF.
    pub pools: Vec<IpNet>,
    /// Ranges outside the pools that framed routes may be in.
    pub framed_routes: Vec<IpNet>,
    /// The addresses of the UPF in the pools.
    pub gateways: Vec<IpAddr>,
}

impl Topology {
    /// The settings in force.
    pub fn settings(&self) -> Settings {
        let of = |network: &Network| UeAddresses {
            pools: network.pools.clone(),
            framed_routes: network.framed_routes.clone(),
            gateways: network.gateways.clone(),
        };
        Settings {
            echo: self.routing.echo,
            policies: self.policies.clone(),
            slices: self.slices.clone(),
            networks: self.networks.iter().map(of).collect(),
            firewall: self.firewall.clone(),
        }
    }

    /// A rate of the slice is limited.
    pub fn is_limited(&self, slice: SNssai) -> bool {
        is_limited(&self.slices, slice)
    }

    /// The slices that have a limit in these settings and none in the topology, or the other way round.
    pub fn toggled_slices(&self, settings: &Settings) -> Vec<SNssai> {
        let all = self.slices.iter().chain(&settings.slices).map(|limit| limit.slice);
        let is_toggled = |slice: &SNssai| self.is_limited(*slice) != is_limited(&settings.slices, *slice);
        let toggled: BTreeSet<SNssai> = all.filter(is_toggled).collect();
        toggled.into_iter().collect()
    }

    /// Puts settings into force. Slices come, and stay without a limit if they go; networks stay the same, with other values.
    pub fn set(&mut self, settings: &Settings) {
        self.routing.echo = settings.echo;
        self.policies.clone_from(&settings.policies);
        self.firewall.clone_from(&settings.firewall);
        for limit in &mut self.slices {
            let next = settings.slices.iter().find(|next| next.slice == limit.slice);
            *limit = next.copied().unwrap_or(SliceLimit { uplink: None, downlink: None, ..*limit });
        }
        for next in &settings.slices {
            if self.slices.iter().all(|limit| limit.slice != next.slice) {
                self.slices.push(*next);
            }
        }
        for (network, next) in self.networks.iter_mut().zip(&settings.networks) {
            network.pools.clone_from(&next.pools);
            network.framed_routes.clone_from(&next.framed_routes);
            network.gateways.clone_from(&next.gateways);
        }
    }
}

fn is_limited(limits: &[SliceLimit], slice: SNssai) -> bool {
    let is_it = |limit: &SliceLimit| limit.slice == slice && limit.uplink.or(limit.downlink).is_some();
    limits.iter().any(is_it)
}

#[cfg(test)]
mod tests {
    use causeway_model::PolicyName;
    use causeway_types::{Bitrate, NetworkInstance, SNssai, Span};

    use super::*;

    // Input:  a topology with a slice and a network; settings with other values, one more slice and one more network; then no slice.
    // Output: the values and the slice are in force, not the network; then both slices are without a limit.
    #[test]
    fn settings_change_values_and_add_slices() {
        let limit = |sst, kbps| SliceLimit {
            slice: SNssai { sst, sd: SNssai::NO_SD },
            uplink: Bitrate::from_kbps(kbps),
            downlink: None,
        };
        let network = Network::new(NetworkInstance::new("internet"), vec!["10.45.0.0/16".parse().unwrap()]);
        let mut topology =
            Topology { slices: vec![limit(1, 10)], networks: vec![network], ..Topology::default() };
        let mut next = topology.settings();
        topology.set(&next);
        assert_eq!(topology.settings(), next);
        next.echo.interval = Span::from_secs(60);
        next.policies.push(ForwardingPolicy::new(PolicyName::new(b"a")));
        next.slices = vec![limit(2, 30), limit(1, 20)];
        next.networks[0].pools.push("10.46.0.0/16".parse().unwrap());
        next.networks[0].gateways.push("10.46.0.1".parse().unwrap());
        next.networks.push(UeAddresses::default());
        let slices = |topology: &Topology, next: &Settings| -> Vec<u8> {
            topology.toggled_slices(next).iter().map(|slice| slice.sst).collect()
        };
        assert_eq!(slices(&topology, &next), [2]);
        topology.set(&next);
        assert_eq!(topology.routing.echo.interval, Span::from_secs(60));
        assert_eq!(topology.slices, [limit(1, 20), limit(2, 30)]);
        assert_eq!((topology.networks.len(), topology.networks[0].pools.len()), (1, 2));
        assert_eq!((&topology.policies, topology.networks[0].gateways.len()), (&next.policies, 1));
        next.slices.clear();
        assert_eq!(slices(&topology, &next), [1, 2]);
        topology.set(&next);
        let without = |sst| SliceLimit { uplink: None, ..limit(sst, 0) };
        assert_eq!(topology.slices, [without(1), without(2)]);
    }
}

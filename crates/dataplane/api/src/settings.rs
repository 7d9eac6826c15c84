//! What may change of a topology while a data plane runs.

use std::net::IpAddr;
use std::sync::Arc;

use causeway_types::IpNet;

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
    /// The rates of the network slices that the topology has; other slices are ignored.
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

    /// Puts settings into force. Slices and networks stay the same, with other values.
    pub fn set(&mut self, settings: &Settings) {
        self.routing.echo = settings.echo;
        self.policies.clone_from(&settings.policies);
        self.firewall.clone_from(&settings.firewall);
        for limit in &mut self.slices {
            if let Some(next) = settings.slices.iter().find(|next| next.slice == limit.slice) {
                *limit = *next;
            }
        }
        for (network, next) in self.networks.iter_mut().zip(&settings.networks) {
            network.pools.clone_from(&next.pools);
            network.framed_routes.clone_from(&next.framed_routes);
            network.gateways.clone_from(&next.gateways);
        }
    }
}

#[cfg(test)]
mod tests {
    use causeway_model::PolicyName;
    use causeway_types::{Bitrate, NetworkInstance, SNssai, Span};

    use super::*;

    // Input:  a topology with a slice and a network; settings with other values, one more slice and one more network.
    // Output: the values are in force; the topology has no further slice or network.
    #[test]
    fn settings_change_values_but_add_nothing() {
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
        topology.set(&next);
        assert_eq!(topology.routing.echo.interval, Span::from_secs(60));
        assert_eq!(topology.slices, [limit(1, 20)]);
        assert_eq!((topology.networks.len(), topology.networks[0].pools.len()), (1, 2));
        assert_eq!((topology.policies, topology.networks[0].gateways.len()), (next.policies, 1));
    }
}

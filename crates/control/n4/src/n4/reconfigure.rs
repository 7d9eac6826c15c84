//! Changes of the configuration while the UPF runs.

use std::net::SocketAddr;
use std::sync::Arc;

use causeway_model::LocalEndpoints;
use causeway_types::{IpNet, NetworkInstance, Time};

use super::N4;
use crate::Config;

impl N4 {
    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.node.config
    }

    /// Follows a changed configuration, with these peers as the ones with which the UPF initiates an association. What may
    /// change are retransmission, heartbeats, path failure, load and overload control, the permitted and known SMFs, the
    /// request port, the delays, the limits of framed routes, the UE address pools, and the applications; all else stays
    /// as at the start.
    ///
    /// Sessions and associations stay, also those with an SMF that may not set up an association any more. Requests in
    /// flight keep their timers; heartbeats follow the new interval from now on.
    ///
    /// Sessions keep their addresses also when their pool goes: it is drained, and [`N4::pools`] shows it until the last
    /// address is released.
    ///
    /// Applications that are configured under the ID of one provisioned over N4 replace it, for the sessions of every
    /// SMF; PDRs of a removed application match no packet.
    pub fn reconfigure(&mut self, now: Time, next: Config, targets: &[SocketAddr]) {
        let mut config = (*self.node.config).clone();
        config.follow(next);
        let config = Arc::new(config);
        for part in self.parts_mut() {
            part.transactions.reconfigure(&config);
            part.sessions.reconfigure(Arc::clone(&config));
        }
        self.node.reconfigure(now, config);
        if !self.is_stopping() {
            self.node.associations.set_targets(
                now,
                targets,
                &mut self.first.transactions,
                &mut self.first.out,
            );
        }
        let applications =
            self.first.sessions.applications().with_configured(&self.node.config.catalogue.applications);
        if applications != **self.first.sessions.applications() {
            self.pfds.forget_configured(&applications);
            self.node.memory.set_pfds(applications.octets());
            self.provision(applications);
        }
    }

    /// Later requests are validated with these endpoints: other forwarding policies, ranges of framed routes, neighbours
    /// and addresses of the host. The GTP-U addresses and the data networks must be those of the start. Sessions are not
    /// validated again.
    pub fn set_endpoints(&mut self, endpoints: LocalEndpoints) {
        self.parts_mut().for_each(|part| part.sessions.set_endpoints(endpoints.clone()));
    }

    /// A session has a UE address of the data network in this range.
    pub fn is_in_use_within(&self, network: &NetworkInstance, range: &IpNet) -> bool {
        self.first.sessions.is_in_use_within(network, range)
    }
}

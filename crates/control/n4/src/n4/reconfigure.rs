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
        &self.config
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
        let mut config = (*self.config).clone();
        config.follow(next);
        self.config = Arc::new(config);
        self.transactions.reconfigure(&self.config);
        self.load.reconfigure(&self.config);
        self.sessions.reconfigure(Arc::clone(&self.config));
        self.associations.reconfigure(now, Arc::clone(&self.config));
        if !self.is_stopping() {
            self.associations.set_targets(now, targets, &mut self.transactions, &mut self.out);
        }
        let applications = self.sessions.applications().with_configured(&self.config.catalogue.applications);
        if applications != **self.sessions.applications() {
            self.pfds.forget_configured(&applications);
            self.memory.set_pfds(applications.octets());
            self.sessions.set_applications(Arc::new(applications));
            self.send_applications();
        }
    }

    /// Later requests are validated with these endpoints: other forwarding policies, ranges of framed routes, neighbours
    /// and addresses of the host. The GTP-U addresses and the data networks must be those of the start. Sessions are not
    /// validated again.
    pub fn set_endpoints(&mut self, endpoints: LocalEndpoints) {
        self.sessions.set_endpoints(endpoints);
    }

    /// A session has a UE address of the data network in this range.
    pub fn is_in_use_within(&self, network: &NetworkInstance, range: &IpNet) -> bool {
        self.sessions.is_in_use_within(network, range)
    }
}

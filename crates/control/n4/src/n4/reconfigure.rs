//! Changes of the configuration while the UPF runs.

use std::net::SocketAddr;
use std::sync::Arc;

use causeway_types::Time;

use super::N4;
use crate::Config;

impl N4 {
    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Follows a changed configuration, with these peers as the ones with which the UPF initiates an association. What may
    /// change are retransmission, heartbeats, path failure, load and overload control, the permitted and known SMFs, the
    /// request port, the delays, the limits of framed routes, and the applications; all else stays as at the start.
    ///
    /// Sessions and associations stay, also those with an SMF that may not set up an association any more. Requests in
    /// flight keep their timers; heartbeats follow the new interval from now on.
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
}

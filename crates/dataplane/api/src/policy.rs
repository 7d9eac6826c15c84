//! Forwarding policies: what the configuration says of traffic that an SMF names a policy for.

use causeway_rules::{KnownPolicy, PolicyName, Redirect};
use causeway_types::NetworkInstance;

/// A forwarding policy (TS 29.244 clauses 5.4.8 and 8.2.23). What is not there stays as the FAR has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForwardingPolicy {
    /// Its name, which FARs give.
    pub name: PolicyName,
    /// Packets are dropped.
    pub drop: bool,
    /// The data network that packets leave to, when they leave without GTP-U.
    pub network: Option<NetworkInstance>,
    /// The DSCP that user packets are marked with, 0 to 63.
    pub dscp: Option<u8>,
    /// Where uplink packets are redirected to; what the FAR says of it takes precedence (clause 5.4.7).
    pub redirect: Option<Redirect>,
}

impl ForwardingPolicy {
    /// A policy that changes nothing.
    pub fn new(name: PolicyName) -> Self {
        Self { name, drop: false, network: None, dscp: None, redirect: None }
    }

    /// What rules are checked against.
    pub fn to_known(&self) -> KnownPolicy {
        let answers_http = matches!(self.redirect, Some(Redirect::Http(_)));
        KnownPolicy { name: self.name.clone(), answers_http }
    }
}

//! Forwarding policies of the configuration, which SMFs refer to by name.

use causeway_model::{KnownPolicy, PolicyName, Redirect};
use causeway_types::NetworkInstance;

/// A forwarding policy (TS 29.244 clauses 5.4.8 and 8.2.23). Fields that are not set leave the FAR's values in effect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForwardingPolicy {
    /// Its name, as FARs refer to it.
    pub name: PolicyName,
    /// Whether packets are dropped.
    pub drop: bool,
    /// The data network of packets that are forwarded without GTP-U.
    pub network: Option<NetworkInstance>,
    /// The DSCP that user packets are marked with, 0 to 63.
    pub dscp: Option<u8>,
    /// The redirect of uplink packets; a redirect in the FAR takes precedence (clause 5.4.7).
    pub redirect: Option<Redirect>,
}

impl ForwardingPolicy {
    /// A policy that changes nothing.
    pub fn new(name: PolicyName) -> Self {
        Self { name, drop: false, network: None, dscp: None, redirect: None }
    }

    /// The part of the policy that rule validation needs.
    pub fn to_known(&self) -> KnownPolicy {
        let answers_http = matches!(self.redirect, Some(Redirect::Http(_)));
        KnownPolicy { name: self.name.clone(), answers_http }
    }
}

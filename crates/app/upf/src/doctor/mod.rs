//! Checks whether a host has what a configuration needs. Nothing is changed, and nothing stays open.
//!
//! ```no_run
//! use causeway_upf::config::Config;
//! use causeway_upf::doctor::{Verdict, examine};
//!
//! for finding in examine(&Config::default().upf) {
//!     if finding.verdict == Verdict::Failure {
//!         println!("{}: {}", finding.subject, finding.state);
//!     }
//! }
//! ```

mod addresses;
mod host;
mod network;
mod nftables;
mod tenants;

use serde::Serialize;

use crate::config::Upf;
use crate::host_networks::HostNetworks;

/// How well the host fits in one respect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As needed.
    Good,
    /// The UPF starts, but some traffic or speed may be missing.
    Warning,
    /// The UPF does not start, or carries no packets.
    Failure,
}

/// The result of one check.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// What was checked: a configuration key, or a part of the host.
    pub subject: String,
    /// The result.
    pub verdict: Verdict,
    /// What was found.
    pub state: String,
    /// What to do; absent if nothing is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Finding {
    fn good(subject: impl Into<String>, state: impl Into<String>) -> Self {
        Self { subject: subject.into(), verdict: Verdict::Good, state: state.into(), remedy: None }
    }

    fn warning(subject: impl Into<String>, state: impl Into<String>, remedy: impl Into<String>) -> Self {
        let remedy = Some(remedy.into());
        Self { subject: subject.into(), verdict: Verdict::Warning, state: state.into(), remedy }
    }

    fn failure(subject: impl Into<String>, state: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { verdict: Verdict::Failure, ..Self::warning(subject, state, remedy) }
    }
}

/// Examines the host for this configuration. A running UPF holds its ports, which are then reported as in use.
pub fn examine(upf: &Upf) -> Vec<Finding> {
    let mut findings = host::check(upf);
    match HostNetworks::read(&upf.session) {
        Ok(host) => {
            findings.extend(addresses::check(upf, &host));
            findings.extend(network::check(upf, &host));
            findings.extend(tenants::check(upf, &host));
        }
        Err(error) => findings.push(Finding::failure(
            "interfaces",
            format!("cannot be listed: {error}"),
            "run this in the network namespace of the UPF, as root",
        )),
    }
    findings
}

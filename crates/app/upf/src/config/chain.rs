//! The keys of a chain of two daemons.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use causeway_types::Span;
use serde::Serialize;

use super::enums::{GtpuMode, N4Mode};
use super::model::Upf;
use super::problem::Problem;
use super::section::Section;
use super::serialize::{shown_if_any, span, words};
use super::{quantities, values};

/// The TCP port of members.
pub const MEMBER_PORT: u16 = 8806;

/// The TCP port of the coordinator.
pub const COORDINATOR_PORT: u16 = 8807;

/// The member of a chain that this daemon is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Chain {
    /// Its number; `None`: the daemon is in no chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<u16>,
    /// Where the other member connects to.
    #[serde(serialize_with = "shown_if_any", skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
    /// Where the other member listens.
    #[serde(serialize_with = "shown_if_any", skip_serializing_if = "Option::is_none")]
    pub peer: Option<SocketAddr>,
    /// Where the coordinator listens.
    #[serde(serialize_with = "shown_if_any", skip_serializing_if = "Option::is_none")]
    pub coordinator: Option<SocketAddr>,
    /// The service addresses.
    #[serde(serialize_with = "words", skip_serializing_if = "Vec::is_empty")]
    pub address: Vec<Ipv4Addr>,
    /// The interfaces on which they are announced.
    #[serde(serialize_with = "words", skip_serializing_if = "Vec::is_empty")]
    pub dev: Vec<String>,
    /// After so long without a word the coordinator or the other member counts as failed.
    #[serde(serialize_with = "span")]
    pub timeout: Span,
    /// How often the standby gets the usage of each session that has measured some; zero: never.
    #[serde(serialize_with = "span")]
    pub usage_interval: Span,
}

impl Default for Chain {
    fn default() -> Self {
        Self {
            member: None,
            listen: None,
            peer: None,
            coordinator: None,
            address: Vec::new(),
            dev: Vec::new(),
            timeout: Span::from_millis(500),
            usage_interval: Span::from_secs(1),
        }
    }
}

impl Chain {
    /// The daemon is a member of a chain.
    pub const fn is_on(&self) -> bool {
        self.member.is_some()
    }

    /// It is a service address, which this host has only while the daemon is the primary.
    pub fn has(&self, ip: IpAddr) -> bool {
        self.is_on() && self.address.iter().any(|own| IpAddr::V4(*own) == ip)
    }

    pub(super) fn read(chain: &mut Section<'_>) -> Self {
        Self {
            member: chain.value("member", values::number(1..=u16::MAX)),
            listen: chain.value("listen", |text: &str| values::endpoint(text, MEMBER_PORT)),
            peer: chain.value("peer", |text: &str| values::endpoint(text, MEMBER_PORT)),
            coordinator: chain.value("coordinator", |text: &str| values::endpoint(text, COORDINATOR_PORT)),
            address: chain.value("address", values::ipv4_addresses).unwrap_or_default(),
            dev: chain.value("dev", values::devices).unwrap_or_default(),
            timeout: chain.value("timeout", quantities::positive_span).unwrap_or(Self::default().timeout),
            usage_interval: chain
                .value("usage_interval", quantities::span)
                .unwrap_or(Self::default().usage_interval),
        }
    }
}

/// A chain that lacks keys, or with what a chain cannot have.
pub(super) fn check(upf: &Upf) -> Vec<(String, Problem)> {
    let chain = &upf.chain;
    let mut found = Vec::new();
    let given = [
        ("listen", chain.listen.is_some()),
        ("peer", chain.peer.is_some()),
        ("coordinator", chain.coordinator.is_some()),
        ("address", !chain.address.is_empty()),
        ("dev", !chain.dev.is_empty()),
    ];
    if !chain.is_on() {
        return found;
    }
    let missing = given.iter().filter(|(_, is_given)| !is_given);
    found.extend(missing.map(|(key, _)| (format!("upf.chain.{key}"), Problem::ChainKeyMissing)));
    let cannot = [
        ("upf.pfcp.accelerate", upf.pfcp.accelerate),
        ("upf.pfcp.mode", upf.pfcp.mode != N4Mode::Udp),
        ("upf.gtpu.mode", upf.gtpu.mode != GtpuMode::Udp),
        ("upf.switch.address", upf.switch.address.is_some()),
        ("upf.ethernet", !upf.ethernet.is_empty()),
        ("upf.pfcp.client.smf", !upf.pfcp.client.smf.is_empty()),
    ];
    found.extend(
        cannot.iter().filter(|(_, is_there)| *is_there).map(|(key, _)| ((*key).into(), Problem::NotInChain)),
    );
    let servers = upf.pfcp.server.iter().map(|server| server.address);
    let n4 = servers.enumerate().map(|(n, ip)| (format!("upf.pfcp.server[{n}].address"), ip));
    let servers = upf.gtpu.server.iter().map(|server| server.address);
    let n3 = servers.enumerate().map(|(n, ip)| (format!("upf.gtpu.server[{n}].address"), ip));
    let is_foreign = |ip: Option<IpAddr>| !ip.is_some_and(|ip| chain.has(ip));
    found.extend(
        n4.chain(n3).filter(|(_, ip)| is_foreign(*ip)).map(|(key, _)| (key, Problem::NotAServiceAddress)),
    );
    found
}

#[cfg(test)]
mod tests {
    use super::super::{Config, Overrides};
    use super::*;

    fn keys(text: &str) -> Vec<String> {
        let upf = Config::parse(None, text, &Overrides::default()).unwrap().upf;
        check(&upf).into_iter().map(|(key, _)| key).collect()
    }

    // Input:  no chain; a whole one; one that lacks keys; one with what it cannot have, and with an address that is not of the service.
    // Output: nothing; nothing; the missing keys; each key that is wrong.
    #[test]
    fn a_chain_has_all_its_keys_and_nothing_that_it_cannot_have() {
        assert!(keys("upf: {chain: {peer: 192.0.2.2}}").is_empty());
        let service = "pfcp: {server: [{address: 192.0.2.10}]}, gtpu: {server: [{address: 192.0.2.10}]}";
        let whole = "member: 1, listen: 192.0.2.1, peer: '192.0.2.2:7', coordinator: 192.0.2.3, address: 192.0.2.10, dev: eth0";
        assert!(keys(&format!("upf: {{{service}, chain: {{{whole}}}}}")).is_empty());
        let missing = keys(&format!("upf: {{{service}, chain: {{member: 1, address: 192.0.2.10}}}}"));
        assert_eq!(missing, ["listen", "peer", "coordinator", "dev"].map(|key| format!("upf.chain.{key}")));
        let cannot = keys(&format!(
            "upf: {{pfcp: {{accelerate: true, client: {{smf: [{{address: 192.0.2.21}}]}}}}, chain: {{{whole}}}}}"
        ));
        let expected = [
            "upf.pfcp.accelerate",
            "upf.pfcp.client.smf",
            "upf.pfcp.server[0].address",
            "upf.gtpu.server[0].address",
        ];
        assert_eq!(cannot, expected);
    }
}

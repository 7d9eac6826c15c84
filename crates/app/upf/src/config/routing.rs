//! The keys of the UPF as a router and as a GTP-U peer.

use causeway_dataplane as dataplane;
use causeway_types::Span;
use serde::Serialize;

use super::section::Section;
use super::serialize::span;
use super::{quantities, values};

/// Echo Requests to GTP-U peers (TS 29.281 clause 7.2.1).
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct EchoConfig {
    /// The interval on a path; zero sends none.
    #[serde(serialize_with = "span")]
    pub interval: Span,
    /// T3: the response timeout.
    #[serde(serialize_with = "span")]
    pub timeout: Span,
    /// Retransmissions before the path counts as down.
    pub retries: u8,
}

impl Default for EchoConfig {
    fn default() -> Self {
        let dataplane::EchoConfig { interval, timeout, retries } = dataplane::EchoConfig::default();
        Self { interval, timeout, retries }
    }
}

impl EchoConfig {
    pub(super) fn read(echo: &mut Section<'_>) -> Self {
        let default = Self::default();
        Self {
            interval: echo.value("interval", quantities::echo_interval).unwrap_or(default.interval),
            timeout: echo.value("timeout", quantities::positive_span).unwrap_or(default.timeout),
            retries: echo.value("retries", values::number(0..=20)).unwrap_or(default.retries),
        }
    }
}

/// The UPF as the first router of the UEs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Routing {
    /// TTL and hop limit are decremented between N3 and N6.
    pub decrement_ttl: bool,
    /// Router Solicitations that no rule forwards to the SMF are answered.
    pub router_advertisement: bool,
    /// Maximum number of ICMP errors per second.
    pub icmp_errors_per_second: u32,
}

impl Default for Routing {
    fn default() -> Self {
        let dataplane::Routing { decrement_ttl, router_advertisement, icmp_errors_per_second, .. } =
            dataplane::Routing::default();
        Self { decrement_ttl, router_advertisement, icmp_errors_per_second }
    }
}

impl Routing {
    pub(super) fn read(routing: &mut Section<'_>) -> Self {
        let default = Self::default();
        Self {
            decrement_ttl: routing.value("decrement_ttl", values::flag).unwrap_or(default.decrement_ttl),
            router_advertisement: routing
                .value("router_advertisement", values::flag)
                .unwrap_or(default.router_advertisement),
            icmp_errors_per_second: routing
                .value("icmp_errors_per_second", values::number(0..=1_000_000))
                .unwrap_or(default.icmp_errors_per_second),
        }
    }
}

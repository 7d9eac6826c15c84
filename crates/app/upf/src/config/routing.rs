//! The keys of the UPF as a router.

use causeway_dataplane as dataplane;
use serde::Serialize;

use super::section::Section;
use super::values;

/// The UPF as the first router of the UEs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Routing {
    /// Packets lose one hop between N3 and N6.
    pub decrement_ttl: bool,
    /// Router Solicitations that no rule takes to the SMF are answered.
    pub router_advertisement: bool,
    /// ICMP errors in a second, at most.
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

//! Configuration of the data plane as a router and as a GTP-U peer.

use causeway_types::Span;

/// The UPF as the first router of the UEs, and as a GTP-U peer of gNBs and other UPFs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Routing {
    /// Whether the hop limit is decremented between a tunnel and a data network. Off where the router behind N6 is the
    /// same host and both are to appear as one hop. It is never decremented from tunnel to tunnel.
    pub decrement_ttl: bool,
    /// Whether Router Solicitations that no rule forwards to the SMF are answered with the prefix of the UE.
    pub router_advertisement: bool,
    /// The maximum of ICMP errors per second, to all senders together.
    pub icmp_errors_per_second: u32,
    /// Echo Requests to GTP-U peers.
    pub echo: EchoConfig,
}

impl Default for Routing {
    fn default() -> Self {
        Self {
            decrement_ttl: true,
            router_advertisement: false,
            icmp_errors_per_second: 1000,
            echo: EchoConfig::default(),
        }
    }
}

/// Echo Requests to the GTP-U peers that sessions send to (TS 29.281 clause 7.2.1, TS 23.007 clause 20.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EchoConfig {
    /// The interval between Echo Requests on one path. Zero: none is sent; requests of peers are still answered. At
    /// least 60 seconds (TS 29.281 clause 7.2.1), which the caller ensures.
    pub interval: Span,
    /// T3-RESPONSE: how long to wait for a response. Zero counts as one millisecond.
    pub timeout: Span,
    /// N3-REQUESTS less one: how many times a request without a response is repeated before the path is down.
    pub retries: u8,
}

impl Default for EchoConfig {
    fn default() -> Self {
        Self { interval: Span::ZERO, timeout: Span::from_secs(5), retries: 3 }
    }
}

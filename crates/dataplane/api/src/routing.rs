//! What a data plane does as a router and as a GTP-U peer, chosen by the operator.

use causeway_types::Span;

/// The UPF as the first router of the UEs, and as a GTP-U peer of gNBs and other UPFs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Routing {
    /// Packets lose one hop between a tunnel and a data network. Off where the router behind N6 is the same
    /// machine and the two are to look like one hop. Packets from tunnel to tunnel never lose one.
    pub decrement_ttl: bool,
    /// Router Solicitations that no rule takes to the SMF are answered with the prefix of the UE.
    pub router_advertisement: bool,
    /// ICMP errors in a second, at most, to all senders together.
    pub icmp_errors_per_second: u32,
    /// Whether GTP-U peers are asked for a sign of life.
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
    /// From one Echo Request to the next on the same path. Zero: none is sent; the peers' are answered all the
    /// same. No less than 60 seconds (TS 29.281 clause 7.2.1), which the caller sees to.
    pub interval: Span,
    /// T3-RESPONSE: how long to wait for an answer. Zero counts as one millisecond.
    pub timeout: Span,
    /// N3-REQUESTS less one: how many times an unanswered request is repeated before the path counts as down.
    pub retries: u8,
}

impl Default for EchoConfig {
    fn default() -> Self {
        Self { interval: Span::ZERO, timeout: Span::from_secs(5), retries: 3 }
    }
}

//! What the UPF in software does, as it was measured elsewhere. Tables show it beside model time; nothing is added to it or compared with it.

/// Where and when `TABLE1` and `MIXES` were measured.
pub(super) const SOURCE: &str = "docs/n4-in-packet-threads.md, Figures: one packet thread with `upf.pfcp.accelerate`, release build, UDP sockets on loopback; \
     100 requests in flight on 2 cores of an AMD EPYC (2026-11-28), mixes for a second on 2 cores of an Intel Xeon (2026-11-30)";

/// Kinds of requests: what, requests a second, and us until the answer (the median, with 100 in flight).
pub(super) const TABLE1: [(&str, f64, f64); 3] =
    [("establish", 270_000.0, 307.0), ("handover", 291_000.0, 301.0), ("delete", 249_000.0, 400.0)];

/// Mixes by their name: the highest rate of packets and requests that was offered and of which none was lost, in any of the operations. At mixes D and E the
/// next one had a loss.
pub(super) const MIXES: [(&str, f64); 3] =
    [("A", 150_000.0 + 5_700.0), ("D", 100_000.0 + 40_600.0), ("E", 100_000.0 + 55_700.0)];

/// Where and when `CHAIN` was measured.
pub(super) const CHAIN_SOURCE: &str = "docs/chain.md, Figures: two daemons, 20 kills of a random member, 3,000 sessions; the little optimised build of a test on \
     2 cores of an AMD EPYC under a load of 20 (2026-11-29), the worst of three runs";

/// A chain of two daemons whose members are killed: the longest time without a response, s, and acknowledged sessions that were lost.
pub(super) const CHAIN: (f64, u64) = (0.453, 0);

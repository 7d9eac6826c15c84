//! A whole UPF, control and data plane: any sequence of PFCP datagrams, packets and waiting. Nothing panics,
//! every packet is in exactly one counter, nothing is left when the associations end, and the fast path does in every
//! step what the slow path does.

use causeway_conformance::{Input, Lockstep, replay, topology};
use causeway_slowpath::Limits;

/// Handles these octets.
pub fn run(octets: &[u8]) {
    let twins = Lockstep::new(topology(), Limits::default());
    let verdict = twins.verdict();
    if let Err(broken) = replay(&Input::read_all(octets), Box::new(twins)).and_then(|()| verdict.check()) {
        panic!("{broken}");
    }
}

//! The codec seen from outside.

mod capture;
mod check;
mod datagram;
mod dialect;
mod octets;
mod oracle;
mod oracle_ies;
mod presence;
mod roundtrip;
mod seeds;
mod session;
mod support;

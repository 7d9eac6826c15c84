//! Tests of the public interface of the codec.

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

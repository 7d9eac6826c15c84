//! The codec seen from outside.

mod octets;
mod oracle;
mod oracle_ies;
mod presence;
mod roundtrip;
mod session;
mod support;

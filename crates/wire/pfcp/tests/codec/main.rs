//! The codec seen from outside.

mod presence;
mod roundtrip;
mod session;
mod support;

//! The packet thread between two memory ports, with the fast path and with the reference data plane.

mod bench;
mod ends;
mod packets;

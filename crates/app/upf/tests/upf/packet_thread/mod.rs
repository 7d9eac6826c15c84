//! The packet thread between two memory ports, with the fast path and with the slow path.

mod bench;
mod ends;
mod packets;

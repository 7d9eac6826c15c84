//! Properties that packets cannot show; `tests/packets` tests the treatment of packets.

mod classes;
mod codes;
mod heavy_hitters;
mod programs;

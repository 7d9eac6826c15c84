//! Properties that packets cannot show; `tests/packets` tests the treatment of packets.

mod codes;
mod heavy_hitters;
mod programs;

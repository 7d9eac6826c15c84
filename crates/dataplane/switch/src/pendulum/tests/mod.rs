//! Table access on a switch that counts packets, and checks who reads and who writes.

mod random;
mod stories;
mod world;

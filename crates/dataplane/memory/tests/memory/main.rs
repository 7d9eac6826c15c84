//! External memory: each rule of the protocol by itself, and worlds of lost, repeated and reordered packets.

mod bare;
mod model;
mod pair;
mod refusals;
mod requests;
mod restart;
mod world;
mod worlds;

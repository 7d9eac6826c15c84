//! The class, its answers and its state.

mod both;
mod decisions;
mod equal;
mod flood;
mod no_allocation;
mod p4;
mod world;

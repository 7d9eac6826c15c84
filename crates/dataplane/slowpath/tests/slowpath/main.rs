//! Packets through sessions of the slow path. Allocations are counted by thread, so that these tests share a program.

mod buffer_memory;
mod buffering;
mod common;
mod ethernet_explained;
mod ethernet_neighbours;
mod ethernet_unknown_stations;
mod forwarding;
mod invariants;
mod matching;
mod qos_and_usage;
mod routing;
mod signalling;
mod usage;
mod waiting;

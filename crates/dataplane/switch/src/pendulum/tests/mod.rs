//! Table access on a simulated switch that counts packets, and checks the readers and the writer.

mod random;
mod simulation;
mod stories;

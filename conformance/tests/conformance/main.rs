//! The cases and the documents about them. The equality test is a program of its own, which `scripts/soak-equal` runs for hours.

mod accel;
mod defects;
mod dialects;
mod documents;
mod explain;
mod idle;
mod mutated;
mod register;
mod upg_vpp;

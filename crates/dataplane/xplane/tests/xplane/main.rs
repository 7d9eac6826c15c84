//! Tests of the pipeline and of the data plane as a whole.

mod ageing;
mod allocations;
mod idle;
mod plane;
mod plans;
mod reload;
mod service;
mod shared;
mod wire;
mod worlds;

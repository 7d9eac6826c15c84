//! Tests of the pipeline and of the data plane as a whole.

mod plane;
mod wire;
mod worlds;

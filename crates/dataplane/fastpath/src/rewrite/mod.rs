//! The fifth stage: rewrite. It gives a frame the headers that it is transmitted with.

pub(crate) mod common;
mod general;

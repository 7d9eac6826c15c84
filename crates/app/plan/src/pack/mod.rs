//! The memory layout of a table: its possible layouts, and the blocks that each needs.

mod companion_memory;
mod layout;
mod operands;
mod words;

pub use layout::{Demand, Layout, Store, layouts};

//! How a table lies in memory: the layouts that it may have, and the blocks that each needs.

mod companion_memory;
mod layout;
mod operands;
mod words;

pub use layout::{Demand, Layout, Store, layouts};

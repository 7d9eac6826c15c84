//! The fast path beside the slow path.

mod filters;
mod floods;
mod relay_loop;

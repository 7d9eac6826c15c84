//! The fast path beside the slow path.

mod application_class;
mod filters;
mod floods;
mod heavy_hitters;
mod relay_loop;

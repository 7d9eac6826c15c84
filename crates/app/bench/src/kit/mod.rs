//! What benchmarks measure with.

mod clock;
mod count;
mod memory;
mod pin;
mod progress;
mod samples;

pub use clock::CpuTimer;
pub use count::{Count, count};
pub use memory::{available_memory, resident_memory};
pub use pin::pin;
pub use progress::Progress;
pub use samples::{Samples, Summary};

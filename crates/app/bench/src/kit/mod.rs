//! What benchmarks measure with.

mod clock;
mod count;
mod memory;
mod pin;
mod progress;
mod samples;
mod threads;

pub use clock::CpuTimer;
pub use count::{Count, count};
pub use memory::{available_memory, resident_memory};
pub use pin::{last_core, other_core, pin, pin_to_any};
pub use progress::Progress;
pub use samples::{Samples, Summary};
pub use threads::Threads;

//! Tools of measurement: clock, samples, memory, pinning, sockets.

mod clock;
mod held_cores;
mod memory;
mod pin;
mod range;
mod samples;
mod sockets;
mod threads;

pub use causeway_show::{Count, Progress, count};
pub use clock::CpuTimer;
pub(crate) use held_cores::{HeldCores, come_first};
pub use memory::{available_memory, resident_memory};
pub(crate) use pin::in_own_thread;
pub use pin::{cores, cores_beside, last_core, other_core, pin, pin_to_any};
pub use range::{MAX_TIME_MS, within};
pub use samples::{Samples, Summary};
pub(crate) use sockets::{receive, send};
pub use threads::Threads;

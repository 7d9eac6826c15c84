//! Threads that compute without pause and share the core of the packet thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::BenchError;
use crate::kit::pin;

/// Threads that compute without pause until this is dropped.
pub(super) struct Neighbours {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<(), BenchError>>>,
}

impl Neighbours {
    /// So many on that core.
    ///
    /// # Errors
    /// [`BenchError::Io`] when a thread cannot be started.
    pub(super) fn on(core: usize, count: usize) -> Result<Self, BenchError> {
        let mut all = Self { is_over: Arc::default(), threads: Vec::new() };
        for _ in 0..count {
            let is_over = Arc::clone(&all.is_over);
            let compute = move || {
                pin(core)?;
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                Ok(())
            };
            let thread = std::thread::Builder::new().name("neighbour".into()).spawn(compute);
            all.threads.push(thread.map_err(BenchError::io("start a thread"))?);
        }
        Ok(all)
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // It ends at once, or could not run on that core.
            let _ = thread.join();
        }
    }
}

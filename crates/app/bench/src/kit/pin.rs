//! Where the measured thread runs.

use rustix::thread::{CpuSet, sched_setaffinity};

use crate::BenchError;

/// Keeps the calling thread, and those that it will start, on one core.
///
/// # Errors
/// [`BenchError::Io`] when there is no such core for this process.
pub fn pin(core: usize) -> Result<(), BenchError> {
    if core >= CpuSet::MAX_CPU {
        let allowed = "below 1024";
        return Err(BenchError::OutOfRange { what: "the core", value: core as u64, allowed });
    }
    let mut cores = CpuSet::new();
    cores.set(core);
    sched_setaffinity(None, &cores)
        .map_err(|errno| BenchError::io(format!("run on core {core}"))(errno.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a core that this process may run on, and one that no machine has.
    // Output: the thread is there; an error.
    #[test]
    fn a_thread_stays_on_its_core() {
        std::thread::spawn(|| {
            let allowed = rustix::thread::sched_getaffinity(None).unwrap();
            let core = (0..CpuSet::MAX_CPU).find(|core| allowed.is_set(*core)).unwrap();
            pin(core).unwrap();
            assert_eq!(rustix::thread::sched_getcpu(), core);
        })
        .join()
        .unwrap();
        assert!(pin(CpuSet::MAX_CPU).is_err());
    }
}

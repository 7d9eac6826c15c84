//! The core of the measured thread.

use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

use super::within;
use crate::BenchError;

/// Keeps the calling thread, and those that it will start, on one core.
///
/// # Errors
/// [`BenchError::Io`] when there is no such core for this process.
pub fn pin(core: usize) -> Result<(), BenchError> {
    allow(None, &[core])
}

/// Measures in a thread of its own, which takes its core with it when it ends. A panic there is one here.
pub(crate) fn in_own_thread<T: Send>(measure: impl FnOnce() -> T + Send) -> T {
    let measured = std::thread::scope(|scope| scope.spawn(measure).join());
    measured.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Lets the calling thread, and those that it will start, run on these cores.
///
/// # Errors
/// As [`pin`].
pub fn pin_to_any(cores: &[usize]) -> Result<(), BenchError> {
    allow(None, cores)
}

/// A core that this process may use beside `core`, or `core` where there is no other.
///
/// # Errors
/// As [`pin`].
pub fn other_core(core: usize) -> Result<usize, BenchError> {
    match cores_beside(&[core])?.first() {
        Some(other) => Ok(*other),
        None => pin(core).map(|()| core),
    }
}

/// The cores that this process may use and that are none of these, in ascending order.
///
/// # Errors
/// As [`pin`].
pub fn cores_beside(taken: &[usize]) -> Result<Vec<usize>, BenchError> {
    // In a thread of its own, which takes its place with it.
    let find = || {
        let others = (0..CpuSet::MAX_CPU).filter(|other| !taken.contains(other));
        others.take(MAX_CORES).filter(|other| pin(*other).is_ok()).collect()
    };
    Ok(std::thread::scope(|scope| scope.spawn(find).join()).unwrap_or_default())
}

/// The cores that the calling thread may run on, in ascending order.
///
/// # Errors
/// What sched_getaffinity(2) says.
pub fn cores() -> Result<Vec<usize>, BenchError> {
    let cores = sched_getaffinity(None).map_err(|errno| BenchError::io("list the cores")(errno.into()))?;
    Ok((0..CpuSet::MAX_CPU).filter(|core| cores.is_set(*core)).collect())
}

/// The last core that the calling thread may run on.
///
/// # Errors
/// As [`cores`].
pub fn last_core() -> Result<usize, BenchError> {
    Ok(cores()?.pop().unwrap_or(0))
}

/// Cores that are tried for others.
const MAX_CORES: usize = 256;

/// Lets a thread, or the calling one, run on these cores.
pub(super) fn allow(thread: Option<Pid>, cores: &[usize]) -> Result<(), BenchError> {
    let mut set = CpuSet::new();
    for core in cores {
        within("--core", [*core as u64], 0..=CpuSet::MAX_CPU as u64 - 1)?;
        set.set(*core);
    }
    sched_setaffinity(thread, &set)
        .map_err(|errno| BenchError::io(format!("run on core {cores:?}"))(errno.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a core that this process may run on, and one that no machine has.
    // Output: the thread is there; an error.
    #[test]
    fn a_thread_stays_on_its_core() {
        std::thread::spawn(|| {
            let allowed = sched_getaffinity(None).unwrap();
            let core = (0..CpuSet::MAX_CPU).find(|core| allowed.is_set(*core)).unwrap();
            pin(core).unwrap();
            assert_eq!(rustix::thread::sched_getcpu(), core);
        })
        .join()
        .unwrap();
        assert!(pin(CpuSet::MAX_CPU).is_err());
    }

    // Input:  the last core that this process may use.
    // Output: another one, unless there is none; the calling thread stays where it was.
    #[test]
    fn another_core_is_found() {
        let before = sched_getaffinity(None).unwrap();
        let last = last_core().unwrap();
        let other = other_core(last).unwrap();
        assert_eq!(sched_getaffinity(None).unwrap(), before);
        let is_alone = (0..CpuSet::MAX_CPU).filter(|core| before.is_set(*core)).count() == 1;
        assert!(is_alone || other != last, "{other}");
    }
}

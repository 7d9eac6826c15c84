//! The core and polling mode of a packet thread.

use std::{fmt, io};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The core of a packet thread, and whether it sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// The core of the thread; `None`: the kernel chooses.
    pub core: Option<usize>,
    /// The thread polls its ports and never sleeps.
    pub busy_poll: bool,
}

impl Schedule {
    /// Pins the calling thread to its core.
    ///
    /// # Errors
    /// The core does not exist, or this process may not use it.
    pub(super) fn pin_current_thread(&self) -> io::Result<()> {
        let Some(core) = self.core else { return Ok(()) };
        if core >= CpuSet::MAX_CPU {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut cores = CpuSet::new();
        cores.set(core);
        Ok(sched_setaffinity(None, &cores)?)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.core {
            Some(core) => write!(f, "on core {core}")?,
            None => f.write_str("on any core")?,
        }
        f.write_str(if self.busy_poll { ", polls without sleeping" } else { ", sleeps while idle" })
    }
}

/// The cores that the calling thread may run on, in ascending order.
///
/// # Errors
/// The error of sched_getaffinity(2).
pub(crate) fn cores() -> io::Result<Vec<usize>> {
    let cores = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|core| cores.is_set(*core)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a thread on the last core that it may use, and one on a core that does not exist.
    // Output: the first may use that one only; the second is refused.
    #[test]
    fn a_thread_takes_its_core() {
        let last = cores().unwrap().pop().unwrap();
        let place = |core| {
            let place = move || {
                Schedule { core: Some(core), busy_poll: false }.pin_current_thread()?;
                cores()
            };
            std::thread::spawn(place).join().unwrap()
        };
        assert_eq!(place(last).unwrap(), [last]);
        assert!(place(CpuSet::MAX_CPU - 1).is_err());
        assert!(place(usize::MAX).is_err());
    }
}

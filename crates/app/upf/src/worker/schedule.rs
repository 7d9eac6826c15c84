//! How a packet thread shares the processor with others.

use std::{fmt, io};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Where a packet thread runs, and whether it sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// The core that it runs on; `None` leaves that to the kernel.
    pub core: Option<usize>,
    /// It looks at its ports without pause, and never sleeps.
    pub busy_poll: bool,
}

impl Schedule {
    /// Puts the calling thread on its core.
    ///
    /// # Errors
    /// There is no such core, or this process may not use it.
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
        f.write_str(if self.busy_poll { ", never sleeps" } else { ", sleeps while nothing comes" })
    }
}

/// The cores that the calling thread may run on, in ascending order.
///
/// # Errors
/// What sched_getaffinity(2) says.
pub(crate) fn cores() -> io::Result<Vec<usize>> {
    let cores = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|core| cores.is_set(*core)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a thread on the last core that it may use, and one on a core that no machine has.
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

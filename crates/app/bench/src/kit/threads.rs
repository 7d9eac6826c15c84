//! CPU time of other threads: those of a UPF that is measured from outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::Pid;

use super::pin::allow;
use crate::BenchError;

/// Threads of this or another process, whose CPU time is looked at.
#[derive(Clone, Debug, Default)]
pub struct Threads(Vec<PathBuf>);

impl Threads {
    /// Those that this process has now.
    ///
    /// # Errors
    /// [`BenchError::Io`] without `/proc`.
    pub fn of_this_process() -> Result<Self, BenchError> {
        Self::listed(Path::new("/proc/self/task"))
    }

    /// Those that a process has now.
    ///
    /// # Errors
    /// [`BenchError::Io`] when there is no such process.
    pub fn of_process(process: u32) -> Result<Self, BenchError> {
        Self::listed(Path::new(&format!("/proc/{process}/task")))
    }

    fn listed(folder: &Path) -> Result<Self, BenchError> {
        let listing = || BenchError::io(format!("list {}", folder.display()));
        let entries = fs::read_dir(folder).map_err(listing())?;
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        Ok(Self(paths.collect::<Result<_, _>>().map_err(listing())?))
    }

    /// Those that are not among `others`.
    #[must_use]
    pub fn without(self, others: &Self) -> Self {
        Self(self.0.into_iter().filter(|thread| !others.0.contains(thread)).collect())
    }

    /// Those whose name begins so.
    #[must_use]
    pub fn named(&self, prefix: &str) -> Self {
        let name = |thread: &&PathBuf| fs::read_to_string(thread.join("comm")).unwrap_or_default();
        Self(self.0.iter().filter(|thread| name(thread).starts_with(prefix)).cloned().collect())
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// CPU time so far of all of them that have not ended. A running one is up to date to the last tick of its core, a few milliseconds:
    /// measure some hundred.
    ///
    /// # Errors
    /// [`BenchError::Io`] when the kernel keeps no statistics.
    pub fn cpu_time(&self) -> Result<Duration, BenchError> {
        self.0.iter().map(|thread| of_schedule(&thread.join("schedstat"), 0)).sum()
    }

    /// How long all of them that have not ended could have run so far, but waited for a core.
    ///
    /// # Errors
    /// As [`Threads::cpu_time`].
    pub fn waited(&self) -> Result<Duration, BenchError> {
        self.0.iter().map(|thread| of_schedule(&thread.join("schedstat"), 1)).sum()
    }

    /// Keeps them on one core. One that has ended is passed over.
    ///
    /// # Errors
    /// [`BenchError::Io`] when there is no such core for one of them.
    pub fn pin(&self, core: usize) -> Result<(), BenchError> {
        let number = |thread: &PathBuf| thread.file_name()?.to_str()?.parse().ok();
        let mut threads = self.0.iter().filter_map(number).filter_map(Pid::from_raw);
        threads.try_for_each(|thread| match allow(Some(thread), &[core]) {
            Err(BenchError::Io { source, .. })
                if source.raw_os_error() == Some(Errno::SRCH.raw_os_error()) =>
            {
                Ok(())
            }
            done => done,
        })
    }
}

/// One of the numbers: nanoseconds on a core, nanoseconds that it waited for one; none of a thread that has ended.
fn of_schedule(file: &Path, place: usize) -> Result<Duration, BenchError> {
    let reading = || BenchError::io(format!("read {}", file.display()));
    let text = match fs::read_to_string(file) {
        Err(_) if file.parent().is_some_and(|thread| !thread.exists()) => return Ok(Duration::ZERO),
        text => text.map_err(reading())?,
    };
    let nanos = text.split(' ').nth(place).and_then(|number| number.trim().parse().ok());
    nanos.map(Duration::from_nanos).ok_or_else(|| reading()(std::io::ErrorKind::InvalidData.into()))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    // Input:  a thread with a name that computes for three ticks of its own clock at least, then waits; then it ends.
    // Output: it is found by its name and by when it came; its time is known; once it has ended it is passed over.
    #[test]
    fn threads_are_found_and_timed() {
        let before = Threads::of_this_process().unwrap();
        let ((told, tell), (go, gone)) = (channel(), channel::<()>());
        let work = move || {
            let timer = super::super::CpuTimer::start();
            while timer.elapsed() < Duration::from_millis(15) {}
            told.send(()).unwrap();
            // Until the sender is dropped.
            let _ = gone.recv();
        };
        let thread = std::thread::Builder::new().name("measured-7".into()).spawn(work).unwrap();
        tell.recv().unwrap();
        let new = Threads::of_this_process().unwrap().without(&before).named("measured");
        assert_eq!(new.0.len(), 1);
        assert!(new.cpu_time().unwrap() >= Duration::from_millis(5));
        assert!(new.named("other").is_empty());
        drop(go);
        thread.join().unwrap();
        // It can be joined a moment before the kernel forgets it.
        while new.0.iter().any(|thread| thread.exists()) {
            std::thread::yield_now();
        }
        new.pin(super::super::last_core().unwrap()).unwrap();
        assert_eq!(new.cpu_time().unwrap(), Duration::ZERO);
        assert!(Threads::of_process(u32::MAX).is_err());
    }
}

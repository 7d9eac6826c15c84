//! Cleanup at the end, also when a signal ends the program.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::LabError;

type Undo = Box<dyn FnOnce() + Send>;

/// What is to be undone, last first. Clones share one list.
#[derive(Clone, Default)]
pub struct Cleanup(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    signalled: Condvar,
}

#[derive(Default)]
struct State {
    undo: Vec<Undo>,
    closed: bool,
    /// A signal ends the process.
    interrupted: bool,
    /// The next signal only ends a wait.
    waits: bool,
}

impl Cleanup {
    /// Sets something up and remembers how to undo it. A signal cannot come between the two.
    ///
    /// # Errors
    /// Those of `create`, after which nothing is remembered; [`LabError::Interrupted`] once [`Cleanup::run`] has
    /// begun.
    pub fn acquire<T>(
        &self,
        create: impl FnOnce() -> Result<T, LabError>,
        undo: impl FnOnce() + Send + 'static,
    ) -> Result<T, LabError> {
        let mut state = self.lock();
        if state.closed {
            return Err(LabError::Interrupted);
        }
        let made = create()?;
        state.undo.push(Box::new(undo));
        Ok(made)
    }

    /// Undoes everything, last first. Later calls find nothing left to do.
    pub fn run(&self) {
        let mut state = self.lock();
        state.closed = true;
        while let Some(undo) = state.undo.pop() {
            undo();
        }
    }

    /// Undoes everything when it goes out of scope, also by a panic.
    #[must_use]
    pub fn guard(&self) -> CleanupGuard {
        CleanupGuard(self.clone())
    }

    /// From now on SIGINT, SIGTERM and SIGHUP call `begin`, undo everything, call `end`, and end the process with
    /// status 128 + signal.
    ///
    /// # Errors
    /// The signal handlers or their thread cannot be set up.
    pub fn on_signal(
        &self,
        begin: impl FnOnce() + Send + 'static,
        end: impl FnOnce() + Send + 'static,
    ) -> Result<(), LabError> {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(LabError::io("signal handlers"))?;
        let cleanup = self.clone();
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                let unexpected = |_: &i32| !cleanup.end_wait();
                if let Some(signal) = signals.forever().find(unexpected) {
                    begin();
                    cleanup.lock().interrupted = true;
                    cleanup.run();
                    end();
                    std::process::exit(128 + signal);
                }
            })
            .map_err(LabError::io("signal thread"))?;
        Ok(())
    }

    /// Waits for a signal of [`Cleanup::on_signal`], which has been called: this one does not end the process, the next one does.
    pub fn wait_for_signal(&self) {
        let mut state = self.lock();
        state.waits = true;
        while state.waits {
            state = self.0.signalled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends a wait for a signal. `false`: there was none.
    fn end_wait(&self) -> bool {
        let waited = std::mem::take(&mut self.lock().waits);
        self.0.signalled.notify_all();
        waited
    }

    /// Does not return once a signal has come: the process is about to end with the signal's status.
    pub fn yield_to_signal(&self) {
        while self.lock().interrupted {
            std::thread::park();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // What is on the list stays to be undone even if another undo panicked.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Cleanup::guard`].
pub struct CleanupGuard(Cleanup);

impl Drop for CleanupGuard {
    fn drop(&mut self) {
        self.0.run();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(log: &Arc<Mutex<Vec<u8>>>, n: u8) -> impl FnOnce() + Send + 'static {
        let log = log.clone();
        move || log.lock().unwrap().push(n)
    }

    // Input:  three things set up, of which the second fails; then the end of the scope.
    // Output: the third is undone before the first, the second not at all.
    #[test]
    fn what_was_set_up_is_undone_in_reverse() {
        let log = Arc::default();
        let cleanup = Cleanup::default();
        {
            let _guard = cleanup.guard();
            cleanup.acquire(|| Ok(()), note(&log, 1)).unwrap();
            cleanup.acquire(|| Err::<(), _>(LabError::Interrupted), note(&log, 2)).unwrap_err();
            cleanup.acquire(|| Ok(()), note(&log, 3)).unwrap();
        }
        assert_eq!(*log.lock().unwrap(), [3, 1]);
    }

    // Input:  something to be set up after the cleanup has run.
    // Output: it is not set up.
    #[test]
    fn nothing_is_set_up_after_the_end() {
        let cleanup = Cleanup::default();
        cleanup.run();
        let late = cleanup.acquire(|| Ok("made"), || ());
        assert!(matches!(late, Err(LabError::Interrupted)));
    }
}

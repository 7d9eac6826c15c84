//! A program that runs inside a namespace until the lab ends.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::LabError;
use crate::cleanup::Cleanup;
use crate::netns::Namespace;
use crate::patience::wait_while_changing;

/// How long a program may take to end by itself when the lab is cleaned up.
const GRACE: Duration = Duration::from_secs(2);

/// A running program. Clean-up asks it to end, and makes it end.
pub struct Daemon {
    child: Arc<Mutex<Child>>,
    log: Box<Path>,
}

impl Daemon {
    /// Starts a program inside; what it prints goes to the file `log`. Signals from the terminal do not reach it.
    ///
    /// # Errors
    /// [`LabError::Io`]: the program or the log file cannot be opened.
    pub fn start(
        namespace: &Namespace,
        program: &Path,
        args: &[OsString],
        log: &Path,
        cleanup: &Cleanup,
    ) -> Result<Self, LabError> {
        let output = File::create(log).map_err(LabError::io(log.display().to_string()))?;
        let errors = output.try_clone().map_err(LabError::io(log.display().to_string()))?;
        let slot = Arc::new(Mutex::new(None));
        let ended = slot.clone();
        let child = cleanup.acquire(
            || {
                let mut command = Command::new(program);
                // Settings for a UPF of one's own must not change this one.
                let of_causeway = |(name, _): &(OsString, _)| name.to_string_lossy().starts_with("CAUSEWAY_");
                for (name, _) in std::env::vars_os().filter(of_causeway) {
                    command.env_remove(name);
                }
                command.args(args).stdin(Stdio::null()).stdout(output).stderr(errors).process_group(0);
                let spawn = || command.spawn().map_err(LabError::io(format!("start {}", program.display())));
                let child = Arc::new(Mutex::new(namespace.enter(spawn)?));
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(child.clone());
                Ok(child)
            },
            move || {
                let child = ended.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(child) = child {
                    end(&child);
                }
            },
        )?;
        Ok(Self { child, log: log.into() })
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        lock(&self.child).id()
    }

    /// Its exit status, once it has ended.
    ///
    /// # Errors
    /// [`LabError::Io`]: the system cannot tell.
    pub fn exited(&self) -> Result<Option<ExitStatus>, LabError> {
        lock(&self.child).try_wait().map_err(LabError::io("wait for the program"))
    }

    /// Asks it to end (SIGTERM) and waits.
    ///
    /// # Errors
    /// [`LabError::Timeout`] when it still runs after `within`.
    pub fn stop(&self, within: Duration) -> Result<ExitStatus, LabError> {
        signal(&self.child, Signal::TERM);
        wait(&self.child, within)?
            .ok_or(LabError::Timeout { what: "the end of the program after SIGTERM".into(), within })
    }

    /// The last lines it printed, in one, for a message.
    pub fn last_output_lines(&self, lines: usize) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let all: Vec<_> = text.lines().filter(|line| !line.is_empty()).collect();
        all.get(all.len().saturating_sub(lines)..).unwrap_or_default().join("; ")
    }
}

fn end(child: &Mutex<Child>) {
    signal(child, Signal::TERM);
    if !matches!(wait(child, GRACE), Ok(Some(_))) {
        signal(child, Signal::KILL);
        // Killed, it cannot stay.
        let _ = wait(child, GRACE);
    }
}

fn wait(child: &Mutex<Child>, within: Duration) -> Result<Option<ExitStatus>, LabError> {
    let ended = || lock(child).try_wait().map_err(LabError::io("wait for the program"));
    wait_while_changing(within, ended, Option::is_some)
}

fn signal(child: &Mutex<Child>, signal: Signal) {
    let mut child = lock(child);
    // A child that was waited for has no process id any more: it may be another's by now.
    if !matches!(child.try_wait(), Ok(None)) {
        return;
    }
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may end at this very moment.
        let _ = kill_process(pid, signal);
    }
}

fn lock(child: &Mutex<Child>) -> std::sync::MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}

//! A network namespace of its own, so that nothing of this machine is touched.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::Failure;

/// A network namespace, as long as a process lives in it.
pub(crate) struct Namespace {
    file: File,
    holder: Child,
}

impl Namespace {
    /// Makes one. What stands in the way is said in words: a missing privilege, or a missing program.
    pub(crate) fn make() -> Result<Self, String> {
        let mut holder = Command::new("unshare")
            .args(["--net", "sh", "-c", "echo made; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("needs unshare: {error}"))?;
        let mut line = String::new();
        let told = holder.stdout.as_mut().map(|out| BufReader::new(out).read_line(&mut line));
        let file = File::open(format!("/proc/{}/ns/net", holder.id()));
        match (told, file) {
            (Some(Ok(_)), Ok(file)) if line.trim() == "made" => Ok(Self { file, holder }),
            _ => {
                // It has ended already, or goes with its standard input.
                let _ = holder.kill();
                let _ = holder.wait();
                Err("needs root: a network namespace could not be made".into())
            }
        }
    }

    /// Runs something in a thread that lives there.
    ///
    /// # Errors
    /// When the thread may not go there.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let file = self.file.try_clone()?;
        let there = thread::spawn(move || {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
            Ok(job())
        });
        match there.join() {
            Ok(done) => done.map_err(|errno: rustix::io::Errno| errno.into()),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

//! Network namespaces: hosts that consist only of a network stack.

mod command;
mod link;
mod privilege;
mod stale;

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

pub use command::run_program;
pub use link::{Veth, VethEnd, connect, receive_on};
pub use privilege::{Privilege, acquire_privilege, check_privilege};
pub use stale::remove_stale;

use crate::LabError;
use crate::cleanup::Cleanup;

/// Where iproute2 keeps named namespaces.
const RUN_DIR: &str = "/run/netns";

/// Every namespace of the lab is called so, then the process id, then what it is for.
const PREFIX: &str = "causeway";

/// A named network namespace. Clones stand for the same one.
///
/// A socket, TUN device or child process made inside [`Namespace::enter`] belongs to the namespace for good and
/// may be used from any thread.
#[derive(Clone, Debug)]
pub struct Namespace {
    role: Arc<str>,
    name: Arc<str>,
    handle: Arc<File>,
}

impl Namespace {
    /// Makes an empty namespace named after its role, with its loopback up, IPv6 silent, and source address
    /// checks off (the lab routes one destination over several devices). `cleanup` deletes it.
    ///
    /// # Errors
    /// [`LabError::Command`] without the right to do so, [`LabError::Io`], or [`LabError::Interrupted`].
    pub fn create(role: &str, cleanup: &Cleanup) -> Result<Self, LabError> {
        let name = format!("{PREFIX}-{}-{role}", std::process::id());
        let removed = name.clone();
        cleanup.acquire(
            || run_program("ip", ["netns", "add", &name], ""),
            move || {
                // Nothing more can be done about a namespace that will not go.
                let _ = run_program("ip", ["netns", "delete", &removed], "");
            },
        )?;
        let handle = File::open(format!("{RUN_DIR}/{name}"))
            .map_err(LabError::io(format!("open namespace {name}")))?;
        let namespace = Self { role: role.into(), name: name.into(), handle: handle.into() };
        namespace.ip("link set lo up")?;
        // A kernel without IPv6 is as silent.
        let _ = namespace.sysctl("net/ipv6/conf/all/disable_ipv6", "1");
        let _ = namespace.sysctl("net/ipv6/conf/default/disable_ipv6", "1");
        namespace.sysctl("net/ipv4/conf/all/rp_filter", "0")?;
        namespace.sysctl("net/ipv4/conf/default/rp_filter", "0")?;
        Ok(namespace)
    }

    /// What it is for, for example `gnb1`.
    pub fn role(&self) -> &str {
        &self.role
    }

    /// The name that `ip netns` knows it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs `work` inside, on a thread that ends with it, and waits. The calling thread stays where it is.
    ///
    /// # Errors
    /// Those of `work`; [`LabError::Io`] when the kernel does not let the thread in.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> Result<T, LabError> + Send) -> Result<T, LabError> {
        thread::scope(|scope| {
            match scope.spawn(|| self.enter_current_thread().and_then(|()| work())).join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Runs lines of `ip` commands inside, without the leading `ip`.
    ///
    /// # Errors
    /// [`LabError::Command`] with the first line that failed.
    pub fn ip(&self, commands: impl AsRef<str>) -> Result<(), LabError> {
        run_program("ip", ["-n", &self.name, "-batch", "-"], commands.as_ref())
    }

    /// Sets a kernel parameter of the namespace, for example `net/ipv4/ip_forward`.
    ///
    /// # Errors
    /// [`LabError::Io`] when there is no such parameter or it may not be written.
    pub fn sysctl(&self, key: &str, value: &str) -> Result<(), LabError> {
        self.enter(|| {
            std::fs::write(format!("/proc/sys/{key}"), value)
                .map_err(LabError::io(format!("set {key} in {}", self.role)))
        })
    }

    fn enter_current_thread(&self) -> Result<(), LabError> {
        move_into_link_name_space(self.handle.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(LabError::io(format!("enter namespace {}", self.name)))
    }
}

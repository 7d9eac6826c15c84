//! Loading and attaching programs: bpf(2).
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use rustix::io::Errno;

use super::{interface_name, last_errno};

/// Commands, types and flags of `linux/bpf.h`.
const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE: libc::c_int = 2;
const PROG_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;
const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
/// The mode in which the program runs: `linux/if_link.h`.
const MODE_GENERIC: u32 = 1 << 1;
const MODE_NATIVE: u32 = 1 << 2;

/// Octets of the verifier's log.
const LOG: usize = 1 << 16;

/// One instruction as the kernel reads it: opcode, registers, offset, immediate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(crate) struct Instruction {
    /// Operation.
    pub(crate) code: u8,
    /// Destination in the low four bits, source in the high ones.
    pub(crate) registers: u8,
    /// Of a jump, in instructions; of an access to memory, in octets.
    pub(crate) offset: i16,
    /// The operand.
    pub(crate) immediate: i32,
}

/// The part of the kernel that runs a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// The driver, before it creates a packet buffer.
    Native,
    /// The stack, for every driver.
    Generic,
}

/// A command's part of `union bpf_attr`.
///
/// # Safety
/// The type is `repr(C)` without padding, laid out as the kernel reads it for its command. The addresses in it are of
/// live memory with the lengths in the adjacent fields.
unsafe trait Attributes {
    const COMMAND: libc::c_int;
}

#[repr(C)]
struct MapCreate {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
}

// SAFETY: four words, as `BPF_MAP_CREATE` reads them; no pointers.
unsafe impl Attributes for MapCreate {
    const COMMAND: libc::c_int = MAP_CREATE;
}

#[repr(C)]
struct MapUpdate {
    map: u32,
    pad: u32,
    key: u64,
    value: u64,
    flags: u64,
}

// SAFETY: laid out as `BPF_MAP_UPDATE_ELEM` reads it; only `set_socket` constructs it, with valid addresses.
unsafe impl Attributes for MapUpdate {
    const COMMAND: libc::c_int = MAP_UPDATE;
}

#[repr(C)]
struct Load {
    prog_type: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach_type: u32,
}

// SAFETY: laid out as `BPF_PROG_LOAD` reads it; only `load_with` constructs it, with valid addresses.
unsafe impl Attributes for Load {
    const COMMAND: libc::c_int = PROG_LOAD;
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
}

// SAFETY: four words, as `BPF_LINK_CREATE` reads them; no pointers.
unsafe impl Attributes for LinkCreate {
    const COMMAND: libc::c_int = LINK_CREATE;
}

fn call<A: Attributes>(attributes: &mut A) -> Result<libc::c_int, Errno> {
    // SAFETY: the kernel reads and writes `size_of::<A>()` octets of `attributes`, which is mutably borrowed, and
    // follows only addresses that `Attributes` guarantees.
    let result = unsafe { libc::syscall(libc::SYS_bpf, A::COMMAND, &raw mut *attributes, size_of::<A>()) };
    libc::c_int::try_from(result).ok().filter(|result| *result >= 0).ok_or_else(last_errno)
}

/// The descriptor that a command returns.
fn opened<A: Attributes>(attributes: &mut A) -> Result<OwnedFd, Errno> {
    let fd = call(attributes)?;
    // SAFETY: the kernel has just opened this descriptor, with `O_CLOEXEC`, and it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn number(fd: impl AsFd) -> u32 {
    fd.as_fd().as_raw_fd().unsigned_abs()
}

/// A map from numbers to AF_XDP sockets.
pub(crate) fn socket_map(entries: u32) -> Result<OwnedFd, Errno> {
    opened(&mut MapCreate { map_type: MAP_TYPE_XSKMAP, key_size: 4, value_size: 4, max_entries: entries })
}

/// Adds a socket to the map, until the socket is closed.
pub(crate) fn set_socket(map: impl AsFd, key: u32, socket: impl AsFd) -> Result<(), Errno> {
    // The kernel reads one word at each of these addresses, which is the size of keys and values of `socket_map`.
    let value = number(socket);
    let (key, value) = (&raw const key as u64, &raw const value as u64);
    call(&mut MapUpdate { map: number(map), pad: 0, key, value, flags: 0 }).map(drop)
}

/// Loads an XDP program.
///
/// # Errors
/// The error of the kernel, and the end of its verifier's log, if any.
pub(crate) fn load(name: &str, program: &[Instruction]) -> Result<OwnedFd, (Errno, String)> {
    match load_with(name, program, &mut []) {
        Err(Errno::INVAL | Errno::ACCESS) => {
            let mut log = vec![0; LOG];
            load_with(name, program, &mut log).map_err(|errno| (errno, last_lines(&log)))
        }
        loaded => loaded.map_err(|errno| (errno, String::new())),
    }
}

fn load_with(name: &str, program: &[Instruction], log: &mut [u8]) -> Result<OwnedFd, Errno> {
    // Every helper in use is available to programs of any licence.
    let license = c"Apache-2.0";
    opened(&mut Load {
        prog_type: PROG_TYPE_XDP,
        count: u32::try_from(program.len()).map_err(|_| Errno::TOOBIG)?,
        // The kernel reads `count` instructions and a zero-terminated text, and writes at most `log_size` octets.
        instructions: program.as_ptr() as u64,
        license: license.as_ptr() as u64,
        log_level: u32::from(!log.is_empty()),
        log_size: u32::try_from(log.len()).map_err(|_| Errno::TOOBIG)?,
        log: if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 },
        kernel_version: 0,
        flags: 0,
        name: interface_name(name),
        interface: 0,
        attach_type: ATTACH_XDP,
    })
}

/// The end of the verifier's log, which states the error.
fn last_lines(log: &[u8]) -> String {
    let text = log.split(|octet| *octet == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("processed ")).collect();
    lines.get(lines.len().saturating_sub(4)..).unwrap_or_default().join("; ")
}

/// Makes an interface run the program on every received frame, until the returned link is closed, which the end of
/// the process also does.
pub(crate) fn attach(program: impl AsFd, interface: u32, mode: Mode) -> Result<OwnedFd, Errno> {
    let flags = match mode {
        Mode::Native => MODE_NATIVE,
        Mode::Generic => MODE_GENERIC,
    };
    opened(&mut LinkCreate { program: number(program), interface, attach_type: ATTACH_XDP, flags })
}

#[cfg(test)]
pub(crate) mod test_run {
    //! Running a program on a frame without an interface.

    use super::*;

    #[repr(C)]
    #[derive(Default)]
    struct TestRun {
        program: u32,
        verdict: u32,
        size_in: u32,
        size_out: u32,
        data_in: u64,
        data_out: u64,
        repeat: u32,
        duration: u32,
        context_size_in: u32,
        context_size_out: u32,
        context_in: u64,
        context_out: u64,
        flags: u32,
        cpu: u32,
        batch: u32,
        pad: u32,
    }

    // SAFETY: laid out as `BPF_PROG_TEST_RUN` reads it; only `verdict` constructs it, with a valid address.
    unsafe impl Attributes for TestRun {
        const COMMAND: libc::c_int = 10;
    }

    /// The verdict of the program on a frame of at least 14 octets.
    pub(crate) fn verdict(program: impl AsFd, frame: &[u8]) -> Result<u32, Errno> {
        // The kernel reads `size_in` octets of the frame.
        let (data_in, size_in) = (frame.as_ptr() as u64, frame.len() as u32);
        let mut run = TestRun { program: number(program), data_in, size_in, repeat: 1, ..TestRun::default() };
        call(&mut run)?;
        Ok(run.verdict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_is_what_matters() {
        let log = b"0: r0 = 0\n1: (95) exit\na\nb\nbad\nprocessed 2 insns\n\0\0";
        assert_eq!(last_lines(log), "1: (95) exit; a; b; bad");
        assert_eq!(last_lines(&[]), "");
    }
}

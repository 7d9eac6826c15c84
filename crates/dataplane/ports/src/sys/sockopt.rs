//! Socket options whose value is one number or one C structure.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd};

use rustix::io::Errno;

use super::check;

/// A C value of integers without padding or pointers, which the kernel may read and write as octets.
///
/// # Safety
/// Every bit of the type is initialized, any bits are legal, and it holds no pointer that the kernel would follow.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: integers have neither padding nor pointers.
unsafe impl Plain for libc::c_int {}
// SAFETY: nine integers of one size.
unsafe impl Plain for [u32; 9] {}
// SAFETY: seven integers of one size.
unsafe impl Plain for libc::tpacket_req3 {}
// SAFETY: two integers of 8 octets and four of 4. The address in it is only registered; `xsk` keeps its memory valid.
unsafe impl Plain for libc::xdp_umem_reg {}
// SAFETY: sixteen integers of one size.
unsafe impl Plain for libc::xdp_mmap_offsets {}
// SAFETY: six integers of one size.
unsafe impl Plain for libc::xdp_statistics {}

/// Sets an option.
pub(crate) fn set<T: Plain>(fd: impl AsFd, level: i32, option: i32, value: T) -> Result<(), Errno> {
    let len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the descriptor is open while borrowed, and the kernel reads `len` octets of `value`, which lives until
    // the call returns and is free of padding (`Plain`).
    check(unsafe { libc::setsockopt(fd.as_fd().as_raw_fd(), level, option, (&raw const value).cast(), len) })
}

/// The value of an option, for types of which any bits are a legal value.
///
/// # Errors
/// Also where the kernel returns fewer octets than the type has.
pub(crate) fn option<T: Plain>(fd: impl AsFd, level: i32, option: i32) -> Result<T, Errno> {
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: plain values are integers, for which zero is legal.
    let mut value: T = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open while borrowed, and the kernel writes at most `len` octets to `value`, for which
    // any bits are legal (`Plain`).
    let status = unsafe {
        libc::getsockopt(fd.as_fd().as_raw_fd(), level, option, (&raw mut value).cast(), &raw mut len)
    };
    check(status)?;
    if len as usize == size_of::<T>() { Ok(value) } else { Err(Errno::NOPROTOOPT) }
}

/// SO_MEMINFO of asm-generic/socket.h, which `libc` lacks.
const SO_MEMINFO: libc::c_int = 55;

/// The number of packets that the kernel has dropped at a socket because its receive buffer was full. It wraps.
pub(crate) fn drops(fd: impl AsFd) -> Result<u32, Errno> {
    memory(fd).map(|memory| memory.drops).ok_or(Errno::NOPROTOOPT)
}

/// The memory statistics of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Memory {
    /// The used part of its receive buffer, in percent. Octets that were read still count for a while, up to a
    /// quarter of the buffer.
    pub(crate) filled: u8,
    /// The same in octets.
    pub(crate) used: u32,
    /// Messages dropped so far because it was full. It wraps.
    pub(crate) drops: u32,
}

/// The memory statistics of a socket, where the kernel has them.
pub(crate) fn memory(fd: impl AsFd) -> Option<Memory> {
    let said: [u32; 9] = option(fd, libc::SOL_SOCKET, SO_MEMINFO).ok()?;
    let word = |at: libc::c_int| said.get(at as usize).copied();
    let (used, capacity) = (word(libc::SK_MEMINFO_RMEM_ALLOC)?, word(libc::SK_MEMINFO_RCVBUF)?);
    let filled = (u64::from(used) * 100).checked_div(capacity.into())?.min(100) as u8;
    Some(Memory { filled, used, drops: word(libc::SK_MEMINFO_DROPS)? })
}

/// Lets further sockets of this user bind to the address of this one.
pub(crate) fn share_address(fd: impl AsFd) -> Result<(), Errno> {
    set(fd, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)
}

/// Makes the socket discard every packet, before it uses buffer memory.
pub(crate) fn refuse_all(fd: impl AsFd) -> Result<(), Errno> {
    let nothing = libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: 0 };
    attach(fd, &mut [nothing])
}

/// Makes a socket with a filter receive every packet again.
pub(crate) fn accept_all(fd: impl AsFd) -> Result<(), Errno> {
    match set(fd, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, 0) {
        // It has no filter.
        Err(Errno::NOENT) => Ok(()),
        result => result,
    }
}

/// The start of a program for [`select_socket`]: it selects socket `refusing` for packets of interfaces that are not permitted, and goes on behind its
/// end for others. `permitted`: whether all other interfaces are, and the listed ones, at most 200.
pub(crate) fn by_interface(
    interfaces: &[u32],
    [others, listed]: [bool; 2],
    refusing: u32,
) -> Vec<libc::sock_filter> {
    let instruction = |code: u32, jt: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf: 0, k };
    let jump = |over: u32| instruction(libc::BPF_JMP | libc::BPF_JA, 0, over);
    let count = interfaces.len() as u8;
    let mut program = vec![instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, INTERFACE_INDEX)];
    // Each one jumps over the following ones and the jump of the others.
    program.extend(
        interfaces.iter().zip((1..=count).rev()).map(|(interface, over)| {
            instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, over, *interface)
        }),
    );
    // Of the others, over the jump of the listed ones; then over the verdict if they are permitted.
    program.push(jump(1 + u32::from(others)));
    program.push(jump(u32::from(listed)));
    program.push(instruction(libc::BPF_RET | libc::BPF_K, 0, refusing));
    program
}

/// The offset at which a program finds the index of the receive interface: `SKF_AD_OFF + SKF_AD_IFINDEX` of
/// linux/filter.h.
const INTERFACE_INDEX: u32 = (-0x1000_i32 + 8).cast_unsigned();

/// Has the kernel give each datagram to the socket of its group that this program returns, by the order in which they were bound. The program
/// reads from the first octet behind the UDP header; where it reads behind the end, it returns 0.
pub(crate) fn select_socket(fd: impl AsFd, program: &mut [libc::sock_filter]) -> Result<(), Errno> {
    attach_as(fd, libc::SO_ATTACH_REUSEPORT_CBPF, program)
}

fn attach(fd: impl AsFd, program: &mut [libc::sock_filter]) -> Result<(), Errno> {
    attach_as(fd, libc::SO_ATTACH_FILTER, program)
}

fn attach_as(fd: impl AsFd, option: libc::c_int, program: &mut [libc::sock_filter]) -> Result<(), Errno> {
    let len = program.len().try_into().map_err(|_| Errno::TOOBIG)?;
    let filter = libc::sock_fprog { len, filter: program.as_mut_ptr() };
    // SAFETY: the kernel copies `len` instructions from `program`, which lives until the call returns.
    check(unsafe {
        libc::setsockopt(
            fd.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw const filter).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    })
}

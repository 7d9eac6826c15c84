//! Many messages in one system call: recvmmsg(2) and sendmmsg(2).
#![allow(unsafe_code)]

use std::io::IoSlice;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

use arrayvec::ArrayVec;
use causeway_packet::BATCH;
use rustix::io::Errno;

use super::last_errno;

/// Octets of a socket address: IPv6 and link-layer addresses fit.
pub(crate) const NAME: usize = 32;

/// Octets of control messages: packet info, traffic class, hop limit, overflow count and segment size fit.
pub(crate) const CONTROL: usize = 160;

/// The metadata of one received message.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct MessageMeta {
    control: [u8; CONTROL],
    name: [u8; NAME],
    control_len: usize,
    name_len: usize,
    /// Octets received.
    pub(crate) len: usize,
    /// The message was longer than its buffer.
    pub(crate) truncated: bool,
}

impl MessageMeta {
    const EMPTY: Self = Self {
        control: [0; CONTROL],
        name: [0; NAME],
        control_len: 0,
        name_len: 0,
        len: 0,
        truncated: false,
    };

    /// The control messages, as the kernel wrote them.
    pub(crate) fn control(&self) -> &[u8] {
        self.control.get(..self.control_len).unwrap_or_default()
    }

    /// The address of the sender, as the kernel wrote it.
    pub(crate) fn name(&self) -> &[u8] {
        self.name.get(..self.name_len).unwrap_or_default()
    }
}

/// Metadata buffers for the messages of a batch.
pub(crate) fn message_metas() -> Box<[MessageMeta; BATCH]> {
    Box::new([MessageMeta::EMPTY; BATCH])
}

/// An empty message header.
fn blank() -> libc::mmsghdr {
    // SAFETY: null pointers and zero lengths are legal in every field.
    unsafe { std::mem::zeroed() }
}

/// Receives without blocking into the buffers, in order. Returns the number of messages.
pub(crate) fn receive<'a>(
    fd: impl AsFd,
    message_metas: &mut [MessageMeta; BATCH],
    buffers: impl Iterator<Item = &'a mut [u8]>,
) -> Result<usize, Errno> {
    let mut parts: ArrayVec<libc::iovec, BATCH> = buffers
        .take(BATCH)
        .map(|buffer| libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() })
        .collect();
    let mut headers: ArrayVec<libc::mmsghdr, BATCH> = parts
        .iter_mut()
        .zip(message_metas.iter_mut())
        .map(|(part, message_meta)| {
            let mut header = blank();
            header.msg_hdr.msg_iov = part;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_name = message_meta.name.as_mut_ptr().cast();
            header.msg_hdr.msg_namelen = NAME as libc::socklen_t;
            header.msg_hdr.msg_control = message_meta.control.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = CONTROL as _;
            header
        })
        .collect();
    let count = headers.len() as libc::c_uint;
    // SAFETY: `headers` holds `count` headers. Each points to one part, one name and one control buffer of the
    // stated lengths, all distinct and mutably borrowed until this function returns.
    let received = unsafe {
        libc::recvmmsg(
            fd.as_fd().as_raw_fd(),
            headers.as_mut_ptr(),
            count,
            libc::MSG_DONTWAIT as _,
            ptr::null_mut(),
        )
    };
    let received = usize::try_from(received).map_err(|_| last_errno())?;
    for (header, message_meta) in headers.iter().zip(message_metas.iter_mut()).take(received) {
        message_meta.len = header.msg_len as usize;
        message_meta.name_len = header.msg_hdr.msg_namelen as usize;
        message_meta.control_len = control_len(&header.msg_hdr);
        message_meta.truncated = header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
    }
    Ok(received)
}

/// The type of the length field differs between C libraries.
#[allow(clippy::unnecessary_cast)]
fn control_len(header: &libc::msghdr) -> usize {
    header.msg_controllen as usize
}

/// The maximum number of messages of one [`send_messages`].
pub(crate) const SEND: usize = 64;

/// One message to send, in parts.
#[derive(Clone, Copy)]
pub(crate) struct Message<'a> {
    /// The destination, as the kernel reads it. Empty: the address that the socket is bound or connected to.
    pub(crate) name: &'a [u8],
    /// Control messages, as the kernel reads them.
    pub(crate) control: &'a [u8],
    /// The octets, in order.
    pub(crate) parts: &'a [IoSlice<'a>],
}

impl Message<'_> {
    fn header(&self) -> libc::mmsghdr {
        let mut header = blank();
        // A slice of `IoSlice` is laid out as the array of `iovec` that the kernel reads.
        header.msg_hdr.msg_iov = self.parts.as_ptr().cast_mut().cast();
        header.msg_hdr.msg_iovlen = self.parts.len() as _;
        if !self.name.is_empty() {
            header.msg_hdr.msg_name = self.name.as_ptr().cast_mut().cast();
            header.msg_hdr.msg_namelen = self.name.len() as libc::socklen_t;
        }
        if !self.control.is_empty() {
            header.msg_hdr.msg_control = self.control.as_ptr().cast_mut().cast();
            header.msg_hdr.msg_controllen = self.control.len() as _;
        }
        header
    }
}

/// Sends without blocking, at most [`SEND`] messages. Returns how many were sent.
///
/// An error belongs to the first message; errors of later ones are returned when those are sent first.
pub(crate) fn send_messages(fd: impl AsFd, messages: &[Message<'_>]) -> Result<usize, Errno> {
    let mut headers: ArrayVec<libc::mmsghdr, SEND> =
        messages.iter().take(SEND).map(Message::header).collect();
    let count = headers.len() as libc::c_uint;
    // SAFETY: `headers` holds `count` headers, which point to parts, names and control buffers of the stated
    // lengths, all borrowed until this function returns. The kernel only reads them.
    let sent = unsafe {
        libc::sendmmsg(fd.as_fd().as_raw_fd(), headers.as_mut_ptr(), count, libc::MSG_DONTWAIT as _)
    };
    usize::try_from(sent).map_err(|_| last_errno())
}

/// One message to send: header and payload are sent as one.
#[derive(Clone, Copy)]
pub(crate) struct MessageParts<'a> {
    /// The destination, as the kernel reads it. Empty: the address that the socket is bound or connected to.
    pub(crate) name: &'a [u8],
    /// Control messages, as the kernel reads them.
    pub(crate) control: &'a [u8],
    /// Octets before the payload.
    pub(crate) header: &'a [u8],
    /// The payload.
    pub(crate) payload: &'a [u8],
}

/// As [`send_messages`], for messages of two parts; at most [`BATCH`].
pub(crate) fn send(fd: impl AsFd, messages: &[MessageParts<'_>]) -> Result<usize, Errno> {
    let parts: ArrayVec<_, BATCH> = messages
        .iter()
        .take(BATCH)
        .map(|message| [IoSlice::new(message.header), IoSlice::new(message.payload)])
        .collect();
    let messages: ArrayVec<_, BATCH> = parts
        .iter()
        .zip(messages)
        .map(|(parts, message)| Message { name: message.name, control: message.control, parts })
        .collect();
    send_messages(fd, &messages)
}

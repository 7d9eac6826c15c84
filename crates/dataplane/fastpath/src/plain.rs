//! The packets that are nearly all: TCP and UDP over IPv4, whole and without options, alone or in a tunnel without anything
//! unusual. Everything else goes the way of [`crate::work`].

use causeway_dataplane::DropReason;
use causeway_packet::gtpu::extension_type::PDU_SESSION_CONTAINER;
use causeway_types::Qfi;

use crate::filters::Gist;
use crate::key::Key;

/// A packet on its way through the stages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain {
    pub(crate) fork: Fork,
    /// Where its line is, or may be.
    pub(crate) line: u32,
    /// Its TEID or its destination, and above 32 bits where that is one: [`Key::place`].
    pub(crate) id: u64,
    /// The address at the UE's end.
    pub(crate) local: u32,
    pub(crate) gist: Gist,
    /// Octets of the user packet.
    pub(crate) len: u16,
    /// Where it begins in the frame.
    pub(crate) start: u8,
    /// What may keep it from an ordinary course: bits of [`flaw`].
    pub(crate) flaws: u8,
}

/// What may be the matter with a packet.
pub(crate) mod flaw {
    /// The checksum of its header is wrong.
    pub(crate) const DAMAGED: u8 = 1;
    /// It has no hop to lose.
    pub(crate) const LAST_HOP: u8 = 2;
    /// One of its ends is of a link.
    pub(crate) const LINK: u8 = 4;
    /// It may be that one of its ends is an address of ours. That is asked for by the few courses that care.
    pub(crate) const OURS: u8 = 8;
}

/// Which way a packet goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fork {
    /// To its line.
    Sought,
    /// By the course with this number.
    Course(u32),
    /// It ends here.
    Drop(DropReason),
    /// By [`crate::work`], with this index there.
    Odd(u8),
    /// To the slow room.
    Ask,
}

/// Octets that are looked at: a GTP-U header with a PDU Session Container, an IPv4 header, and the ports behind it.
const LOOKED_AT: usize = CONTAINER + USER;
/// The GTP-U header alone.
const HEADER: usize = 8;
/// The header with a container.
const CONTAINER: usize = 16;
/// The octets of a user packet that are looked at.
const USER: usize = 24;

const G_PDU: u8 = 255;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// 169.254.0.0, of /16.
const LINK_LOCAL: u32 = 0xa9fe_0000;

impl Plain {
    /// For the slow room.
    pub(crate) const ASK: Self = Self {
        fork: Fork::Ask,
        line: 0,
        id: 0,
        local: 0,
        gist: Gist::v4(0, 0, 0, 0),
        len: 0,
        start: 0,
        flaws: flaw::OURS,
    };

    /// Takes in an uplink packet in a GTP-U message. `false`: it is another kind of packet.
    #[inline(always)]
    pub(crate) fn take_message(&mut self, frame: &[u8]) -> bool {
        let Some(head) = frame.first_chunk::<LOOKED_AT>() else { return false };
        if !is_only_qfi(head) {
            return self.take_bare_message(head, frame.len());
        }
        let is_taken = self.take_user::<CONTAINER>(head, end_of(head), frame.len());
        self.gist = self.gist.with_qfi(Qfi::from_low_bits(head[14]));
        is_taken
    }

    /// In a message without extension headers.
    #[inline(never)]
    fn take_bare_message(&mut self, head: &[u8; LOOKED_AT], len: usize) -> bool {
        [head[0], head[1]] == [0x30, G_PDU] && self.take_user::<HEADER>(head, end_of(head), len)
    }

    /// Takes in a downlink packet. `false`: it is another kind of packet.
    #[inline(always)]
    pub(crate) fn take_packet(&mut self, frame: &[u8]) -> bool {
        let Some(head) = frame.first_chunk::<USER>() else { return false };
        let is_taken = self.take_user::<0>(head, frame.len(), frame.len());
        self.gist = self.gist.reversed(&mut self.local);
        is_taken
    }

    /// The user packet, which begins at octet `START` of a message that ends at `end`, which is `len` or before; its destination
    /// is the far end.
    #[inline(always)]
    fn take_user<const START: usize>(&mut self, head: &[u8], end: usize, len: usize) -> bool {
        let Some(user) = head.get(START..).and_then(<[u8]>::first_chunk::<USER>) else { return false };
        let (&[first, ..], _) = user.as_chunks::<8>() else { return false };
        let (&[_, _, [hops, protocol, ..], src, dst, ports], _) = user.as_chunks::<4>() else { return false };
        let size = u16::from_be_bytes([user[2], user[3]]);
        let fits = usize::from(size) >= USER && START + usize::from(size) <= end && end <= len;
        if !is_plain_v4(first) || !matches!(protocol, UDP | TCP) || !fits {
            return false;
        }
        let is_damaged = user.first_chunk().is_none_or(|header| !sums_up(header));
        let (local, remote) = (u32::from_be_bytes(src), u32::from_be_bytes(dst));
        let is_of_link = (local ^ LINK_LOCAL).min(remote ^ LINK_LOCAL) <= 0xffff;
        (self.local, self.len) = (local, size);
        self.gist = Gist::v4(remote, u32::from_be_bytes(ports), protocol, user[1]);
        self.start = START as u8;
        self.flaws = flaw::OURS
            | (flaw::DAMAGED * u8::from(is_damaged))
            | (flaw::LAST_HOP * u8::from(hops <= 1))
            | (flaw::LINK * u8::from(is_of_link));
        true
    }

    /// What leads to its line.
    pub(crate) const fn key(&self) -> Key {
        Key::at((self.id >> 32) as u32, self.id as u32)
    }
}

/// Where a GTP-U message ends, be it in the frame or not.
#[inline(always)]
fn end_of(head: &[u8; LOOKED_AT]) -> usize {
    HEADER + usize::from(u16::from_be_bytes([head[2], head[3]]))
}

/// A G-PDU that says nothing but a QFI. After the sequence number, which does not count, there is the type of the extension
/// header, its length of one word, the type of PDU (0 or 1), flags that are not set, the QFI, and that no further header
/// follows.
#[inline(always)]
fn is_only_qfi(head: &[u8; LOOKED_AT]) -> bool {
    let (&[_, container, ..], _) = head.as_chunks::<8>() else { return false };
    let is_extended = [head[0], head[1]] == [0x34, G_PDU];
    let mask = u64::from_ne_bytes([0, 0, 0, 0xff, 0xff, 0xef, 0xc0, 0xff]);
    is_extended
        && u64::from_ne_bytes(container) & mask
            == u64::from_ne_bytes([0, 0, 0, PDU_SESSION_CONTAINER, 1, 0, 0, 0])
}

/// A header of five words, and no fragment: of flags and offset nothing is set but perhaps "do not fragment".
#[inline(always)]
fn is_plain_v4(first: [u8; 8]) -> bool {
    let mask = u64::from_ne_bytes([0xff, 0, 0, 0, 0, 0, 0x3f, 0xff]);
    u64::from_ne_bytes(first) & mask == u64::from_ne_bytes([0x45, 0, 0, 0, 0, 0, 0, 0])
}

/// The sum of the words of the header, carries added, is all ones: it is a multiple of that. Powers of 2^16 leave a remainder
/// of one, so that larger words have the same sum, in either byte order.
#[inline(always)]
pub(crate) fn sums_up(header: &[u8; 20]) -> bool {
    let (words, rest) = header.as_chunks::<8>();
    let (&[a, b], Some(c)) = (words, rest.first_chunk()) else { return false };
    let (sum, carry) = u64::from_ne_bytes(a).overflowing_add(u64::from_ne_bytes(b));
    let (sum, other) = sum.overflowing_add(u64::from(u32::from_ne_bytes(*c)) + u64::from(carry));
    sum.wrapping_add(other.into()).is_multiple_of(0xffff)
}

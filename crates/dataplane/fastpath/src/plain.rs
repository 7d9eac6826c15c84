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
    /// Its TEID, or its destination.
    pub(crate) key: u32,
    /// Where the key is one: [`Key::place`].
    pub(crate) place: u32,
    /// The address at the UE's end.
    pub(crate) local: u32,
    pub(crate) gist: Gist,
    /// Octets of the user packet.
    pub(crate) len: u16,
    /// Where it begins in the frame.
    pub(crate) start: u16,
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

impl Plain {
    /// For the slow room.
    pub(crate) const ASK: Self = Self {
        fork: Fork::Ask,
        line: 0,
        key: 0,
        place: 0,
        local: 0,
        gist: Gist::v4(0, 0, 0, 0),
        len: 0,
        start: 0,
    };

    /// Takes in what is looked at in a GTP-U message with an uplink packet. `false`: it is another kind of packet.
    #[inline(always)]
    pub(crate) fn take_message(&mut self, frame: &[u8]) -> bool {
        let Some(head) = frame.first_chunk::<LOOKED_AT>() else { return false };
        self.key = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
        let end = HEADER + usize::from(u16::from_be_bytes([head[2], head[3]]));
        if end > frame.len() {
            return false;
        }
        match [head[0], head[1]] {
            [0x34, 0xff] if holds_qfi_alone(head) => {
                let is_taken = self.take_user::<CONTAINER>(head, end);
                self.gist = self.gist.with_qfi(Qfi::from_low_bits(head[14]));
                is_taken
            }
            [0x30, 0xff] => self.take_user::<HEADER>(head, end),
            _ => false,
        }
    }

    /// Takes in what is looked at in a downlink packet. `false`: it is another kind of packet.
    #[inline(always)]
    pub(crate) fn take_packet(&mut self, frame: &[u8]) -> bool {
        let Some(head) = frame.first_chunk::<USER>() else { return false };
        let is_taken = self.take_user::<0>(head, frame.len());
        self.gist = self.gist.reversed(&mut self.local);
        self.key = self.local;
        is_taken
    }

    /// The user packet, which begins at `START` and ends at `end` or before; its destination is the far end.
    #[inline(always)]
    fn take_user<const START: usize>(&mut self, head: &[u8], end: usize) -> bool {
        let Some(user) = head.get(START..).and_then(|user| user.first_chunk::<USER>()) else { return false };
        let word = |at: usize| u32::from_be_bytes([user[at], user[at + 1], user[at + 2], user[at + 3]]);
        self.local = word(12);
        self.gist = Gist::v4(word(16), word(20), user[9], user[1]);
        let len = u16::from_be_bytes([user[2], user[3]]);
        (self.len, self.start) = (len, START as u16);
        // Flags and offset of fragments but for "do not fragment".
        let is_whole = u16::from_ne_bytes([user[6], user[7]]) & 0x3fff_u16.to_be() == 0;
        let fits = usize::from(len) >= USER && START + usize::from(len) <= end;
        user[0] == 0x45 && is_whole && fits && matches!(user[9], 6 | 17)
    }

    /// What leads to its line.
    pub(crate) const fn key(&self) -> Key {
        Key::at(self.place, self.key)
    }

    /// One of its ends is of a link.
    #[inline(always)]
    pub(crate) const fn is_of_link(&self) -> bool {
        (self.local >> 16) as u16 == 0xa9fe || (self.gist.remote() >> 16) as u16 == 0xa9fe
    }
}

/// After the sequence number, which does not count: the type of the extension header, its length of one word, the type of PDU
/// (0 or 1), flags that are not set, the QFI, and that no further header follows.
#[inline(always)]
fn holds_qfi_alone(head: &[u8; LOOKED_AT]) -> bool {
    let rest = u32::from_ne_bytes([head[12], head[13], head[14], head[15]]);
    head[11] == PDU_SESSION_CONTAINER && rest & 0xffef_c0ff_u32.to_be() == 0x0100_0000_u32.to_be()
}

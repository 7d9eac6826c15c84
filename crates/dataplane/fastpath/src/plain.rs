//! The packets that are nearly all: TCP and UDP over IPv4, whole and without options, alone or in a tunnel without anything
//! unusual. Everything else goes the way of [`crate::work`].

use causeway_dataplane::DropReason;
use causeway_packet::gtpu::extension_type::PDU_SESSION_CONTAINER;
use causeway_types::Qfi;

use crate::filters::Gist;
use crate::key::Key;

/// The octets of a user packet that are looked at: its IPv4 header, and the ports behind it.
const LOOKED_AT: usize = 24;

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

/// A G-PDU as nearly all are.
struct Tunnelled {
    teid: u32,
    start: usize,
    end: usize,
    qfi: Option<Qfi>,
}

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

    /// An uplink packet in a GTP-U message. `None`: it is no such packet. Its place is not known yet.
    #[inline(always)]
    pub(crate) fn of_tunnel(frame: &[u8]) -> Option<Self> {
        let Tunnelled { teid, start, end, qfi } = Tunnelled::parse(frame)?;
        let packet = Ipv4::parse(frame.get(start..end)?)?;
        let gist = Gist::v4(packet.dst, packet.ports, packet.protocol, packet.tos);
        Some(Self {
            fork: Fork::Sought,
            key: teid,
            local: packet.src,
            gist: qfi.map_or(gist, |qfi| gist.with_qfi(qfi)),
            len: packet.len,
            start: start as u16,
            ..Self::ASK
        })
    }

    /// A downlink packet of a data network at a place. `None`: it is no such packet.
    #[inline(always)]
    pub(crate) fn of_network(frame: &[u8], place: u32) -> Option<Self> {
        let packet = Ipv4::parse(frame)?;
        Some(Self {
            fork: Fork::Sought,
            key: packet.dst,
            place,
            local: packet.dst,
            gist: Gist::v4(packet.src, packet.ports.rotate_left(16), packet.protocol, packet.tos),
            len: packet.len,
            ..Self::ASK
        })
    }

    /// What leads to its line.
    pub(crate) const fn key(&self) -> Key {
        Key::at(self.place, self.key)
    }

    /// One of its ends is of a link.
    #[inline(always)]
    pub(crate) const fn is_of_link(&self) -> bool {
        self.local >> 16 == 0xa9fe || self.gist.remote() >> 16 == 0xa9fe
    }
}

impl Tunnelled {
    /// With a QFI, or with nothing, and no more.
    #[inline(always)]
    fn parse(frame: &[u8]) -> Option<Self> {
        let (words, _) = frame.first_chunk::<16>()?.as_chunks::<8>();
        let &[first, second] = words else { return None };
        let (first, second) = (u64::from_be_bytes(first), u64::from_be_bytes(second));
        let (start, qfi) = match first >> 48 {
            // After the sequence number, which does not count: the type of the extension header, its length of one word, the
            // type of PDU (0 or 1), flags, QFI, and that no further header follows.
            0x34ff if second & 0xff_ffef_c0ff == (PDU_SESSION_CONTAINER as u64) << 32 | 1 << 24 => {
                (16, Some(Qfi::from_low_bits((second >> 8) as u8)))
            }
            0x30ff => (8, None),
            _ => return None,
        };
        Some(Self { teid: first as u32, start, end: 8 + usize::from((first >> 32) as u16), qfi })
    }
}

/// What is looked at in an IPv4 packet.
struct Ipv4 {
    len: u16,
    src: u32,
    dst: u32,
    /// Source port above destination port.
    ports: u32,
    protocol: u8,
    tos: u8,
}

impl Ipv4 {
    #[inline(always)]
    fn parse(packet: &[u8]) -> Option<Self> {
        let (words, _) = packet.first_chunk::<LOOKED_AT>()?.as_chunks::<8>();
        let &[a, b, c] = words else { return None };
        let (a, b, c) = (u64::from_be_bytes(a), u64::from_be_bytes(b), u64::from_be_bytes(c));
        // Version and length of the header; flags and offset of fragments.
        if a & 0xff00_0000_0000_3fff != 0x45 << 56 {
            return None;
        }
        let (len, protocol) = ((a >> 32) as u16, (b >> 48) as u8);
        let is_whole = usize::from(len) >= LOOKED_AT && usize::from(len) <= packet.len();
        (is_whole && matches!(protocol, 6 | 17)).then_some(Self {
            len,
            src: b as u32,
            dst: (c >> 32) as u32,
            ports: c as u32,
            protocol,
            tos: (a >> 48) as u8,
        })
    }
}

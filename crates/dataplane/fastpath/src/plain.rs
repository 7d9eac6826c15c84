//! The packets that are nearly all: IPv4, alone or in a tunnel. Those without options, and in a tunnel without anything unusual,
//! are read of half a batch at once; where there are others, it is read a second time ([`crate::reread`]). Everything else goes the way
//! of [`crate::work`].

use std::net::{IpAddr, Ipv4Addr};

use causeway_dataplane::DropReason;
use causeway_ports::BATCH;

use crate::choose::UPLINK;
use crate::filters::Gist;
use crate::key::Key;

/// Packets that are looked at at once: the first and the second half of a batch. The lines of the first half are fetched while
/// the second half is looked at, so that they are there when the packets are acted on.
pub(crate) const PART: usize = BATCH / 2;

/// One of so many packets of a batch is enough for the next one to be looked at only once.
const UNUSUAL: usize = 8;

/// What no line has as [`crate::line::Line::id`].
pub(crate) const NOWHERE: u64 = u64::MAX;

/// Something of each packet of a batch.
type Each<T> = [T; BATCH];

/// The packets of a batch on their way through the stages: what is asked of many at once lies together.
#[derive(Debug)]
pub(crate) struct Plains {
    /// How many there are.
    len: usize,
    /// What the lines of packets with nothing unusual must be: [`Plain::id`]. For the others, what no line is.
    pub(crate) ids: Each<u64>,
    /// Where their lines are, or may be. Behind those of the batch there are some of no packet.
    pub(crate) lines: [u32; 2 * BATCH],
    /// Whose lines are fetched before any packet is acted on: those of so many packets. Each of the others is fetched while the
    /// packet that is so many before it is acted on.
    pub(crate) ahead: usize,
    /// Which ways they go.
    pub(crate) forks: Each<Fork>,
    /// Not zero: it is a plain packet.
    pub(crate) is_plain: Each<u32>,
    /// Not zero: its ends are two, and the UE's is not zero either.
    pub(crate) is_quick: Each<u32>,
    /// The upper half of [`Plain::id`].
    pub(crate) places: Each<u32>,
    /// The lower half of [`Plain::id`].
    pub(crate) keys: Each<u32>,
    /// As in [`Plain`].
    pub(crate) locals: Each<u32>,
    /// The parts of the gist if the UE's end is the UE's.
    pub(crate) remotes: Each<u32>,
    pub(crate) ports: Each<u32>,
    pub(crate) words: Each<u32>,
    /// Octets of the user packets.
    pub(crate) lens: Each<u32>,
    /// As in [`Plain`].
    pub(crate) starts: Each<u32>,
    pub(crate) flaws: Each<u32>,
    /// The words of their headers with the hops, octets from the lowest bits on, as they are with one hop less: the third ones, in IPv6 the
    /// second ones.
    pub(crate) hops: Each<u32>,
    /// The upper halves of the addresses of IPv6 packets, at the UE's end and at the far one, where they go by [`Fork::Six`].
    pub(crate) prefixes: Each<u64>,
    pub(crate) far_prefixes: Each<u64>,
    /// There are such packets.
    pub(crate) has_sixes: bool,
    /// Many packets of the last batch that came in by a tunnel, or by none, were not plain at the first look: that look is left out.
    were_unusual: [bool; 2],
    /// Which rules they fit if what is guessed is right: [`crate::guess`].
    pub(crate) steps: Each<u32>,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain {
    /// Where its line is, or may be.
    pub(crate) line: u32,
    /// Its TEID or its destination, and above 32 bits where that is one: [`Key::place`].
    pub(crate) id: u64,
    /// The address at the UE's end.
    pub(crate) local: u32,
    pub(crate) gist: Gist,
    /// Where it begins in the frame.
    pub(crate) start: u32,
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
    /// It may be that its far end is an address of ours, or one that UEs do not reach.
    pub(crate) const OURS: u8 = 8;
    /// There is something in its extension headers that may be for the next tunnel.
    pub(crate) const CARRIES: u8 = 16;
    /// Congestion that the outer header has met goes on in it.
    pub(crate) const CONGESTED: u8 = 32;
    /// The outer header has met congestion and it cannot say so: its session drops it.
    pub(crate) const DOOMED: u8 = 64;
    /// There is no well-formed IP packet in the tunnel: its session drops it.
    pub(crate) const BROKEN: u8 = 128;
    /// It has an extension header that its session should understand.
    pub(crate) const STRANGE: u8 = DOOMED | BROKEN;
    /// Its session drops it, whatever else it says.
    pub(crate) const LOST: u8 = STRANGE;
}

/// Why a packet with these flaws is dropped if there is no such tunnel.
pub(crate) const fn unknown(flaws: u8) -> DropReason {
    match flaws & flaw::LOST {
        flaw::STRANGE => DropReason::UnsupportedExtension,
        _ => DropReason::UnknownTeid,
    }
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
    /// No line is for it.
    Unknown,
    /// Its line does not understand one of its extension headers.
    Strange,
    /// It is an IPv6 packet that [`crate::six`] has read.
    Six,
    /// To the slow room.
    Ask,
}

impl Plains {
    /// None.
    pub(crate) const fn new() -> Self {
        const NOTHING: Each<u32> = [0; BATCH];
        Self {
            len: 0,
            ids: [NOWHERE; BATCH],
            lines: [0; 2 * BATCH],
            ahead: PART,
            forks: [Fork::Sought; BATCH],
            is_plain: NOTHING,
            is_quick: NOTHING,
            places: NOTHING,
            keys: NOTHING,
            locals: NOTHING,
            remotes: NOTHING,
            ports: NOTHING,
            words: NOTHING,
            lens: NOTHING,
            starts: NOTHING,
            flaws: NOTHING,
            hops: NOTHING,
            prefixes: [0; BATCH],
            far_prefixes: [0; BATCH],
            has_sixes: false,
            were_unusual: [false; 2],
            steps: NOTHING,
        }
    }

    /// From now on there are so many others, in a table whose lines are far if it `is_large`.
    pub(crate) const fn begin(&mut self, len: usize, is_large: bool) {
        self.len = len;
        self.ahead = if is_large { BATCH } else { PART };
        self.forks = [Fork::Sought; BATCH];
        self.has_sixes = false;
    }

    /// Nothing of the second half is fetched: there is none.
    pub(crate) fn has_no_second_half(&mut self) {
        self.lines[PART..].fill(0);
    }

    /// How many there are, [`BATCH`] at most.
    #[inline(always)]
    pub(crate) const fn len(&self) -> usize {
        if self.len < BATCH { self.len } else { BATCH }
    }

    /// All of them are plain packets.
    pub(crate) fn are_plain(&self) -> bool {
        self.are_plain_in::<0, BATCH>()
    }

    /// The same of those from `FROM` on and before `TO`.
    #[inline(always)]
    pub(crate) fn are_plain_in<const FROM: usize, const TO: usize>(&self) -> bool {
        let mut others = 0;
        for i in FROM..TO {
            others |= u32::from(self.is_plain[i] == 0) & u32::from((i as u32) < self.len as u32);
        }
        others == 0
    }

    /// The packets of this batch are likely not to be plain at the first look.
    #[inline(always)]
    pub(crate) const fn are_unusual<const WAY: bool>(&self) -> bool {
        self.were_unusual[WAY as usize]
    }

    /// So many packets of this batch would not be plain at the first look, or are not.
    pub(crate) const fn learn<const WAY: bool>(&mut self, unusual: u32) {
        self.were_unusual[WAY as usize] = unusual as usize * UNUSUAL >= self.len();
    }

    /// One of them.
    pub(crate) const fn at(&self, index: usize) -> Plain {
        let index = index % BATCH;
        Plain {
            line: self.lines[index],
            id: (self.places[index] as u64) << 32 | self.keys[index] as u64,
            local: self.locals[index],
            gist: self.gist(index).without_ue(),
            start: self.starts[index],
            flaws: self.flaws[index] as u8,
        }
    }

    /// The gist of one of them if the UE's end is the UE's.
    #[inline(always)]
    pub(crate) const fn gist(&self, index: usize) -> Gist {
        let index = index % BATCH;
        Gist::of_parts(self.words[index], self.ports[index], self.remotes[index])
    }

    /// Where one of them comes from.
    pub(crate) fn source<const WAY: bool>(&self, index: usize) -> IpAddr {
        let ends = if WAY == UPLINK { &self.locals } else { &self.remotes };
        Ipv4Addr::from_bits(ends[index % BATCH]).into()
    }

    /// What nothing is decided of yet.
    pub(crate) fn sought(&self) -> impl Iterator<Item = usize> + use<> {
        let forks = self.forks;
        (0..self.len).filter(move |index| forks.get(*index) == Some(&Fork::Sought))
    }

    /// One of them goes another way than by its line.
    pub(crate) const fn send(&mut self, index: usize, fork: Fork) {
        self.forks[index % BATCH] = fork;
        self.ids[index % BATCH] = NOWHERE;
    }
}

impl Plain {
    /// Why it is dropped if there is no such tunnel.
    pub(crate) const fn unknown(&self) -> DropReason {
        unknown(self.flaws)
    }

    /// What leads to its line.
    pub(crate) const fn key(&self) -> Key {
        Key::at((self.id >> 32) as u32, self.id as u32)
    }
}

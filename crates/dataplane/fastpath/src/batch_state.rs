//! The packets that are nearly all: IPv4, alone or in a tunnel. Those without options, and in a tunnel without anything unusual,
//! are read of half a batch at once; where there are others, it is read a second time ([`crate::parse_unusual`]). Everything else goes the way
//! of [`crate::general_path`].

use std::net::{IpAddr, Ipv4Addr};

use causeway_dataplane::DropReason;
use causeway_ports::BATCH;

use crate::filters::PacketKey;
use crate::key::FlowKey;
use crate::lookup::UPLINK;

/// Packets that are looked at at once: the first and the second half of a batch. The lines of the first half are fetched while
/// the second half is looked at, so that they are there when the packets are acted on.
pub(crate) const HALF_BATCH: usize = BATCH / 2;

/// One of so many packets of a batch is enough for the next one to be looked at only once.
const UNUSUAL_RATIO: usize = 8;

/// What no line has as [`crate::flow_entry::FlowEntry::entry_id`].
pub(crate) const NO_ENTRY_ID: u64 = u64::MAX;

/// Something of each packet of a batch.
type PerPacket<T> = [T; BATCH];

/// The packets of a batch on their way through the stages: what is asked of many at once lies together.
#[derive(Debug)]
pub(crate) struct BatchState {
    /// How many there are.
    len: usize,
    /// What the lines of packets with nothing unusual must be: [`PacketState::id`]. For the others, what no line is.
    pub(crate) ids: PerPacket<u64>,
    /// Where their lines are, or may be. Behind those of the batch there are some of no packet.
    pub(crate) entries: [u32; 2 * BATCH],
    /// Whose lines are fetched before any packet is acted on: those of so many packets. Each of the others is fetched while the
    /// packet that is so many before it is acted on.
    pub(crate) prefetched: usize,
    /// Which ways they go.
    pub(crate) next_stages: PerPacket<NextStage>,
    /// Not zero: it is a plain packet.
    pub(crate) is_plain: PerPacket<u32>,
    /// Not zero: its ends are two, and the UE's is not zero either.
    pub(crate) has_two_ends: PerPacket<u32>,
    /// The upper half of [`PacketState::id`].
    pub(crate) scopes: PerPacket<u32>,
    /// The lower half of [`PacketState::id`].
    pub(crate) keys: PerPacket<u32>,
    /// As in [`PacketState`].
    pub(crate) locals: PerPacket<u32>,
    /// The parts of the gist if the UE's end is the UE's.
    pub(crate) remotes: PerPacket<u32>,
    pub(crate) ports: PerPacket<u32>,
    pub(crate) words: PerPacket<u32>,
    /// Octets of the user packets.
    pub(crate) lens: PerPacket<u32>,
    /// As in [`PacketState`].
    pub(crate) starts: PerPacket<u32>,
    pub(crate) flags: PerPacket<u32>,
    /// The words of their headers with the hops, octets from the lowest bits on, as they are with one hop less: the third ones, in IPv6 the
    /// second ones.
    pub(crate) hops: PerPacket<u32>,
    /// The upper halves of the addresses of IPv6 packets, at the UE's end and at the far one, where they go by [`NextStage::Ipv6`].
    pub(crate) prefixes: PerPacket<u64>,
    pub(crate) remote_prefixes: PerPacket<u64>,
    /// There are such packets.
    pub(crate) has_ipv6: bool,
    /// Many packets of the last batch that came in by a tunnel, or by none, were not plain at the first look: that look is left out.
    were_unusual: [bool; 2],
    /// Which rules they fit if what is guessed is right: [`crate::prediction`].
    pub(crate) steps: PerPacket<u32>,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketState {
    /// Where its line is, or may be.
    pub(crate) entry: u32,
    /// Its TEID or its destination, and above 32 bits where that is one: [`FlowKey::scope`].
    pub(crate) id: u64,
    /// The address at the UE's end.
    pub(crate) local: u32,
    pub(crate) key: PacketKey,
    /// Where it begins in the frame.
    pub(crate) start: u32,
    /// What may keep it from an ordinary course: bits of [`packet_flag`].
    pub(crate) flags: u8,
}

/// What may be the matter with a packet.
pub(crate) mod packet_flag {
    /// The checksum of its header is wrong.
    pub(crate) const BAD_CHECKSUM: u8 = 1;
    /// It has no hop to lose.
    pub(crate) const TTL_EXPIRES: u8 = 2;
    /// One of its ends is of a link.
    pub(crate) const LINK_SCOPED: u8 = 4;
    /// It may be that its far end is an address of ours, or one that UEs do not reach.
    pub(crate) const LOCAL_ADDRESS: u8 = 8;
    /// There is something in its extension headers that may be for the next tunnel.
    pub(crate) const HAS_OTHER_EXTENSIONS: u8 = 16;
    /// Congestion that the outer header has met goes on in it.
    pub(crate) const ECN_UPDATE: u8 = 32;
    /// The outer header has met congestion and it cannot say so: its session drops it.
    pub(crate) const ECN_DROP: u8 = 64;
    /// There is no well-formed IP packet in the tunnel: its session drops it.
    pub(crate) const MALFORMED: u8 = 128;
    /// It has an extension header that its session should understand.
    pub(crate) const UNSUPPORTED_EXTENSION: u8 = ECN_DROP | MALFORMED;
    /// Its session drops it, whatever else it says.
    pub(crate) const ALWAYS_DROPPED: u8 = UNSUPPORTED_EXTENSION;
}

/// Why a packet with these flaws is dropped if there is no such tunnel.
pub(crate) const fn miss_drop_reason(flaws: u8) -> DropReason {
    match flaws & packet_flag::ALWAYS_DROPPED {
        packet_flag::UNSUPPORTED_EXTENSION => DropReason::UnsupportedExtension,
        _ => DropReason::UnknownTeid,
    }
}

/// Which way a packet goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NextStage {
    /// To its line.
    Lookup,
    /// By the course with this number.
    Action(u32),
    /// It ends here.
    Drop(DropReason),
    /// By [`crate::general_path`], with this index there.
    General(u8),
    /// No line is for it.
    TableMiss,
    /// Its line does not understand one of its extension headers.
    UnsupportedExtension,
    /// It is an IPv6 packet that [`crate::ipv6`] has read.
    Ipv6,
    /// To the slow room.
    SlowPath,
}

impl BatchState {
    /// None.
    pub(crate) const fn new() -> Self {
        const NOTHING: PerPacket<u32> = [0; BATCH];
        Self {
            len: 0,
            ids: [NO_ENTRY_ID; BATCH],
            entries: [0; 2 * BATCH],
            prefetched: HALF_BATCH,
            next_stages: [NextStage::Lookup; BATCH],
            is_plain: NOTHING,
            has_two_ends: NOTHING,
            scopes: NOTHING,
            keys: NOTHING,
            locals: NOTHING,
            remotes: NOTHING,
            ports: NOTHING,
            words: NOTHING,
            lens: NOTHING,
            starts: NOTHING,
            flags: NOTHING,
            hops: NOTHING,
            prefixes: [0; BATCH],
            remote_prefixes: [0; BATCH],
            has_ipv6: false,
            were_unusual: [false; 2],
            steps: NOTHING,
        }
    }

    /// From now on there are so many others, in a table whose lines are far if it `is_large`.
    pub(crate) const fn reset(&mut self, len: usize, is_large: bool) {
        self.len = len;
        self.prefetched = if is_large { BATCH } else { HALF_BATCH };
        self.next_stages = [NextStage::Lookup; BATCH];
        self.has_ipv6 = false;
    }

    /// Nothing of the second half is fetched: there is none.
    pub(crate) fn skip_second_half(&mut self) {
        self.entries[HALF_BATCH..].fill(0);
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
    pub(crate) const fn expects_unusual<const IS_UPLINK: bool>(&self) -> bool {
        self.were_unusual[IS_UPLINK as usize]
    }

    /// So many packets of this batch would not be plain at the first look, or are not.
    pub(crate) const fn update_expectation<const IS_UPLINK: bool>(&mut self, unusual: u32) {
        self.were_unusual[IS_UPLINK as usize] = unusual as usize * UNUSUAL_RATIO >= self.len();
    }

    /// One of them.
    pub(crate) const fn at(&self, index: usize) -> PacketState {
        let index = index % BATCH;
        PacketState {
            entry: self.entries[index],
            id: (self.scopes[index] as u64) << 32 | self.keys[index] as u64,
            local: self.locals[index],
            key: self.packet_key(index).without_ue(),
            start: self.starts[index],
            flags: self.flags[index] as u8,
        }
    }

    /// The gist of one of them if the UE's end is the UE's.
    #[inline(always)]
    pub(crate) const fn packet_key(&self, index: usize) -> PacketKey {
        let index = index % BATCH;
        PacketKey::of_parts(self.words[index], self.ports[index], self.remotes[index])
    }

    /// Where one of them comes from.
    pub(crate) fn source<const IS_UPLINK: bool>(&self, index: usize) -> IpAddr {
        let ends = if IS_UPLINK == UPLINK { &self.locals } else { &self.remotes };
        Ipv4Addr::from_bits(ends[index % BATCH]).into()
    }

    /// What nothing is decided of yet.
    pub(crate) fn undecided(&self) -> impl Iterator<Item = usize> + use<> {
        let forks = self.next_stages;
        (0..self.len).filter(move |index| forks.get(*index) == Some(&NextStage::Lookup))
    }

    /// One of them goes another way than by its line.
    pub(crate) const fn set_stage(&mut self, index: usize, next: NextStage) {
        self.next_stages[index % BATCH] = next;
        self.ids[index % BATCH] = NO_ENTRY_ID;
    }
}

impl PacketState {
    /// Why it is dropped if there is no such tunnel.
    pub(crate) const fn miss_drop_reason(&self) -> DropReason {
        miss_drop_reason(self.flags)
    }

    /// What leads to its line.
    pub(crate) const fn key(&self) -> FlowKey {
        FlowKey::at((self.id >> 32) as u32, self.id as u32)
    }
}

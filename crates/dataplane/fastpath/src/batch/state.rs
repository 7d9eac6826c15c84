//! Packets of the common case: IPv4, alone or in a tunnel. Packets without options and with a common GTP-U header are
//! parsed half a batch at a time. If a half batch contains others, [`crate::parse::unusual`] parses it again. Everything
//! else takes the path of [`crate::batch::general`].

use std::net::{IpAddr, Ipv4Addr};

use causeway_dataplane::DropReason;
use causeway_packet::BATCH;

use crate::classify::filters::PacketKey;
use crate::parse::BatchHeaders;
use crate::table::key::FlowKey;

/// The number of packets that are parsed together: half a batch. The flow entries of the first half are prefetched
/// while the second half is parsed, so that they have arrived from memory when the packets are acted on.
pub(crate) const HALF_BATCH: usize = BATCH / 2;

/// If at least one in this many packets of a batch is unusual, the first parse of the next batch is skipped.
const UNUSUAL_RATIO: usize = 8;

/// Uplink packets, received by GTP-U.
pub(crate) const UPLINK: bool = true;
/// Downlink packets, received from a data network.
pub(crate) const DOWNLINK: bool = false;

/// A value that no flow entry has as its [`crate::table::flow_entry::FlowEntry::entry_id`].
pub(crate) const NO_ENTRY_ID: u64 = u64::MAX;

/// One value for each packet of a batch.
type PerPacket<T> = [T; BATCH];

/// The packets of a batch between the stages. Fields that are read for many packets together are stored together.
#[derive(Debug)]
pub(crate) struct BatchState {
    /// The number of packets.
    len: usize,
    /// The [`PacketState::id`] that the flow entry of a common packet must have. For others, [`NO_ENTRY_ID`].
    pub(crate) ids: PerPacket<u64>,
    /// The candidate flow entries. Behind those of the batch there are some that belong to no packet.
    pub(crate) entries: [u32; 2 * BATCH],
    /// The number of packets whose flow entries are prefetched before any packet is acted on. The others are prefetched
    /// while the packet this many positions before them is acted on.
    pub(crate) prefetched: usize,
    /// The next stage of each packet.
    pub(crate) next_stages: PerPacket<NextStage>,
    /// Not zero: a packet of the common case.
    pub(crate) is_common: PerPacket<u32>,
    /// Not zero: its addresses differ, and the UE's is not zero.
    pub(crate) has_two_ends: PerPacket<u32>,
    /// The upper half of [`PacketState::id`].
    pub(crate) scopes: PerPacket<u32>,
    /// The lower half of [`PacketState::id`].
    pub(crate) keys: PerPacket<u32>,
    /// As in [`PacketState`].
    pub(crate) locals: PerPacket<u32>,
    /// The parts of the packet key, if the local address is the UE's.
    pub(crate) remotes: PerPacket<u32>,
    pub(crate) ports: PerPacket<u32>,
    pub(crate) words: PerPacket<u32>,
    /// Octets of the user packets.
    pub(crate) lens: PerPacket<u32>,
    /// As in [`PacketState`].
    pub(crate) starts: PerPacket<u32>,
    pub(crate) flags: PerPacket<u32>,
    /// The words of the headers that contain the TTL or Hop Limit, octets from the lowest bits on, after a decrement:
    /// the third words in IPv4, the second in IPv6.
    pub(crate) hops: PerPacket<u32>,
    /// The upper halves of the local and remote addresses of IPv6 packets, where [`NextStage::Ipv6`] applies.
    pub(crate) prefixes: PerPacket<u64>,
    pub(crate) remote_prefixes: PerPacket<u64>,
    /// Whether there are such packets.
    pub(crate) has_ipv6: bool,
    /// For packets with and without a tunnel: whether many of the last batch were unusual. If so, the first parse is
    /// skipped.
    were_unusual: [bool; 2],
    /// The rules that they match if the prediction is right: [`crate::classify::prediction`].
    pub(crate) steps: PerPacket<u32>,
}

/// The state of one packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketState {
    /// The candidate flow entry.
    pub(crate) entry: u32,
    /// The TEID or the destination; above 32 bits the scope of that key: [`FlowKey::scope`].
    pub(crate) id: u64,
    /// The address at the UE's end.
    pub(crate) local: u32,
    pub(crate) key: PacketKey,
    /// Where the user packet starts in the frame.
    pub(crate) start: u32,
    /// Conditions that may exclude it from a common compiled action: bits of [`packet_flag`].
    pub(crate) flags: u8,
}

/// Conditions of a packet that need a check.
pub(crate) mod packet_flag {
    /// The checksum of its IPv4 header is wrong.
    pub(crate) const BAD_CHECKSUM: u8 = 1;
    /// Its TTL or Hop Limit would expire.
    pub(crate) const TTL_EXPIRES: u8 = 2;
    /// One of its addresses is link-local.
    pub(crate) const LINK_SCOPED: u8 = 4;
    /// Its remote address may be a local address, or one that UEs cannot reach.
    pub(crate) const LOCAL_ADDRESS: u8 = 8;
    /// Its extension headers may contain values for the next tunnel.
    pub(crate) const HAS_OTHER_EXTENSIONS: u8 = 16;
    /// A congestion mark of the outer header is copied into it.
    pub(crate) const ECN_UPDATE: u8 = 32;
    /// The outer header has a congestion mark and the packet is not ECN-capable: its session drops it.
    pub(crate) const ECN_DROP: u8 = 64;
    /// The tunnel contains no well-formed IP packet: its session drops it.
    pub(crate) const MALFORMED: u8 = 128;
    /// It has an unsupported extension header that requires comprehension by its session.
    pub(crate) const UNSUPPORTED_EXTENSION: u8 = ECN_DROP | MALFORMED;
    /// Its session drops it, whatever the other flags.
    pub(crate) const ALWAYS_DROPPED: u8 = UNSUPPORTED_EXTENSION;
}

/// The drop reason of a packet with these flags if its tunnel does not exist.
pub(crate) const fn miss_drop_reason(flaws: u8) -> DropReason {
    match flaws & packet_flag::ALWAYS_DROPPED {
        packet_flag::UNSUPPORTED_EXTENSION => DropReason::UnsupportedExtension,
        _ => DropReason::UnknownTeid,
    }
}

/// The next stage of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NextStage {
    /// Look up its flow entry.
    Lookup,
    /// The compiled action with this number.
    Action(u32),
    /// Drop.
    Drop(DropReason),
    /// [`crate::batch::general`], with this index there.
    General(u8),
    /// No flow entry matches.
    TableMiss,
    /// Its session does not support one of its extension headers.
    UnsupportedExtension,
    /// An IPv6 packet that [`crate::parse::ipv6`] has parsed.
    Ipv6,
    /// The firewall denies it, if a session has its key.
    Denied,
    /// The slow path.
    SlowPath,
}

impl BatchState {
    /// No packets.
    pub(crate) const fn new() -> Self {
        const NOTHING: PerPacket<u32> = [0; BATCH];
        Self {
            len: 0,
            ids: [NO_ENTRY_ID; BATCH],
            entries: [0; 2 * BATCH],
            prefetched: HALF_BATCH,
            next_stages: [NextStage::Lookup; BATCH],
            is_common: NOTHING,
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

    /// Starts a new batch of `len` packets. `is_large`: the flow entries are unlikely to be in the cache.
    pub(crate) const fn reset(&mut self, len: usize, is_large: bool) {
        self.len = len;
        self.prefetched = if is_large { BATCH } else { HALF_BATCH };
        self.next_stages = [NextStage::Lookup; BATCH];
        self.has_ipv6 = false;
    }

    /// The second half is empty: nothing of it is prefetched.
    pub(crate) fn skip_second_half(&mut self) {
        self.entries[HALF_BATCH..].fill(0);
    }

    /// The number of packets, [`BATCH`] at most.
    #[inline(always)]
    pub(crate) const fn len(&self) -> usize {
        if self.len < BATCH { self.len } else { BATCH }
    }

    /// Whether all packets are of the common case.
    pub(crate) fn are_common(&self) -> bool {
        self.are_plain_in::<0, BATCH>()
    }

    /// The same for packets `FROM..TO`.
    #[inline(always)]
    pub(crate) fn are_plain_in<const FROM: usize, const TO: usize>(&self) -> bool {
        let mut others = 0;
        for i in FROM..TO {
            others |= u32::from(self.is_common[i] == 0) & u32::from((i as u32) < self.len as u32);
        }
        others == 0
    }

    /// Whether the packets of this batch are likely to be unusual.
    #[inline(always)]
    pub(crate) const fn expects_unusual<const IS_UPLINK: bool>(&self) -> bool {
        self.were_unusual[IS_UPLINK as usize]
    }

    /// Updates the expectation: this many packets of this batch are unusual.
    pub(crate) const fn update_expectation<const IS_UPLINK: bool>(&mut self, unusual: u32) {
        self.were_unusual[IS_UPLINK as usize] = unusual as usize * UNUSUAL_RATIO >= self.len();
    }

    /// The state of one packet.
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

    /// The packet key of one packet, if the local address is the UE's.
    #[inline(always)]
    pub(crate) const fn packet_key(&self, index: usize) -> PacketKey {
        let index = index % BATCH;
        PacketKey::of_parts(self.words[index], self.ports[index], self.remotes[index])
    }

    /// The source address of one packet.
    pub(crate) fn source<const IS_UPLINK: bool>(&self, index: usize) -> IpAddr {
        let ends = if IS_UPLINK == UPLINK { &self.locals } else { &self.remotes };
        Ipv4Addr::from_bits(ends[index % BATCH]).into()
    }

    /// The packets that have no decision yet.
    pub(crate) fn undecided(&self) -> impl Iterator<Item = usize> + use<> {
        let forks = self.next_stages;
        (0..self.len).filter(move |index| forks.get(*index) == Some(&NextStage::Lookup))
    }

    /// Sets another next stage for one packet.
    pub(crate) const fn set_stage(&mut self, index: usize, next: NextStage) {
        self.next_stages[index % BATCH] = next;
        self.ids[index % BATCH] = NO_ENTRY_ID;
    }
}

/// Working memory for the packets of a batch. It is reused, since initializing it would cost more than reading it.
#[derive(Debug)]
pub(crate) struct BatchScratch {
    pub(crate) headers: BatchHeaders,
    pub(crate) state: BatchState,
}

impl BatchScratch {
    /// Memory with no packets.
    pub(crate) const fn new() -> Self {
        Self { headers: BatchHeaders::new(), state: BatchState::new() }
    }

    /// Starts a new batch: [`BatchState::reset`].
    pub(crate) const fn reset(&mut self, len: usize, is_large: bool) {
        self.headers.clear();
        self.state.reset(len, is_large);
    }
}

impl PacketState {
    /// The drop reason of the packet if its tunnel does not exist.
    pub(crate) const fn miss_drop_reason(&self) -> DropReason {
        miss_drop_reason(self.flags)
    }

    /// The key of its flow entry.
    pub(crate) const fn key(&self) -> FlowKey {
        FlowKey::at((self.id >> 32) as u32, self.id as u32)
    }
}

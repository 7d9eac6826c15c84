//! Parses common packets: loads the first octets of all packets of a batch, then parses them with vector instructions.

use crate::batch::state::UPLINK;
use crate::batch::state::{BatchState, HALF_BATCH, NO_ENTRY_ID, packet_flag};
use crate::classify::filters::{Block, PacketKey, WithComparator};
use crate::classify::prediction::ClassifierPrediction;
use crate::parse::address_filter::Ipv4Prefilter;

use super::fields::{Tunnel, UserWords, decrement_ttl};
use super::unusual::UserPacketOffsets;
use causeway_packet::BATCH;

/// Octets of a message that are parsed: a GTP-U header with a PDU Session Container, an IPv4 header, and the ports.
pub(crate) const MESSAGE_HEAD_LEN: usize = 40;
/// Octets of a user packet that are parsed.
pub(crate) const USER_HEAD_LEN: usize = 24;

/// Half a word of each packet. The octets are stored from the lowest bits on.
pub(super) type HalfWords = [u32; BATCH];

/// The words that are parsed: the GTP-U header in two words, then the IPv4 header and the ports in three.
pub(super) const WORDS: usize = 5;

/// The first octets of the packets of a batch.
#[derive(Debug)]
pub(crate) struct BatchHeaders {
    pub(super) words: [[u64; BATCH]; WORDS],
    /// The lower halves of the words, and the upper ones.
    pub(super) low: [HalfWords; WORDS],
    pub(super) high: [HalfWords; WORDS],
    /// Octets of the frames; zero for those that are not parsed.
    pub(super) lens: [u32; BATCH],
    pub(super) scopes: [u32; BATCH],
    /// ECN of the outer headers.
    pub(super) ecns: [u32; BATCH],
    /// For the parse of unusual headers.
    pub(super) user_offsets: UserPacketOffsets,
}

impl BatchHeaders {
    /// No packets.
    pub(crate) const fn new() -> Self {
        Self {
            words: [[0; BATCH]; WORDS],
            low: [[0; BATCH]; WORDS],
            high: [[0; BATCH]; WORDS],
            lens: [0; BATCH],
            scopes: [0; BATCH],
            ecns: [0; BATCH],
            user_offsets: UserPacketOffsets::new(),
        }
    }

    /// Removes all packets.
    pub(crate) const fn clear(&mut self) {
        self.lens = [0; BATCH];
    }

    /// Adds a message in a frame of `len` octets. `scope`: the scope of its key, `ecn`: that of its outer header.
    #[inline(always)]
    pub(crate) fn push_message(
        &mut self,
        index: usize,
        head: &[u8; MESSAGE_HEAD_LEN],
        len: usize,
        (scope, ecn): (u32, u32),
    ) {
        let index = index % BATCH;
        let (&[first, second, a, b, c], _) = head.as_chunks::<8>() else { return };
        let is_extended = head[0] & 0x04 != 0;
        let [a, b, c] = if is_extended { [a, b, c] } else { [second, a, b] };
        self.words[0][index] = u64::from_le_bytes(first);
        self.words[1][index] = u64::from_le_bytes(second);
        self.ecns[index] = ecn;
        self.push_user(index, [a, b, c], len, scope);
    }

    /// Adds a packet in a frame of `len` octets.
    #[inline(always)]
    pub(crate) fn push_packet(&mut self, index: usize, head: &[u8; USER_HEAD_LEN], len: usize, scope: u32) {
        let (&[a, b, c], _) = head.as_chunks::<8>() else { return };
        self.push_user(index % BATCH, [a, b, c], len, scope);
    }

    /// Splits the words of [`HALF_BATCH`] packets into halves.
    #[inline(always)]
    pub(super) fn split<const IS_UPLINK: bool, const FROM: usize>(&mut self) {
        let Self { words, low, high, .. } = self;
        for word in (if IS_UPLINK == UPLINK { 0 } else { 2 })..WORDS {
            for i in FROM..FROM + HALF_BATCH {
                low[word][i] = words[word][i] as u32;
                high[word][i] = (words[word][i] >> 32) as u32;
            }
        }
    }

    #[inline(always)]
    fn push_user(&mut self, index: usize, [a, b, c]: [[u8; 8]; 3], len: usize, scope: u32) {
        self.words[2][index] = u64::from_le_bytes(a);
        self.words[3][index] = u64::from_le_bytes(b);
        self.words[4][index] = u64::from_le_bytes(c);
        // Frames of a batch have some thousand octets.
        self.lens[index] = len as u32;
        self.scopes[index] = scope;
    }
}

/// Parses the headers of [`HALF_BATCH`] packets of one direction, from the packet `FROM` of the batch on.
pub(crate) struct HeaderReading<'a, const IS_UPLINK: bool, const FROM: usize> {
    pub(crate) headers: &'a mut BatchHeaders,
    pub(crate) state: &'a mut BatchState,
    pub(crate) prediction: &'a ClassifierPrediction,
    /// The prefilter for blocked addresses.
    pub(crate) blocked: Ipv4Prefilter,
}

impl<const IS_UPLINK: bool, const FROM: usize> WithComparator for HeaderReading<'_, IS_UPLINK, FROM> {
    /// Plain loops over plain arrays, so that the compiler vectorizes them.
    #[inline(always)]
    fn run(self, _: impl Fn(&Block, PacketKey) -> u16) {
        let Self { headers, state, prediction, blocked } = self;
        headers.split::<IS_UPLINK, FROM>();
        let BatchHeaders { low, high, lens, scopes: places, ecns, .. } = headers;
        for i in FROM..FROM + HALF_BATCH {
            let tunnel = Tunnel { a0: low[0][i], a1: low[1][i], b1: high[1][i] };
            let user =
                UserWords { a2: low[2][i], b2: high[2][i], a3: low[3][i], b3: high[3][i], a4: low[4][i] };
            let (source, target) = (user.b3.swap_bytes(), user.a4.swap_bytes());
            let ports = high[4][i].swap_bytes();
            let (local, remote, ports) = match IS_UPLINK {
                UPLINK => (source, target, ports),
                _ => (target, source, ports.rotate_left(16)),
            };
            let packet_key =
                PacketKey::v4(remote, ports, user.protocol() as u8, user.tos()).ports_if(user.has_ports());
            let (packet_key, start, end, is_read) = match IS_UPLINK {
                UPLINK => {
                    let is_common = tunnel.is_common() & !ecn::changes(ecns[i], user.tos() as u32 & 0x03);
                    (tunnel.with_qfi(packet_key), tunnel.start(), tunnel.end(), is_common)
                }
                _ => (packet_key, 0, lens[i], true),
            };
            let fits = (start + user.len() <= end) & (end <= lens[i]);
            let is_common = is_read & fits & user.is_common();
            let is_quick = is_common & (local != 0) & (local != remote);
            state.keys[i] = if IS_UPLINK == UPLINK { high[0][i].swap_bytes() } else { target };
            state.scopes[i] = places[i];
            state.is_common[i] = u32::from(is_common);
            state.has_two_ends[i] = u32::from(is_quick);
            (state.locals[i], state.lens[i], state.starts[i]) = (local, user.len(), start);
            (state.words[i], state.ports[i], state.remotes[i]) = packet_key.with_ue(false, true).parts();
            state.flags[i] =
                user.flaws() | (packet_flag::LOCAL_ADDRESS as u32 * blocked.may_contain(remote) as u32);
            state.hops[i] = decrement_ttl(user.a3);
        }
        for i in FROM..FROM + HALF_BATCH {
            let id = u64::from(state.scopes[i]) << 32 | u64::from(state.keys[i]);
            state.ids[i] = if state.has_two_ends[i] != 0 { id } else { NO_ENTRY_ID };
        }
        prediction.choose::<FROM>(state);
    }
}

/// Copies a congestion mark of an outer header into the inner one (RFC 6040 figure 4).
pub(crate) mod ecn {
    const ECT_1: u32 = 1;
    const ECT_0: u32 = 2;
    const CE: u32 = 3;

    /// Whether the inner field changes, or the packet is dropped.
    #[inline(always)]
    pub(crate) const fn changes(outer: u32, inner: u32) -> bool {
        ((outer == ECT_1) & (inner == ECT_0)) | ((outer == CE) & (inner != CE))
    }

    /// Whether the packet is dropped: it is not ECN-capable and the outer header has a congestion mark.
    pub(crate) const fn drops(outer: u32, inner: u32) -> bool {
        outer == CE && inner == 0
    }
}

/// Whether the checksum of a header is right.
#[cfg(test)]
pub(crate) fn has_valid_checksum(header: &[u8; 20]) -> bool {
    let words: Vec<_> = header.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let &[a2, b2, a3, b3, a4] = words.as_slice() else { return false };
    UserWords { a2, b2, a3, b3, a4 }.has_valid_checksum_with(0)
}

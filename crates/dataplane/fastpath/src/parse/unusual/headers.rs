//! The parse of unusual headers, for a half batch in which the first parse did not cover all packets: IPv4 packets with
//! options, GTP-U with sequence numbers or other extension headers, outer congestion marks, and packets that are not
//! IP.
//!
//! The start and end of an unusual packet are found one by one; then the headers of all packets are parsed together
//! again.

use causeway_packet::BATCH;
use causeway_types::Qfi;

use crate::batch::state::UPLINK;
use crate::batch::state::{BatchState, HALF_BATCH, NO_ENTRY_ID, packet_flag};
use crate::classify::filters::{Block, PacketKey, WithComparator};
use crate::classify::prediction::ClassifierPrediction;
use crate::parse::address_filter::Ipv4Prefilter;
use crate::parse::fields::{COMPREHENSION_REQUIRED, Tunnel, UserWords, decrement_ttl};
use crate::parse::g_pdu::GPdu;
use crate::parse::headers::{BatchHeaders, HalfWords, USER_HEAD_LEN, WORDS, ecn};

/// Octets of an IPv4 header without options.
const HEADER: u32 = 20;
/// The packet has a QFI.
const HAS_QFI: u32 = 0x100;

/// The positions of user packets, and the values of their GTP-U headers.
#[derive(Debug)]
pub(crate) struct UserPacketOffsets {
    /// Where they start in their frames.
    starts: HalfWords,
    /// Where their messages end; zero for other messages.
    ends: HalfWords,
    /// Their QFIs, with [`HAS_QFI`].
    qfis: HalfWords,
    /// Bits of [`packet_flag`] from the GTP-U header.
    flags: HalfWords,
    /// Sums of the words of IPv4 options.
    options: HalfWords,
    /// The number of octets by which they start later than where the words of [`BatchHeaders`] were loaded.
    shifted: HalfWords,
    /// Not zero: it must be parsed on its own.
    unusual: HalfWords,
}

impl UserPacketOffsets {
    pub(crate) const fn new() -> Self {
        const NOTHING: HalfWords = [0; BATCH];
        Self {
            starts: NOTHING,
            ends: NOTHING,
            qfis: NOTHING,
            flags: NOTHING,
            options: NOTHING,
            shifted: NOTHING,
            unusual: NOTHING,
        }
    }
}

/// The position of an IPv6 packet in its frame, and the values of its GTP-U header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UserPacketOffset {
    pub(crate) start: u32,
    /// Where its message ends.
    pub(crate) end: u32,
    pub(crate) qfi: Option<u8>,
    /// ECN of the outer header.
    pub(crate) outer: u32,
}

impl BatchHeaders {
    /// The position of a packet, if it is IPv6 with a common GTP-U header.
    #[inline(always)]
    pub(crate) fn ipv6_offset(&self, index: usize) -> Option<UserPacketOffset> {
        let at = index % BATCH;
        let places = &self.user_offsets;
        let (start, end, qfi) = (places.starts[at], places.ends[at], places.qfis[at]);
        let is_v6 = self.low[2][at] >> 4 & 0x0f == 6 && end != 0 && places.flags[at] == 0;
        let qfi = (qfi != 0).then_some(qfi as u8);
        is_v6.then_some(UserPacketOffset { start, end, qfi, outer: self.ecns[at] })
    }

    /// Whether a packet must be parsed on its own: [`BatchHeaders::set_user_packet`], [`BatchHeaders::parse_options`].
    #[inline(always)]
    pub(crate) const fn is_unusual(&self, index: usize) -> bool {
        self.user_offsets.unusual[index % BATCH] != 0
    }

    /// Whether all packets `FROM..TO` are IPv6 with common GTP-U headers.
    #[inline(always)]
    pub(crate) fn are_v6<const FROM: usize, const TO: usize>(&self, state: &BatchState) -> bool {
        let mut others = 0;
        for i in FROM..TO {
            let places = &self.user_offsets;
            let is_v6 = (self.low[2][i] >> 4 & 0x0f == 6) & (places.ends[i] != 0) & (places.flags[i] == 0);
            others |= u32::from(!is_v6) & u32::from((i as u32) < state.len() as u32);
        }
        others == 0
    }

    /// Records the user packet that was found in a message.
    #[inline(always)]
    pub(crate) const fn has_user_packet(&self, index: usize) -> bool {
        self.user_offsets.ends[index % BATCH] != 0
    }

    /// Records the position of the user packet of a message.
    #[inline(always)]
    pub(crate) fn set_user_packet(&mut self, index: usize, message: &[u8], tunnelled: &GPdu) {
        let at = index % BATCH;
        let places = &mut self.user_offsets;
        (places.starts[at], places.ends[at]) = (tunnelled.start.into(), tunnelled.end.into());
        places.qfis[at] = tunnelled.qfi.map_or(0, |qfi| HAS_QFI | u32::from(qfi.value()));
        let carries = packet_flag::HAS_OTHER_EXTENSIONS * u8::from(!tunnelled.is_common);
        places.flags[at] =
            if tunnelled.has_unsupported_extension { packet_flag::UNSUPPORTED_EXTENSION } else { carries }
                .into();
        self.read_at(at, message.get(tunnelled.start.into()..).unwrap_or_default());
    }

    /// Loads the words of a packet that starts elsewhere in its frame than the first parse assumed.
    #[inline(always)]
    pub(crate) fn reread_from(&mut self, index: usize, frame: &[u8]) {
        let at = index % BATCH;
        if self.user_offsets.shifted[at] != 0 {
            let start = self.user_offsets.starts[at] as usize;
            self.read_at(at, frame.get(start..).unwrap_or_default());
        }
    }

    #[inline(always)]
    fn read_at(&mut self, at: usize, user: &[u8]) {
        let mut short = [0; USER_HEAD_LEN];
        let head = user.first_chunk().unwrap_or_else(|| {
            short.iter_mut().zip(user).for_each(|(octet, of)| *octet = *of);
            &short
        });
        for (word, halves) in (2..WORDS).zip(head.as_chunks::<8>().0) {
            let both = u64::from_le_bytes(*halves);
            (self.low[word][at], self.high[word][at]) = (both as u32, (both >> 32) as u32);
        }
    }

    /// Finds the ports behind the options of an IPv4 header, if it has some, and sums the options.
    #[inline(always)]
    pub(crate) fn parse_options(&mut self, index: usize, frame: &[u8]) {
        let at = index % BATCH;
        let first = self.low[2][at] & 0xff;
        let places = &mut self.user_offsets;
        let (start, end) = (places.starts[at] as usize, places.ends[at] as usize);
        if first <= 0x45 || first > 0x4f {
            return;
        }
        let Some(user) = frame.get(start..end) else { return };
        let header_len = (first as usize & 0x0f) * 4;
        let Some((header, rest)) = user.split_at_checked(header_len) else { return };
        let options = header.get(HEADER as usize..).unwrap_or_default().as_chunks::<4>().0;
        places.options[at] = options.iter().map(|word| UserWords::sum(u32::from_le_bytes(*word))).sum();
        if let Some(ports) = rest.first_chunk() {
            self.high[4][at] = u32::from_le_bytes(*ports);
        }
    }
}

/// Replaces the first parse of half a batch where the parse of unusual headers is needed anyway.
pub(crate) struct SkipFirstParse<'a, const IS_UPLINK: bool, const FROM: usize> {
    pub(crate) headers: &'a mut BatchHeaders,
    pub(crate) state: &'a mut BatchState,
}

impl<const IS_UPLINK: bool, const FROM: usize> WithComparator for SkipFirstParse<'_, IS_UPLINK, FROM> {
    #[inline(always)]
    fn run(self, _: impl Fn(&Block, PacketKey) -> u16) {
        let Self { headers, state } = self;
        headers.split::<IS_UPLINK, FROM>();
        for i in FROM..FROM + HALF_BATCH {
            let key = if IS_UPLINK == UPLINK { headers.high[0][i] } else { headers.low[4][i] };
            state.keys[i] = key.swap_bytes();
            state.scopes[i] = headers.scopes[i];
            state.is_common[i] = 0;
        }
        for i in FROM..FROM + HALF_BATCH {
            state.ids[i] = NO_ENTRY_ID;
        }
    }
}

/// Finds the positions of the packets of half a batch that vector instructions can find, and marks the unusual ones.
pub(crate) struct LocateUserPackets<'a, const IS_UPLINK: bool, const FROM: usize> {
    pub(crate) headers: &'a mut BatchHeaders,
}

impl<const IS_UPLINK: bool, const FROM: usize> WithComparator for LocateUserPackets<'_, IS_UPLINK, FROM> {
    #[inline(always)]
    fn run(self, _: impl Fn(&Block, PacketKey) -> u16) {
        let BatchHeaders { low, high, lens, user_offsets, .. } = self.headers;
        let UserPacketOffsets { starts, ends, qfis, flags: flaws, options, shifted, unusual } = user_offsets;
        for i in FROM..FROM + HALF_BATCH {
            let (start, end, qfi, is_usual) = match IS_UPLINK {
                UPLINK => {
                    let tunnel = Tunnel { a0: low[0][i], a1: low[1][i], b1: high[1][i] };
                    let (kind, shift) = tunnel.extension_beside_container(low[2][i]);
                    let has_more = (kind != 0) & (high[0][i] != 0);
                    let (start, end) = (tunnel.start() + shift, tunnel.end());
                    let qfi = if tunnel.has_qfi() { HAS_QFI | tunnel.b1 >> 16 & 0x3f } else { 0 };
                    let is_usual = (tunnel.is_common() | has_more) & (start <= end) & (end <= lens[i]);
                    let of_header = if kind >= COMPREHENSION_REQUIRED {
                        packet_flag::UNSUPPORTED_EXTENSION
                    } else {
                        packet_flag::HAS_OTHER_EXTENSIONS
                    };
                    flaws[i] = if has_more { of_header.into() } else { 0 };
                    shifted[i] = shift;
                    (start, end, qfi, is_usual)
                }
                _ => {
                    (flaws[i], shifted[i]) = (0, 0);
                    (0, lens[i], 0, true)
                }
            };
            let first = low[2][i] & 0xff;
            let has_options = (first > 0x45) & (first <= 0x4f);
            starts[i] = start;
            ends[i] = if is_usual { end } else { 0 };
            (qfis[i], options[i]) = (qfi, 0);
            unusual[i] = u32::from(!is_usual | has_options) | shifted[i];
        }
    }
}

/// Parses the headers of half a batch, given the positions of the packets.
pub(crate) struct ParseUnusual<'a, const IS_UPLINK: bool, const FROM: usize> {
    pub(crate) headers: &'a BatchHeaders,
    pub(crate) state: &'a mut BatchState,
    pub(crate) prediction: &'a ClassifierPrediction,
    /// The prefilter for blocked addresses.
    pub(crate) blocked: Ipv4Prefilter,
}

impl<const IS_UPLINK: bool, const FROM: usize> WithComparator for ParseUnusual<'_, IS_UPLINK, FROM> {
    /// Plain loops over plain arrays, as in [`crate::parse::HeaderReading`].
    #[inline(always)]
    fn run(self, _: impl Fn(&Block, PacketKey) -> u16) {
        let Self { headers: BatchHeaders { low, high, ecns, user_offsets, .. }, state, prediction, blocked } =
            self;
        let UserPacketOffsets { starts, ends, qfis, flags: flaws, options, .. } = user_offsets;
        for i in FROM..FROM + HALF_BATCH {
            let user =
                UserWords { a2: low[2][i], b2: high[2][i], a3: low[3][i], b3: high[3][i], a4: low[4][i] };
            let (source, target) = (user.b3.swap_bytes(), user.a4.swap_bytes());
            let ports = high[4][i].swap_bytes();
            let (local, remote, ports, outer) = match IS_UPLINK {
                UPLINK => (source, target, ports, ecns[i]),
                _ => (target, source, ports.rotate_left(16), 0),
            };
            let inner = user.tos() as u32 & 0x03;
            let is_ecn_drop = ecn::drops(outer, inner);
            let is_marked = ecn::changes(outer, inner) & !is_ecn_drop;
            let tos = u32::from(user.tos()) & !0x03 | if is_marked { outer } else { inner };
            let packet_key =
                PacketKey::v4(remote, ports, user.protocol() as u8, tos as u8).ports_if(user.has_ports());
            let with_qfi = packet_key.with_qfi(Qfi::from_low_bits(qfis[i] as u8));
            let packet_key = if qfis[i] != 0 { with_qfi } else { packet_key };
            let room = ends[i].wrapping_sub(starts[i]);
            let is_there = (IS_UPLINK != UPLINK) | (ends[i] != 0);
            let (version, header_len) = (user.a2 >> 4 & 0x0f, (user.a2 & 0x0f) << 2);
            let is_well_formed =
                (header_len >= HEADER) & (room >= HEADER) & (user.len() >= header_len) & (user.len() <= room);
            let is_common = is_there & (version == 4) & is_well_formed & user.has_all_behind(header_len);
            let is_other = (version != 4) & (version != 6);
            let is_broken = (room == 0) | (version == 4) & !is_well_formed | is_other;
            // A congestion mark of the outer header is checked for any user packet.
            let is_broken = is_there & is_broken & (outer & 0x01 == 0);
            let lost = packet_flag::ECN_DROP as u32 * is_ecn_drop as u32;
            let is_ours = blocked.may_contain(remote);
            let found = user.flaws_with(options[i])
                | flaws[i]
                | lost
                | (packet_flag::LOCAL_ADDRESS as u32 * is_ours as u32);
            let found = found | (packet_flag::ECN_UPDATE as u32 * is_marked as u32);
            let found = if is_broken { packet_flag::MALFORMED as u32 } else { found };
            // Data behind an unsupported extension header is not parsed.
            let has_unsupported_extension =
                is_there & (flaws[i] == packet_flag::UNSUPPORTED_EXTENSION as u32);
            let found =
                if has_unsupported_extension { packet_flag::UNSUPPORTED_EXTENSION as u32 } else { found };
            let is_lost = found & packet_flag::ALWAYS_DROPPED as u32 != 0;
            state.is_common[i] = u32::from(is_common | is_broken | has_unsupported_extension);
            state.has_two_ends[i] = u32::from(is_common & !is_lost & (local != 0) & (local != remote));
            (state.locals[i], state.lens[i], state.starts[i]) = (local, user.len(), starts[i]);
            (state.words[i], state.ports[i], state.remotes[i]) = packet_key.with_ue(false, true).parts();
            state.flags[i] = found;
            state.hops[i] = decrement_ttl(user.a3);
        }
        for i in FROM..FROM + HALF_BATCH {
            let id = u64::from(state.scopes[i]) << 32 | u64::from(state.keys[i]);
            state.ids[i] = if state.has_two_ends[i] != 0 { id } else { NO_ENTRY_ID };
        }
        prediction.choose::<FROM>(state);
    }
}

//! One TCP connection whose HTTP requests are enriched with header fields.
//!
//! Sequence numbers of the UE are *before*, those that the server receives *behind* the inserted octets. Octets are
//! inserted in front of the UE's octet `at`, and are sent with the segment that ends there or contains it. So an
//! acknowledgment of only part of them is `at - 1` for the UE: it retransmits that octet, and the inserted octets
//! with it.

use std::sync::Arc;

use causeway_packet::{TcpFlags, TcpPacket, http};
use causeway_types::Time;

/// The maximum number of requests whose inserted octets are not acknowledged yet.
const PENDING: usize = 16;

/// An insertion this far behind is acknowledged: no window is as large.
const MAX_SEQUENCE_GAP: u32 = 1 << 30;

/// A TCP connection whose start was observed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TcpFlow {
    /// The last segment of either side.
    pub(super) used: Time,
    /// The sequence number of the SYN.
    first: u32,
    /// The sequence number after the last octet that the UE sent.
    high: u32,
    /// The UE's acknowledgment number when it last sent new octets.
    ue_acknowledged: u32,
    /// Octets inserted so far whose positions were discarded, as they are acknowledged.
    base: u32,
    inserts: Vec<Insert>,
    /// The UE and the server have sent their last octet.
    ended: [bool; 2],
}

/// Octets inserted in front of an octet of the UE.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Insert {
    at: u32,
    octets: Arc<[u8]>,
}

impl Insert {
    fn len(&self) -> u32 {
        self.octets.len() as u32
    }
}

/// `a` is before `b` (RFC 9293 clause 3.4).
const fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

impl TcpFlow {
    /// A connection that starts with this SYN.
    pub(super) fn new(syn: &TcpPacket, now: Time) -> Self {
        let (first, high) = (syn.sequence(), syn.sequence().wrapping_add(1));
        Self { used: now, first, high, ue_acknowledged: 0, base: 0, inserts: Vec::new(), ended: [false; 2] }
    }

    /// The connection started with this SYN.
    pub(super) fn began_with(&self, syn: &TcpPacket) -> bool {
        self.first == syn.sequence()
    }

    /// Sequence numbers differ on the two sides.
    pub(super) fn is_shifted(&self) -> bool {
        self.base != 0 || !self.inserts.is_empty()
    }

    /// Both sides have sent their last octet, or one has sent a reset.
    pub(super) fn has_ended(&self) -> bool {
        self.ended == [true; 2]
    }

    /// Processes a segment of the UE: inserts the header fields if it begins a request and does not exceed
    /// `max_payload`, and always repeats earlier insertions. The excess is cut off: the UE retransmits it.
    pub(super) fn uplink(&mut self, segment: &mut TcpPacket, lines: &[u8], max_payload: usize) {
        self.note_end(segment, 0);
        if let Some(at) = self.insertion(segment, lines, max_payload) {
            self.inserts.push(Insert { at, octets: lines.into() });
        }
        self.note_octets(segment);
        let (start, sent) = (segment.sequence(), segment.payload().len() as u32);
        for insert in self.inserts.iter().rev() {
            let offset = insert.at.wrapping_sub(start);
            if (1..=sent).contains(&offset) {
                segment.insert(offset as usize, &insert.octets);
            }
        }
        segment.set_sequence(start.wrapping_add(self.shift(start)));
        if segment.len() > max_payload && segment.payload().len() > sent as usize {
            segment.truncate(max_payload);
            segment.set_flags(segment.flags() - TcpFlags::FIN - TcpFlags::PSH);
        }
    }

    /// Where header fields are inserted for the first time. A segment of new octets begins a request only if it is
    /// the first, or the server has sent data since the last one: what follows immediately may be the content of a
    /// request.
    fn insertion(&self, segment: &TcpPacket, lines: &[u8], max_payload: usize) -> Option<u32> {
        let is_first = self.high == self.first.wrapping_add(1);
        let is_new = segment.sequence() == self.high && !segment.flags().contains(TcpFlags::URG);
        let is_turn = is_first || before(self.ue_acknowledged, segment.acknowledgment());
        let fits = segment.len() + lines.len() <= max_payload && self.inserts.len() < PENDING;
        if lines.is_empty() || !is_new || !is_turn || !fits {
            return None;
        }
        let offset = http::request_line_len(segment.payload())?;
        Some(segment.sequence().wrapping_add(offset as u32))
    }

    fn note_octets(&mut self, segment: &TcpPacket) {
        let end = segment.sequence().wrapping_add(segment.payload().len() as u32);
        if before(self.high, end) {
            (self.high, self.ue_acknowledged) = (end, segment.acknowledgment());
        }
        let high = self.high;
        self.forget(|insert, _| high.wrapping_sub(insert.at) > MAX_SEQUENCE_GAP);
    }

    /// Processes a segment of the server: translates its acknowledgment to the UE's numbers.
    pub(super) fn downlink(&mut self, segment: &mut TcpPacket) {
        self.note_end(segment, 1);
        if !self.is_shifted() || !segment.flags().contains(TcpFlags::ACK) {
            return;
        }
        let acknowledged = segment.acknowledgment();
        segment.set_acknowledgment(self.end_before(acknowledged));
        segment.map_sack(|left, right| {
            let right = self.end_before(right);
            let left = self.start_before(left);
            (if before(right, left) { right } else { left }, right)
        });
        self.forget(|_, end| !before(acknowledged, end));
    }

    /// Discards the positions of insertions, from the first on, by where they end for the server.
    fn forget(&mut self, is_done: impl Fn(&Insert, u32) -> bool) {
        while let Some(insert) = self.inserts.first() {
            let shifted = self.base.wrapping_add(insert.len());
            if !is_done(insert, insert.at.wrapping_add(shifted)) {
                break;
            }
            self.base = shifted;
            self.inserts.remove(0);
        }
    }

    fn note_end(&mut self, segment: &TcpPacket, side: usize) {
        if segment.flags().contains(TcpFlags::RST) {
            self.ended = [true; 2];
        }
        if let (true, Some(ended)) = (segment.flags().contains(TcpFlags::FIN), self.ended.get_mut(side)) {
            *ended = true;
        }
    }

    /// The number of octets that were inserted in front of the UE's octet.
    fn shift(&self, sequence: u32) -> u32 {
        let earlier = self.inserts.iter().filter(|insert| !before(sequence, insert.at));
        earlier.fold(self.base, |shift, insert| shift.wrapping_add(insert.len()))
    }

    /// The UE's number for the server's at the end of received octets.
    fn end_before(&self, behind: u32) -> u32 {
        self.number_before(behind).unwrap_or_else(|at| at.wrapping_sub(1))
    }

    /// The UE's number for the server's at the start of received octets.
    fn start_before(&self, behind: u32) -> u32 {
        self.number_before(behind).unwrap_or_else(|at| at)
    }

    /// The UE's number, or, for an inserted octet, the octet that it was inserted in front of.
    fn number_before(&self, behind: u32) -> Result<u32, u32> {
        let mut shift = self.base;
        for insert in &self.inserts {
            let start = insert.at.wrapping_add(shift);
            if before(behind, start) {
                break;
            }
            shift = shift.wrapping_add(insert.len());
            if before(behind, start.wrapping_add(insert.len())) {
                return Err(insert.at);
            }
        }
        Ok(behind.wrapping_sub(shift))
    }
}

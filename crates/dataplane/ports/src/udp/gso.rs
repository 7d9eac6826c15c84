//! GSO messages: consecutive datagrams of one flow in one message, which the kernel segments (`UDP_SEGMENT`).

use std::ops::Range;

use arrayvec::ArrayVec;
use causeway_packet::{Frame, Meta};

use crate::sys::mmsg::SEND;

/// The maximum number of octets of a GSO message: an IPv6 packet with its header and that of UDP within 65,535
/// octets.
const MOST_OCTETS: usize = 65_535 - 48;

/// Consecutive frames of equal length and with the same destination; the last may be shorter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct GsoMessage {
    pub(super) meta: Meta,
    /// Octets of each frame but the last.
    pub(super) segment: usize,
    /// Octets of all frames.
    pub(super) octets: usize,
    /// The range of the frames.
    pub(super) frames: Range<usize>,
    /// Another frame may be added.
    is_open: bool,
}

impl GsoMessage {
    fn new(meta: Meta, len: usize, index: usize, longest: usize) -> Self {
        let open = len > 0 && len <= longest;
        Self { meta, segment: len, octets: len, frames: index..index + 1, is_open: open }
    }

    /// Adds another frame. `false` when it does not fit this message.
    fn coalesce(&mut self, meta: Meta, len: usize) -> bool {
        let joins = self.is_open
            && len > 0
            && len <= self.segment
            && self.octets + len <= MOST_OCTETS
            && meta == self.meta;
        if joins {
            self.octets += len;
            self.frames.end += 1;
            self.is_open = len == self.segment;
        }
        joins
    }

    /// The length of the kernel's segments. `None` for a single frame.
    pub(super) fn segment(&self) -> Option<u16> {
        u16::try_from(self.segment).ok().filter(|_| self.len() > 1)
    }

    /// The number of frames.
    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }
}

/// Groups up to [`SEND`] frames into GSO messages, in order. Frames above `longest` octets are sent singly.
pub(super) fn group(frames: &[Frame<'_>], longest: usize) -> ArrayVec<GsoMessage, SEND> {
    let mut gso_messages = ArrayVec::<GsoMessage, SEND>::new();
    for (index, Frame { meta, data }) in frames.iter().enumerate().take(SEND) {
        if !gso_messages.last_mut().is_some_and(|gso_message| gso_message.coalesce(*meta, data.len())) {
            gso_messages.push(GsoMessage::new(*meta, data.len(), index, longest));
        }
    }
    gso_messages
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn meta(tos: u8) -> Meta {
        Meta::Gtpu { local: [192, 0, 2, 1].into(), peer: ([192, 0, 2, 9], 2152).into(), tos, hops: None }
    }

    fn lengths(frames: &[(u8, usize)], longest: usize) -> Vec<usize> {
        let octets = [0; 3000];
        let frames: Vec<_> =
            frames.iter().map(|(tos, len)| Frame { meta: meta(*tos), data: &octets[..*len] }).collect();
        group(&frames, longest).iter().map(GsoMessage::len).collect()
    }

    // Input:  three equal frames and a shorter one, then an equal one; another marking; a longer one; empty ones;
    //         frames above the limit.
    // Output: the shorter one ends its message; a different one begins a new message; the rest is sent singly.
    #[test]
    fn a_gso_message_has_one_flow_and_one_length() {
        assert_eq!(lengths(&[(0, 100), (0, 100), (0, 100), (0, 40), (0, 40)], 1400), [4, 1]);
        assert_eq!(lengths(&[(0, 100), (1, 100), (1, 100), (0, 100)], 1400), [1, 2, 1]);
        assert_eq!(lengths(&[(0, 100), (0, 101), (0, 101)], 1400), [1, 2]);
        assert_eq!(lengths(&[(0, 0), (0, 0), (0, 1), (0, 0)], 1400), [1, 1, 1, 1]);
        assert_eq!(lengths(&[(0, 1401), (0, 1401)], 1400), [1, 1]);
        assert_eq!(lengths(&[(0, 100), (0, 100)], 0), [1, 1]);
    }

    // Input:  64 frames of 1400 octets.
    // Output: a message of the size of an IP packet, and the rest.
    #[test]
    fn a_gso_message_fits_an_ip_packet() {
        assert_eq!(lengths(&[(0, 1400); SEND], 1400), [46, 18]);
    }

    proptest! {
        // Input:  any frames.
        // Output: every frame is in exactly one message, in order; in a message all but the last have one length,
        //         which the last does not exceed.
        #[test]
        fn every_frame_is_sent_once_and_in_order(
            frames in proptest::collection::vec((0u8..2, prop_oneof![Just(700usize), 0usize..3000]), 0..SEND),
            longest in prop_oneof![Just(0usize), 0usize..3000],
        ) {
            let octets = [0; 3000];
            let given: Vec<_> =
                frames.iter().map(|(tos, len)| Frame { meta: meta(*tos), data: &octets[..*len] }).collect();
            let gso_messages = group(&given, longest);
            let order: Vec<usize> = gso_messages.iter().flat_map(|gso_message| gso_message.frames.clone()).collect();
            prop_assert!(order.into_iter().eq(0..frames.len()));
            for gso_message in gso_messages {
                let members = &given[gso_message.frames.clone()];
                prop_assert_eq!(members.iter().map(|frame| frame.data.len()).sum::<usize>(), gso_message.octets);
                let (last, others) = members.split_last().unwrap();
                prop_assert!(others.iter().all(|frame| frame.data.len() == gso_message.segment));
                prop_assert!(last.data.len() <= gso_message.segment && members.iter().all(|f| f.meta == gso_message.meta));
                prop_assert!(members.len() == 1 || gso_message.segment <= longest);
            }
        }
    }
}

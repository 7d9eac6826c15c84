//! Segmentation in software: a TCP or UDP packet of up to 64 KiB becomes the packets that a network card would have
//! made of it.

use causeway_packet::TcpFlags;
use causeway_packet::checksum::checksum;

use super::layout::{IPV6, Layout, Transport, double, put, word};
use super::virtio::{Gso, VirtioHeader};

/// A packet under segmentation, whose octets lie elsewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segmenter {
    layout: Layout,
    /// Octets of payload in each segment but the last.
    segment: usize,
    /// Octets of payload that were returned.
    done: usize,
    /// Segments that were returned.
    pieces: u16,
    /// The segments have checksums.
    has_checksum: bool,
}

/// The result of [`Segmenter::next`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Segment {
    /// A packet of this many octets.
    Packet(usize),
    /// None: the packet would not fit.
    TooLong,
}

impl Segmenter {
    /// `None` where the header before the packet contradicts it.
    pub(super) fn new(packet: &[u8], header: &VirtioHeader) -> Option<Self> {
        let (kind, segment) = header.gso?;
        let layout = Layout::of(packet)?;
        let is_kind = match kind {
            Gso::Tcp4 => layout.transport == Transport::Tcp && layout.src.is_ipv4(),
            Gso::Tcp6 => layout.transport == Transport::Tcp && layout.src.is_ipv6(),
            Gso::Udp => layout.transport == Transport::Udp,
        };
        let sum_is_there = header.partial.is_none_or(|partial| {
            usize::from(partial.start) == layout.header
                && usize::from(partial.field) == layout.transport.checksum_field()
        });
        let legal = is_kind
            && sum_is_there
            && layout.payload < layout.len
            && usize::from(header.hdr_len) <= layout.len;
        // The part of a checksum that covers the pseudo header is never zero: zero means that there is none.
        let summed = layout.transport == Transport::Tcp || word(packet, layout.header + 6) != 0;
        legal.then_some(Self {
            layout,
            segment: usize::from(segment),
            done: 0,
            pieces: 0,
            has_checksum: summed,
        })
    }

    /// Writes the next packet to the start of `out`. `None` after the last one.
    pub(super) fn next(&mut self, packet: &[u8], out: &mut [u8]) -> Option<Segment> {
        let Layout { payload, len, .. } = self.layout;
        let from = payload + self.done;
        let octets = packet.get(from..len.min(from + self.segment)).filter(|octets| !octets.is_empty())?;
        let headers = packet.get(..payload)?;
        let made = match out.get_mut(..payload + octets.len()) {
            Some(out) => {
                let (head, tail) = out.split_at_mut_checked(payload)?;
                head.copy_from_slice(headers);
                tail.copy_from_slice(octets);
                self.complete(out, from + octets.len() == len);
                Segment::Packet(out.len())
            }
            None => Segment::TooLong,
        };
        self.done += octets.len();
        self.pieces = self.pieces.wrapping_add(1);
        Some(made)
    }

    /// Completes the headers of a segment.
    fn complete(&self, out: &mut [u8], is_last: bool) {
        self.complete_ip(out);
        let Some(octets) = out.get_mut(self.layout.header..) else { return };
        match self.layout.transport {
            Transport::Tcp => self.complete_tcp(octets, is_last),
            Transport::Udp => put(octets, 4, &(octets.len() as u16).to_be_bytes()),
        }
        let field = self.layout.transport.checksum_field();
        put(octets, field, &[0; 2]);
        if self.has_checksum {
            put(octets, field, &self.layout.checksum(octets).to_be_bytes());
        }
    }

    fn complete_ip(&self, out: &mut [u8]) {
        let len = out.len();
        if self.layout.src.is_ipv6() {
            return put(out, 4, &(len.saturating_sub(IPV6) as u16).to_be_bytes());
        }
        let identification = word(out, 4).wrapping_add(self.pieces);
        put(out, 2, &(len as u16).to_be_bytes());
        put(out, 4, &identification.to_be_bytes());
        put(out, 10, &[0; 2]);
        let sum = out.get(..self.layout.header).map_or(0, checksum);
        put(out, 10, &sum.to_be_bytes());
    }

    /// Sets the sequence number, and the flags that belong to the first or the last octet.
    fn complete_tcp(&self, tcp: &mut [u8], is_last: bool) {
        let sequence = double(tcp, 4).wrapping_add(self.done as u32);
        put(tcp, 4, &sequence.to_be_bytes());
        let mut flags = TcpFlags::from_bits_retain(tcp.get(13).copied().unwrap_or(0));
        if !is_last {
            flags -= TcpFlags::FIN | TcpFlags::PSH;
        }
        if self.done > 0 {
            flags -= TcpFlags::CWR;
        }
        put(tcp, 13, &[flags.bits()]);
    }
}

//! Changes a TCP segment in its packet, and updates lengths and checksums.

use std::net::IpAddr;

use crate::checksum::{self, Checksum};
use crate::{Fragment, IpProtocol, Tcp, TcpFlags, UserPacket};

/// Octets of a header without options.
const MIN_HEADER: usize = 20;
/// The kind of the SACK option (RFC 2018).
const SACK: u8 = 5;

/// A whole TCP segment in its IP packet, for changes. Other fields and options are preserved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TcpPacket {
    src: IpAddr,
    dst: IpAddr,
    /// The IP header with options or extension headers.
    ip: Vec<u8>,
    header: Vec<u8>,
    payload: Vec<u8>,
}

impl TcpPacket {
    /// `None` unless it is a whole TCP segment with a valid checksum: a change would otherwise make a corrupt
    /// segment valid.
    pub fn open(user: &UserPacket<'_>) -> Option<Self> {
        let flow = &user.flow;
        if flow.protocol != IpProtocol::TCP || flow.fragment != Fragment::Whole {
            return None;
        }
        let tcp =
            Tcp::parse(user.transport()).ok().filter(|tcp| tcp.checksum_is_valid(flow.src, flow.dst))?;
        let (header, payload) = user.transport().split_at_checked(tcp.header_len())?;
        let ip = user.bytes().get(..user.len().checked_sub(user.transport().len())?)?;
        let (header, payload) = (header.to_vec(), payload.to_vec());
        Some(Self { src: flow.src, dst: flow.dst, ip: ip.to_vec(), header, payload })
    }

    /// Sequence number of the first octet.
    pub fn sequence(&self) -> u32 {
        self.number(4)
    }

    /// Sets the sequence number.
    pub fn set_sequence(&mut self, sequence: u32) {
        self.set(4, sequence.to_be_bytes());
    }

    /// Acknowledgment number, valid with [`TcpFlags::ACK`].
    pub fn acknowledgment(&self) -> u32 {
        self.number(8)
    }

    /// Sets the acknowledgment number.
    pub fn set_acknowledgment(&mut self, acknowledgment: u32) {
        self.set(8, acknowledgment.to_be_bytes());
    }

    /// Control bits.
    pub fn flags(&self) -> TcpFlags {
        TcpFlags::from_bits_retain(self.header.get(13).copied().unwrap_or_default())
    }

    /// Sets the control bits.
    pub fn set_flags(&mut self, flags: TcpFlags) {
        self.set(13, [flags.bits()]);
    }

    /// The octets after the header.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Inserts octets into the payload before the one at `at`; at the end if `at` is the payload's length or more.
    pub fn insert(&mut self, at: usize, octets: &[u8]) {
        let at = at.min(self.payload.len());
        self.payload.splice(at..at, octets.iter().copied());
    }

    /// Truncates the payload so that the packet has at most this many octets, as far as possible.
    pub fn truncate(&mut self, packet_len: usize) {
        self.payload.truncate(packet_len.saturating_sub(self.ip.len() + self.header.len()));
    }

    /// Length of the packet in octets.
    #[expect(clippy::len_without_is_empty, reason = "an IP packet is never empty")]
    pub fn len(&self) -> usize {
        self.ip.len() + self.header.len() + self.payload.len()
    }

    /// The segment has an option of this kind.
    pub fn has_option(&self, kind: u8) -> bool {
        self.options().iter().any(|(found, ..)| *found == kind)
    }

    /// Changes both edges of each SACK block (RFC 2018).
    pub fn map_sack(&mut self, map: impl Fn(u32, u32) -> (u32, u32)) {
        for (_, start, end) in self.options().into_iter().filter(|(kind, ..)| *kind == SACK) {
            for at in (start..end.saturating_sub(7)).step_by(8) {
                let (left, right) = map(self.number(at), self.number(at + 4));
                self.set(at, left.to_be_bytes());
                self.set(at + 4, right.to_be_bytes());
            }
        }
    }

    /// The packet. `None` if it has become longer than IP allows.
    pub fn into_bytes(mut self) -> Option<Vec<u8>> {
        self.set(16, [0, 0]);
        let sum = Checksum::new().pseudo(
            self.src,
            self.dst,
            IpProtocol::TCP,
            self.header.len() + self.payload.len(),
        )?;
        self.set(16, sum.with(&self.header).with(&self.payload).finish().to_be_bytes());
        let len = self.len();
        let mut packet = self.ip;
        match self.src {
            IpAddr::V4(_) => set_v4_len(packet.first_chunk_mut()?, u16::try_from(len).ok()?),
            IpAddr::V6(_) => {
                let field = packet.get_mut(4..)?.first_chunk_mut::<2>()?;
                *field = u16::try_from(len.checked_sub(40)?).ok()?.to_be_bytes();
            }
        }
        packet.extend_from_slice(&self.header);
        packet.extend_from_slice(&self.payload);
        Some(packet)
    }

    fn number(&self, at: usize) -> u32 {
        let octets = self.header.get(at..).and_then(<[u8]>::first_chunk);
        u32::from_be_bytes(octets.copied().unwrap_or_default())
    }

    fn set<const N: usize>(&mut self, at: usize, octets: [u8; N]) {
        if let Some(field) = self.header.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            *field = octets;
        }
    }

    /// Kind of each option, and the start and end of its content in the header; up to a truncated one.
    fn options(&self) -> Vec<(u8, usize, usize)> {
        let (mut at, mut found) = (MIN_HEADER, Vec::new());
        while let Some(kind) = self.header.get(at).copied().filter(|kind| *kind != 0) {
            let len =
                if kind == 1 { 1 } else { usize::from(self.header.get(at + 1).copied().unwrap_or_default()) };
            let end = at + len;
            if len == 0 || (kind != 1 && len < 2) || end > self.header.len() {
                break;
            }
            if kind != 1 {
                found.push((kind, at + 2, end));
            }
            at = end;
        }
        found
    }
}

/// The checksum of the header is updated, not recomputed.
fn set_v4_len(header: &mut [u8; MIN_HEADER], len: u16) {
    let old = u16::from_be_bytes([header[2], header[3]]);
    let sum = checksum::update(u16::from_be_bytes([header[10], header[11]]), old, len);
    [header[2], header[3]] = len.to_be_bytes();
    [header[10], header[11]] = sum.to_be_bytes();
}

//! The Base Transport Header, the first of each packet (IBA clause 9.2).

use super::{Psn, Qpn};
use crate::reader::Reader;
use crate::{Layer, ParseError};

/// Octets of the header.
pub(super) const BTH: usize = 12;
/// The P_Key of the default partition, with full membership (IBA clause 10.9).
pub const DEFAULT_PKEY: u16 = 0xffff;

const SOLICITED: u8 = 0x80;
const MIGRATED: u8 = 0x40;
const PAD_SHIFT: u8 = 4;
const VERSION_MASK: u8 = 0x0f;
const FECN: u8 = 0x80;
const BECN: u8 = 0x40;
const ACK_REQUEST: u8 = 0x80;

/// An operation code: the service in the upper three bits, the operation in the lower five (IBA clause 9.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Opcode(pub u8);

impl Opcode {
    /// RC RDMA WRITE First.
    pub const WRITE_FIRST: Self = Self(0x06);
    /// RC RDMA WRITE Middle.
    pub const WRITE_MIDDLE: Self = Self(0x07);
    /// RC RDMA WRITE Last.
    pub const WRITE_LAST: Self = Self(0x08);
    /// RC RDMA WRITE Only.
    pub const WRITE_ONLY: Self = Self(0x0a);
    /// RC RDMA READ Request.
    pub const READ_REQUEST: Self = Self(0x0c);
    /// RC RDMA READ response First.
    pub const READ_RESPONSE_FIRST: Self = Self(0x0d);
    /// RC RDMA READ response Middle.
    pub const READ_RESPONSE_MIDDLE: Self = Self(0x0e);
    /// RC RDMA READ response Last.
    pub const READ_RESPONSE_LAST: Self = Self(0x0f);
    /// RC RDMA READ response Only.
    pub const READ_RESPONSE_ONLY: Self = Self(0x10);
    /// RC Acknowledge.
    pub const ACKNOWLEDGE: Self = Self(0x11);
    /// RC ATOMIC Acknowledge.
    pub const ATOMIC_ACKNOWLEDGE: Self = Self(0x12);
    /// RC CmpSwap.
    pub const COMPARE_SWAP: Self = Self(0x13);
    /// RC FetchAdd.
    pub const FETCH_ADD: Self = Self(0x14);
    /// UD SEND Only.
    pub const DATAGRAM: Self = Self(0x64);

    /// The code belongs to a reliable connection.
    pub const fn is_reliable_connection(self) -> bool {
        self.0 >> 5 == 0
    }
}

/// The fields of a Base Transport Header that the rest of the packet does not determine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bth {
    /// The responder is to raise an event for this message.
    pub solicited: bool,
    /// MigReq: the state of path migration.
    pub migrated: bool,
    /// P_Key: the partition.
    pub pkey: u16,
    /// Forward congestion was met (IBA Annex A10).
    pub fecn: bool,
    /// The packet reports congestion back to the sender.
    pub becn: bool,
    /// The receiving queue pair.
    pub destination: Qpn,
    /// AckReq: the requester asks for an acknowledgement.
    pub ack_request: bool,
    /// Packet sequence number.
    pub psn: Psn,
}

impl Bth {
    /// A header of the default partition without flags.
    pub const fn new(destination: Qpn, psn: Psn) -> Self {
        Self {
            solicited: false,
            migrated: true,
            pkey: DEFAULT_PKEY,
            fecn: false,
            becn: false,
            destination,
            ack_request: false,
            psn,
        }
    }

    /// Opcode, header and the number of pad octets after the payload.
    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<(Opcode, Self, usize), ParseError> {
        let [opcode, flags, p0, p1, congestion, q0, q1, q2, ack, s0, s1, s2] = *reader.array::<BTH>()?;
        if flags & VERSION_MASK != 0 {
            return Err(ParseError::Version { layer: Layer::Roce, found: flags & VERSION_MASK });
        }
        let bth = Self {
            solicited: flags & SOLICITED != 0,
            migrated: flags & MIGRATED != 0,
            pkey: u16::from_be_bytes([p0, p1]),
            fecn: congestion & FECN != 0,
            becn: congestion & BECN != 0,
            destination: Qpn::wrapping(u32::from_be_bytes([0, q0, q1, q2])),
            ack_request: ack & ACK_REQUEST != 0,
            psn: Psn::wrapping(u32::from_be_bytes([0, s0, s1, s2])),
        };
        Ok((Opcode(opcode), bth, usize::from(flags >> PAD_SHIFT & 3)))
    }

    /// The octets. Reserved bits are zero. Only the lower two bits of `pad` count.
    pub(super) fn octets(&self, opcode: Opcode, pad: usize) -> [u8; BTH] {
        let flag = |is_set, bit| if is_set { bit } else { 0 };
        let flags = flag(self.solicited, SOLICITED) | flag(self.migrated, MIGRATED);
        let [p0, p1] = self.pkey.to_be_bytes();
        let [_, q0, q1, q2] = self.destination.value().to_be_bytes();
        let [_, s0, s1, s2] = self.psn.value().to_be_bytes();
        [
            opcode.0,
            flags | ((pad & 3) as u8) << PAD_SHIFT,
            p0,
            p1,
            flag(self.fecn, FECN) | flag(self.becn, BECN),
            q0,
            q1,
            q2,
            flag(self.ack_request, ACK_REQUEST),
            s0,
            s1,
            s2,
        ]
    }
}

//! A whole packet: view and builder.

use super::bth::{BTH, Bth, Opcode};
use super::header::{Aeth, AtomicEth, Deth, Reth};
use super::icrc::{ICRC, Outer};
use crate::reader::Reader;
use crate::{BuildError, Layer, ParseError};

/// The headers after the Base Transport Header, and the payload without pad octets (IBA clause 9.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport<'a> {
    /// RDMA WRITE First.
    WriteFirst(Reth, &'a [u8]),
    /// RDMA WRITE Middle.
    WriteMiddle(&'a [u8]),
    /// RDMA WRITE Last.
    WriteLast(&'a [u8]),
    /// RDMA WRITE Only.
    WriteOnly(Reth, &'a [u8]),
    /// RDMA READ Request.
    ReadRequest(Reth),
    /// RDMA READ response First.
    ReadResponseFirst(Aeth, &'a [u8]),
    /// RDMA READ response Middle.
    ReadResponseMiddle(&'a [u8]),
    /// RDMA READ response Last.
    ReadResponseLast(Aeth, &'a [u8]),
    /// RDMA READ response Only.
    ReadResponseOnly(Aeth, &'a [u8]),
    /// Acknowledge.
    Acknowledge(Aeth),
    /// ATOMIC Acknowledge, with the value before the operation.
    AtomicAcknowledge(Aeth, u64),
    /// CmpSwap.
    CompareSwap(AtomicEth),
    /// FetchAdd.
    FetchAdd(AtomicEth),
    /// UD SEND Only.
    Datagram(Deth, &'a [u8]),
    /// Any other: everything after the Base Transport Header.
    Other(Opcode, &'a [u8]),
}

impl<'a> Transport<'a> {
    /// The operation code.
    pub const fn opcode(&self) -> Opcode {
        match self {
            Self::WriteFirst(..) => Opcode::WRITE_FIRST,
            Self::WriteMiddle(_) => Opcode::WRITE_MIDDLE,
            Self::WriteLast(_) => Opcode::WRITE_LAST,
            Self::WriteOnly(..) => Opcode::WRITE_ONLY,
            Self::ReadRequest(_) => Opcode::READ_REQUEST,
            Self::ReadResponseFirst(..) => Opcode::READ_RESPONSE_FIRST,
            Self::ReadResponseMiddle(_) => Opcode::READ_RESPONSE_MIDDLE,
            Self::ReadResponseLast(..) => Opcode::READ_RESPONSE_LAST,
            Self::ReadResponseOnly(..) => Opcode::READ_RESPONSE_ONLY,
            Self::Acknowledge(_) => Opcode::ACKNOWLEDGE,
            Self::AtomicAcknowledge(..) => Opcode::ATOMIC_ACKNOWLEDGE,
            Self::CompareSwap(_) => Opcode::COMPARE_SWAP,
            Self::FetchAdd(_) => Opcode::FETCH_ADD,
            Self::Datagram(..) => Opcode::DATAGRAM,
            Self::Other(opcode, _) => *opcode,
        }
    }

    /// The payload.
    pub const fn payload(&self) -> &'a [u8] {
        match self {
            Self::WriteFirst(_, payload)
            | Self::WriteMiddle(payload)
            | Self::WriteLast(payload)
            | Self::WriteOnly(_, payload)
            | Self::ReadResponseFirst(_, payload)
            | Self::ReadResponseMiddle(payload)
            | Self::ReadResponseLast(_, payload)
            | Self::ReadResponseOnly(_, payload)
            | Self::Datagram(_, payload)
            | Self::Other(_, payload) => payload,
            _ => &[],
        }
    }

    fn parse(opcode: Opcode, bytes: &'a [u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(Layer::Roce, bytes);
        Ok(match opcode {
            Opcode::WRITE_FIRST => Self::WriteFirst(Reth::parse(&mut reader)?, reader.rest()),
            Opcode::WRITE_MIDDLE => Self::WriteMiddle(bytes),
            Opcode::WRITE_LAST => Self::WriteLast(bytes),
            Opcode::WRITE_ONLY => Self::WriteOnly(Reth::parse(&mut reader)?, reader.rest()),
            Opcode::READ_REQUEST => Self::ReadRequest(Reth::parse(&mut reader)?),
            Opcode::READ_RESPONSE_FIRST => Self::ReadResponseFirst(Aeth::parse(&mut reader)?, reader.rest()),
            Opcode::READ_RESPONSE_MIDDLE => Self::ReadResponseMiddle(bytes),
            Opcode::READ_RESPONSE_LAST => Self::ReadResponseLast(Aeth::parse(&mut reader)?, reader.rest()),
            Opcode::READ_RESPONSE_ONLY => Self::ReadResponseOnly(Aeth::parse(&mut reader)?, reader.rest()),
            Opcode::ACKNOWLEDGE => Self::Acknowledge(Aeth::parse(&mut reader)?),
            Opcode::ATOMIC_ACKNOWLEDGE => Self::AtomicAcknowledge(Aeth::parse(&mut reader)?, reader.u64()?),
            Opcode::COMPARE_SWAP => Self::CompareSwap(AtomicEth::parse(&mut reader)?),
            Opcode::FETCH_ADD => Self::FetchAdd(AtomicEth::parse(&mut reader)?),
            Opcode::DATAGRAM => Self::Datagram(Deth::parse(&mut reader)?, reader.rest()),
            _ => Self::Other(opcode, bytes),
        })
    }

    fn write_headers(&self, out: &mut Vec<u8>) {
        match self {
            Self::WriteFirst(reth, _) | Self::WriteOnly(reth, _) | Self::ReadRequest(reth) => reth.write(out),
            Self::ReadResponseFirst(aeth, _)
            | Self::ReadResponseLast(aeth, _)
            | Self::ReadResponseOnly(aeth, _)
            | Self::Acknowledge(aeth) => aeth.write(out),
            Self::AtomicAcknowledge(aeth, original) => {
                aeth.write(out);
                out.extend_from_slice(&original.to_be_bytes());
            }
            Self::CompareSwap(atomic) | Self::FetchAdd(atomic) => atomic.write(out),
            Self::Datagram(deth, _) => deth.write(out),
            Self::WriteMiddle(_) | Self::WriteLast(_) | Self::ReadResponseMiddle(_) | Self::Other(..) => {}
        }
    }
}

/// An InfiniBand packet: one UDP payload. Its CRC is not verified by parsing: see [`Packet::icrc_is_valid`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    /// Base Transport Header.
    pub bth: Bth,
    /// The rest.
    pub transport: Transport<'a>,
    /// All octets before the CRC.
    covered: &'a [u8],
    icrc: &'a [u8; ICRC],
}

impl<'a> Packet<'a> {
    /// Parses one UDP payload. Octets after the headers of a packet that has no payload are left out.
    ///
    /// # Errors
    /// [`ParseError`] of [`Layer::Roce`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let truncated = ParseError::Truncated { layer: Layer::Roce, need: BTH + ICRC, have: bytes.len() };
        let (covered, icrc) = bytes.split_last_chunk::<ICRC>().ok_or(truncated)?;
        let mut reader = Reader::new(Layer::Roce, covered);
        let (opcode, bth, pad) = Bth::parse(&mut reader)?;
        let body = reader.rest().len().checked_sub(pad).ok_or(ParseError::LengthTooSmall {
            layer: Layer::Roce,
            found: reader.rest().len(),
            minimum: pad,
        })?;
        let transport = Transport::parse(opcode, reader.take(body)?)?;
        Ok(Self { bth, transport, covered, icrc })
    }

    /// The packet has the CRC that these outer headers imply.
    pub fn icrc_is_valid(&self, outer: &Outer) -> bool {
        outer.icrc(self.covered).is_ok_and(|icrc| icrc == *self.icrc)
    }

    /// The packet as it can be written.
    pub const fn repr(&self) -> Repr<'a> {
        Repr { bth: self.bth, transport: self.transport }
    }
}

/// A packet to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repr<'a> {
    /// Base Transport Header.
    pub bth: Bth,
    /// The rest.
    pub transport: Transport<'a>,
}

impl<'a> Repr<'a> {
    /// Parses a UDP payload that is a packet without pad octets and without CRC: what a switch sends that adds nothing behind a packet. Nothing in it tells
    /// whether its octets are those that were sent.
    ///
    /// # Errors
    /// [`ParseError`] of [`Layer::Roce`]; a packet that says that it has pad octets is [`ParseError::LengthTooSmall`].
    pub fn parse_bare(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(Layer::Roce, bytes);
        let (opcode, bth, pad) = Bth::parse(&mut reader)?;
        if pad != 0 {
            return Err(ParseError::LengthTooSmall { layer: Layer::Roce, found: 0, minimum: pad });
        }
        Ok(Self { bth, transport: Transport::parse(opcode, reader.rest())? })
    }

    /// Appends the packet with its pad octets and its CRC.
    ///
    /// # Errors
    /// [`BuildError::TooLong`] beyond the largest IP packet, or [`BuildError::MixedFamilies`]; nothing is appended then.
    pub fn write(&self, outer: &Outer, out: &mut Vec<u8>) -> Result<(), BuildError> {
        let start = out.len();
        let payload = self.transport.payload();
        let pad = payload.len().wrapping_neg() & 3;
        out.extend_from_slice(&self.bth.octets(self.transport.opcode(), pad));
        self.transport.write_headers(out);
        out.extend_from_slice(payload);
        out.extend_from_slice(&[0; 3][..pad]);
        match outer.icrc(&out[start..]) {
            Ok(icrc) => out.extend_from_slice(&icrc),
            Err(error) => {
                out.truncate(start);
                return Err(error);
            }
        }
        Ok(())
    }
}

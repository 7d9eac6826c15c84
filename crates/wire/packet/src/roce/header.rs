//! The extended transport headers (IBA clause 9.3).

use super::{Psn, Qpn, Rkey};
use crate::ParseError;
use crate::reader::Reader;

/// RDMA Extended Transport Header: the memory of an RDMA WRITE or READ (IBA clause 9.3.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reth {
    /// Virtual address of the first octet.
    pub address: u64,
    /// The key of its region.
    pub rkey: Rkey,
    /// Octets of the whole message, over all its packets; at most 2^31 (IBA clause 9.3.3).
    pub length: u32,
}

impl Reth {
    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        Ok(Self { address: reader.u64()?, rkey: Rkey(reader.u32()?), length: reader.u32()? })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.address.to_be_bytes());
        out.extend_from_slice(&self.rkey.0.to_be_bytes());
        out.extend_from_slice(&self.length.to_be_bytes());
    }
}

/// ATOMIC Extended Transport Header (IBA clause 9.3.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtomicEth {
    /// Virtual address of the word of 64 bits; a multiple of 8.
    pub address: u64,
    /// The key of its region.
    pub rkey: Rkey,
    /// Swap (or Add) Data: the new value, or what is added to the old one.
    pub swap_or_add: u64,
    /// Compare Data: CmpSwap stores the new value if the old one equals this. FetchAdd does not read it.
    pub compare: u64,
}

impl AtomicEth {
    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        Ok(Self {
            address: reader.u64()?,
            rkey: Rkey(reader.u32()?),
            swap_or_add: reader.u64()?,
            compare: reader.u64()?,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.address.to_be_bytes());
        out.extend_from_slice(&self.rkey.0.to_be_bytes());
        out.extend_from_slice(&self.swap_or_add.to_be_bytes());
        out.extend_from_slice(&self.compare.to_be_bytes());
    }
}

/// Datagram Extended Transport Header (IBA clause 9.3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deth {
    /// Q_Key: the receiving queue pair accepts datagrams with its own only.
    pub qkey: u32,
    /// The sending queue pair.
    pub source: Qpn,
}

impl Deth {
    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        Ok(Self { qkey: reader.u32()?, source: Qpn::wrapping(reader.u32()?) })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.qkey.to_be_bytes());
        out.extend_from_slice(&self.source.value().to_be_bytes());
    }
}

/// Why a request is not acknowledged (IBA clauses 9.3.5 and 9.7.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NakCode {
    /// Packets before this one are missing: the requester sends again from the PSN of the NAK.
    PsnSequenceError,
    /// The request is not one that the responder executes, or its packets contradict one another.
    InvalidRequest,
    /// The R_Key, the range or the right is wrong.
    RemoteAccessError,
    /// The responder cannot complete the request.
    RemoteOperationalError,
    /// For reliable datagrams only.
    InvalidRdRequest,
}

impl NakCode {
    const fn new(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::PsnSequenceError,
            1 => Self::InvalidRequest,
            2 => Self::RemoteAccessError,
            3 => Self::RemoteOperationalError,
            4 => Self::InvalidRdRequest,
            _ => return None,
        })
    }

    const fn value(self) -> u8 {
        match self {
            Self::PsnSequenceError => 0,
            Self::InvalidRequest => 1,
            Self::RemoteAccessError => 2,
            Self::RemoteOperationalError => 3,
            Self::InvalidRdRequest => 4,
        }
    }
}

/// The syndrome of an acknowledgement (IBA clauses 9.3.5 and 9.7.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Syndrome {
    /// ACK with a credit count, 0 to 31; 31 says that the responder gives no credits.
    Ack(u8),
    /// RNR NAK: the receiver is not ready, with a timer, 0 to 31.
    ReceiverNotReady(u8),
    /// NAK.
    Nak(NakCode),
}

impl Syndrome {
    /// ACK of a responder without end-to-end credits (IBA clause 9.7.7).
    pub const ACK: Self = Self::Ack(31);

    const fn new(octet: u8) -> Option<Self> {
        let value = octet & 0x1f;
        match octet >> 5 {
            0 => Some(Self::Ack(value)),
            1 => Some(Self::ReceiverNotReady(value)),
            3 => match NakCode::new(value) {
                Some(code) => Some(Self::Nak(code)),
                None => None,
            },
            _ => None,
        }
    }

    /// The octet on the wire.
    pub const fn value(self) -> u8 {
        match self {
            Self::Ack(credits) => credits & 0x1f,
            Self::ReceiverNotReady(timer) => 0x20 | timer & 0x1f,
            Self::Nak(code) => 0x60 | code.value(),
        }
    }
}

/// ACK Extended Transport Header (IBA clause 9.3.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Aeth {
    /// What became of the request.
    pub syndrome: Syndrome,
    /// Message sequence number: the messages that the responder has completed, modulo 2^24 (IBA clause 9.7.7).
    pub msn: Psn,
}

impl Aeth {
    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let octet = reader.u8()?;
        let syndrome = Syndrome::new(octet).ok_or(ParseError::RoceSyndrome(octet))?;
        Ok(Self { syndrome, msn: Psn::wrapping(reader.u24()?) })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let [_, m0, m1, m2] = self.msn.value().to_be_bytes();
        out.extend_from_slice(&[self.syndrome.value(), m0, m1, m2]);
    }
}

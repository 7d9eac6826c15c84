//! Messages of the communication management, which set up and end a reliable connection (IBA chapter 12, messages of clause 12.6).
//!
//! Such a message is a management datagram of 256 octets (IBA clause 13.4.2) in a UD SEND Only packet to the general service interface,
//! [`super::GENERAL_SERVICE`]. Fields that concern automatic path migration, reliable datagrams and the paths of InfiniBand links are
//! zero when written, and are not read.

use super::{Psn, Qpn};
use crate::reader::Reader;
use crate::{Layer, ParseError};

/// Octets of a management datagram.
pub const MAD: usize = 256;

const HEADER: usize = 24;
const DATA: usize = MAD - HEADER;
const BASE_VERSION: u8 = 1;
const CLASS: u8 = 0x07;
const CLASS_VERSION: u8 = 2;
const METHOD_SEND: u8 = 0x03;

const REQUEST: u16 = 0x0010;
const REJECT: u16 = 0x0012;
const REPLY: u16 = 0x0013;
const READY: u16 = 0x0014;
const DISCONNECT_REQUEST: u16 = 0x0015;
const DISCONNECT_REPLY: u16 = 0x0016;

/// Octets of private data that a reply carries.
pub const REPLY_PRIVATE: usize = 196;
/// The reason of a reject: no queue pair is available.
pub const NO_QUEUE_PAIR: u16 = 1;
/// The reason of a reject: the service identifier is unknown.
pub const INVALID_SERVICE: u16 = 8;

/// The payload of each packet of a message but its last one (IBA clause 9.3.3; its code is that of a REQ, clause 12.6.5).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mtu {
    /// 256 octets.
    M256,
    /// 512 octets.
    M512,
    /// 1024 octets: the largest that a link of 1500 octets carries.
    M1024,
    /// 2048 octets.
    M2048,
    /// 4096 octets.
    M4096,
}

impl Mtu {
    /// All of them, in the order of their codes, from 1.
    pub const ALL: [Self; 5] = [Self::M256, Self::M512, Self::M1024, Self::M2048, Self::M4096];

    /// In octets.
    pub const fn octets(self) -> usize {
        128 << self.code()
    }

    const fn code(self) -> u8 {
        self as u8 + 1
    }

    fn of_code(code: u8) -> Result<Self, ParseError> {
        let index = usize::from(code).checked_sub(1);
        let found = index.and_then(|index| Self::ALL.get(index));
        found.copied().ok_or(ParseError::RoceManagement { what: "path MTU", found: code.into() })
    }
}

/// A request for a connection, REQ (IBA clause 12.6.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnectRequest {
    /// The sender's number of the communication. A repeated request has the same one.
    pub local_communication: u32,
    /// The service that the sender wants.
    pub service: u64,
    /// The sender's queue pair.
    pub queue_pair: Qpn,
    /// READ and atomic operations that the sender executes at a time as responder.
    pub responder_resources: u8,
    /// READ and atomic operations that the sender has outstanding at a time as requester.
    pub initiator_depth: u8,
    /// The first packet sequence number that the sender uses as requester.
    pub first_psn: Psn,
    /// Retries of the sender, 0 to 7.
    pub retries: u8,
    /// Path packet payload MTU.
    pub mtu: Mtu,
}

/// The reply to a request, REP (IBA clause 12.6.8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnectReply {
    /// The sender's number of the communication.
    pub local_communication: u32,
    /// That of the request.
    pub remote_communication: u32,
    /// The sender's queue pair.
    pub queue_pair: Qpn,
    /// The first packet sequence number that the sender uses as requester.
    pub first_psn: Psn,
    /// READ and atomic operations that the sender executes at a time as responder.
    pub responder_resources: u8,
    /// READ and atomic operations that the sender has outstanding at a time as requester.
    pub initiator_depth: u8,
    /// What the service says in private data.
    pub private: [u8; REPLY_PRIVATE],
}

/// A message of the communication management.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message {
    /// REQ.
    ConnectRequest(ConnectRequest),
    /// REP.
    ConnectReply(ConnectReply),
    /// REJ (IBA clause 12.6.7).
    ConnectReject {
        /// The sender's number of the communication, or zero.
        local_communication: u32,
        /// That of the request.
        remote_communication: u32,
        /// Why (IBA clause 12.6.7).
        reason: u16,
    },
    /// RTU, ready to use (IBA clause 12.6.9).
    ReadyToUse {
        /// The sender's number of the communication.
        local_communication: u32,
        /// The receiver's.
        remote_communication: u32,
    },
    /// DREQ (IBA clause 12.6.10).
    DisconnectRequest {
        /// The sender's number of the communication.
        local_communication: u32,
        /// The receiver's.
        remote_communication: u32,
        /// The receiver's queue pair.
        queue_pair: Qpn,
    },
    /// DREP (IBA clause 12.6.11).
    DisconnectReply {
        /// The sender's number of the communication.
        local_communication: u32,
        /// The receiver's.
        remote_communication: u32,
    },
}

/// A management datagram of the communication management.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Management {
    /// Transaction identifier: a response has that of its request.
    pub transaction: u64,
    /// The message.
    pub message: Message,
}

impl Management {
    /// Parses the payload of a datagram to the general service interface.
    ///
    /// # Errors
    /// [`ParseError`] of [`Layer::Roce`], also for messages of other management classes.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(Layer::Roce, bytes);
        let header = reader.array::<HEADER>()?;
        let data = reader.array::<DATA>()?;
        let wanted = [BASE_VERSION, CLASS, CLASS_VERSION, METHOD_SEND];
        let names = ["base version", "management class", "class version", "method"];
        for ((found, wanted), what) in header.iter().zip(wanted).zip(names) {
            if *found != wanted {
                return Err(ParseError::RoceManagement { what, found: (*found).into() });
            }
        }
        let mut fields = Reader::new(Layer::Roce, header.split_at(8).1);
        let (transaction, attribute) = (fields.u64()?, fields.u16()?);
        Ok(Self { transaction, message: Message::parse(attribute, data)? })
    }

    /// The octets.
    pub fn octets(&self) -> [u8; MAD] {
        let mut out = [0; MAD];
        let (header, data) = out.split_at_mut(HEADER);
        let attribute = self.message.write(data);
        put(header, 0, &[BASE_VERSION, CLASS, CLASS_VERSION, METHOD_SEND]);
        put(header, 8, &self.transaction.to_be_bytes());
        put(header, 16, &attribute.to_be_bytes());
        out
    }
}

impl Message {
    fn parse(attribute: u16, data: &[u8; DATA]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(Layer::Roce, data);
        let (local_communication, second) = (reader.u32()?, reader.u32()?);
        let remote_communication = second;
        Ok(match attribute {
            REQUEST => {
                let service = reader.u64()?;
                reader.take(16)?;
                let (queue_pair, responder_resources) = (Qpn::wrapping(reader.u24()?), reader.u8()?);
                reader.take(3)?;
                let initiator_depth = reader.u8()?;
                reader.take(4)?;
                let (first_psn, retries) = (Psn::wrapping(reader.u24()?), reader.u8()? & 7);
                reader.take(2)?;
                let mtu = Mtu::of_code(reader.u8()? >> 4)?;
                Self::ConnectRequest(ConnectRequest {
                    local_communication,
                    service,
                    queue_pair,
                    responder_resources,
                    initiator_depth,
                    first_psn,
                    retries,
                    mtu,
                })
            }
            REPLY => {
                reader.take(4)?;
                let queue_pair = Qpn::wrapping(reader.u24()?);
                reader.take(5)?;
                let first_psn = Psn::wrapping(reader.u24()?);
                reader.take(1)?;
                let (responder_resources, initiator_depth) = (reader.u8()?, reader.u8()?);
                reader.take(10)?;
                Self::ConnectReply(ConnectReply {
                    local_communication,
                    remote_communication,
                    queue_pair,
                    first_psn,
                    responder_resources,
                    initiator_depth,
                    private: *reader.array()?,
                })
            }
            REJECT => {
                reader.take(2)?;
                Self::ConnectReject { local_communication, remote_communication, reason: reader.u16()? }
            }
            READY => Self::ReadyToUse { local_communication, remote_communication },
            DISCONNECT_REQUEST => {
                let queue_pair = Qpn::wrapping(reader.u24()?);
                Self::DisconnectRequest { local_communication, remote_communication, queue_pair }
            }
            DISCONNECT_REPLY => Self::DisconnectReply { local_communication, remote_communication },
            _ => return Err(ParseError::RoceManagement { what: "attribute", found: attribute }),
        })
    }

    /// Writes the data; returns the attribute.
    fn write(&self, data: &mut [u8]) -> u16 {
        let numbers = |data: &mut [u8], local: u32, remote: u32| {
            put(data, 0, &local.to_be_bytes());
            put(data, 4, &remote.to_be_bytes());
        };
        match self {
            Self::ConnectRequest(request) => {
                numbers(data, request.local_communication, 0);
                put(data, 8, &request.service.to_be_bytes());
                put(data, 32, &u24(request.queue_pair.value()));
                put(data, 35, &[request.responder_resources]);
                put(data, 39, &[request.initiator_depth]);
                put(data, 44, &u24(request.first_psn.value()));
                put(data, 47, &[request.retries & 7]);
                put(data, 48, &super::DEFAULT_PKEY.to_be_bytes());
                put(data, 50, &[request.mtu.code() << 4]);
                REQUEST
            }
            Self::ConnectReply(reply) => {
                numbers(data, reply.local_communication, reply.remote_communication);
                put(data, 12, &u24(reply.queue_pair.value()));
                put(data, 20, &u24(reply.first_psn.value()));
                put(data, 24, &[reply.responder_resources, reply.initiator_depth]);
                put(data, 36, &reply.private);
                REPLY
            }
            Self::ConnectReject { local_communication, remote_communication, reason } => {
                numbers(data, *local_communication, *remote_communication);
                put(data, 10, &reason.to_be_bytes());
                REJECT
            }
            Self::ReadyToUse { local_communication, remote_communication } => {
                numbers(data, *local_communication, *remote_communication);
                READY
            }
            Self::DisconnectRequest { local_communication, remote_communication, queue_pair } => {
                numbers(data, *local_communication, *remote_communication);
                put(data, 8, &u24(queue_pair.value()));
                DISCONNECT_REQUEST
            }
            Self::DisconnectReply { local_communication, remote_communication } => {
                numbers(data, *local_communication, *remote_communication);
                DISCONNECT_REPLY
            }
        }
    }
}

fn u24(value: u32) -> [u8; 3] {
    let [_, a, b, c] = value.to_be_bytes();
    [a, b, c]
}

/// Sets octets from an offset on. All offsets above lie in the datagram.
fn put(out: &mut [u8], offset: usize, octets: &[u8]) {
    let places = out.iter_mut().skip(offset);
    places.zip(octets).for_each(|(place, octet)| *place = *octet);
}

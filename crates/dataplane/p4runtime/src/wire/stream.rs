//! The stream between a controller and a switch: arbitration and packets.

use prost::{Message, Oneof};

use super::{Any, Other, Status, Uint128};

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StreamMessageRequest {
    #[prost(oneof = "ToSwitch", tags = "1, 2, 3, 4")]
    pub(crate) update: Option<ToSwitch>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum ToSwitch {
    #[prost(message, tag = "1")]
    Arbitration(MasterArbitrationUpdate),
    #[prost(message, tag = "2")]
    Packet(PacketOut),
    #[prost(message, tag = "3")]
    DigestAck(Other),
    #[prost(message, tag = "4")]
    Other(Other),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StreamMessageResponse {
    #[prost(oneof = "FromSwitch", tags = "1, 2, 3, 4, 5, 6")]
    pub(crate) update: Option<FromSwitch>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum FromSwitch {
    #[prost(message, tag = "1")]
    Arbitration(MasterArbitrationUpdate),
    #[prost(message, tag = "2")]
    Packet(PacketIn),
    #[prost(message, tag = "3")]
    Digest(Other),
    #[prost(message, tag = "4")]
    IdleTimeout(Other),
    #[prost(message, tag = "5")]
    Other(Other),
    #[prost(message, tag = "6")]
    Error(StreamError),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct MasterArbitrationUpdate {
    #[prost(uint64, tag = "1")]
    pub(crate) device_id: u64,
    #[prost(message, optional, tag = "2")]
    pub(crate) role: Option<Role>,
    #[prost(message, optional, tag = "3")]
    pub(crate) election_id: Option<Uint128>,
    #[prost(message, optional, tag = "4")]
    pub(crate) status: Option<Status>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Role {
    #[prost(uint64, tag = "1")]
    pub(crate) id: u64,
    #[prost(message, optional, tag = "2")]
    pub(crate) config: Option<Any>,
    #[prost(string, tag = "3")]
    pub(crate) name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PacketOut {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) payload: Vec<u8>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) metadata: Vec<Other>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PacketIn {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) payload: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StreamError {
    #[prost(int32, tag = "1")]
    pub(crate) canonical_code: i32,
    #[prost(string, tag = "2")]
    pub(crate) message: String,
    #[prost(message, optional, tag = "5")]
    pub(crate) packet_out: Option<PacketOutError>,
    #[prost(message, optional, tag = "6")]
    pub(crate) digest_ack: Option<Other>,
    #[prost(message, optional, tag = "7")]
    pub(crate) other: Option<Other>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PacketOutError {}

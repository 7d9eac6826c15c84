//! The messages of P4Runtime (version 1.5) that concern Causeway's programs.
//!
//! Field numbers are those of the specification's `p4.v1` and `p4.config.v1`. Other fields are ignored when decoded, as
//! usual for protocol buffers; a field that changes the meaning of a message is declared so that it can be refused.

mod entity;
mod error;
mod info;
mod pipeline;
mod stream;
mod table;
mod write;

pub(crate) use entity::{
    CloneSession, CounterData, CounterEntry, Data, DataKind, DirectCounterEntry, Entity, Index, MemberData,
    MeterConfig, MeterEntry, Other, RegisterEntry, Replica, ReplicationEntry, ReplicationKind, StructData,
    Update, UpdateKind, ValueSetEntry, ValueSetMember, What,
};
pub(crate) use error::{Any, P4Error, Status};
pub(crate) use info::{
    ActionScope, MatchType, P4Info, Preamble, RegisterInfo, TableInfo, TypeInfo, TypeSpec,
};
pub(crate) use pipeline::{
    CapabilitiesRequest, CapabilitiesResponse, Cookie, ForwardingPipelineConfig,
    GetForwardingPipelineConfigRequest, GetForwardingPipelineConfigResponse, PipelineAction, ResponseKind,
    SetForwardingPipelineConfigRequest, SetForwardingPipelineConfigResponse,
};
pub(crate) use stream::{
    FromSwitch, MasterArbitrationUpdate, PacketIn, PacketOut, PacketOutError, Role, StreamError,
    StreamMessageRequest, StreamMessageResponse, ToSwitch,
};
pub(crate) use table::{Action, Exact, FieldMatch, Lpm, Match, Param, TableAction, TableEntry, Ternary};
pub(crate) use write::{MOST_OF_UPDATE, MOST_UPDATES, WriteRequest};

use prost::Message;

/// The client and the server of the service, from `build.rs`.
pub(crate) mod service {
    #![allow(unreachable_pub, missing_docs, clippy::all, unused_qualifications)] // generated
    include!(concat!(env!("OUT_DIR"), "/p4.v1.P4Runtime.rs"));
}

/// The longest message that either side accepts: a large batch, or a program with its configuration.
pub(crate) const MOST_MESSAGE: usize = 64 << 20;

/// An election id.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct Uint128 {
    #[prost(uint64, tag = "1")]
    pub(crate) high: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) low: u64,
}

impl From<u128> for Uint128 {
    fn from(value: u128) -> Self {
        Self { high: (value >> 64) as u64, low: value as u64 }
    }
}

impl From<Uint128> for u128 {
    fn from(value: Uint128) -> Self {
        Self::from(value.high) << 64 | Self::from(value.low)
    }
}

/// How much of a batch is done if a part of it fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum Atomicity {
    ContinueOnError = 0,
    RollbackOnError = 1,
    DataplaneAtomic = 2,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct WriteResponse {}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ReadRequest {
    #[prost(uint64, tag = "1")]
    pub(crate) device_id: u64,
    #[prost(message, repeated, tag = "2")]
    pub(crate) entities: Vec<Entity>,
    #[prost(string, tag = "3")]
    pub(crate) role: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ReadResponse {
    #[prost(message, repeated, tag = "1")]
    pub(crate) entities: Vec<Entity>,
}

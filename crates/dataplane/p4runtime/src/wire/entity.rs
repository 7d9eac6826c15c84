//! Entities of writes and reads, and updates of entities.

use prost::{Enumeration, Message, Oneof};

use super::{FieldMatch, TableEntry};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Enumeration)]
#[repr(i32)]
pub(crate) enum UpdateKind {
    Unspecified = 0,
    Insert = 1,
    Modify = 2,
    Delete = 3,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Update {
    #[prost(enumeration = "UpdateKind", tag = "1")]
    pub(crate) kind: i32,
    #[prost(message, optional, tag = "2")]
    pub(crate) entity: Option<Entity>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Entity {
    #[prost(oneof = "What", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12")]
    pub(crate) what: Option<What>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum What {
    #[prost(message, tag = "1")]
    Extern(Numbered),
    #[prost(message, tag = "2")]
    Table(TableEntry),
    #[prost(message, tag = "3")]
    ProfileMember(Numbered),
    #[prost(message, tag = "4")]
    ProfileGroup(Numbered),
    #[prost(message, tag = "5")]
    Meter(MeterEntry),
    #[prost(message, tag = "6")]
    DirectMeter(DirectMeterEntry),
    #[prost(message, tag = "7")]
    Counter(CounterEntry),
    #[prost(message, tag = "8")]
    DirectCounter(DirectCounterEntry),
    #[prost(message, tag = "9")]
    Replication(ReplicationEntry),
    #[prost(message, tag = "10")]
    ValueSet(ValueSetEntry),
    #[prost(message, tag = "11")]
    Register(RegisterEntry),
    #[prost(message, tag = "12")]
    Digest(Numbered),
}

impl From<What> for Entity {
    fn from(what: What) -> Self {
        Self { what: Some(what) }
    }
}

/// A message whose fields are ignored: it is refused as a whole, or only its presence matters.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Other {}

/// An entity of a kind that Causeway's programs do not have, by its id; zero selects all of them.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Numbered {
    #[prost(uint32, tag = "1")]
    pub(crate) id: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct Index {
    #[prost(int64, tag = "1")]
    pub(crate) index: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct CounterData {
    #[prost(int64, tag = "1")]
    pub(crate) byte_count: i64,
    #[prost(int64, tag = "2")]
    pub(crate) packet_count: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct CounterEntry {
    #[prost(uint32, tag = "1")]
    pub(crate) counter_id: u32,
    #[prost(message, optional, tag = "2")]
    pub(crate) index: Option<Index>,
    #[prost(message, optional, tag = "3")]
    pub(crate) data: Option<CounterData>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct DirectCounterEntry {
    #[prost(message, optional, tag = "1")]
    pub(crate) table_entry: Option<TableEntry>,
    #[prost(message, optional, tag = "2")]
    pub(crate) data: Option<CounterData>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct MeterConfig {
    #[prost(int64, tag = "1")]
    pub(crate) cir: i64,
    #[prost(int64, tag = "2")]
    pub(crate) cburst: i64,
    #[prost(int64, tag = "3")]
    pub(crate) pir: i64,
    #[prost(int64, tag = "4")]
    pub(crate) pburst: i64,
    #[prost(int64, tag = "5")]
    pub(crate) eburst: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct MeterEntry {
    #[prost(uint32, tag = "1")]
    pub(crate) meter_id: u32,
    #[prost(message, optional, tag = "2")]
    pub(crate) index: Option<Index>,
    #[prost(message, optional, tag = "3")]
    pub(crate) config: Option<MeterConfig>,
    #[prost(message, optional, tag = "4")]
    pub(crate) counter_data: Option<Other>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct DirectMeterEntry {
    #[prost(message, optional, tag = "1")]
    pub(crate) table_entry: Option<TableEntry>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ReplicationEntry {
    #[prost(oneof = "ReplicationKind", tags = "1, 2")]
    pub(crate) kind: Option<ReplicationKind>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum ReplicationKind {
    #[prost(message, tag = "1")]
    Multicast(Numbered),
    #[prost(message, tag = "2")]
    Clone(CloneSession),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct CloneSession {
    #[prost(uint32, tag = "1")]
    pub(crate) session_id: u32,
    #[prost(message, repeated, tag = "2")]
    pub(crate) replicas: Vec<Replica>,
}

/// The port as a number, which servers of all versions accept.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct Replica {
    #[prost(uint32, tag = "1")]
    pub(crate) egress_port: u32,
    #[prost(uint32, tag = "2")]
    pub(crate) instance: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RegisterEntry {
    #[prost(uint32, tag = "1")]
    pub(crate) register_id: u32,
    #[prost(message, optional, tag = "2")]
    pub(crate) index: Option<Index>,
    #[prost(message, optional, tag = "3")]
    pub(crate) data: Option<Data>,
}

/// The contents of a cell (`P4Data`), of which the kinds that Causeway's programs have.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Data {
    #[prost(oneof = "DataKind", tags = "1, 5")]
    pub(crate) kind: Option<DataKind>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum DataKind {
    #[prost(bytes, tag = "1")]
    Bits(Vec<u8>),
    #[prost(message, tag = "5")]
    Struct(StructData),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StructData {
    #[prost(message, repeated, tag = "1")]
    pub(crate) members: Vec<MemberData>,
}

/// A member of a struct, which is a number.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct MemberData {
    #[prost(bytes, optional, tag = "1")]
    pub(crate) bits: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ValueSetEntry {
    #[prost(uint32, tag = "1")]
    pub(crate) value_set_id: u32,
    #[prost(message, repeated, tag = "2")]
    pub(crate) members: Vec<ValueSetMember>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ValueSetMember {
    #[prost(message, repeated, tag = "1")]
    pub(crate) matches: Vec<FieldMatch>,
}

//! The fields of a P4Info that this crate uses.

use prost::{Enumeration, Message};

#[derive(Clone, PartialEq, Message)]
pub(crate) struct P4Info {
    #[prost(message, repeated, tag = "2")]
    pub(crate) tables: Vec<TableInfo>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) actions: Vec<ActionInfo>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) counters: Vec<CounterInfo>,
    #[prost(message, repeated, tag = "6")]
    pub(crate) direct_counters: Vec<DirectCounterInfo>,
    #[prost(message, repeated, tag = "7")]
    pub(crate) meters: Vec<CounterInfo>,
    #[prost(message, repeated, tag = "9")]
    pub(crate) packet_metadata: Vec<PacketMetadataInfo>,
    #[prost(message, repeated, tag = "10")]
    pub(crate) value_sets: Vec<ValueSetInfo>,
    #[prost(message, repeated, tag = "11")]
    pub(crate) registers: Vec<RegisterInfo>,
    #[prost(message, optional, tag = "200")]
    pub(crate) types: Option<TypeInfo>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Preamble {
    #[prost(uint32, tag = "1")]
    pub(crate) id: u32,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
    #[prost(string, tag = "3")]
    pub(crate) alias: String,
    #[prost(string, repeated, tag = "4")]
    pub(crate) annotations: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TableInfo {
    #[prost(message, optional, tag = "1")]
    pub(crate) preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) match_fields: Vec<MatchFieldInfo>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) action_refs: Vec<ActionRef>,
    #[prost(uint32, tag = "6")]
    pub(crate) implementation_id: u32,
    #[prost(int64, tag = "8")]
    pub(crate) size: i64,
    #[prost(bool, tag = "10")]
    pub(crate) is_const_table: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Enumeration)]
#[repr(i32)]
pub(crate) enum MatchType {
    Unspecified = 0,
    Exact = 2,
    Lpm = 3,
    Ternary = 4,
    Range = 5,
    Optional = 6,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct MatchFieldInfo {
    #[prost(uint32, tag = "1")]
    pub(crate) id: u32,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
    #[prost(int32, tag = "4")]
    pub(crate) bitwidth: i32,
    #[prost(enumeration = "MatchType", tag = "5")]
    pub(crate) match_type: i32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Enumeration)]
#[repr(i32)]
pub(crate) enum ActionScope {
    TableAndDefault = 0,
    TableOnly = 1,
    DefaultOnly = 2,
    GroupAction = 3,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct ActionRef {
    #[prost(uint32, tag = "1")]
    pub(crate) id: u32,
    #[prost(enumeration = "ActionScope", tag = "3")]
    pub(crate) scope: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ActionInfo {
    #[prost(message, optional, tag = "1")]
    pub(crate) preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) params: Vec<ParamInfo>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ParamInfo {
    #[prost(uint32, tag = "1")]
    pub(crate) id: u32,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
    #[prost(int32, tag = "4")]
    pub(crate) bitwidth: i32,
}

/// Counters or meters by index.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct CounterInfo {
    #[prost(message, optional, tag = "1")]
    pub(crate) preamble: Option<Preamble>,
    #[prost(int64, tag = "3")]
    pub(crate) size: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct DirectCounterInfo {
    #[prost(message, optional, tag = "1")]
    pub(crate) preamble: Option<Preamble>,
    #[prost(uint32, tag = "3")]
    pub(crate) direct_table_id: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PacketMetadataInfo {
    #[prost(message, optional, tag = "1")]
    pub(crate) preamble: Option<Preamble>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ValueSetInfo {
    #[prost(message, optional, tag = "1")]
    pub(crate) preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) match_fields: Vec<MatchFieldInfo>,
    #[prost(int32, tag = "3")]
    pub(crate) size: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RegisterInfo {
    #[prost(message, optional, tag = "1")]
    pub(crate) preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub(crate) type_spec: Option<TypeSpec>,
    #[prost(int32, tag = "3")]
    pub(crate) size: i32,
}

/// The type of a register's cells or of a struct's member: a number, or a struct by its name.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TypeSpec {
    #[prost(message, optional, tag = "1")]
    pub(crate) bits: Option<BitsSpec>,
    #[prost(message, optional, tag = "4")]
    pub(crate) structure: Option<NamedType>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct BitsSpec {
    #[prost(message, optional, tag = "1")]
    pub(crate) unsigned: Option<Width>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct Width {
    #[prost(int32, tag = "1")]
    pub(crate) bitwidth: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct NamedType {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TypeInfo {
    /// A map, in the order of the file.
    #[prost(message, repeated, tag = "1")]
    pub(crate) structs: Vec<NamedStruct>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct NamedStruct {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) members: Option<Members>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Members {
    #[prost(message, repeated, tag = "1")]
    pub(crate) members: Vec<MemberInfo>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct MemberInfo {
    #[prost(message, optional, tag = "2")]
    pub(crate) type_spec: Option<TypeSpec>,
}

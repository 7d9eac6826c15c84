//! Entries of tables.

use prost::{Message, Oneof};

use super::{CounterData, MeterConfig, Other};

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TableEntry {
    #[prost(uint32, tag = "1")]
    pub(crate) table_id: u32,
    #[prost(message, repeated, tag = "2")]
    pub(crate) matches: Vec<FieldMatch>,
    #[prost(message, optional, tag = "3")]
    pub(crate) action: Option<TableAction>,
    #[prost(int32, tag = "4")]
    pub(crate) priority: i32,
    #[prost(uint64, tag = "5")]
    pub(crate) controller_metadata: u64,
    #[prost(message, optional, tag = "6")]
    pub(crate) meter_config: Option<MeterConfig>,
    #[prost(message, optional, tag = "7")]
    pub(crate) counter_data: Option<CounterData>,
    #[prost(bool, tag = "8")]
    pub(crate) is_default_action: bool,
    #[prost(int64, tag = "9")]
    pub(crate) idle_timeout_ns: i64,
    #[prost(bytes = "vec", tag = "11")]
    pub(crate) metadata: Vec<u8>,
    #[prost(bool, tag = "13")]
    pub(crate) is_const: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct FieldMatch {
    #[prost(uint32, tag = "1")]
    pub(crate) field_id: u32,
    #[prost(oneof = "Match", tags = "2, 3, 4, 6, 7, 100")]
    pub(crate) kind: Option<Match>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Match {
    #[prost(message, tag = "2")]
    Exact(Exact),
    #[prost(message, tag = "3")]
    Ternary(Ternary),
    #[prost(message, tag = "4")]
    Lpm(Lpm),
    #[prost(message, tag = "6")]
    Range(Other),
    #[prost(message, tag = "7")]
    Optional(Other),
    #[prost(message, tag = "100")]
    Other(Other),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Exact {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Ternary {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) value: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) mask: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Lpm {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) value: Vec<u8>,
    #[prost(int32, tag = "2")]
    pub(crate) prefix_len: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TableAction {
    #[prost(message, optional, tag = "1")]
    pub(crate) action: Option<Action>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Action {
    #[prost(uint32, tag = "1")]
    pub(crate) action_id: u32,
    #[prost(message, repeated, tag = "4")]
    pub(crate) params: Vec<Param>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Param {
    #[prost(uint32, tag = "2")]
    pub(crate) param_id: u32,
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) value: Vec<u8>,
}

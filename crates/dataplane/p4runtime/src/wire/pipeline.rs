//! The program of a switch, and the capabilities of the switch.

use prost::{Enumeration, Message};

use super::Uint128;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Enumeration)]
#[repr(i32)]
pub(crate) enum PipelineAction {
    Unspecified = 0,
    Verify = 1,
    VerifyAndSave = 2,
    VerifyAndCommit = 3,
    Commit = 4,
    ReconcileAndCommit = 5,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SetForwardingPipelineConfigRequest {
    #[prost(uint64, tag = "1")]
    pub(crate) device_id: u64,
    #[prost(message, optional, tag = "3")]
    pub(crate) election_id: Option<Uint128>,
    #[prost(enumeration = "PipelineAction", tag = "4")]
    pub(crate) action: i32,
    #[prost(message, optional, tag = "5")]
    pub(crate) config: Option<ForwardingPipelineConfig>,
    #[prost(string, tag = "6")]
    pub(crate) role: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SetForwardingPipelineConfigResponse {}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ForwardingPipelineConfig {
    /// The encoded P4Info: a message and its octets have the same encoding, and unknown fields are preserved.
    #[prost(bytes = "vec", optional, tag = "1")]
    pub(crate) p4info: Option<Vec<u8>>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) device_config: Vec<u8>,
    #[prost(message, optional, tag = "3")]
    pub(crate) cookie: Option<Cookie>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct Cookie {
    #[prost(uint64, tag = "1")]
    pub(crate) cookie: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Enumeration)]
#[repr(i32)]
pub(crate) enum ResponseKind {
    All = 0,
    CookieOnly = 1,
    P4InfoAndCookie = 2,
    DeviceConfigAndCookie = 3,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct GetForwardingPipelineConfigRequest {
    #[prost(uint64, tag = "1")]
    pub(crate) device_id: u64,
    #[prost(enumeration = "ResponseKind", tag = "2")]
    pub(crate) response_type: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct GetForwardingPipelineConfigResponse {
    #[prost(message, optional, tag = "1")]
    pub(crate) config: Option<ForwardingPipelineConfig>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct CapabilitiesRequest {
    #[prost(uint64, tag = "1")]
    pub(crate) device_id: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct CapabilitiesResponse {
    #[prost(string, tag = "1")]
    pub(crate) version: String,
}

//! Heartbeat messages.

use crate::ie::{RecoveryTimeStamp, SourceIpAddress};
use crate::message::message;

message! {
    /// Heartbeat Request (Table 7.4.2.1-1). Checks whether the peer is alive.
    HeartbeatRequest<'a> = HeartbeatRequest {
        req recovery_time_stamp: RecoveryTimeStamp,
        opt source_ip_address: SourceIpAddress,
    }
}

message! {
    /// Heartbeat Response (Table 7.4.2.2-1). Confirms it.
    HeartbeatResponse<'a> = HeartbeatResponse {
        req recovery_time_stamp: RecoveryTimeStamp,
    }
}

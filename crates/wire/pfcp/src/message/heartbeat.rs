//! Heartbeat messages.

use crate::ie::{RecoveryTimeStamp, SourceIpAddress};
use crate::message::message;

message! {
    /// Heartbeat Request (Table 7.4.2.1-1). Asks whether the peer is alive.
    HeartbeatRequest<'a> = HeartbeatRequest {
        req recovery_time_stamp: RecoveryTimeStamp,
        opt source_ip_address: SourceIpAddress,
    }
}

message! {
    /// Heartbeat Response (Table 7.4.2.2-1). Says so.
    HeartbeatResponse<'a> = HeartbeatResponse {
        req recovery_time_stamp: RecoveryTimeStamp,
    }
}

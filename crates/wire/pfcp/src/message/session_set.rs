//! Messages about sets of sessions.

use crate::group::SessionChangeInfo;
use crate::ie::{Cause, FqCsid, NodeId, OffendingIe};
use crate::message::message;

message! {
    /// PFCP Session Set Deletion Request (Table 7.4.6.1-1). Deletes the sessions of FQ-CSIDs.
    SessionSetDeletionRequest<'a> = SessionSetDeletionRequest {
        req node_id: NodeId<'a>,
        many fq_csids: FqCsid<'a>,
    }
}

message! {
    /// PFCP Session Set Deletion Response (Table 7.4.6.2-1). The result of the deletion.
    SessionSetDeletionResponse<'a> = SessionSetDeletionResponse {
        req node_id: NodeId<'a>,
        req cause: Cause,
        con offending_ie: OffendingIe,
    }
}

message! {
    /// PFCP Session Set Modification Request (Table 7.4.7.1-1). Transfers sets of sessions to another SMF.
    SessionSetModificationRequest<'a> = SessionSetModificationRequest {
        req node_id: NodeId<'a>,
        req_many session_change_info: SessionChangeInfo<'a>,
    }
}

message! {
    /// PFCP Session Set Modification Response (Table 7.4.7.2-1). The result of the transfer.
    SessionSetModificationResponse<'a> = SessionSetModificationResponse {
        req node_id: NodeId<'a>,
        req cause: Cause,
        con offending_ie: OffendingIe,
    }
}

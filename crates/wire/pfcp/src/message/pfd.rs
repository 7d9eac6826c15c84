//! PFD management messages.

use crate::group::ApplicationIdsPfds;
use crate::ie::{Cause, NodeId, OffendingIe};
use crate::message::message;

message! {
    /// PFCP PFD Management Request (Table 7.4.3.1-1). Provisions PFDs, or deletes all of them if it has none.
    PfdManagementRequest<'a> = PfdManagementRequest {
        many application_ids_pfds: ApplicationIdsPfds<'a>,
        opt node_id: NodeId<'a>,
    }
}

message! {
    /// PFCP PFD Management Response (Table 7.4.3.2-1). The result of provisioning PFDs.
    PfdManagementResponse<'a> = PfdManagementResponse {
        req cause: Cause,
        con offending_ie: OffendingIe,
        opt node_id: NodeId<'a>,
    }
}

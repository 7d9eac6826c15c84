//! Groups about Buffering Action Rules.

use causeway_types::BarId;

use crate::ie::{
    DlBufferingDuration, DlBufferingSuggestedPacketCount, DownlinkDataNotificationDelay,
    MtEdtControlInformation, SuggestedBufferingPacketsCount,
};
use crate::structure::group;

group! {
    /// Create BAR (Table 7.5.2.6-1). A new Buffering Action Rule.
    CreateBar<'a> = 85, "Create BAR" {
        req bar_id: BarId,
        con downlink_data_notification_delay: DownlinkDataNotificationDelay,
        con suggested_buffering_packets_count: SuggestedBufferingPacketsCount,
        opt mt_edt_control_information: MtEdtControlInformation,
    }
}

group! {
    /// Update BAR (Table 7.5.4.11-1). Changes of a Buffering Action Rule.
    UpdateBar<'a> = 86, "Update BAR" {
        req bar_id: BarId,
        con downlink_data_notification_delay: DownlinkDataNotificationDelay,
        con suggested_buffering_packets_count: SuggestedBufferingPacketsCount,
        con dl_buffering_duration: DlBufferingDuration,
        opt dl_buffering_suggested_packet_count: DlBufferingSuggestedPacketCount,
        opt mt_edt_control_information: MtEdtControlInformation,
    }
}

group! {
    /// Remove BAR (Table 7.5.4.12-1). Removes a Buffering Action Rule.
    RemoveBar<'a> = 87, "Remove BAR" {
        req bar_id: BarId,
    }
}

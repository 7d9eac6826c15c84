//! Create BAR and Update BAR.

use causeway_pfcp::{CreateBar, DownlinkDataNotificationDelay, SuggestedBufferingPacketsCount, UpdateBar};
use causeway_types::Span;

use super::treatment::Treated;
use super::{about, setting};
use crate::edits::BarUpdate;
use crate::{Bar, Rejection};

pub(super) fn create(group: &CreateBar<'_>) -> Result<Bar, Rejection> {
    about(group.bar_id, || {
        group.refuse_unsupported()?;
        let delay = group.downlink_data_notification_delay;
        Ok(Bar {
            id: group.bar_id,
            notification_delay: delay.map_or(Span::ZERO, DownlinkDataNotificationDelay::span),
            suggested_packets: group.suggested_buffering_packets_count.map(packets),
        })
    })
}

pub(super) fn update(group: &UpdateBar<'_>) -> Result<BarUpdate, Rejection> {
    about(group.bar_id, || {
        group.refuse_unsupported()?;
        let delay = group.downlink_data_notification_delay.map(DownlinkDataNotificationDelay::span);
        let gone = group.other.removes::<DownlinkDataNotificationDelay>().then_some(Span::ZERO);
        let count = group.suggested_buffering_packets_count.map(packets);
        Ok(BarUpdate {
            id: group.bar_id,
            notification_delay: delay.or(gone),
            suggested_packets: setting::<SuggestedBufferingPacketsCount, _>(count, &group.other),
        })
    })
}

fn packets(count: SuggestedBufferingPacketsCount) -> u16 {
    count.0.into()
}

//! Create BAR and Update BAR.

use causeway_model::{Bar, BufferingDuration, ExtendedBuffering};
use causeway_pfcp::{
    CreateBar, DlBufferingDuration, DownlinkDataNotificationDelay, SuggestedBufferingPacketsCount, UpdateBar,
};
use causeway_types::Span;

use super::ie_support::CheckSupport;
use super::{about, setting};
use crate::Rejection;
use crate::edits::BarUpdate;

pub(super) fn create(group: &CreateBar<'_>) -> Result<Bar, Rejection> {
    about(group.bar_id, || {
        group.refuse_unsupported()?;
        let delay = group.downlink_data_notification_delay;
        Ok(Bar {
            notification_delay: delay.map_or(Span::ZERO, DownlinkDataNotificationDelay::span),
            suggested_packets: group.suggested_buffering_packets_count.map(packets),
            ..Bar::new(group.bar_id)
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

/// The extended buffering that an update requests beside the rule itself.
pub(super) fn extended(group: &UpdateBar<'_>) -> Option<ExtendedBuffering> {
    let duration = group.dl_buffering_duration.map(duration);
    let packets = group.dl_buffering_suggested_packet_count.map(|count| count.0);
    (duration.is_some() || packets.is_some()).then_some(ExtendedBuffering {
        bar: group.bar_id,
        duration,
        packets,
    })
}

fn duration(timer: DlBufferingDuration) -> BufferingDuration {
    match timer.0.span() {
        None => BufferingDuration::Unlimited,
        Some(Span::ZERO) => BufferingDuration::Stopped,
        Some(span) => BufferingDuration::For(span),
    }
}

fn packets(count: SuggestedBufferingPacketsCount) -> u16 {
    count.0.into()
}

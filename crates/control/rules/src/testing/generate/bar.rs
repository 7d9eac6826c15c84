//! Random BARs and changes of them.

use super::*;

pub(in crate::testing) fn bar(id: u8) -> impl Strategy<Value = Bar> {
    (0..5_u64, option::of(1..200_u16)).prop_map(move |(units, suggested_packets)| Bar {
        notification_delay: Span::from_millis(50 * units),
        suggested_packets,
        ..Bar::new(BarId(id))
    })
}

pub(in crate::testing) fn extended() -> impl Strategy<Value = ExtendedBuffering> {
    let duration = prop_oneof![
        Just(BufferingDuration::Stopped),
        inactivity().prop_map(BufferingDuration::For),
        Just(BufferingDuration::Unlimited),
    ];
    (0..IDS as u8, option::of(duration), option::of(any::<u16>()))
        .prop_map(|(bar, duration, packets)| ExtendedBuffering { bar: BarId(bar), duration, packets })
}

pub(in crate::testing) fn any_bar_update() -> impl Strategy<Value = BarUpdate> {
    (0..IDS as u8, setting(1..9_u16)).prop_map(|(id, suggested_packets)| BarUpdate {
        id: BarId(id),
        notification_delay: None,
        suggested_packets,
    })
}

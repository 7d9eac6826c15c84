//! Random QERs and changes of them.

use super::*;

pub(in crate::testing) fn gate() -> impl Strategy<Value = Gate> {
    select(vec![Gate::Open, Gate::Closed])
}

pub(in crate::testing) fn rates() -> impl Strategy<Value = RateLimit> {
    let rate = || (0..1_u64 << 40).prop_filter_map("40 bits", Bitrate::from_kbps);
    (rate(), rate()).prop_map(|(uplink, downlink)| RateLimit { uplink, downlink })
}

/// A maximum rate, a guaranteed rate, in either order, or one alone.
pub(in crate::testing) fn rate_pair() -> impl Strategy<Value = (Option<RateLimit>, Option<RateLimit>)> {
    (option::of(rates()), option::of(rates()))
}

pub(in crate::testing) fn packet_rates() -> impl Strategy<Value = PacketRates> {
    let allowance = || {
        let minutes = select(vec![1, 6, 60, 24 * 60, 7 * 24 * 60]);
        (any::<u16>(), minutes)
            .prop_map(|(packets, minutes)| Allowance { packets, period: Span::from_secs(60 * minutes) })
    };
    let rate = (allowance(), option::of(allowance()))
        .prop_map(|(usual, additional)| PacketRate { base: usual, additional });
    (rate.clone(), option::of(rate))
        .prop_map(|(uplink, downlink)| PacketRates { uplink: Some(uplink), downlink })
}

pub(in crate::testing) fn flow_marking() -> impl Strategy<Value = FlowMarking> {
    (option::of(tos_marking()), option::of(any::<u16>()))
        .prop_map(|(tos, service_class)| FlowMarking { tos, service_class })
}

pub(in crate::testing) fn tos_marking() -> impl Strategy<Value = TosMarking> {
    (any::<u8>(), any::<u8>()).prop_map(|(value, mask)| TosMarking::new(value, mask))
}

pub(in crate::testing) fn ppi() -> impl Strategy<Value = Ppi> {
    (0..=Ppi::MAX).prop_filter_map("3 bits", Ppi::new)
}

pub(in crate::testing) fn correlation() -> impl Strategy<Value = Correlation> {
    (0..3_u32).prop_map(|id| Correlation { chosen_by: None, id })
}

pub(in crate::testing) fn window() -> impl Strategy<Value = Span> {
    (1..9_000_u64).prop_map(Span::from_millis)
}

pub(in crate::testing) fn qer(id: u32) -> impl Strategy<Value = Qer> {
    let gates = (gate(), gate());
    let limits = (option::of(correlation()), rate_pair(), option::of(window()), option::of(packet_rates()));
    let marks = (option::of(qfi()), any::<bool>(), option::of(ppi()), flow_marking());
    (gates, limits, marks, any::<bool>()).prop_map(move |(gates, limits, marks, reports)| {
        let (correlation, (mbr, gbr), averaging_window, packet_rate) = limits;
        let (qfi, reflective, ppi, flow_marking) = marks;
        Qer {
            uplink: gates.0,
            downlink: gates.1,
            correlation,
            mbr,
            gbr,
            averaging_window,
            packet_rate,
            reports_packet_rate: reports,
            qfi,
            reflective,
            ppi,
            flow_marking,
            ..Qer::new(QerId(id))
        }
    })
}

pub(in crate::testing) fn any_qer_update() -> impl Strategy<Value = QerUpdate> {
    let gates = option::of((gate(), gate()));
    let rates = (setting(rates()), setting(rates()), setting(window()), setting(packet_rates()));
    let marks = (setting(qfi()), setting(any::<bool>()), setting(ppi()), setting(flow_marking()));
    (0..IDS, setting(correlation()), gates, rates, setting(any::<bool>()), marks).prop_map(
        |(id, correlation, gates, (mbr, gbr, averaging_window, packet_rate), reports_packet_rate, marks)| {
            let (qfi, reflective, ppi, flow_marking) = marks;
            QerUpdate {
                id: QerId(id),
                correlation,
                gates,
                mbr,
                gbr,
                averaging_window,
                packet_rate,
                reports_packet_rate,
                qfi,
                reflective,
                ppi,
                flow_marking,
            }
        },
    )
}

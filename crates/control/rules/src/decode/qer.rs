//! Create QER and Update QER.

use causeway_model::{Correlation, Gate, Qer, RateLimit};
use causeway_pfcp::{
    AveragingWindow, CreateQer, DlFlowLevelMarking, GateStatus, Gbr, Ie, Mbr, PacketRate,
    PagingPolicyIndicator, QerControlIndications, QerCorrelationId, Rqi, UpdateQer,
};
use causeway_types::{Ppi, QerId, Qfi, Span};

use super::ie_support::CheckSupport;
use super::{about, marking, not_predefined, packet_rate, setting};
use crate::edits::{QerUpdate, Setting};
use crate::rejection::refuse_if;
use crate::{Rejection, ie};

pub(super) fn create(group: &CreateQer<'_>) -> Result<Qer, Rejection> {
    about(group.qer_id, || {
        group.refuse_unsupported()?;
        group.refuse_nulls()?;
        not_predefined(group.qer_id.0, QerId::TYPE)?;
        let multicast = group.qer_indications.is_some_and(|flags| !flags.is_empty());
        refuse_if(multicast, ie::QER_INDICATIONS, "multicast sequence numbers")?;
        let (uplink, downlink) = gates(group.gate_status);
        let control = group.qer_control_indications.unwrap_or_default();
        Ok(Qer {
            correlation: group.qer_correlation_id.map(correlation),
            uplink,
            downlink,
            mbr: group.mbr.map(mbr),
            gbr: group.gbr.map(gbr),
            averaging_window: group.averaging_window.and_then(window),
            packet_rate: group.packet_rate.map(packet_rate::rates).transpose()?,
            packet_rate_status: group.packet_rate_status.map(packet_rate::status).transpose()?,
            reports_packet_rate: control.contains(QerControlIndications::RCSR),
            qfi: group.qfi,
            reflective: group.rqi.is_some_and(|flags| flags.contains(Rqi::RQI)),
            ppi: group.paging_policy_indicator.map(ppi),
            flow_marking: group.dl_flow_level_marking.map(marking::of_flow).unwrap_or_default(),
            ..Qer::new(group.qer_id)
        })
    })
}

pub(super) fn update(group: &UpdateQer<'_>) -> Result<QerUpdate, Rejection> {
    about(group.qer_id, || {
        group.refuse_unsupported()?;
        let other = &group.other;
        let packet_rate = group.packet_rate.map(packet_rate::rates).transpose()?;
        let reflective = group.rqi.map(|flags| flags.contains(Rqi::RQI));
        let control = group.qer_control_indications;
        let reports = control.map(|flags| flags.contains(QerControlIndications::RCSR));
        Ok(QerUpdate {
            id: group.qer_id,
            correlation: setting::<QerCorrelationId, _>(group.qer_correlation_id.map(correlation), other),
            gates: group.gate_status.map(gates),
            mbr: setting::<Mbr, _>(group.mbr.map(mbr), other),
            gbr: setting::<Gbr, _>(group.gbr.map(gbr), other),
            averaging_window: window_setting(group),
            packet_rate: setting::<PacketRate, _>(packet_rate, other),
            reports_packet_rate: setting::<QerControlIndications, _>(reports, other),
            qfi: setting::<Qfi, _>(group.qfi, other),
            reflective: setting::<Rqi, _>(reflective, other),
            ppi: setting::<PagingPolicyIndicator, _>(group.paging_policy_indicator.map(ppi), other),
            flow_marking: setting::<DlFlowLevelMarking, _>(
                group.dl_flow_level_marking.map(marking::of_flow),
                other,
            ),
        })
    })
}

fn gates(status: GateStatus) -> (Gate, Gate) {
    let gate = |open| if open { Gate::Open } else { Gate::Closed };
    (gate(status.uplink_open), gate(status.downlink_open))
}

fn mbr(mbr: Mbr) -> RateLimit {
    RateLimit { uplink: mbr.uplink, downlink: mbr.downlink }
}

fn gbr(gbr: Gbr) -> RateLimit {
    RateLimit { uplink: gbr.uplink, downlink: gbr.downlink }
}

/// The CP function of the id is set when the rule joins its session.
fn correlation(id: QerCorrelationId) -> Correlation {
    Correlation { chosen_by: None, id: id.0 }
}

/// A window of zero length is no window.
fn window(window: AveragingWindow) -> Option<Span> {
    Some(Span::from_millis(window.0.into())).filter(|window| !window.is_zero())
}

fn window_setting(group: &UpdateQer<'_>) -> Setting<Span> {
    match group.averaging_window.map(window) {
        Some(given) => given.map_or(Setting::Remove, Setting::Set),
        None => setting::<AveragingWindow, _>(None, &group.other),
    }
}

fn ppi(ppi: PagingPolicyIndicator) -> Ppi {
    Ppi::from_low_bits(ppi.0)
}

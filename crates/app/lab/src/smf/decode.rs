//! Conversion of the UPF's messages into the model.

use causeway_pfcp::{Cause, Header, Many, Message, OffendingIe, UsageReport, ie_name};
use causeway_types::{FTeid, UsageReportTrigger, Volume};

use super::model::{UPLINK_PDR, Usage, UsageTrigger};
use crate::LabError;

/// Decodes a response.
pub(super) fn message(octets: &[u8]) -> Result<(Header, Message<'_>), LabError> {
    let (header, body, _) = Header::decode(octets).map_err(|error| peer(&error))?;
    let message = Message::decode(&header, body).map_err(|error| peer(&error))?;
    Ok((header, message))
}

fn peer(error: &dyn std::fmt::Display) -> LabError {
    LabError::Peer(format!("the UPF sent a message that cannot be read: {error}"))
}

/// A response of the wrong type.
pub(super) fn unexpected(message: &Message<'_>) -> LabError {
    LabError::Peer(format!("the UPF answered with a {:?}", message.message_type()))
}

/// Turns a cause that rejects into an error that names the offending IE.
pub(super) fn accepted(what: &str, cause: Cause, offending: Option<OffendingIe>) -> Result<(), LabError> {
    if cause.is_accepted() {
        return Ok(());
    }
    let ie = offending.map(|ie| match ie_name(ie.0) {
        Some(name) => format!(", offending IE {} ({name})", ie.0),
        None => format!(", offending IE {}", ie.0),
    });
    let ie = ie.unwrap_or_default();
    Err(LabError::Peer(format!("the UPF refuses the {what}: cause {} ({cause:?}){ie}", cause.code())))
}

/// The tunnel that was chosen for the uplink.
pub(super) fn uplink(created: &Many<'_, causeway_pfcp::CreatedPdr<'_>>) -> Result<FTeid, LabError> {
    let created = created.iter().find(|pdr| pdr.pdr_id == UPLINK_PDR);
    let tunnel = created.and_then(|pdr| pdr.local_f_teid).and_then(|tunnel| tunnel.assigned());
    tunnel.ok_or(LabError::Peer("the UPF chose no tunnel for the uplink".into()))
}

/// All usage reports of a message.
pub(super) fn usage(reports: &Many<'_, UsageReport<'_>>) -> Vec<Usage> {
    reports.iter().map(|report| one_usage(&report)).collect()
}

fn one_usage(report: &UsageReport<'_>) -> Usage {
    let triggers = [
        (UsageReportTrigger::TERMR, UsageTrigger::Terminated),
        (UsageReportTrigger::VOLTH, UsageTrigger::VolumeThreshold),
        (UsageReportTrigger::IMMER, UsageTrigger::Queried),
    ];
    let flag = triggers.iter().find(|(flag, _)| report.usage_report_trigger.contains(*flag));
    let measured = report.volume_measurement.unwrap_or_default();
    Usage {
        urr: report.urr_id,
        sequence: report.ur_seqn.0,
        trigger: flag.map_or(UsageTrigger::Other, |(_, trigger)| *trigger),
        volume: Volume {
            uplink: measured.octets.uplink.unwrap_or(0),
            downlink: measured.octets.downlink.unwrap_or(0),
            uplink_packets: measured.packets.uplink.unwrap_or(0),
            downlink_packets: measured.packets.downlink.unwrap_or(0),
        },
    }
}

//! Create QER and Update QER.

use causeway_pfcp::{CreateQer, GateStatus, Gbr, Ie, Mbr, QerControlIndications, Rqi, UpdateQer};
use causeway_types::{QerId, Qfi};

use super::treatment::Treated;
use super::{about, not_predefined, setting};
use crate::edits::QerUpdate;
use crate::reject::refuse_if;
use crate::{Gate, Qer, RateLimit, Reason, Rejection, ie};

pub(super) fn create(group: &CreateQer<'_>) -> Result<Qer, Rejection> {
    about(group.qer_id, || {
        group.refuse_unsupported()?;
        not_predefined(group.qer_id.0, QerId::TYPE)?;
        refuse_flags(group.rqi, group.qer_control_indications)?;
        let multicast = group.qer_indications.is_some_and(|flags| !flags.is_empty());
        refuse_if(multicast, ie::QER_INDICATIONS, "multicast sequence numbers")?;
        check_guarantee(group.gbr, group.mbr)?;
        let (uplink, downlink) = gates(group.gate_status);
        Ok(Qer { id: group.qer_id, uplink, downlink, mbr: group.mbr.map(limit), qfi: group.qfi })
    })
}

pub(super) fn update(group: &UpdateQer<'_>) -> Result<QerUpdate, Rejection> {
    about(group.qer_id, || {
        group.refuse_unsupported()?;
        refuse_flags(group.rqi, group.qer_control_indications)?;
        check_guarantee(group.gbr, group.mbr)?;
        Ok(QerUpdate {
            id: group.qer_id,
            gates: group.gate_status.map(gates),
            mbr: setting::<Mbr, _>(group.mbr.map(limit), &group.other),
            qfi: setting::<Qfi, _>(group.qfi, &group.other),
        })
    })
}

fn refuse_flags(rqi: Option<Rqi>, control: Option<QerControlIndications>) -> Result<(), Reason> {
    let reflective = rqi.is_some_and(|flags| !flags.is_empty());
    refuse_if(reflective, ie::RQI, "reflective QoS")?;
    let reports = control.is_some_and(|flags| !flags.is_empty());
    refuse_if(reports, ie::QER_CONTROL_INDICATIONS, "rate control status reports")
}

fn gates(status: GateStatus) -> (Gate, Gate) {
    let gate = |open| if open { Gate::Open } else { Gate::Closed };
    (gate(status.uplink_open), gate(status.downlink_open))
}

fn limit(mbr: Mbr) -> RateLimit {
    RateLimit { uplink: mbr.uplink, downlink: mbr.downlink }
}

/// A guaranteed rate is accepted: the MBR beside it is enforced, and nothing below the MBR is ever held
/// back, so the UPF itself adds no admission of its own. It must not exceed the MBR.
fn check_guarantee(gbr: Option<Gbr>, mbr: Option<Mbr>) -> Result<(), Reason> {
    match (gbr, mbr) {
        (Some(gbr), Some(mbr)) if gbr.uplink > mbr.uplink || gbr.downlink > mbr.downlink => {
            Err(Reason::Incorrect { ie: ie::GBR, why: "the guaranteed rate is above the maximum rate" })
        }
        _ => Ok(()),
    }
}

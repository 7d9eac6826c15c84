//! Create URR and Update URR.

use causeway_pfcp::{
    CreateUrr, Ie, MeasurementInformation, MeasurementMethod as MethodFlags, ReportingTriggers, UpdateUrr,
    VolumeThreshold,
};
use causeway_types::UrrId;

use super::treatment::Treated;
use super::{about, not_predefined, setting};
use crate::edits::{UrrDraft, UrrUpdate};
use crate::reject::refuse_if;
use crate::{DirectionalLimit, MeasurementMethod, Reason, Rejection, Reporting, Urr, UrrTriggers, ie};

pub(super) fn create(group: &CreateUrr<'_>) -> Result<UrrDraft, Rejection> {
    about(group.urr_id, || {
        group.refuse_unsupported()?;
        not_predefined(group.urr_id.0, UrrId::TYPE)?;
        let information = group.measurement_information.unwrap_or_default();
        let urr = Urr {
            id: group.urr_id,
            method: method(group.measurement_method)?,
            triggers: triggers(group.reporting_triggers)?,
            volume_threshold: group.volume_threshold.map(limit),
            before_qos: information.contains(MeasurementInformation::MBQE),
        };
        Ok(UrrDraft { urr, reporting: reporting(information)? })
    })
}

pub(super) fn update(group: &UpdateUrr<'_>) -> Result<UrrUpdate, Rejection> {
    about(group.urr_id, || {
        group.refuse_unsupported()?;
        let none = MeasurementInformation::default();
        let gone = group.other.removes::<MeasurementInformation>().then_some(none);
        let information = group.measurement_information.or(gone);
        Ok(UrrUpdate {
            id: group.urr_id,
            method: group.measurement_method.map(method).transpose()?,
            triggers: group.reporting_triggers.map(triggers).transpose()?,
            volume_threshold: setting::<VolumeThreshold, _>(group.volume_threshold.map(limit), &group.other),
            before_qos: information.is_some_and(|flags| flags.contains(MeasurementInformation::MBQE)),
            reporting: information.map(reporting).transpose()?,
        })
    })
}

fn method(flags: MethodFlags) -> Result<MeasurementMethod, Reason> {
    refuse_if(flags.contains(MethodFlags::EVENT), ie::MEASUREMENT_METHOD, "measurement of events")?;
    Ok(MeasurementMethod {
        volume: flags.contains(MethodFlags::VOLUM),
        duration: flags.contains(MethodFlags::DURAT),
    })
}

fn triggers(flags: ReportingTriggers) -> Result<UrrTriggers, Reason> {
    let unsupported = flags - ReportingTriggers::VOLTH;
    refuse_if(!unsupported.is_empty(), ie::REPORTING_TRIGGERS, "a trigger other than VOLTH")?;
    Ok(UrrTriggers { volume_threshold: flags.contains(ReportingTriggers::VOLTH) })
}

fn reporting(flags: MeasurementInformation) -> Result<Reporting, Reason> {
    use MeasurementInformation as Flag;
    let unsupported = flags - (Flag::MBQE | Flag::ISTM | Flag::MNOP);
    let what = "a flag other than MBQE, ISTM and MNOP";
    refuse_if(!unsupported.is_empty(), ie::MEASUREMENT_INFORMATION, what)?;
    Ok(Reporting { packets: flags.contains(Flag::MNOP), immediate_start: flags.contains(Flag::ISTM) })
}

fn limit(threshold: VolumeThreshold) -> DirectionalLimit {
    let volumes = threshold.0;
    DirectionalLimit { total: volumes.total, uplink: volumes.uplink, downlink: volumes.downlink }
}

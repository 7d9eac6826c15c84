//! Encoding of reports into a Session Report Request.

use causeway_dataplane::{DataStatus, DownlinkData};
use causeway_pfcp::{
    DataStatus as StatusFlags, DownlinkDataReport, DownlinkDataServiceInformation, ErrorIndicationReport,
    PacketRateStatusReport, ReportType, SessionReportFlags, SessionReportRequest, UsageReport,
};
use causeway_rules::StoredRules;
use causeway_types::{UsageReportTrigger, WallClock};

use super::Report;

/// The request with these reports, which fit together, with times of the wall clock. `last_rates` are part of the last
/// one. `None` if nothing is left to
/// report, since the URRs were removed.
pub(super) fn request(
    rules: &mut StoredRules,
    reports: &[Report],
    last_rates: Vec<PacketRateStatusReport<'static>>,
    has_ended: bool,
    names_policy: bool,
    clock: WallClock,
) -> Option<SessionReportRequest<'static>> {
    let usage_reports = usage_reports(rules, reports, has_ended, clock);
    let tunnels: Vec<_> = reports.iter().filter_map(Report::tunnel).collect();
    let downlink_data: Vec<_> = reports.iter().filter_map(Report::downlink_data).collect();
    let types = [
        (!downlink_data.is_empty(), ReportType::DLDR),
        (!usage_reports.is_empty(), ReportType::USAR),
        (!tunnels.is_empty(), ReportType::ERIR),
        (reports.contains(&Report::Inactivity), ReportType::UPIR),
    ];
    let there = types.into_iter().filter(|(is_there, _)| *is_there);
    let mut report_type = there.fold(ReportType::empty(), |types, (_, report_type)| types | report_type);
    let is_last = reports.contains(&Report::Ended);
    if is_last && report_type.is_empty() {
        report_type = ReportType::UISR;
    }
    (!report_type.is_empty()).then(|| SessionReportRequest {
        downlink_data_report: downlink_data_report(&downlink_data, names_policy),
        error_indication_report: (!tunnels.is_empty()).then(|| ErrorIndicationReport::new(tunnels)),
        usage_reports: usage_reports.into(),
        flags: is_last.then_some(SessionReportFlags::PSDBU),
        packet_rate_status_reports: last_rates.into(),
        ..SessionReportRequest::new(report_type)
    })
}

/// One PDR ID for each packet, and its parameters in the same order: for all packets or for none.
fn downlink_data_report(data: &[DownlinkData], names_policy: bool) -> Option<DownlinkDataReport<'static>> {
    let service = |data: &DownlinkData| DownlinkDataServiceInformation {
        paging_policy: data.dscp.filter(|_| names_policy),
        qfi: data.qfi,
    };
    let mut services: Vec<_> = data.iter().map(service).collect();
    if services.iter().all(|service| *service == DownlinkDataServiceInformation::default()) {
        services.clear();
    }
    let first = data.first()?;
    Some(DownlinkDataReport {
        downlink_data_service_informations: services.into(),
        dl_data_status: first.status.map(|status| match status {
            DataStatus::Buffered => StatusFlags::BUFF,
            DataStatus::Discarded => StatusFlags::DROP,
        }),
        ..DownlinkDataReport::new(data.iter().map(|data| data.pdr).collect::<Vec<_>>())
    })
}

fn usage_reports(
    rules: &mut StoredRules,
    reports: &[Report],
    has_ended: bool,
    clock: WallClock,
) -> Vec<UsageReport<'static>> {
    let mut numbered = Vec::new();
    for report in reports {
        let parts = match report {
            Report::Usage(parts) => parts,
            Report::Additional(report) => {
                numbered.push(report.as_ref().clone());
                continue;
            }
            _ => continue,
        };
        for usage in parts {
            if rules.has_urr(usage.urr) {
                let report = rules.usage_report(usage, clock);
                let is_end = has_ended && report.usage_report_trigger == UsageReportTrigger::TERMR;
                let trigger = if is_end { UsageReportTrigger::TEBUR } else { report.usage_report_trigger };
                numbered.push(UsageReport { usage_report_trigger: trigger, ..report });
            }
        }
    }
    numbered
}

//! Encodes the results of a change, and measured usage, as IEs of responses and reports.

use causeway_collections::SortedMap;
use causeway_model::{Detected, PacketRateReport, UeAddress, Usage};
use causeway_pfcp::{
    ApplicationDetectionInformation, CreatedPdr, CreatedTrafficEndpoint, DetectedApplicationId,
    DurationMeasurement, EndTime, PacketRateStatusReport, QueryUrrReference, StartTime, TimeOfFirstPacket,
    TimeOfLastPacket, TimeStamp, TrafficEndpointId, UeIpAddress, UpdatedPdr, UrSeqn, UsageReport,
    VolumeMeasurement, Volumes,
};
use causeway_types::{Span, Time, UrrId, UsageReportTrigger, Volume, WallClock};

use crate::decode::packet_rate::status_ie;
use crate::edits::{EndpointId, is_unusual};
use crate::session::ReportState;
use crate::{Change, ProfiledRules, SessionRules};

/// The most Packet Rate Status Report IEs of a message: about 30 octets each, to leave space for others.
const MOST_PACKET_RATES: usize = 512;

/// The Packet Rate Status Report IEs of a modification or deletion response.
pub fn packet_rate_reports(reports: &[PacketRateReport]) -> Vec<PacketRateStatusReport<'static>> {
    reports
        .iter()
        .take(MOST_PACKET_RATES)
        .map(|report| PacketRateStatusReport::new(report.qer, status_ie(&report.status)))
        .collect()
}

impl Change {
    /// The Created PDR IEs: the F-TEID and the UE address of each PDR that requested one with CHOOSE.
    pub fn created_pdrs(&self) -> Vec<CreatedPdr<'static>> {
        let created = self.session.rules.pdrs.keys().filter_map(|pdr| {
            let tunnel = self.chosen.iter().find(|(of, _)| of == pdr).map(|(_, tunnel)| (*tunnel).into());
            let ue = self.ues.created.iter().find(|(of, _)| of == pdr).map(|(_, ue)| wire(*ue));
            let is_there = tunnel.is_some() || ue.is_some();
            is_there.then(|| CreatedPdr {
                local_f_teid: tunnel,
                ue_ip_addresses: ue.into_iter().collect::<Vec<_>>().into(),
                ..CreatedPdr::new(*pdr)
            })
        });
        created.collect()
    }

    /// The Updated PDR IEs: the UE address of each updated PDR that requested one with CHOOSE.
    pub fn updated_pdrs(&self) -> Vec<UpdatedPdr<'static>> {
        let updated = |(pdr, ue): &(_, UeAddress)| UpdatedPdr {
            ue_ip_addresses: [wire(*ue)].into(),
            ..UpdatedPdr::new(*pdr)
        };
        self.ues.updated.iter().map(updated).collect()
    }

    /// The Created Traffic Endpoint IEs: the F-TEID and the UE address of each traffic endpoint that requested one
    /// with CHOOSE.
    pub fn created_traffic_endpoints(&self) -> Vec<CreatedTrafficEndpoint<'static>> {
        let mut ids: Vec<EndpointId> = self.chosen_endpoints.iter().map(|(id, _)| *id).collect();
        for (id, _) in &self.ues.endpoints {
            if !ids.contains(id) {
                ids.push(*id);
            }
        }
        let created = |id: &EndpointId| {
            let tunnel = self.chosen_endpoints.iter().find(|(of, _)| of == id);
            let ue = self.ues.endpoints.iter().find(|(of, _)| of == id).map(|(_, ue)| wire(*ue));
            CreatedTrafficEndpoint {
                local_f_teid: tunnel.map(|(_, tunnel)| (*tunnel).into()),
                ue_ip_addresses: ue.into_iter().collect::<Vec<_>>().into(),
                ..CreatedTrafficEndpoint::new(TrafficEndpointId(id.0))
            }
        };
        ids.iter().map(created).collect()
    }

    /// The Usage Report IEs of the data plane's measurements up to this change, for the modification or deletion
    /// response, with wall clock times. Increments their sequence numbers in `session`.
    pub fn usage_reports(&mut self, usage: &[Usage], clock: WallClock) -> Vec<UsageReport<'static>> {
        let reference = self.query_reference.map(QueryUrrReference);
        let mut report = |usage: &Usage| UsageReport {
            query_urr_reference: reference.filter(|_| answers_a_query(usage)),
            ..self.session.usage_report(usage, clock)
        };
        usage.iter().map(&mut report).collect()
    }

    /// The Query URR Reference for reports that this change queried, in whichever message they are sent.
    pub fn query_reference(&self) -> Option<u32> {
        self.query_reference
    }
}

impl ProfiledRules {
    /// The Created PDR IEs: the F-TEID of each PDR that requested one with CHOOSE.
    pub fn created_pdrs(&self) -> Vec<CreatedPdr<'static>> {
        let mut chosen: Vec<_> = self.chosen().collect();
        chosen.sort_by_key(|(pdr, _)| *pdr);
        let created = |(pdr, tunnel): (_, causeway_types::FTeid)| CreatedPdr {
            local_f_teid: Some(tunnel.into()),
            ..CreatedPdr::new(pdr)
        };
        chosen.into_iter().map(created).collect()
    }
}

impl SessionRules {
    /// The Usage Report IE of a measurement of the data plane, with wall clock times. Increments its sequence
    /// number (UR-SEQN), which begins at 0 for each URR.
    pub fn usage_report(&mut self, usage: &Usage, clock: WallClock) -> UsageReport<'static> {
        Self::usage_report_of(&mut self.reports, usage, clock)
    }

    /// The same, with these states of the reports.
    pub(crate) fn usage_report_of(
        reports: &mut SortedMap<UrrId, ReportState>,
        usage: &Usage,
        clock: WallClock,
    ) -> UsageReport<'static> {
        let mut state = reports.get(&usage.urr).copied().unwrap_or_default();
        let report = report(usage, &state, clock);
        state.next = state.next.wrapping_add(1);
        reports.insert(usage.urr, state);
        report
    }
}

/// The whole UE address of a PDR (clause 5.21.3.1), with its prefix length unless that is the default.
fn wire(ue: UeAddress) -> UeIpAddress {
    UeIpAddress {
        ipv4: ue.v4,
        ipv6: ue.v6.map(|net| net.network()),
        prefix_len: ue.v6.filter(|net| is_unusual(*net)).map(|net| net.prefix_len()),
        ..UeIpAddress::default()
    }
}

/// All times of a report use one state of the wall clock: it does not end before it starts, even if the clock was
/// set.
fn report(usage: &Usage, state: &ReportState, clock: WallClock) -> UsageReport<'static> {
    let wall = |time: Time| clock.at(time).to_ntp();
    let timed = !usage.triggers.difference(WITHOUT_TIMES).is_empty();
    let stamps: Vec<_> = usage.events.iter().map(|time| TimeStamp(wall(*time))).collect();
    UsageReport {
        start_time: timed.then(|| StartTime(wall(usage.start))),
        end_time: timed.then(|| EndTime(wall(usage.end))),
        volume_measurement: usage.volume.map(|measured| volume(&measured, state)),
        duration_measurement: usage.duration.map(|measured| DurationMeasurement(seconds(measured))),
        time_of_first_packet: usage.first_packet.map(|time| TimeOfFirstPacket(wall(time))),
        time_of_last_packet: usage.last_packet.map(|time| TimeOfLastPacket(wall(time))),
        usage_information: (!usage.part.is_empty()).then_some(usage.part),
        event_time_stamps: stamps.into(),
        ethernet_traffic_information: crate::ue_mac::information(&usage.macs),
        application_detection_information: usage
            .detected
            .as_ref()
            .map(|detected| application(detected, state)),
        ..UsageReport::new(usage.urr, UrSeqn(state.next), usage.triggers)
    }
}

/// The application, with its PDR unless only the application is requested. Its flows are not deduced.
fn application(detected: &Detected, state: &ReportState) -> ApplicationDetectionInformation<'static> {
    let id = DetectedApplicationId(detected.application.octets().to_vec().into());
    let pdr_id = (!state.reduced_detection).then_some(detected.pdr);
    ApplicationDetectionInformation { pdr_id, ..ApplicationDetectionInformation::new(id) }
}

/// Triggers whose reports have neither start nor end (table 7.5.8.3-1).
const WITHOUT_TIMES: UsageReportTrigger =
    UsageReportTrigger::START.union(UsageReportTrigger::STOPT).union(UsageReportTrigger::MACAR);

/// The report was queried, or is linked to one that was.
fn answers_a_query(usage: &Usage) -> bool {
    usage.triggers.intersects(UsageReportTrigger::IMMER | UsageReportTrigger::LIUSA)
}

/// All octet counters, and all packet counters if requested (clause 5.2.2.3.1).
fn volume(volume: &Volume, state: &ReportState) -> VolumeMeasurement {
    let octets =
        Volumes { total: Some(volume.total()), uplink: Some(volume.uplink), downlink: Some(volume.downlink) };
    let packets = Volumes {
        total: Some(volume.total_packets()),
        uplink: Some(volume.uplink_packets),
        downlink: Some(volume.downlink_packets),
    };
    VolumeMeasurement { octets, packets: if state.packets { packets } else { Volumes::default() } }
}

fn seconds(measured: Span) -> u32 {
    u32::try_from(measured.as_secs()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;

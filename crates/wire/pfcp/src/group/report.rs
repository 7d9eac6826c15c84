//! Groups of session reports.

use causeway_types::{PdrId, UrrId, UsageInformation, UsageReportTrigger};

use crate::group::{JoinIpMulticastInformation, LeaveIpMulticastInformation};
use crate::ie::{
    ApplicationInstanceId, DataStatus, DetectedApplicationId, DlDataPacketsSize,
    DownlinkDataServiceInformation, DurationMeasurement, EndTime, FTeid, FlowInformation,
    MacAddressesDetected, MacAddressesRemoved, NetworkInstance, PredefinedRulesName, QueryUrrReference,
    StartTime, TimeOfFirstPacket, TimeOfLastPacket, TimeStamp, UeIpAddress, UrSeqn, VolumeMeasurement,
};
use crate::structure::group;

group! {
    /// Usage Report (Table 7.5.8.3-1). Usage of a URR. Type 78 in a modification response, 79 in a deletion
    /// response, 80 in a report.
    UsageReport<'a> = 80, "Usage Report" {
        req urr_id: UrrId,
        req ur_seqn: UrSeqn,
        req usage_report_trigger: UsageReportTrigger,
        con start_time: StartTime,
        con end_time: EndTime,
        con volume_measurement: VolumeMeasurement,
        con duration_measurement: DurationMeasurement,
        con application_detection_information: ApplicationDetectionInformation<'a>,
        con ue_ip_address: UeIpAddress,
        con network_instance: NetworkInstance<'a>,
        con time_of_first_packet: TimeOfFirstPacket,
        con time_of_last_packet: TimeOfLastPacket,
        con usage_information: UsageInformation,
        con query_urr_reference: QueryUrrReference,
        many event_time_stamps: TimeStamp,
        con ethernet_traffic_information: EthernetTrafficInformation<'a>,
        many join_ip_multicast_information: JoinIpMulticastInformation<'a>,
        many leave_ip_multicast_information: LeaveIpMulticastInformation<'a>,
        opt_many predefined_rules_names: PredefinedRulesName<'a>,
    }
}

group! {
    /// Application Detection Information (Table 7.5.8.3-2). An application that started or stopped.
    ApplicationDetectionInformation<'a> = 68, "Application Detection Information" {
        req application_id: DetectedApplicationId<'a>,
        con application_instance_id: ApplicationInstanceId<'a>,
        con flow_information: FlowInformation<'a>,
        opt pdr_id: PdrId,
    }
}

group! {
    /// Ethernet Traffic Information (Table 7.5.8.3-3). Detected and removed MAC addresses.
    EthernetTrafficInformation<'a> = 143, "Ethernet Traffic Information" {
        many mac_addresses_detected: MacAddressesDetected<'a>,
        many mac_addresses_removed: MacAddressesRemoved<'a>,
    }
}

group! {
    /// Downlink Data Report (Table 7.5.8.2-1). Downlink data is buffered.
    DownlinkDataReport<'a> = 83, "Downlink Data Report" {
        req_many pdr_ids: PdrId,
        many downlink_data_service_informations: DownlinkDataServiceInformation,
        opt dl_data_packets_size: DlDataPacketsSize,
        opt dl_data_status: DataStatus,
    }
}

group! {
    /// Error Indication Report (Table 7.5.8.4-1). Tunnels that a peer does not have.
    ErrorIndicationReport<'a> = 99, "Error Indication Report" {
        req_many remote_f_teids: FTeid,
    }
}

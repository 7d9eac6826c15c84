//! Groups of node reports.

use crate::ie::{
    AveragePacketDelay, CumulativeRateRatioMeasurement, Dnn, GtpuPathInterfaceType, MaximumPacketDelay,
    MinimumPacketDelay, NetworkInstance, QosReportTrigger, RemoteGtpuPeer, SNssai, StartTime,
    TimeDomainNumber, TimeOffsetMeasurement, TimeStamp, TransportLevelMarking,
};
use crate::structure::group;

group! {
    /// User Plane Path Failure Report (Table 7.4.5.1.2-1). Peers that no longer respond.
    UserPlanePathFailureReport<'a> = 102, "User Plane Path Failure Report" {
        req_many remote_gtpu_peers: RemoteGtpuPeer<'a>,
    }
}

group! {
    /// User Plane Path Recovery Report (Table 7.4.5.1.3-1). Peers that respond again.
    UserPlanePathRecoveryReport<'a> = 187, "User Plane Path Recovery Report" {
        req_many remote_gtpu_peers: RemoteGtpuPeer<'a>,
    }
}

group! {
    /// Peer UP Restart Report (Table 7.4.5.1.7-1). Peers that restarted.
    PeerUpRestartReport<'a> = 315, "Peer UP Restart Report" {
        req_many remote_gtpu_peers: RemoteGtpuPeer<'a>,
    }
}

group! {
    /// Clock Drift Report (Table 7.4.5.1.4-1). Drift of an external clock.
    ClockDriftReport<'a> = 205, "Clock Drift Report" {
        req time_domain_number: TimeDomainNumber,
        opt time_offset_measurement: TimeOffsetMeasurement,
        opt cumulative_rateratio_measurement: CumulativeRateRatioMeasurement,
        opt time_stamp: TimeStamp,
        con network_instance: NetworkInstance<'a>,
        con dnn: Dnn<'a>,
        con s_nssai: SNssai,
    }
}

group! {
    /// GTP-U Path QoS Report (Table 7.4.5.1.5-1). QoS of a GTP-U path.
    GtpuPathQosReport<'a> = 239, "GTP-U Path QoS Report" {
        req remote_gtpu_peer: RemoteGtpuPeer<'a>,
        con gtpu_path_interface_type: GtpuPathInterfaceType,
        req qos_report_trigger: QosReportTrigger,
        req time_stamp: TimeStamp,
        con start_time: StartTime,
        req_many qos_information: QosInformation<'a>,
    }
}

group! {
    /// QoS Information in GTP-U Path QoS Report (Table 7.4.5.1.6-1). Packet delays of a path and DSCP.
    QosInformation<'a> = 240, "QoS Information in GTP-U Path QoS Report" {
        req average_packet_delay: AveragePacketDelay,
        con minimum_packet_delay: MinimumPacketDelay,
        con maximum_packet_delay: MaximumPacketDelay,
        con dscp: TransportLevelMarking,
    }
}

//! Groups about nodes.

use crate::ie::{
    AlternativeSmfIpAddress, ApplicationId, AveragePacketDelay, ConfiguredTimeDomain, CpEntityIpAddress,
    CpIpAddress, CumulativeRateRatioThreshold, FqCsid, GroupId, GtpuPathInterfaceType, IpVersion,
    MaximumPacketDelay, MeasurementPeriod, Metric, MinimumPacketDelay, NetworkInstance,
    NumberOfUeIpAddresses, OciFlags, PfdContents, QosReportTrigger, RemoteGtpuPeer,
    RequestedClockDriftInformation, SNssai, SequenceNumber, TimeDomainNumber, TimeOffsetThreshold, Timer,
    TransportLevelMarking, UeIpAddressPoolIdentity, ValidityTimer,
};
use crate::structure::group;

group! {
    /// Application ID's PFDs (Table 7.4.3.1-2). The PFDs of one application; none to delete them.
    ApplicationIdsPfds<'a> = 58, "Application ID's PFDs" {
        req application_id: ApplicationId<'a>,
        many pfd_contexts: PfdContext<'a>,
    }
}

group! {
    /// PFD context (Table 7.4.3.1-3). One PFD.
    PfdContext<'a> = 59, "PFD context" {
        req_many pfd_contents: PfdContents<'a>,
    }
}

group! {
    /// PFCP Session Retention Information (Table 7.4.4.1-2). Requests the UP function to keep the sessions of these
    /// CP entities; all sessions if there is no entity.
    SessionRetentionInformation<'a> = 183, "PFCP Session Retention Information" {
        opt_many cp_entity_ip_addresses: CpEntityIpAddress,
    }
}

group! {
    /// UE IP address Pool Information (Table 7.4.4.1-3). Pools of UE IP addresses in the UP function.
    UeIpAddressPoolInformation<'a> = 233, "UE IP address Pool Information" {
        req_many pool_identities: UeIpAddressPoolIdentity<'a>,
        opt network_instance: NetworkInstance<'a>,
        opt_many s_nssais: SNssai,
        opt ip_version: IpVersion,
    }
}

group! {
    /// UE IP Address Usage Information (Table 7.4.4.3.1-1). The usage of a pool.
    UeIpAddressUsageInformation<'a> = 267, "UE IP Address Usage Information" {
        req sequence_number: SequenceNumber,
        req metric: Metric,
        req validity_timer: ValidityTimer,
        req number_of_ue_ip_addresses: NumberOfUeIpAddresses,
        req network_instance: NetworkInstance<'a>,
        opt pool_identity: UeIpAddressPoolIdentity<'a>,
        opt s_nssai: SNssai,
    }
}

group! {
    /// Clock Drift Control Information (Table 7.4.4.1.2-1). When drift of an external clock is reported.
    ClockDriftControlInformation<'a> = 203, "Clock Drift Control Information" {
        req requested_clock_drift_information: RequestedClockDriftInformation,
        many time_domain_numbers: TimeDomainNumber,
        con configured_time_domain: ConfiguredTimeDomain,
        con time_offset_threshold: TimeOffsetThreshold,
        con cumulative_rateratio_threshold: CumulativeRateRatioThreshold,
    }
}

group! {
    /// GTP-U Path QoS Control Information (Table 7.4.4.1.3-1). When the QoS of GTP-U paths is reported.
    GtpuPathQosControlInformation<'a> = 238, "GTP-U Path QoS Control Information" {
        many remote_gtpu_peers: RemoteGtpuPeer<'a>,
        con gtpu_path_interface_type: GtpuPathInterfaceType,
        req qos_report_trigger: QosReportTrigger,
        many dscps: TransportLevelMarking,
        con measurement_period: MeasurementPeriod,
        con average_packet_delay_threshold: AveragePacketDelay,
        con minimum_packet_delay_threshold: MinimumPacketDelay,
        con maximum_packet_delay_threshold: MaximumPacketDelay,
        con minimum_waiting_time: Timer,
    }
}

group! {
    /// Load Control Information (Table 7.5.3.3-1). The load of the UP function.
    LoadControlInformation<'a> = 51, "Load Control Information" {
        req sequence_number: SequenceNumber,
        req metric: Metric,
    }
}

group! {
    /// Overload Control Information (Table 7.5.3.4-1). Requests a reduction of traffic.
    OverloadControlInformation<'a> = 54, "Overload Control Information" {
        req sequence_number: SequenceNumber,
        req metric: Metric,
        req validity: Timer,
        con flags: OciFlags,
    }
}

group! {
    /// PFCP Session Change Info (Table 7.4.7.1-2). Sessions that another SMF takes over.
    SessionChangeInfo<'a> = 290, "PFCP Session Change Info" {
        many fq_csids: FqCsid<'a>,
        many group_ids: GroupId<'a>,
        many cp_ip_addresses: CpIpAddress,
        req alternative_smf_ip_address: AlternativeSmfIpAddress,
    }
}

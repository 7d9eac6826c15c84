//! All IE types of Release 17, by number (Table 8.1.2-1).

use std::fmt;

use causeway_types::{BarId, FSeid, FarId, PdrId, Precedence, QerId, Qfi, UrrId};

use crate::group::*;
use crate::ie::*;
use crate::{Field, Ie, IeError};

/// An IE type, and how to show a value of it.
#[derive(Clone, Copy)]
pub struct IeInfo {
    /// The IE type.
    pub ie_type: u16,
    /// The name in the specification.
    pub name: &'static str,
    /// The fields inside, if the IE is a group.
    pub fields: &'static [Field],
    show: Show,
    again: Again,
}

/// Writes the decoded value.
type Show = fn(&[u8], &mut dyn fmt::Write) -> Result<(), IeError>;
/// Decodes a value and encodes it.
type Again = fn(&[u8], &mut Vec<u8>) -> Result<(), IeError>;

impl IeInfo {
    /// Writes the decoded value as its type shows itself.
    ///
    /// # Errors
    /// The value cannot be decoded.
    pub fn show(&self, value: &[u8], out: &mut dyn fmt::Write) -> Result<(), IeError> {
        (self.show)(value, out)
    }

    /// Decodes a value and appends its encoding, which is the value without spare bits and unknown octets.
    ///
    /// # Errors
    /// The value cannot be decoded.
    pub fn encode_again(&self, value: &[u8], out: &mut Vec<u8>) -> Result<(), IeError> {
        (self.again)(value, out)
    }
}

impl fmt::Debug for IeInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.ie_type)
    }
}

/// What is known of an IE type.
pub fn ie_info(ie_type: u16) -> Option<&'static IeInfo> {
    let at = ALL.binary_search_by_key(&ie_type, |info| info.ie_type).ok()?;
    ALL.get(at)
}

/// The name of an IE type.
pub fn ie_name(ie_type: u16) -> Option<&'static str> {
    ie_info(ie_type).map(|info| info.name)
}

fn show_value<'a, T: Ie<'a> + fmt::Debug>(value: &'a [u8], out: &mut dyn fmt::Write) -> Result<(), IeError> {
    let value = T::decode(value)?;
    // A writer that fails has nowhere to say so; the one of the dump never does.
    let _ = write!(out, "{value:?}");
    Ok(())
}

macro_rules! registry {
    ($( $ie:ident $(= $ie_type:literal, $name:literal)?; )*) => {
        /// Every IE type, in ascending order.
        pub const ALL: &[IeInfo] = &[$(
            IeInfo {
                ie_type: registry!(@or <$ie as Ie>::TYPE $(, $ie_type)?),
                name: registry!(@or <$ie as Ie>::NAME $(, $name)?),
                fields: <$ie as Ie>::FIELDS,
                show: |value, out| show_value::<$ie>(value, out),
                again: |value, out| {
                    <$ie as Ie>::decode(value)?.encode(out);
                    Ok(())
                },
            },
        )*];
    };
    (@or $own:expr) => { $own };
    (@or $own:expr, $given:literal) => { $given };
}

registry! {
    CreatePdr;
    Pdi;
    CreateFar;
    ForwardingParameters;
    DuplicatingParameters;
    CreateUrr;
    CreateQer;
    CreatedPdr;
    UpdatePdr;
    UpdateFar;
    UpdateForwardingParameters;
    UpdateBar = 12, "Update BAR";
    UpdateUrr;
    UpdateQer;
    RemovePdr;
    RemoveFar;
    RemoveUrr;
    RemoveQer;
    Cause;
    SourceInterface;
    FTeid;
    NetworkInstance;
    SdfFilter;
    ApplicationId;
    GateStatus;
    Mbr;
    Gbr;
    QerCorrelationId;
    Precedence;
    TransportLevelMarking;
    VolumeThreshold;
    TimeThreshold;
    MonitoringTime;
    SubsequentVolumeThreshold;
    SubsequentTimeThreshold;
    InactivityDetectionTime;
    ReportingTriggers;
    RedirectInformation;
    ReportType;
    OffendingIe;
    ForwardingPolicy;
    DestinationInterface;
    UpFeatures;
    ApplyAction;
    DownlinkDataServiceInformation;
    DownlinkDataNotificationDelay;
    DlBufferingDuration;
    DlBufferingSuggestedPacketCount;
    SessionModificationFlags;
    SessionReportResponseFlags;
    LoadControlInformation;
    SequenceNumber;
    Metric;
    OverloadControlInformation;
    Timer;
    PdrId;
    FSeid;
    ApplicationIdsPfds;
    PfdContext;
    NodeId;
    PfdContents;
    MeasurementMethod;
    UsageReportTrigger;
    MeasurementPeriod;
    FqCsid;
    VolumeMeasurement;
    DurationMeasurement;
    ApplicationDetectionInformation;
    TimeOfFirstPacket;
    TimeOfLastPacket;
    QuotaHoldingTime;
    DroppedDlTrafficThreshold;
    VolumeQuota;
    TimeQuota;
    StartTime;
    EndTime;
    QueryUrr;
    UsageReport = 78, "Usage Report";
    UsageReport = 79, "Usage Report";
    UsageReport;
    UrrId;
    LinkedUrrId;
    DownlinkDataReport;
    OuterHeaderCreation;
    CreateBar;
    UpdateBar;
    RemoveBar;
    BarId;
    CpFeatures;
    UsageInformation;
    ApplicationInstanceId;
    FlowInformation;
    UeIpAddress;
    PacketRate;
    OuterHeaderRemoval;
    RecoveryTimeStamp;
    DlFlowLevelMarking;
    HeaderEnrichment;
    ErrorIndicationReport;
    MeasurementInformation;
    NodeReportType;
    UserPlanePathFailureReport;
    RemoteGtpuPeer;
    UrSeqn;
    UpdateDuplicatingParameters;
    ActivatePredefinedRules;
    DeactivatePredefinedRules;
    FarId;
    QerId;
    OciFlags;
    ReleaseRequestFlags;
    GracefulReleasePeriod;
    PdnType;
    FailedRuleId;
    TimeQuotaMechanism;
    UserPlaneInactivityTimer;
    AggregatedUrrs;
    Multiplier;
    AggregatedUrrId;
    SubsequentVolumeQuota;
    SubsequentTimeQuota;
    Rqi;
    Qfi;
    QueryUrrReference;
    AdditionalUsageReports;
    CreateTrafficEndpoint;
    CreatedTrafficEndpoint;
    UpdateTrafficEndpoint;
    RemoveTrafficEndpoint;
    TrafficEndpointId;
    EthernetPacketFilter;
    MacAddress;
    CTag;
    STag;
    Ethertype;
    Proxying;
    EthernetFilterId;
    EthernetFilterProperties;
    SuggestedBufferingPacketsCount;
    UserId;
    EthernetPduSessionInformation;
    EthernetTrafficInformation;
    MacAddressesDetected;
    MacAddressesRemoved;
    EthernetInactivityTimer;
    AdditionalMonitoringTime;
    EventQuota;
    EventThreshold;
    SubsequentEventQuota;
    SubsequentEventThreshold;
    TraceInformation;
    FramedRoute;
    FramedRouting;
    FramedIpv6Route;
    TimeStamp;
    AveragingWindow;
    PagingPolicyIndicator;
    Dnn;
    InterfaceType;
    SessionReportFlags;
    AssociationUpdateFlags;
    ActivationTime;
    DeactivationTime;
    CreateMar;
    AccessForwardingAction;
    AccessForwardingAction = 167, "Non-3GPP Access Forwarding Action Information";
    RemoveMar;
    UpdateMar;
    MarId;
    SteeringFunctionality;
    SteeringMode;
    Weight;
    Priority;
    UpdateAccessForwardingAction;
    UpdateAccessForwardingAction = 176, "Update Non-3GPP Access Forwarding Action Information";
    UeIpAddressPoolIdentity;
    AlternativeSmfIpAddress;
    PacketReplication;
    SmfSetId;
    QuotaValidityTime;
    NumberOfReports;
    SessionRetentionInformation;
    AssociationSetupResponseFlags;
    CpEntityIpAddress;
    SessionEstablishmentFlags;
    UserPlanePathRecoveryReport;
    IpMulticastAddressingInfo;
    JoinIpMulticastInformation;
    LeaveIpMulticastInformation;
    IpMulticastAddress;
    SourceIpAddress;
    PacketRateStatus;
    CreateBridgeInfoForTsc;
    CreatedBridgeInfoForTsc;
    DsttPortNumber;
    NwttPortNumber;
    UserPlaneNode;
    TscManagementInformation = 199, "TSC Management Information";
    TscManagementInformation = 200, "TSC Management Information";
    TscManagementInformation;
    PortManagementInformationContainer;
    ClockDriftControlInformation;
    RequestedClockDriftInformation;
    ClockDriftReport;
    TimeDomainNumber;
    TimeOffsetThreshold;
    CumulativeRateRatioThreshold;
    TimeOffsetMeasurement;
    CumulativeRateRatioMeasurement;
    RemoveSrr;
    CreateSrr;
    UpdateSrr;
    SessionReport;
    SrrId;
    AccessAvailabilityControlInformation;
    RequestedAccessAvailabilityInformation;
    AccessAvailabilityReport;
    AccessAvailabilityInformation;
    ProvideAtsssControlInformation;
    AtsssControlParameters;
    MptcpControlInformation;
    AtsssLlControlInformation;
    PmfControlInformation;
    MptcpParameters;
    AtsssLlParameters;
    PmfParameters;
    MptcpAddressInformation;
    UeLinkSpecificIpAddress;
    PmfAddressInformation;
    AtsssLlInformation;
    DataNetworkAccessIdentifier;
    UeIpAddressPoolInformation;
    AveragePacketDelay;
    MinimumPacketDelay;
    MaximumPacketDelay;
    QosReportTrigger;
    GtpuPathQosControlInformation;
    GtpuPathQosReport;
    QosInformation;
    GtpuPathInterfaceType;
    QosMonitoringPerQosFlowControlInformation;
    RequestedQosMonitoring;
    ReportingFrequency;
    PacketDelayThresholds;
    MinimumWaitTime;
    QosMonitoringReport;
    QosMonitoringMeasurement;
    MtEdtControlInformation;
    DlDataPacketsSize;
    QerControlIndications;
    PacketRateStatusReport;
    NfInstanceId;
    EthernetContextInformation;
    RedundantTransmissionDetectionParameters;
    UpdatedPdr;
    SNssai;
    IpVersion;
    AssociationSetupFlags;
    DataStatus;
    ProvideRdsConfigurationInformation;
    RdsConfigurationInformation;
    QueryPacketRateStatus;
    PacketRateStatusReport = 264, "Packet Rate Status Report";
    MptcpApplicableIndication;
    UserPlaneNodeManagementInformationContainer;
    UeIpAddressUsageInformation;
    NumberOfUeIpAddresses;
    ValidityTimer;
    RedundantTransmissionForwardingParameters;
    TransportDelayReporting;
    PartialFailureInformation;
    OffendingIeInformation;
    RatType;
    L2tpTunnelInformation;
    L2tpSessionInformation;
    L2tpUserAuthentication;
    CreatedL2tpSession;
    LnsAddress;
    TunnelPreference;
    CallingNumber;
    CalledNumber;
    L2tpSessionIndications;
    DnsServerAddress;
    NbnsServerAddress;
    MaximumReceiveUnit;
    Thresholds;
    SteeringModeIndicator;
    SessionChangeInfo;
    GroupId;
    CpIpAddress;
    IpAddressAndPortReplacement;
    DnsQueryFilter;
    DirectReportingInformation;
    EventNotificationUri;
    NotificationCorrelationId;
    ReportingFlags;
    PredefinedRulesName;
    MbsSessionN4mbControlInformation;
    MbsMulticastParameters;
    AddMbsUnicastParameters;
    MbsSessionN4mbInformation;
    RemoveMbsUnicastParameters;
    MbsSessionIdentifier;
    MulticastTransportInformation;
    Mbsn4mbReqFlags;
    LocalIngressTunnel;
    MbsUnicastParametersId;
    MbsSessionN4ControlInformation;
    MbsSessionN4Information;
    Mbsn4RespFlags;
    TunnelPassword;
    AreaSessionId;
    PeerUpRestartReport;
    DscpToPpiControlInformation;
    DscpToPpiMapping;
    SessionDeletionResponseFlags;
    QerIndications;
    VendorNodeReportType;
    ConfiguredTimeDomain;
}

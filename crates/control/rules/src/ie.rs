//! The IE types named in rejections.

use causeway_pfcp as pfcp;
use pfcp::Ie;

pub(crate) const APPLICATION_ID: u16 = pfcp::ApplicationId::TYPE;
pub(crate) const APPLY_ACTION: u16 = pfcp::ApplyAction::TYPE;
pub(crate) const DESTINATION_INTERFACE: u16 = pfcp::DestinationInterface::TYPE;
pub(crate) const DUPLICATING_PARAMETERS: u16 = pfcp::DuplicatingParameters::TYPE;
pub(crate) const F_TEID: u16 = pfcp::FTeid::TYPE;
pub(crate) const FAR_ID: u16 = causeway_types::FarId::TYPE;
pub(crate) const FORWARDING_PARAMETERS: u16 = pfcp::ForwardingParameters::TYPE;
pub(crate) const FORWARDING_POLICY: u16 = pfcp::ForwardingPolicy::TYPE;
pub(crate) const GBR: u16 = pfcp::Gbr::TYPE;
pub(crate) const MBR: u16 = pfcp::Mbr::TYPE;
pub(crate) const MEASUREMENT_INFORMATION: u16 = pfcp::MeasurementInformation::TYPE;
pub(crate) const MEASUREMENT_METHOD: u16 = pfcp::MeasurementMethod::TYPE;
pub(crate) const NETWORK_INSTANCE: u16 = pfcp::NetworkInstance::TYPE;
pub(crate) const NOTIFICATION_DELAY: u16 = pfcp::DownlinkDataNotificationDelay::TYPE;
pub(crate) const OUTER_HEADER_CREATION: u16 = pfcp::OuterHeaderCreation::TYPE;
pub(crate) const OUTER_HEADER_REMOVAL: u16 = pfcp::OuterHeaderRemoval::TYPE;
pub(crate) const PDN_TYPE: u16 = pfcp::PdnType::TYPE;
pub(crate) const POOL_IDENTITY: u16 = pfcp::UeIpAddressPoolIdentity::TYPE;
pub(crate) const QER_CONTROL_INDICATIONS: u16 = pfcp::QerControlIndications::TYPE;
pub(crate) const QER_INDICATIONS: u16 = pfcp::QerIndications::TYPE;
pub(crate) const QFI: u16 = causeway_types::Qfi::TYPE;
pub(crate) const REPORTING_TRIGGERS: u16 = pfcp::ReportingTriggers::TYPE;
pub(crate) const RQI: u16 = pfcp::Rqi::TYPE;
pub(crate) const SDF_FILTER: u16 = pfcp::SdfFilter::TYPE;
pub(crate) const SE_REQ_FLAGS: u16 = pfcp::SessionEstablishmentFlags::TYPE;
pub(crate) const SM_REQ_FLAGS: u16 = pfcp::SessionModificationFlags::TYPE;
pub(crate) const SOURCE_INTERFACE: u16 = pfcp::SourceInterface::TYPE;
pub(crate) const FRAMED_IPV6_ROUTE: u16 = pfcp::FramedIpv6Route::TYPE;
pub(crate) const FRAMED_ROUTE: u16 = pfcp::FramedRoute::TYPE;
pub(crate) const TRAFFIC_ENDPOINT_ID: u16 = pfcp::TrafficEndpointId::TYPE;
pub(crate) const UE_IP_ADDRESS: u16 = pfcp::UeIpAddress::TYPE;
pub(crate) const USER_PLANE_INACTIVITY_TIMER: u16 = pfcp::UserPlaneInactivityTimer::TYPE;
pub(crate) const DL_BUFFERING_DURATION: u16 = pfcp::DlBufferingDuration::TYPE;
pub(crate) const VOLUME_THRESHOLD: u16 = pfcp::VolumeThreshold::TYPE;

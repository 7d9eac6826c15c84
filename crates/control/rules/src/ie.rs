//! IE types named in rejections (TS 29.244 table 8.1.2-1).

pub(crate) const FORWARDING_PARAMETERS: u16 = 4;
pub(crate) const F_TEID: u16 = 21;
pub(crate) const NETWORK_INSTANCE: u16 = 22;
pub(crate) const SDF_FILTER: u16 = 23;
pub(crate) const MBR: u16 = 26;
pub(crate) const VOLUME_THRESHOLD: u16 = 31;
pub(crate) const REPORTING_TRIGGERS: u16 = 37;
pub(crate) const FORWARDING_POLICY: u16 = 41;
pub(crate) const DESTINATION_INTERFACE: u16 = 42;
pub(crate) const APPLY_ACTION: u16 = 44;
pub(crate) const NOTIFICATION_DELAY: u16 = 46;
pub(crate) const SM_REQ_FLAGS: u16 = 49;
pub(crate) const MEASUREMENT_METHOD: u16 = 62;
pub(crate) const OUTER_HEADER_CREATION: u16 = 84;
pub(crate) const UE_IP_ADDRESS: u16 = 93;
pub(crate) const OUTER_HEADER_REMOVAL: u16 = 95;
pub(crate) const QFI: u16 = 124;
pub(crate) const SOURCE_INTERFACE: u16 = 20;
pub(crate) const APPLICATION_ID: u16 = 24;

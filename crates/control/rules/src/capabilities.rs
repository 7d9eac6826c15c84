//! What a data plane can do, which decides what the UPF advertises and accepts.

/// The abilities of a data plane. Nothing is advertised in UP Function Features, and no rule accepted,
/// that is not covered here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capabilities {
    /// Buffers downlink packets (BUCP is about the CP function; this is FAR BUFF in the UPF).
    pub buffering: bool,
    /// Delays the downlink data notification as a BAR asks (feature DDND).
    pub notification_delay: bool,
    /// Sends End Markers (feature EMPU).
    pub end_marker: bool,
    /// Enforces MBR.
    pub mbr: bool,
    /// Measures volume and reports thresholds.
    pub volume_measurement: bool,
    /// Reads and writes the PDU Session Container.
    pub pdu_session_container: bool,
    /// Sends and receives GTP-U over IPv4.
    pub outer_ipv4: bool,
    /// Sends and receives GTP-U over IPv6.
    pub outer_ipv6: bool,
    /// How many sessions fit.
    pub max_sessions: u32,
    /// How many PDRs one session may have.
    pub max_pdrs_per_session: u16,
}

//! The capabilities of a data plane, which decide what the UPF advertises and accepts.

/// The capabilities of a data plane. The UPF neither advertises a UP function feature nor accepts a rule that they
/// do not cover. The default has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Capabilities {
    /// Buffers downlink packets (BUCP is about the CP function; this is FAR BUFF in the UPF).
    pub buffering: bool,
    /// Delays the downlink data notification as a BAR requests (feature DDND).
    pub notification_delay: bool,
    /// Buffers for as long as a BAR requests, without reports of new packets (feature DLBD).
    pub extended_buffering: bool,
    /// Reports the first buffered and the first discarded downlink packet (feature DDDS).
    pub delivery_status: bool,
    /// Detects that a session is inactive (User Plane Inactivity Timer).
    pub inactivity_detection: bool,
    /// Sends End Markers (feature EMPU).
    pub end_marker: bool,
    /// Enforces MBR.
    pub mbr: bool,
    /// Shares one allowance among QERs of a correlation.
    pub qer_correlation: bool,
    /// Enforces packet rates and reports the remaining packets (feature CIOT).
    pub packet_rate: bool,
    /// Marks the DSCP of outer headers, and of user packets that are sent without one.
    pub tos_marking: bool,
    /// Inserts Paging Policy Indicators by the DSCP of the user packet (feature EPPPI).
    pub paging_by_dscp: bool,
    /// Measures volume and reports thresholds.
    pub volume_measurement: bool,
    /// Measures time and events, enforces quotas, and reports at every trigger of a URR (features QUOAC, VTIME,
    /// NORP and UPIDP).
    pub usage_control: bool,
    /// Reads and writes the PDU Session Container.
    pub pdu_session_container: bool,
    /// Carries Ethernet sessions: filters, VLAN tags, MAC learning, proxying of ARP and Neighbour Solicitation.
    pub ethernet: bool,
    /// Sends and receives GTP-U over IPv4.
    pub outer_ipv4: bool,
    /// Sends and receives GTP-U over IPv6.
    pub outer_ipv6: bool,
    /// Detects applications by the content of their flows (features PFDM and PFDE).
    pub application_detection: bool,
    /// Detects applications that are classes of traffic by the shape of a session's packets; so does each data plane with
    /// `application_detection`.
    pub application_classes: bool,
    /// Makes copies of packets (FAR DUPL).
    pub duplication: bool,
    /// Redirects traffic, to a URL or to an address and port (features TREU and RATP).
    pub redirection: bool,
    /// Replaces the addresses and ports of user packets (feature IPREP).
    pub address_replacement: bool,
    /// Adds header fields to HTTP requests (feature HEEU).
    pub header_enrichment: bool,
    /// Steers traffic by forwarding policies or into tunnels over N6, and has at least one of them configured
    /// (feature TRST).
    pub traffic_steering: bool,
    /// Maximum number of sessions.
    pub max_sessions: u32,
    /// Maximum number of PDRs of one session.
    pub max_pdrs_per_session: u16,
}

impl Capabilities {
    /// All capabilities, for this many sessions and PDRs. A data plane clears those that it lacks.
    pub fn all(max_sessions: u32, max_pdrs_per_session: u16) -> Self {
        Self {
            buffering: true,
            notification_delay: true,
            extended_buffering: true,
            delivery_status: true,
            inactivity_detection: true,
            end_marker: true,
            mbr: true,
            qer_correlation: true,
            packet_rate: true,
            tos_marking: true,
            paging_by_dscp: true,
            volume_measurement: true,
            usage_control: true,
            pdu_session_container: true,
            ethernet: true,
            outer_ipv4: true,
            outer_ipv6: true,
            application_detection: true,
            application_classes: true,
            duplication: true,
            redirection: true,
            address_replacement: true,
            header_enrichment: true,
            traffic_steering: true,
            max_sessions,
            max_pdrs_per_session,
        }
    }
}

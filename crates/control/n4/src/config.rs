//! Configuration of N4.

use causeway_rules::{AddressPool, Catalogue, TeidPool};
use causeway_types::{DualIp, IdCipher, IpNet, NodeId, Seid, Span};

/// The configuration of N4. [`Config::new`] has the default values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The UPF's Node ID (TS 29.244 clause 8.2.38), in every association message.
    pub node: NodeId,
    /// The UPF's N4 address, in the F-SEID of every session: SMFs send requests about the session to it.
    pub address: DualIp,
    /// Retransmission of requests, heartbeats excepted.
    pub retransmission: Retransmission,
    /// Interval and retransmission of heartbeats.
    pub heartbeat: Heartbeat,
    /// Treatment of the sessions of an unreachable peer.
    pub on_path_failure: PathFailure,
    /// Send Load Control Information to SMFs that support it: sessions in percent of the limit (TS 29.244 clause
    /// 6.2.3).
    pub load_control: bool,
    /// Send Overload Control Information to SMFs that support it when N4 is nearly full (TS 29.244 clause 6.2.4);
    /// `None`: never.
    pub overload_control: Option<OverloadControl>,
    /// The hosts that may set up associations; empty: any may.
    pub allow: Vec<IpNet>,
    /// Preconfigured SMFs.
    pub smfs: Vec<KnownSmf>,
    /// Any SMF may announce membership in an SMF set; otherwise only those that `smfs` lists with that set.
    pub any_set: bool,
    /// The destination port of requests.
    pub request_port: RequestPort,
    /// Delay before a failed association setup is retried.
    pub associate_retry: Span,
    /// Delay before the removal of a session is retried after the data plane failed to remove it.
    pub removal_retry: Span,
    /// Delay before a report is sent again after all retransmissions got no response.
    pub report_retry: Span,
    /// How long a response is cached for duplicates of its request. Should exceed the peer's T1 times N1.
    pub answer_lifetime: Span,
    /// How long [`crate::N4::shutdown`] waits for SMFs to delete their sessions.
    pub release_period: Span,
    /// Applications and other predefined names that rules may refer to from the start.
    pub catalogue: Catalogue,
    /// Seed of the sequences of SEIDs and TEIDs, different in each run.
    pub seed: u64,
    /// Key that makes SEIDs and TEIDs unpredictable; `None`, for tests: they follow a known order.
    pub secret: Option<IdCipher>,
    /// TEIDs have at most 24 bits, and are not encrypted with the secret.
    pub short_teids: bool,
    /// UE address pools whose short TEIDs end with the bits of the UE address.
    pub teid_pools: Vec<TeidPool>,
    /// Numbers of sessions that the data plane establishes itself, for [`crate::N4::adopt`]; `None`: it establishes none.
    pub data_plane: Option<DataPlaneNumbers>,
    /// The UE address pools to allocate from (feature UEIP), the preferred pools first.
    pub address_pools: Vec<AddressPool>,
    /// SMFs may provision PFDs (features PFDM and PFDE); `false`: another member of a chain would not have them.
    pub pfds: bool,
    /// How long a released UE address is in quarantine before it is allocated again.
    pub address_rest: Span,
    /// Upper bounds of all state that a peer can make grow.
    pub limits: Limits,
}

impl Config {
    /// The default values, for a UPF with this Node ID and N4 address.
    pub fn new(node: NodeId, address: DualIp) -> Self {
        Self {
            node,
            address,
            retransmission: Retransmission::default(),
            heartbeat: Heartbeat::default(),
            on_path_failure: PathFailure::Keep,
            load_control: true,
            overload_control: None,
            allow: Vec::new(),
            smfs: Vec::new(),
            any_set: true,
            request_port: RequestPort::Standard,
            associate_retry: Span::from_secs(10),
            removal_retry: Span::from_secs(5),
            report_retry: Span::from_secs(30),
            answer_lifetime: Span::from_secs(30),
            release_period: Span::from_secs(5),
            catalogue: Catalogue::default(),
            seed: 0,
            secret: None,
            short_teids: false,
            teid_pools: Vec::new(),
            data_plane: None,
            address_pools: Vec::new(),
            pfds: true,
            address_rest: Span::from_secs(60),
            limits: Limits::default(),
        }
    }

    /// Takes over what may change while the UPF runs; see [`crate::N4::reconfigure`].
    pub(crate) fn follow(&mut self, next: Self) {
        self.retransmission = next.retransmission;
        self.heartbeat = next.heartbeat;
        self.on_path_failure = next.on_path_failure;
        self.load_control = next.load_control;
        self.overload_control = next.overload_control;
        self.allow = next.allow;
        self.smfs = next.smfs;
        self.request_port = next.request_port;
        self.associate_retry = next.associate_retry;
        self.release_period = next.release_period;
        self.address_pools = next.address_pools;
        self.address_rest = next.address_rest;
        self.limits.routes = next.limits.routes;
        self.limits.routes_per_session = next.limits.routes_per_session;
        self.limits.routes_per_smf = next.limits.routes_per_smf;
        self.catalogue.applications = next.catalogue.applications;
    }
}

/// The numbers that a data plane gives to sessions that it establishes itself: N4 gives none of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataPlaneNumbers {
    /// The bits of a SEID that tell its sessions from those of N4.
    pub seid_mask: u64,
    /// The value of these bits in SEIDs of its sessions.
    pub seid: u64,
    /// Its TEIDs begin here; N4 chooses those from 1 to the one before, below 2^23. They are predictable.
    pub first_teid: u32,
}

impl DataPlaneNumbers {
    /// A session of the data plane may have this SEID.
    pub const fn has(&self, seid: Seid) -> bool {
        seid.0 & self.seid_mask == self.seid
    }
}

/// A preconfigured SMF and its hosts: no other host may use its Node ID.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownSmf {
    /// Its Node ID.
    pub node: NodeId,
    /// The hosts that may use it.
    pub addresses: Vec<IpNet>,
    /// The SMF set that it belongs to.
    pub set: Option<String>,
}

/// Reliable delivery of requests (TS 29.244 clause 6.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retransmission {
    /// T1: the wait for a response to the first transmission. Less than 1 ms counts as 1 ms.
    pub first_wait: Span,
    /// N1: the number of retransmissions.
    pub retries: u8,
    /// The factor of the wait at each retransmission; 0 and 1 keep it constant.
    pub backoff: u32,
    /// The upper bound of the wait with `backoff`.
    pub longest_wait: Span,
}

impl Default for Retransmission {
    fn default() -> Self {
        Self { first_wait: Span::from_secs(1), retries: 3, backoff: 2, longest_wait: Span::from_secs(8) }
    }
}

/// Heartbeats sent by the UPF (TS 29.244 clause 6.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heartbeat {
    /// From a response to the next request. Zero: none are sent; those of the peer still get a response.
    pub interval: Span,
    /// Retransmission of a heartbeat. When the last one gets no response, the path is down.
    pub retransmission: Retransmission,
}

impl Default for Heartbeat {
    fn default() -> Self {
        Self {
            interval: Span::from_secs(10),
            retransmission: Retransmission {
                first_wait: Span::from_secs(3),
                retries: 3,
                backoff: 1,
                longest_wait: Span::from_secs(3),
            },
        }
    }
}

/// Overload control (TS 29.244 clause 6.2.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OverloadControl {
    /// The load, in percent of the [`Limits`], above which N4 counts as overloaded: below 100. From there to 100
    /// percent the requested reduction grows from none to all requests.
    pub mark: u8,
    /// The period of validity of Overload Control Information. It is sent again in time while the overload lasts.
    pub validity: Span,
}

impl Default for OverloadControl {
    fn default() -> Self {
        Self { mark: 80, validity: Span::from_secs(60) }
    }
}

/// Treatment of the sessions of a peer that does not respond to heartbeats (TS 23.007 clause 20).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathFailure {
    /// Association and sessions stay; traffic continues, and heartbeats continue at the interval.
    Keep,
    /// Sessions are removed and the association ends.
    Purge,
}

/// The destination port of requests to a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestPort {
    /// 8805 (TS 29.244 clause 4.2.2), whatever the source port of the peer.
    Standard,
    /// The source port of the peer's Association Setup Request.
    Learnt,
}

/// The PFCP port (TS 29.244 clause 4.2.2).
pub const PFCP_PORT: u16 = 8805;

/// Upper bounds of all state that a peer can make grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Associations.
    pub associations: usize,
    /// Sessions; the limit of the data plane applies as well.
    pub sessions: usize,
    /// Octets of memory that all sessions and PFDs may need, estimated from their rules.
    pub memory: usize,
    /// The data plane moves the state of idle sessions out of memory: they are estimated to need less of it.
    pub cold_storage: bool,
    /// Framed routes.
    pub routes: usize,
    /// Framed routes of one session.
    pub routes_per_session: usize,
    /// Framed routes of the sessions of one SMF.
    pub routes_per_smf: usize,
    /// Queued requests of one session.
    pub waiting_per_session: usize,
    /// Octets of all queued requests. Each part of N4 has its share.
    pub waiting_octets: usize,
    /// Octets of the cached responses to one peer. Each part of N4 has its share.
    pub answer_octets_per_peer: usize,
    /// Octets of memory of all cached responses. Beyond it, the oldest responses to the host with the most are
    /// discarded. Each part of N4 has its share.
    pub answer_octets: usize,
    /// Requests in progress of one peer. Each part of N4 has its share.
    pub in_progress_per_peer: usize,
    /// Session reports in flight to one peer, over all its sessions. Each part of N4 has its share.
    pub outstanding_reports: usize,
    /// Queued reports of one session; beyond it, usage of the same URR is added up.
    pub queued_reports_per_session: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            associations: 64,
            sessions: 1_000_000,
            memory: usize::MAX,
            cold_storage: false,
            routes: 16_384,
            routes_per_session: 64,
            routes_per_smf: 8192,
            waiting_per_session: 16,
            waiting_octets: 16 << 20,
            answer_octets_per_peer: 16 << 20,
            answer_octets: 256 << 20,
            in_progress_per_peer: 4096,
            outstanding_reports: 4096,
            queued_reports_per_session: 32,
        }
    }
}

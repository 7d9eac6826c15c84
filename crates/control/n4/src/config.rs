//! What an operator may choose about N4.

use causeway_rules::{AddressPool, Catalogue, IdCipher, TeidPool};
use causeway_types::{DualIp, IpNet, NodeId, Span};

/// How N4 behaves. [`Config::new`] gives the usual values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Our Node ID (TS 29.244 clause 8.2.38), in every association message.
    pub node: NodeId,
    /// Our N4 address, in the F-SEID of every session: where SMFs send requests about it.
    pub address: DualIp,
    /// How our requests are repeated, heartbeats excepted.
    pub retransmission: Retransmission,
    /// When a peer is asked for a sign of life, and how often until it counts as unreachable.
    pub heartbeat: Heartbeat,
    /// What becomes of the sessions of an unreachable peer.
    pub on_path_failure: PathFailure,
    /// SMFs that support it are told how many of the sessions that fit are there (TS 29.244 clause 6.2.3).
    pub load_control: bool,
    /// SMFs that support it are asked to send less when N4 is nearly full (TS 29.244 clause 6.2.4); none: never.
    pub overload_control: Option<OverloadControl>,
    /// The hosts that may set up associations; none: any may.
    pub allow: Vec<IpNet>,
    /// What is known of SMFs beforehand.
    pub smfs: Vec<KnownSmf>,
    /// Any SMF may say that it belongs to a set of SMFs; otherwise those of `smfs` that are there with that set.
    pub any_set: bool,
    /// The port our requests go to.
    pub request_port: RequestPort,
    /// How long to wait before an association that we asked for in vain is asked for again.
    pub associate_retry: Span,
    /// How long to wait before the data plane is asked again to remove a session that it did not remove.
    pub removal_retry: Span,
    /// How long to wait before a report that went unanswered through all retransmissions is sent again.
    pub report_retry: Span,
    /// How long an answer is kept for a duplicate of its request. Should exceed the peer's T1 times N1.
    pub answer_lifetime: Span,
    /// How long [`crate::N4::shutdown`] waits for SMFs to delete their sessions.
    pub release_period: Span,
    /// What rules may name from the start.
    pub catalogue: Catalogue,
    /// Makes the sequence of SEIDs (and TEIDs) of one run differ from that of another.
    pub seed: u64,
    /// Makes SEIDs and TEIDs impossible to guess; `None`, for tests: they follow a known order.
    pub secret: Option<IdCipher>,
    /// TEIDs have at most 24 bits, and are not hidden by the secret.
    pub short_teids: bool,
    /// UEs whose short TEIDs end like their addresses.
    pub teid_pools: Vec<TeidPool>,
    /// The UE addresses that we may give out (feature UEIP), the preferred pools first.
    pub address_pools: Vec<AddressPool>,
    /// How long a UE address that is given back rests before it is given out again.
    pub address_rest: Span,
    /// Upper bounds of everything a peer could make grow.
    pub limits: Limits,
}

impl Config {
    /// The usual values, for a UPF of this Node ID and N4 address.
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
            address_pools: Vec::new(),
            address_rest: Span::from_secs(60),
            limits: Limits::default(),
        }
    }
}

/// An SMF, and where it may be: nobody else may use its Node ID.
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
    /// T1: how long to wait for an answer the first time. Less than 1 ms counts as 1 ms.
    pub first_wait: Span,
    /// N1: how many times a request is repeated before giving up.
    pub retries: u8,
    /// What the wait is multiplied with at each repetition; 0 and 1 keep it constant.
    pub backoff: u32,
    /// The longest wait that `backoff` may lead to.
    pub longest_wait: Span,
}

impl Default for Retransmission {
    fn default() -> Self {
        Self { first_wait: Span::from_secs(1), retries: 3, backoff: 2, longest_wait: Span::from_secs(8) }
    }
}

/// Heartbeats that we send (TS 29.244 clause 6.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heartbeat {
    /// From one answer to the next request. Zero: none are sent; the peer's are still answered.
    pub interval: Span,
    /// How an unanswered one is repeated. When the last repetition is unanswered, the path is down.
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

/// When SMFs are asked to send less (TS 29.244 clause 6.2.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OverloadControl {
    /// How full N4 may be, in percent of the [`Limits`], before it counts as overloaded: below 100. From there to
    /// full the reduction that is asked for grows from none to all requests.
    pub mark: u8,
    /// How long an SMF is to heed what it was told. It is told again in time while the overload lasts.
    pub validity: Span,
}

impl Default for OverloadControl {
    fn default() -> Self {
        Self { mark: 80, validity: Span::from_secs(60) }
    }
}

/// What becomes of the sessions of a peer that answers no heartbeat (TS 23.007 clause 20).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathFailure {
    /// Association and sessions stay; traffic goes on, and the peer is asked again at every interval.
    Keep,
    /// Sessions are removed and the association ends.
    Purge,
}

/// The UDP port that our requests to a peer go to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestPort {
    /// 8805 (TS 29.244 clause 4.2.2), whatever port the peer sends from.
    Standard,
    /// The one that the peer's Association Setup Request came from.
    Learnt,
}

/// The PFCP port (TS 29.244 clause 4.2.2).
pub const PFCP_PORT: u16 = 8805;

/// Upper bounds of everything a peer could make grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Associations at one time.
    pub associations: usize,
    /// Sessions at one time; the data plane's own limit holds beside it.
    pub sessions: usize,
    /// Octets of memory that all sessions and PFDs may come to need, by an estimate from their rules.
    pub memory: usize,
    /// Framed routes at one time.
    pub routes: usize,
    /// Framed routes of one session.
    pub routes_per_session: usize,
    /// Framed routes of the sessions of one SMF.
    pub routes_per_smf: usize,
    /// Requests of one session that wait for an earlier one to be applied.
    pub waiting_per_session: usize,
    /// Octets of all requests that wait.
    pub waiting_octets: usize,
    /// Octets of the answers kept for the duplicates of one peer.
    pub answer_octets_per_peer: usize,
    /// Octets of memory that the answers kept for the duplicates of all peers take. When they are too many, the oldest of whoever has the
    /// most go.
    pub answer_octets: usize,
    /// Requests of one peer that are being worked on.
    pub in_progress_per_peer: usize,
    /// Session reports sent to one peer and not yet answered, over all its sessions.
    pub outstanding_reports: usize,
    /// Reports of one session that wait to be sent; beyond it, usage of the same URR is added up.
    pub queued_reports_per_session: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            associations: 64,
            sessions: 1_000_000,
            memory: usize::MAX,
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

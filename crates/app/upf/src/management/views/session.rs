//! Sessions.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{BarView, FarView, PdrView, QerView, SessionStateView, UrrView};

/// A session.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SessionView {
    /// The UPF's SEID.
    pub seid: String,
    /// The SMF's SEID.
    pub cp_seid: String,
    /// The address of the SMF in its F-SEID.
    pub cp_address: String,
    /// The Node ID of the SMF.
    pub node_id: String,
    /// The start time, in seconds since the Unix epoch.
    pub since: u64,
    /// The identities of the user that the SMF has sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserView>,
    /// Network instances of its rules.
    #[serde(default)]
    pub network_instances: Vec<String>,
    /// UE addresses and prefixes.
    pub ue: Vec<String>,
    /// Local tunnels, as `teid@address`.
    pub tunnels: Vec<String>,
    /// Tunnels to gNBs and other UPFs, as `teid@address`.
    #[serde(default)]
    pub peers: Vec<String>,
    /// The application class of its traffic; absent if the traffic is not measured, as none of its PDRs names a class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The number of rules of each kind.
    pub rules: RuleCounts,
}

/// The identities of a user (User ID, TS 29.244 clause 8.2.101).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct UserView {
    /// IMSI, in digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imsi: Option<String>,
    /// IMEI, in digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imei: Option<String>,
    /// MSISDN, in digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub msisdn: Option<String>,
    /// Network access identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nai: Option<String>,
    /// SUPI that is a Global Cable or Line Identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supi: Option<String>,
    /// GPSI that is an External Identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpsi: Option<String>,
    /// PEI that is a MAC address or an extended unique identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pei: Option<String>,
}

impl UserView {
    /// The identities that are present, with their names.
    pub fn identities(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("IMSI", &self.imsi),
            ("IMEI", &self.imei),
            ("MSISDN", &self.msisdn),
            ("NAI", &self.nai),
            ("SUPI", &self.supi),
            ("GPSI", &self.gpsi),
            ("PEI", &self.pei),
        ];
        all.into_iter().filter_map(|(name, identity)| Some((name, identity.as_deref()?)))
    }
}

/// The number of rules of each kind in a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct RuleCounts {
    /// PDRs.
    pub pdr: usize,
    /// FARs.
    pub far: usize,
    /// QERs.
    pub qer: usize,
    /// URRs.
    pub urr: usize,
    /// BARs.
    pub bar: usize,
}

/// A part of all sessions, or of those that match the filters, in an order that stays while they last.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct SessionPage {
    /// The number of all sessions, whatever the filters.
    pub total: u64,
    /// The sessions of this page. It may have fewer than requested, or none, though others follow.
    pub sessions: Vec<SessionView>,
    /// The `after` parameter of the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A session with its rules and its state in the data plane.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SessionDetail {
    /// What the list of sessions shows.
    #[serde(flatten)]
    pub session: SessionView,
    /// `ip` or `ethernet`.
    pub pdu_session_type: String,
    /// The network slice, as `sst-sd`.
    pub slice: Option<String>,
    /// The User Plane Inactivity Timer, in seconds.
    pub inactivity_timer: Option<f64>,
    /// The number of reports that wait for the SMF.
    pub waiting_reports: usize,
    /// PDRs, by id.
    pub pdrs: Vec<PdrView>,
    /// FARs, by id.
    pub fars: Vec<FarView>,
    /// QERs, by id.
    pub qers: Vec<QerView>,
    /// URRs, by id.
    pub urrs: Vec<UrrView>,
    /// BARs, by id.
    pub bars: Vec<BarView>,
    /// The state that its packets have created; absent where the data plane cannot tell. Drops are counted by reason
    /// for all sessions together only: a counter of each session would cost every packet.
    pub state: Option<SessionStateView>,
}

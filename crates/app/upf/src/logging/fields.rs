//! The fields of a line about N4: what it is about, in the same form everywhere.

use std::fmt::Display;

use causeway_model::{Plan, RuleSet, SessionChange};
use causeway_n4::{N4, Notice, NoticeFields, cause_label, message_label};
use causeway_pfcp::ie_name;
use causeway_types::NetworkInstance;
use tracing::{Level, debug, error, info, trace, warn};

/// The fields of a line; absent ones are not written.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineFields {
    /// The Node ID of the SMF: `smf`.
    pub(crate) smf: Option<String>,
    /// The address of the SMF or GTP-U peer, with or without port: `peer`.
    pub(crate) peer: Option<String>,
    /// The type of a PFCP message, as in metrics: `pfcp`.
    pub(crate) message: Option<String>,
    /// Its sequence number: `sequence`.
    pub(crate) sequence: Option<u32>,
    /// Its length with its header: `octets`.
    pub(crate) octets: Option<usize>,
    /// The UPF's SEID, in hexadecimal: `seid`. In a message that the UPF sends, that of the SMF.
    pub(crate) session: Option<String>,
    /// The SMF's SEID, in hexadecimal: `smf_seid`.
    pub(crate) smf_session: Option<String>,
    /// The addresses and prefixes of the UE: `ue`.
    pub(crate) ue: Option<String>,
    /// The data network: `dnn`.
    pub(crate) dnn: Option<String>,
    /// The number of the cause, `cause`, and its name, `cause_name`.
    pub(crate) cause: Option<(u8, String)>,
    /// The type of the offending IE, `ie`, and its name, `ie_name`.
    pub(crate) offending_ie: Option<u16>,
}

macro_rules! write_line {
    ($level:ident, $fields:expr, $what:expr) => {{
        let fields: &LineFields = $fields;
        $level!(
            smf = fields.smf.as_deref(),
            peer = fields.peer.as_deref(),
            pfcp = fields.message.as_deref(),
            sequence = fields.sequence,
            octets = fields.octets,
            seid = fields.session.as_deref(),
            smf_seid = fields.smf_session.as_deref(),
            ue = fields.ue.as_deref(),
            dnn = fields.dnn.as_deref(),
            cause = fields.cause.as_ref().map(|(code, _)| *code),
            cause_name = fields.cause.as_ref().map(|(_, name)| name.as_str()),
            ie = fields.offending_ie,
            ie_name = fields.offending_ie.and_then(ie_name),
            "{}",
            $what
        );
    }};
}

impl LineFields {
    /// Writes a line with these fields.
    pub(crate) fn write(&self, level: Level, what: &dyn Display) {
        match level {
            Level::TRACE => write_line!(trace, self, what),
            Level::DEBUG => write_line!(debug, self, what),
            Level::INFO => write_line!(info, self, what),
            Level::WARN => write_line!(warn, self, what),
            Level::ERROR => write_line!(error, self, what),
        }
    }

    /// Those of a notice, and of the session that it is about.
    pub(crate) fn of_notice(notice: &Notice, n4: &N4) -> Self {
        let NoticeFields { message, sequence, node, peer, session, smf_session, cause, offending_ie } =
            notice.fields();
        let view = session.and_then(|seid| n4.session(seid));
        let of_session = view.map(|view| Self {
            smf_session: Some(text(view.cp.seid)),
            smf: Some(text(view.node)),
            ..Self::of_rules(&view.rules())
        });
        let of_session = of_session.unwrap_or_default();
        Self {
            smf: node.map(text).or(of_session.smf),
            peer: peer.map(text),
            message: message.map(|message| message_label(Some(message))),
            sequence,
            octets: None,
            session: session.map(text),
            smf_session: smf_session.map(text).or(of_session.smf_session),
            cause: cause.map(|cause| (cause.code(), cause_label(cause))),
            offending_ie,
            ..of_session
        }
    }

    /// Those of a change of a session.
    pub(crate) fn of_plan(plan: &Plan) -> Self {
        let of_rules = match &plan.change {
            SessionChange::Install(session) => Self::of_rules(&session.rules()),
            SessionChange::Rebind(_) | SessionChange::Update(_) | SessionChange::Remove => Self::default(),
        };
        Self { session: Some(text(plan.session)), ..of_rules }
    }

    fn of_rules(rules: &RuleSet) -> Self {
        let mut ues: Vec<String> = Vec::new();
        for ue in rules.pdrs.values().filter_map(|pdr| pdr.pdi.ue) {
            let texts = [ue.v4.map(|ip| ip.to_string()), ue.v6.map(|net| net.to_string())];
            ues.extend(texts.into_iter().flatten());
        }
        ues.sort_unstable();
        ues.dedup();
        Self {
            ue: (!ues.is_empty()).then(|| ues.join(",")),
            dnn: rules.data_network().map(NetworkInstance::to_string),
            ..Self::default()
        }
    }
}

fn text(value: impl Display) -> String {
    value.to_string()
}

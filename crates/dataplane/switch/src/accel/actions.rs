//! The registers of sessions, and what one access does with a cell.

use super::police::{BURST, FAR};
use super::{OF_SOFTWARE, SESSIONS};
use crate::driver::{Program, Register};
use crate::model::register::{
    Change, Comparison, Condition, Modification, Operand, RegisterAction, RegisterError, Relation, Returned,
    Word,
};

/// The registers, and the width of a cell.
const REGISTERS: [(&str, u8); 15] = [
    ("session_states", 32),
    ("session_requests", 32),
    ("session_origins", 32),
    ("session_cp_high", 32),
    ("session_cp_low", 32),
    ("uplink_sessions", 16),
    ("downlink_sessions", 16),
    ("uplink_fars", 16),
    ("downlink_fars", 16),
    ("peer_teids", 32),
    ("peer_hosts", 32),
    ("has_peers", 8),
    ("downlink_actions", 8),
    ("uplink.police_words", 32),
    ("downlink.police_words", 32),
];

/// Ids that no compiled program uses.
const REGISTER_IDS: u32 = 0x16ff_ff00;

impl Program {
    /// The program, with the registers of sessions.
    #[must_use]
    pub fn with_sessions(mut self) -> Self {
        let register = |(id, (name, first)): (u32, (&str, u8))| Register {
            id,
            name: name.to_owned(),
            size: SESSIONS,
            first,
            second: None,
        };
        self.registers.extend((REGISTER_IDS..).zip(REGISTERS).map(register));
        self
    }
}

/// What a packet does with a cell; each is one `REGISTER_ACTION` of the P4 block with the option `CHAIN`. Where the block has one action for each
/// source of a number that it writes, there is one here.
#[derive(Clone, Debug)]
pub(super) struct Actions {
    pub(super) begin_session: RegisterAction,
    pub(super) change_state: RegisterAction,
    pub(super) compare_state: RegisterAction,
    /// Unless the software has the session.
    pub(super) replicate_state: RegisterAction,
    pub(super) set_request: RegisterAction,
    pub(super) advance_request: RegisterAction,
    pub(super) read_request: RegisterAction,
    pub(super) set_origin: RegisterAction,
    pub(super) get_origin: RegisterAction,
    pub(super) set_cp_high: RegisterAction,
    pub(super) get_cp_high: RegisterAction,
    pub(super) compare_cp_high: RegisterAction,
    pub(super) set_cp_low: RegisterAction,
    pub(super) get_cp_low: RegisterAction,
    pub(super) compare_cp_low: RegisterAction,
    pub(super) set_uplink: RegisterAction,
    pub(super) get_uplink: RegisterAction,
    pub(super) set_downlink: RegisterAction,
    pub(super) create_downlink: RegisterAction,
    pub(super) get_downlink: RegisterAction,
    pub(super) set_uplink_far: RegisterAction,
    pub(super) get_uplink_far: RegisterAction,
    pub(super) compare_uplink_far: RegisterAction,
    pub(super) set_downlink_far: RegisterAction,
    pub(super) create_downlink_far: RegisterAction,
    pub(super) get_downlink_far: RegisterAction,
    pub(super) compare_downlink_far: RegisterAction,
    pub(super) set_peer_teid: RegisterAction,
    pub(super) get_peer_teid: RegisterAction,
    pub(super) set_peer_host: RegisterAction,
    pub(super) get_peer_host: RegisterAction,
    pub(super) set_has_peer: RegisterAction,
    pub(super) get_has_peer: RegisterAction,
    pub(super) set_action: RegisterAction,
    /// Of a downlink that is made.
    pub(super) change_action: RegisterAction,
    pub(super) get_action: RegisterAction,
    /// Each: a packet is charged; the word is renewed.
    pub(super) police_uplink: [RegisterAction; 2],
    pub(super) police_downlink: [RegisterAction; 2],
}

const BEFORE: Returned = Returned::Before(Word::First);
const AFTER: Returned = Returned::After(Word::First);
const WHETHER: Returned = Returned::Whether(Condition::If(Word::First));

const fn when(relation: Relation, with: Operand) -> Comparison {
    Comparison { word: Word::First, relation, with }
}

const fn then(when: Condition, change: Change) -> Modification {
    Modification { word: Word::First, when, change }
}

impl Actions {
    pub(super) fn of(program: &Program) -> Result<Self, RegisterError> {
        let make = |name: &str, comparisons: &[Comparison], changes: &[Modification], returned| {
            let register = program.register_named(name).ok_or(RegisterError::Unknown(0))?;
            RegisterAction::new(register, comparisons, changes, returned)
        };
        let (value, second) = (Operand::Input(0), Operand::Input(1));
        let (always, holds) = (Condition::Always, Condition::If(Word::First));
        let is_value = [when(Relation::Equal, value)];
        let get = |name: &str| make(name, &[], &[], BEFORE);
        let set = |name: &str, returned| make(name, &[], &[then(always, Change::Set(value))], returned);
        let is_free = [when(Relation::AtMost, Operand::Constant(OF_SOFTWARE - 1))];
        let is_not_later = [when(Relation::NotAfter, value)];
        let is_zero = [when(Relation::Equal, Operand::Constant(0))];
        let in_debt = [when(Relation::AheadBy(BURST), value), when(Relation::NotAheadBy(FAR), value)];
        let is_over = Returned::Whether(Condition::IfBoth);
        let police = |name: &str| -> Result<[RegisterAction; 2], RegisterError> {
            let charge = then(Condition::UnlessBoth, Change::Add(second));
            let renew = then(Condition::Unless(Word::Second), Change::Set(value));
            Ok([make(name, &in_debt, &[charge], is_over)?, make(name, &in_debt, &[renew], is_over)?])
        };
        let all = Self {
            begin_session: make("session_states", &is_free, &[then(holds, Change::Add(second))], BEFORE)?,
            change_state: make("session_states", &is_value, &[then(holds, Change::Add(second))], WHETHER)?,
            compare_state: make("session_states", &is_value, &[], WHETHER)?,
            replicate_state: make(
                "session_states",
                &[when(Relation::Equal, Operand::Constant(OF_SOFTWARE))],
                &[then(Condition::Unless(Word::First), Change::Set(value))],
                AFTER,
            )?,
            set_request: set("session_requests", BEFORE)?,
            advance_request: make(
                "session_requests",
                &is_not_later,
                &[then(holds, Change::Set(value))],
                BEFORE,
            )?,
            read_request: get("session_requests")?,
            set_origin: set("session_origins", BEFORE)?,
            get_origin: get("session_origins")?,
            set_cp_high: set("session_cp_high", AFTER)?,
            get_cp_high: get("session_cp_high")?,
            compare_cp_high: make("session_cp_high", &is_value, &[], WHETHER)?,
            set_cp_low: set("session_cp_low", AFTER)?,
            get_cp_low: get("session_cp_low")?,
            compare_cp_low: make("session_cp_low", &is_value, &[], WHETHER)?,
            set_uplink: set("uplink_sessions", AFTER)?,
            get_uplink: get("uplink_sessions")?,
            set_downlink: set("downlink_sessions", AFTER)?,
            create_downlink: make("downlink_sessions", &is_zero, &[then(holds, Change::Set(value))], BEFORE)?,
            get_downlink: get("downlink_sessions")?,
            set_uplink_far: set("uplink_fars", AFTER)?,
            get_uplink_far: get("uplink_fars")?,
            compare_uplink_far: make("uplink_fars", &is_value, &[], WHETHER)?,
            set_downlink_far: set("downlink_fars", AFTER)?,
            create_downlink_far: make("downlink_fars", &is_zero, &[then(holds, Change::Set(value))], BEFORE)?,
            get_downlink_far: get("downlink_fars")?,
            compare_downlink_far: make("downlink_fars", &is_value, &[], WHETHER)?,
            set_peer_teid: set("peer_teids", AFTER)?,
            get_peer_teid: get("peer_teids")?,
            set_peer_host: set("peer_hosts", AFTER)?,
            get_peer_host: get("peer_hosts")?,
            set_has_peer: set("has_peers", BEFORE)?,
            get_has_peer: get("has_peers")?,
            set_action: set("downlink_actions", AFTER)?,
            change_action: make(
                "downlink_actions",
                &is_zero,
                &[then(Condition::Unless(Word::First), Change::Set(value))],
                AFTER,
            )?,
            get_action: get("downlink_actions")?,
            police_uplink: police("uplink.police_words")?,
            police_downlink: police("downlink.police_words")?,
        };
        RegisterAction::check_actions(&program.registers, &all.list())?;
        Ok(all)
    }

    fn list(&self) -> Vec<RegisterAction> {
        [
            &self.begin_session,
            &self.change_state,
            &self.compare_state,
            &self.replicate_state,
            &self.set_request,
            &self.advance_request,
            &self.read_request,
            &self.set_origin,
            &self.get_origin,
            &self.set_cp_high,
            &self.get_cp_high,
            &self.compare_cp_high,
            &self.set_cp_low,
            &self.get_cp_low,
            &self.compare_cp_low,
            &self.set_uplink,
            &self.get_uplink,
            &self.set_downlink,
            &self.create_downlink,
            &self.get_downlink,
            &self.set_uplink_far,
            &self.get_uplink_far,
            &self.compare_uplink_far,
            &self.set_downlink_far,
            &self.create_downlink_far,
            &self.get_downlink_far,
            &self.compare_downlink_far,
            &self.set_peer_teid,
            &self.get_peer_teid,
            &self.set_peer_host,
            &self.get_peer_host,
            &self.set_has_peer,
            &self.get_has_peer,
            &self.set_action,
            &self.change_action,
            &self.get_action,
            &self.police_uplink[0],
            &self.police_uplink[1],
            &self.police_downlink[0],
            &self.police_downlink[1],
        ]
        .map(Clone::clone)
        .into()
    }
}

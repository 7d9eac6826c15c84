//! The actions of rules that the switch supports.

use causeway_p4::names::{action, parameter};
use std::net::Ipv4Addr;

use crate::model::upf::DropReason;
use crate::ranges;

/// The action of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RuleAction {
    /// Transmit without a tunnel, marked with this DSCP if there is one.
    Decapsulate {
        /// 0 to 63.
        dscp: Option<u8>,
    },
    /// Transmit in a tunnel.
    Encapsulate {
        /// The far end.
        peer: Ipv4Addr,
        /// The QFI of the PDU Session Container.
        qfi: u8,
        /// Its type: 0 downlink, 1 uplink.
        pdu_type: u8,
        /// Of the outer header, 0 to 63.
        dscp: u8,
    },
    /// Send to the software behind the switch, which buffers them.
    Buffer,
    /// Drop.
    Drop(DropReason),
}

impl RuleAction {
    /// Whether the switch forwards the packets.
    pub(super) const fn forwards(&self) -> bool {
        matches!(self, Self::Decapsulate { .. } | Self::Encapsulate { .. })
    }

    /// The name of its action in entries with the number of their rule, in profile `direct`.
    pub(super) const fn action_by_rule(&self) -> &'static str {
        match self {
            Self::Decapsulate { .. } => action::DECAPSULATE_BY_RULE,
            Self::Encapsulate { .. } => action::ENCAPSULATE_BY_RULE,
            Self::Buffer => action::BUFFER_BY_RULE,
            Self::Drop(_) => action::DROP_BY_RULE,
        }
    }

    /// The name of its action, and the parameters.
    pub(super) fn action(&self) -> (&'static str, Vec<(&'static str, u128)>) {
        match *self {
            Self::Decapsulate { dscp } => {
                let parameters = [
                    (parameter::MARK, dscp.is_some().into()),
                    (parameter::DSCP, dscp.unwrap_or_default().into()),
                ];
                (action::DECAPSULATE, parameters.to_vec())
            }
            Self::Encapsulate { peer, qfi, pdu_type, dscp } => {
                let parameters = [
                    (parameter::TUNNEL, u32::from(peer).into()),
                    (parameter::QFI, qfi.into()),
                    (parameter::PDU_TYPE, pdu_type.into()),
                    (parameter::DSCP, dscp.into()),
                ];
                (action::ENCAPSULATE, parameters.to_vec())
            }
            Self::Buffer => (action::BUFFER, Vec::new()),
            Self::Drop(reason) => (action::DROP, vec![(parameter::REASON, reason as u128)]),
        }
    }
}

/// An action that many rules share, with its table of templates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Template {
    /// The action.
    pub action: RuleAction,
    /// Their packets are from the UE.
    pub is_uplink: bool,
}

impl Template {
    /// The template of all rules where the profile has none: any value will do.
    pub(super) const COMMON: Self = Self { action: RuleAction::Drop(DropReason::FarDrop), is_uplink: true };
}

impl ranges::Template for Template {
    fn table(&self) -> usize {
        match (self.action, self.is_uplink) {
            (RuleAction::Decapsulate { .. }, _) | (RuleAction::Drop(_), true) => 0,
            (RuleAction::Encapsulate { .. }, true) => 1,
            (RuleAction::Encapsulate { .. } | RuleAction::Drop(_), false) | (RuleAction::Buffer, _) => 2,
        }
    }
}

//! What rules do with their packets, as the switch can say it.

use std::net::Ipv4Addr;

use crate::model::upf::DropReason;
use crate::ranges;

/// What a rule does with its packets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RuleAction {
    /// They leave without a tunnel, marked with this DSCP if there is one.
    Decapsulate {
        /// 0 to 63.
        dscp: Option<u8>,
    },
    /// They leave in a tunnel.
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
    /// They go to the software behind the switch, which lets them wait.
    Buffer,
    /// They are dropped.
    Drop(DropReason),
}

impl RuleAction {
    /// They leave by the switch.
    pub(super) const fn forwards(&self) -> bool {
        matches!(self, Self::Decapsulate { .. } | Self::Encapsulate { .. })
    }

    /// Its action and the parameters of it.
    pub(super) fn action(&self) -> (&'static str, Vec<(&'static str, u128)>) {
        match *self {
            Self::Decapsulate { dscp } => {
                let parameters = [("mark", dscp.is_some().into()), ("dscp", dscp.unwrap_or_default().into())];
                ("decapsulate", parameters.to_vec())
            }
            Self::Encapsulate { peer, qfi, pdu_type, dscp } => {
                let parameters = [
                    ("tunnel", u32::from(peer).into()),
                    ("qfi", qfi.into()),
                    ("pdu_type", pdu_type.into()),
                    ("dscp", dscp.into()),
                ];
                ("encapsulate", parameters.to_vec())
            }
            Self::Buffer => ("buffer", Vec::new()),
            Self::Drop(reason) => ("drop", vec![("reason", reason as u128)]),
        }
    }
}

/// An action that many rules have in common, with the table of templates that has it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Template {
    /// What the rules do.
    pub action: RuleAction,
    /// Their packets come from the UE.
    pub is_uplink: bool,
}

impl Template {
    /// What all rules have where the profile has no templates: any will do.
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

//! Session parameters and policies from the values of a message template.

use causeway_model::{Policy, PolicySlots, RateKind, RateLimit, SessionParams};
use causeway_pfcp::Mbr;
use causeway_pfcp::template::{PolicyValues, RateSlot, RequestSlots, RequestValues};

/// The session parameters of a request.
pub(super) fn params_of(values: &RequestValues) -> SessionParams {
    SessionParams { ue: values.ue, tunnels: values.assigned, remotes: values.remotes }
}

/// The policy of a request. `None`: a flow description cannot be parsed.
pub(super) fn policy_of(values: &PolicyValues<'_>) -> Option<Policy> {
    let rate = |Mbr { uplink, downlink }: &Mbr| RateLimit { uplink: *uplink, downlink: *downlink };
    Some(Policy {
        rates: values.rates.iter().map(rate).collect(),
        flows: values.flows.iter().map(|flow| flow.parse().ok()).collect::<Option<_>>()?,
    })
}

/// The places of policy values in the rules of such a request.
pub(super) fn policy_slots_of(slots: &RequestSlots) -> PolicySlots {
    let kind = |slot| match slot {
        RateSlot::Maximum => RateKind::Maximum,
        RateSlot::Guaranteed => RateKind::Guaranteed,
    };
    PolicySlots {
        rates: slots.rates().iter().map(|(qer, slot)| (*qer, kind(*slot))).collect(),
        flows: slots.flows().to_vec(),
    }
}

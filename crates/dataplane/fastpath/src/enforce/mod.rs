//! The fourth stage: enforce and account. It checks what a rule's action demands, and charges the account of the rule.

pub(crate) mod common;
pub(crate) mod dispatch;
pub(crate) mod early_drop;
pub(crate) mod icmp_limit;
pub(crate) mod matched;

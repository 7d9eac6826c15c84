//! The number of a rule on the switch.

use std::fmt;

/// The number of a PDR on the switch, `PDR_ID` in HiP4-UPF: at most 24 bits, unique on the switch.
///
/// It differs from the PDR ID of PFCP, which is unique only within its session. It also lives shorter: a modification
/// gives the rule a new number, and the usage of both numbers counts. Zero is no rule: packet metadata holds zero
/// before a PDR is found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SwitchPdr(pub u32);

impl fmt::Display for SwitchPdr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

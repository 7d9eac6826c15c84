//! The number of a rule on the switch.

use std::fmt;

/// The number of a PDR on the switch, `PDR_ID` in HiP4-UPF: at most 24 bits, unique on the switch.
///
/// It is neither the PDR ID of PFCP, which is unique in its session only, nor does it live as long: a modification gives
/// the rule a new number, and usage of both counts. Zero never names a rule: it is what the metadata of a packet
/// holds before a PDR was found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SwitchPdr(pub u32);

impl fmt::Display for SwitchPdr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

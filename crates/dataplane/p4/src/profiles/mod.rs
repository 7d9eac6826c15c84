//! The contract of each profile, generated.

mod baseline;
mod direct;
mod hip4;
mod hip4_hybrid;
mod hip4_outer_ipv6;
mod red;
mod red_spt;
mod thesis;

pub use baseline::BASELINE;
pub use direct::DIRECT;
pub use hip4::HIP4;
pub use hip4_hybrid::HIP4_HYBRID;
pub use hip4_outer_ipv6::HIP4_OUTER_IPV6;
pub use red::RED;
pub use red_spt::RED_SPT;
pub use thesis::THESIS;

use crate::Contract;

/// Every profile with rules of sessions that has all of them: all but [`THESIS`], whose tables name UEs and tenants, and
/// [`HIP4_HYBRID`], behind which software has the others.
pub static ALL: [&Contract; 6] = [&BASELINE, &RED, &RED_SPT, &HIP4, &DIRECT, &HIP4_OUTER_IPV6];

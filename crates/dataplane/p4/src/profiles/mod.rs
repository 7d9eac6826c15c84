//! The contract of each profile, generated.

mod baseline;
mod direct;
mod direct_classes;
mod direct_heavy_hitters;
mod direct_vxlan;
mod hip4;
mod hip4_classes;
mod hip4_heavy_hitters;
mod hip4_hybrid;
mod hip4_hybrid_firewall;
mod hip4_hybrid_vxlan;
mod hip4_outer_ipv6;
mod hip4_vxlan;
mod red;
mod red_spt;
mod thesis;

pub use baseline::BASELINE;
pub use direct::DIRECT;
pub use direct_classes::DIRECT_CLASSES;
pub use direct_heavy_hitters::DIRECT_HEAVY_HITTERS;
pub use direct_vxlan::DIRECT_VXLAN;
pub use hip4::HIP4;
pub use hip4_classes::HIP4_CLASSES;
pub use hip4_heavy_hitters::HIP4_HEAVY_HITTERS;
pub use hip4_hybrid::HIP4_HYBRID;
pub use hip4_hybrid_firewall::HIP4_HYBRID_FIREWALL;
pub use hip4_hybrid_vxlan::HIP4_HYBRID_VXLAN;
pub use hip4_outer_ipv6::HIP4_OUTER_IPV6;
pub use hip4_vxlan::HIP4_VXLAN;
pub use red::RED;
pub use red_spt::RED_SPT;
pub use thesis::THESIS;

use crate::Contract;

/// Every profile with rules of sessions that has all of them: all but [`THESIS`], whose tables name UEs and tenants,
/// [`HIP4_HYBRID`], [`HIP4_HYBRID_FIREWALL`] and [`HIP4_HYBRID_VXLAN`], behind which software has the others, and those with options:
/// VXLAN and the firewall, [`HIP4_VXLAN`] and [`DIRECT_VXLAN`], application classes, [`HIP4_CLASSES`] and [`DIRECT_CLASSES`], and heavy hitters,
/// [`HIP4_HEAVY_HITTERS`] and [`DIRECT_HEAVY_HITTERS`].
pub static ALL: [&Contract; 6] = [&BASELINE, &RED, &RED_SPT, &HIP4, &DIRECT, &HIP4_OUTER_IPV6];

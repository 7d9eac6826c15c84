//! Session profiles: what sessions of one policy share, and the parameters of each.
//!
//! An SMF requests most sessions of a data network in the same way: they differ only in the UE's IPv4 address, the
//! tunnels of gNBs, and local TEIDs. The rest is a [`SessionProfile`], stored once. Where bit rates or flow
//! descriptions differ from session to session, they are parameters as well: the [`Policy`]. It has the IPv6 prefix and
//! more tunnels than two as well, where a data plane makes the profile of rules.

mod further;
mod params;
mod profiled_session;
mod session_profile;
#[cfg(any(test, feature = "testing"))]
mod templates;
mod transition;

pub use further::{FurtherParams, FurtherSlots, MAX_FURTHER_TUNNELS, UE_PREFIX_BITS, upper_half};
pub use params::{MAX_TUNNELS, Policy, PolicySlots, RateKind, SessionParams};
pub use profiled_session::ProfiledSession;
pub use session_profile::{RemoteFars, SessionProfile};
#[cfg(any(test, feature = "testing"))]
pub use templates::Templates;
pub use transition::{ProfileTransition, TransitionEffect};

//! Software behind the switch, on ports of its own: each port of the switch that carries N3 or N6 is linked to a port of the
//! software. Frames that the switch does not forward by itself go to the linked port as they came, and frames of the
//! software leave by the port that is linked to theirs. So the software has N3 and N6 as without the switch.
//!
//! The table `software_ports` of profile `hip4-hybrid` has the links, by the port that a frame comes in at. A port without an entry
//! has no software behind it.

/// A port of the switch with N3 or N6, and the port of the software that it is linked to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SoftwareLink {
    /// The port with N3 or N6.
    pub network: u16,
    /// The port of the software.
    pub software: u16,
}

/// The mirroring session of port 0, by which frames leave as they came; that of another port is as much more. It is that of
/// `p4/blocks/leaving.p4`.
pub const FIRST_SESSION: u16 = 256;

/// The keys of table `packet_limits`, which has the longest packets that the switch forwards: without a tunnel, and in a new one. They
/// are those of `Forward` in `p4/blocks/headers.p4`.
pub(crate) const WITHOUT_TUNNEL: u128 = 1;
pub(crate) const IN_NEW_TUNNEL: u128 = 2;

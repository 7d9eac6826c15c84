//! Cables between namespaces.

use std::net::Ipv4Addr;

use super::{Namespace, run_program};
use crate::LabError;

/// A veth pair to be made: a cable with a network card at each end.
#[derive(Clone, Copy, Debug)]
pub struct Veth<'a> {
    /// One end.
    pub a: VethEnd<'a>,
    /// The other end.
    pub b: VethEnd<'a>,
    /// Length of the network prefix that both addresses are in.
    pub prefix: u8,
}

/// One end of a [`Veth`].
#[derive(Clone, Copy, Debug)]
pub struct VethEnd<'a> {
    /// Where the card is.
    pub namespace: &'a Namespace,
    /// Its name there, at most 15 octets.
    pub device: &'a str,
    /// Its address.
    pub address: Ipv4Addr,
}

/// Makes the pair, sets addresses and brings both ends up. It goes with its namespaces.
///
/// # Errors
/// [`LabError::Command`] with what `ip` said.
pub fn connect(veth: Veth<'_>) -> Result<(), LabError> {
    let Veth { a, b, prefix } = veth;
    let pair = format!(
        "link add name {} netns {} type veth peer name {} netns {}",
        a.device,
        a.namespace.name(),
        b.device,
        b.namespace.name()
    );
    run_program("ip", pair.split(' '), "")?;
    for end in [a, b] {
        // One segment per frame, so that a capture shows packets as a cable would carry them.
        end.namespace.ip(format!(
            "link set dev {0} gso_max_segs 1\naddress add {1}/{prefix} dev {0}\nlink set dev {0} up",
            end.device, end.address
        ))?;
    }
    Ok(())
}

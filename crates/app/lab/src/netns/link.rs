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
    /// Segments of one flow may cross in one frame. Without it a capture shows packets as a cable would carry them.
    pub joined: bool,
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
    let Veth { a, b, prefix, joined } = veth;
    let pair = format!(
        "link add name {} netns {} type veth peer name {} netns {}",
        a.device,
        a.namespace.name(),
        b.device,
        b.namespace.name()
    );
    run_program("ip", pair.split(' '), "")?;
    for end in [a, b] {
        if !joined {
            end.namespace.ip(format!("link set dev {} gso_max_segs 1", end.device))?;
        }
        let (device, address) = (end.device, end.address);
        end.namespace.ip(format!("address add {address}/{prefix} dev {device}\nlink set dev {device} up"))?;
    }
    Ok(())
}

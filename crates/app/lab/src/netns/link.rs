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

/// From now on what arrives at a card of this namespace is received by that core (receive packet
/// steering). A sender on another core then pays for sending alone, as if the far end were another machine.
///
/// # Errors
/// [`LabError::Command`] when the kernel cannot, or has no such core or card.
pub fn receive_on(namespace: &Namespace, device: &str, core: usize) -> Result<(), LabError> {
    // Groups of 32 cores, the last one first.
    let mask = format!("{:x}{}", 1_u32 << (core % 32), ",00000000".repeat(core / 32));
    let write = format!("echo {mask} > /sys/class/net/{device}/queues/rx-0/rps_cpus");
    run_program("ip", ["netns", "exec", namespace.name(), "sh", "-c", &write], "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cleanup::Cleanup;

    // Input:  a card that the first core shall receive for, and one that is not there.
    // Output: the kernel says so of it; an error that names the card.
    #[test]
    fn a_core_receives_for_a_card() {
        let cleanup = Cleanup::default();
        let here = match Namespace::create("receive", &cleanup) {
            Ok(here) => here,
            Err(error) => return eprintln!("SKIPPED a_core_receives_for_a_card: needs root ({error})"),
        };
        let _guard = cleanup.guard();
        here.ip("link add name card0 type veth peer name card1").unwrap();
        receive_on(&here, "card0", 0).unwrap();
        let asked = "test $(cat /sys/class/net/card0/queues/rx-0/rps_cpus | tr -d 0,) = 1";
        run_program("ip", ["netns", "exec", here.name(), "sh", "-c", asked], "").unwrap();
        let error = receive_on(&here, "card9", 0).unwrap_err().to_string();
        assert!(error.contains("/sys/class/net/card9/"), "{error}");
    }
}

//! The offloads of a socket, and their text for the log.

use std::fmt;
use std::os::fd::AsFd;

use crate::sys::sockopt;

/// Whether datagrams of one flow cross the socket together, in one message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UdpOffload {
    /// The kernel joins received datagrams (`UDP_GRO`, Linux 5.0).
    pub gro: bool,
    /// The kernel, or the network card, cuts messages into datagrams (`UDP_SEGMENT`, Linux 4.18).
    pub gso: bool,
}

impl UdpOffload {
    /// Enables the offloads that the kernel has.
    pub(super) fn ask(socket: impl AsFd) -> Self {
        let gro = sockopt::set(&socket, libc::SOL_UDP, libc::UDP_GRO, 1).is_ok();
        // The length that is set here applies to all messages: zero leaves it to each of them.
        let gso = sockopt::set(&socket, libc::SOL_UDP, libc::UDP_SEGMENT, 0).is_ok();
        Self { gro, gso }
    }
}

impl fmt::Display for UdpOffload {
    /// For example `GRO and GSO`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.gro, self.gso) {
            (true, true) => "GRO and GSO",
            (true, false) => "GRO",
            (false, true) => "GSO",
            (false, false) => "neither GRO nor GSO",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_the_offloads() {
        let shown = |gro, gso| UdpOffload { gro, gso }.to_string();
        assert_eq!([shown(true, true), shown(false, true)], ["GRO and GSO", "GSO"]);
        assert_eq!([shown(true, false), shown(false, false)], ["GRO", "neither GRO nor GSO"]);
    }
}

//! The offloads of a TUN device, and their text for the log.

use std::fmt;
use std::os::fd::AsFd;

use super::coalesce::GsoKinds;
use crate::sys::tun;

/// The packets that cross the device unsegmented or without a checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TunOffload {
    /// Checksums of TCP and UDP are computed here, if at all.
    pub checksum: bool,
    /// TCP segments of one flow cross together, up to 64 KiB (TSO).
    pub tso: bool,
    /// UDP datagrams of one flow cross together (USO, Linux 6.2).
    pub uso: bool,
}

impl TunOffload {
    /// Enables the offloads that the kernel has; older kernels have fewer.
    pub(super) fn ask(device: impl AsFd) -> Self {
        let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
        let choices = [
            (tcp | libc::TUN_F_USO4 | libc::TUN_F_USO6, Self { checksum: true, tso: true, uso: true }),
            (tcp, Self { checksum: true, tso: true, uso: false }),
            (libc::TUN_F_CSUM, Self { checksum: true, ..Self::default() }),
        ];
        let taken = |(flags, _): &(u32, Self)| tun::set_offload(&device, *flags).is_ok();
        choices.into_iter().find(taken).map_or(Self::default(), |(_, offload)| offload)
    }

    /// The packets that may be coalesced before a write.
    pub(super) const fn kinds(self) -> GsoKinds {
        GsoKinds { tcp: self.tso, udp: self.uso }
    }
}

impl fmt::Display for TunOffload {
    /// For example `TSO, USO and checksum offload`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.checksum, self.tso, self.uso) {
            (_, true, true) => "TSO, USO and checksum offload",
            (_, true, false) => "TSO and checksum offload",
            (true, false, _) => "checksum offload",
            (false, false, _) => "no offload",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_the_offloads() {
        let shown = |checksum, tso, uso| TunOffload { checksum, tso, uso }.to_string();
        assert_eq!(shown(true, true, true), "TSO, USO and checksum offload");
        assert_eq!(shown(true, true, false), "TSO and checksum offload");
        assert_eq!(shown(true, false, false), "checksum offload");
        assert_eq!(shown(false, false, false), "no offload");
    }
}

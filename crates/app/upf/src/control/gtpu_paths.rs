//! The GTP-U paths of sessions that are down.

use std::collections::BTreeSet;
use std::net::IpAddr;

use causeway_dataplane::Event;

use crate::management::PathStatus;

/// The paths that are down, by their local and remote address. There are at most as many as the data plane supervises.
#[derive(Debug, Default)]
pub(super) struct GtpuPaths {
    down: BTreeSet<(IpAddr, IpAddr)>,
    failures: u64,
}

impl GtpuPaths {
    /// An event of the data plane.
    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::PathDown { local, peer } => self.failures += u64::from(self.down.insert((*local, *peer))),
            Event::PathUp { local, peer } | Event::PathUnused { local, peer } => {
                self.down.remove(&(*local, *peer));
            }
            Event::Usage { .. }
            | Event::DownlinkData { .. }
            | Event::Inactivity { .. }
            | Event::ErrorIndication { .. }
            | Event::HeavyHitter { .. }
            | Event::ClassChange { .. } => {}
        }
    }

    pub(super) fn status(&self) -> PathStatus {
        PathStatus { down: self.down.len() as u64, failures: self.failures }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a path that is down, told twice, and another; the first recovers, no session uses the second any more; the
    //         first fails again.
    // Output: the number of those down at each time; three failures.
    #[test]
    fn a_path_is_down_until_it_recovers_or_is_unused() {
        let local = IpAddr::from([192, 0, 2, 7]);
        let peer = |n| IpAddr::from([192, 0, 2, n]);
        let mut paths = GtpuPaths::default();
        for (event, down) in [
            (Event::PathDown { local, peer: peer(1) }, 1),
            (Event::PathDown { local, peer: peer(1) }, 1),
            (Event::PathDown { local, peer: peer(2) }, 2),
            (Event::PathUp { local, peer: peer(1) }, 1),
            (Event::PathUnused { local, peer: peer(2) }, 0),
            (Event::PathDown { local, peer: peer(1) }, 1),
        ] {
            paths.event(&event);
            assert_eq!(paths.status().down, down, "{event:?}");
        }
        assert_eq!(paths.status().failures, 3);
    }
}

//! MAC addresses behind a UE (TS 29.244 clauses 5.13.5 and 5.13.6).

use causeway_types::MacAddr;

/// A MAC address that is the source of uplink frames of a session, with the VLANs of these frames.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct UeMac {
    /// Of the customer tag.
    pub c_vid: Option<u16>,
    /// Of the service tag.
    pub s_vid: Option<u16>,
    /// The address.
    pub mac: MacAddr,
}

/// The changes of a session's MAC addresses since the last report.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct MacChanges {
    /// New ones.
    pub detected: Vec<UeMac>,
    /// Those that were silent for too long, or are behind another session now.
    pub removed: Vec<UeMac>,
}

impl MacChanges {
    /// Nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.detected.is_empty() && self.removed.is_empty()
    }

    /// Merges both changes: an address that was added and removed, or removed and added, has not changed.
    pub fn followed_by(self, later: Self) -> Self {
        let without = |macs: &[UeMac], others: &[UeMac]| -> Vec<UeMac> {
            macs.iter().filter(|mac| !others.contains(mac)).copied().collect()
        };
        Self {
            detected: [without(&self.detected, &later.removed), without(&later.detected, &self.removed)]
                .concat(),
            removed: [without(&self.removed, &later.detected), without(&later.removed, &self.detected)]
                .concat(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mac(last: u16, c_vid: Option<u16>) -> UeMac {
        let [high, low] = last.to_be_bytes();
        UeMac { c_vid, s_vid: None, mac: MacAddr([2, 0, 0, 0, high, low]) }
    }

    // Input:  an address is added, then removed while another is added; one is removed and added again.
    // Output: only the other one is new.
    #[test]
    fn removed_and_readded_rules_are_unchanged() {
        let changes = |detected: &[u16], removed: &[u16]| MacChanges {
            detected: detected.iter().map(|last| mac(*last, None)).collect(),
            removed: removed.iter().map(|last| mac(*last, None)).collect(),
        };
        assert_eq!(changes(&[1], &[3]).followed_by(changes(&[2, 3], &[1])), changes(&[2], &[]));
    }
}

//! The second stage for packets that are met again when their turn comes.

use super::Pass;
use crate::leaving::Entrance;
use crate::plain::{Fork, Plain};

impl<const WAY: bool> Pass<'_, WAY> {
    /// The second stage for a packet that is not as simple as it looked.
    pub(super) fn choose_late(&mut self, index: usize, plain: &Plain) -> Fork {
        if let Some(fork) = self.engine.choose_otherwise::<WAY>(plain) {
            return fork;
        }
        if self.engine.has_no_line::<WAY>(plain) {
            return Fork::Unknown;
        }
        self.choose_anew(index)
    }

    /// Both stages for a packet of any kind.
    pub(super) fn choose_anew(&mut self, index: usize) -> Fork {
        // Those before have been chosen for.
        let first = self.odd.len();
        let fork = match self.entrance {
            Entrance::Network(network) => self.engine.find_odd_address(network, self.batch, index, self.odd),
            _ => self.engine.find_odd_tunnel(self.batch, (index, None), self.odd),
        };
        self.engine.choose_odd(self.batch, self.odd.get_mut(first..).unwrap_or_default());
        fork
    }
}

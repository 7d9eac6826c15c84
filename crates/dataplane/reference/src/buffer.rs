//! Packets that wait for their FAR to forward again.

use std::collections::VecDeque;

use causeway_types::{PdrId, Qfi};

/// A packet that waits, without its outer header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Waiting {
    /// The PDR it matched.
    pub(crate) pdr: PdrId,
    /// The QFI it arrived with, if it came out of a tunnel.
    pub(crate) qfi: Option<Qfi>,
    /// The user packet, from its IP header on.
    pub(crate) packet: Vec<u8>,
}

/// The buffer of one session: one queue in order of arrival, whatever the PDR.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Buffer(VecDeque<Waiting>);

impl Buffer {
    /// How many packets wait for PDRs that `counts` says yes to.
    pub(crate) fn count(&self, counts: impl Fn(PdrId) -> bool) -> usize {
        self.0.iter().filter(|waiting| counts(waiting.pdr)).count()
    }

    /// How many packets wait.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Puts a packet at the end.
    pub(crate) fn push(&mut self, waiting: Waiting) {
        self.0.push_back(waiting);
    }

    /// Takes out the packets whose PDR need not wait any longer, in order of arrival.
    pub(crate) fn take(&mut self, is_done: impl Fn(PdrId) -> bool) -> Vec<Waiting> {
        let (taken, kept): (VecDeque<_>, _) = self.0.drain(..).partition(|waiting| is_done(waiting.pdr));
        self.0 = kept;
        taken.into()
    }
}

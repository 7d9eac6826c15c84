//! What the next request needs, while this one is worked on.

use std::ops::Range;

use causeway_pfcp::MessageType;
use causeway_rules::{PrefaultFn, Release};
use causeway_types::Seid;

use crate::N4;

/// Octets of a header with SEID, and where the SEID is in it.
const HEADER: usize = 16;
const SEID: usize = 4;

impl N4 {
    /// Has the memory of the tables of sessions prepared so before it is used: for whoever can have the system get it in large pages, and
    /// by another thread. Call it before the first session.
    pub const fn prepare_memory_with(&mut self, prepare: PrefaultFn) {
        self.sessions.prepare_with(prepare);
    }

    /// Has memory that sessions have left given back so to the system, a little at each [`N4::timer`]. Call it before the first session.
    pub fn release_memory_with<R: Release>(&mut self) {
        self.sessions.release_with::<R>();
    }

    /// The memory of the tables of sessions, which is met all over.
    pub fn tables(&self) -> impl Iterator<Item = Range<*const u8>> {
        self.sessions.tables()
    }

    /// Names the memory that a datagram will need, for whoever can have it fetched: the cache lines that these addresses are in. It
    /// changes nothing, and does no harm where it is wrong, or another datagram comes.
    ///
    /// With very many sessions a request waits for memory most of the time. Call this with a datagram that has come already before
    /// [`N4::datagram`] with the one before it.
    pub fn prefetch(&self, following: &[u8], fetch: impl Fn(*const u8)) {
        let Some((header, body)) = following.split_first_chunk::<HEADER>() else { return };
        match MessageType::from_code(header[1]) {
            Some(MessageType::SessionEstablishmentRequest) => {
                if let Some(cp) = self.resources.peek_cp_f_seid(body) {
                    self.sessions.prefetch_new(&cp, fetch);
                }
            }
            Some(MessageType::SessionModificationRequest | MessageType::SessionDeletionRequest) => {
                let seid = header[SEID..].first_chunk().copied().map_or(0, u64::from_be_bytes);
                self.sessions.prefetch(Seid(seid), fetch);
            }
            _ => {}
        }
    }
}

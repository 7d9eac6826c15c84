//! The memory of the session tables.

use std::ops::Range;

use causeway_collections::{PrefaultFn, Release};

use super::N4;

impl N4 {
    /// Uses `prepare` on memory of the session tables before its first use, for example to have the system map large
    /// pages, or on another thread. Call it before the first session.
    pub fn prepare_memory_with(&mut self, prepare: PrefaultFn) {
        self.parts_mut().for_each(|part| part.sessions.prepare_with(prepare));
    }

    /// Releases unused memory of the session tables to the system with `R`, a little at each [`N4::timer`]. Call it
    /// before the first session.
    pub fn release_memory_with<R: Release>(&mut self) {
        self.parts_mut().for_each(|part| part.sessions.release_with::<R>());
    }

    /// The memory of the session tables, which has random access.
    pub fn tables(&self) -> impl Iterator<Item = Range<*const u8>> {
        self.parts().flat_map(|part| part.sessions.tables())
    }

    /// As [`Part::prefetch`](crate::Part::prefetch), of the part with the session.
    pub fn prefetch(&self, following: &[u8], fetch: impl Fn(*const u8)) {
        let part = match self.further.is_empty() {
            true => 0,
            false => self.part_of_datagram(following),
        };
        if let Some(part) = self.parts().nth(part) {
            part.prefetch(following, fetch);
        }
    }
}

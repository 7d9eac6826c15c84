//! The session array: an entry for each index, with a generation.

use causeway_model::Answered;
use causeway_types::{Seid, Time};

use crate::Rules;

/// Requests of a session that are known again when they are repeated.
pub const REPEATS: usize = 4;

/// The state of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// It never had a session, or nothing of it is left.
    Free,
    /// It has a session.
    Live,
    /// It has a session that N4 takes over soon: its messages are N4's.
    Leaving,
    /// Its session was deleted by this request; until the index is used again, repeated requests get their answers.
    Gone(Answered),
    /// N4 has adopted the session, and gives the index back when it ends.
    Adopted,
}

impl State {
    /// The entry has a session, and its keys.
    pub(crate) const fn is_here(self) -> bool {
        matches!(self, Self::Live | Self::Leaving)
    }
}

/// An entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) state: State,
    /// Grows with each session of the index; 24 bits.
    pub(crate) generation: u32,
    /// The generation of the SMF.
    pub(crate) smf: u32,
    /// The SMF's SEID.
    pub(crate) cp: Seid,
    /// When it was established.
    pub(crate) since: Time,
    /// The request that established it.
    pub(crate) origin: Answered,
    /// The last modifications; the place of the next one.
    pub(crate) recent: [Option<Answered>; REPEATS],
    pub(crate) next_recent: u8,
    pub(crate) rules: Option<Rules>,
    /// The next free index.
    next_free: u32,
}

impl Entry {
    const EMPTY: Self = Self {
        state: State::Free,
        generation: 0,
        smf: 0,
        cp: Seid(0),
        since: Time::from_secs(0),
        origin: Answered { sequence: 0, port: 0, digest: 0 },
        recent: [None; REPEATS],
        next_recent: 0,
        rules: None,
        next_free: NONE,
    };

    /// Another session begins.
    pub(crate) const fn begin(&mut self, generation: u32, smf: u32, cp: Seid) {
        self.state = State::Live;
        (self.generation, self.smf, self.cp) = (generation, smf, cp);
        (self.recent, self.next_recent) = ([None; REPEATS], 0);
    }

    /// The last modifications, the oldest first.
    pub(crate) fn answered(&self) -> impl Iterator<Item = Answered> + use<> {
        let mut ordered = self.recent;
        ordered.rotate_left(usize::from(self.next_recent));
        ordered.into_iter().flatten()
    }

    /// An answered modification.
    pub(crate) fn remember(&mut self, request: Answered) {
        if let Some(place) = self.recent.get_mut(usize::from(self.next_recent)) {
            *place = Some(request);
        }
        self.next_recent = (self.next_recent + 1) % REPEATS as u8;
    }

    /// The last modification was not answered. An older one that it replaced stays unknown.
    pub(crate) fn forget_last(&mut self) {
        self.next_recent = (self.next_recent + REPEATS as u8 - 1) % REPEATS as u8;
        if let Some(place) = self.recent.get_mut(usize::from(self.next_recent)) {
            *place = None;
        }
    }
}

const NONE: u32 = u32::MAX;

/// All entries, and those without a session in the order in which they are used again: as late as possible.
#[derive(Clone, Debug)]
pub(crate) struct Entries {
    all: Box<[Entry]>,
    first_free: u32,
    last_free: u32,
    free: u32,
    /// No index from this one on was ever used.
    end: u32,
}

impl Entries {
    pub(crate) fn new(sessions: u32) -> Self {
        let mut all = vec![Entry::EMPTY; sessions as usize].into_boxed_slice();
        for (next, entry) in (1..sessions).zip(&mut all) {
            entry.next_free = next;
        }
        let last_free = sessions.checked_sub(1).unwrap_or(NONE);
        Self { all, first_free: if sessions > 0 { 0 } else { NONE }, last_free, free: sessions, end: 0 }
    }

    pub(crate) fn get(&self, index: u32) -> Option<&Entry> {
        self.all.get(index as usize)
    }

    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut Entry> {
        self.all.get_mut(index as usize)
    }

    pub(crate) fn len(&self) -> u32 {
        self.all.len() as u32
    }

    /// No index from this one on was ever used.
    pub(crate) const fn end(&self) -> u32 {
        self.end
    }

    /// Entries without a session.
    pub(crate) const fn free(&self) -> u32 {
        self.free
    }

    /// The index that comes next.
    pub(crate) const fn peek_free(&self) -> Option<u32> {
        if self.first_free == NONE { None } else { Some(self.first_free) }
    }

    /// Takes the index that comes next.
    pub(crate) fn take(&mut self) -> Option<u32> {
        let index = self.peek_free()?;
        self.first_free = self.get(index)?.next_free;
        if self.first_free == NONE {
            self.last_free = NONE;
        }
        self.free -= 1;
        self.end = self.end.max(index + 1);
        Some(index)
    }

    /// The index is used again after all others.
    pub(crate) fn give_back(&mut self, index: u32) {
        let last = self.last_free;
        match self.get_mut(last) {
            Some(entry) => entry.next_free = index,
            None => self.first_free = index,
        }
        if let Some(entry) = self.get_mut(index) {
            entry.next_free = NONE;
        }
        self.last_free = index;
        self.free += 1;
    }
}

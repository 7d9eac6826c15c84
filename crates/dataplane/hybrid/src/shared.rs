//! What the parts of one switch share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use causeway_types::{Span, Time};

/// How long a part is known to ask for an entry, unless it asks again.
const ASKED: Span = Span::from_secs(1);

/// The entries and the rule changes of one switch in front of several packet threads. Each thread has the rules of its sessions in
/// a part of the switch, and its own [`Moves`](crate::Moves), which take entries and changes from here: when rules move, not
/// packet by packet.
#[derive(Debug)]
pub struct SharedSwitch(Mutex<Shared>);

#[derive(Debug)]
struct Shared {
    /// Rules on the switch or on their way.
    rules: usize,
    /// Rule changes that may be made now.
    tokens: f64,
    filled: Time,
    /// For each part, until when it asks for an entry, and for a rule with this many octets a second.
    asked: Vec<Option<(Time, u64)>>,
}

impl SharedSwitch {
    /// A switch of so many parts, without rules.
    pub fn new(parts: usize) -> Self {
        let asked = vec![None; parts.max(1)];
        Self(Mutex::new(Shared { rules: 0, tokens: 0.0, filled: Time::default(), asked }))
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // Numbers are valid whatever interrupted their user.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rules on the switch or on their way, of all parts.
    pub fn rules(&self) -> usize {
        self.lock().rules
    }

    /// Takes an entry, of so many. `None`: none is free.
    pub(crate) fn take_entry(&self, capacity: usize) -> Option<()> {
        let mut shared = self.lock();
        let is_free = shared.rules < capacity;
        shared.rules += usize::from(is_free);
        is_free.then_some(())
    }

    pub(crate) fn release_entry(&self) {
        let mut shared = self.lock();
        shared.rules = shared.rules.saturating_sub(1);
    }

    /// Takes one rule change of so many a second, of which a twentieth of a second may be saved up.
    pub(crate) fn take_change(&self, now: Time, per_second: u32) -> Option<()> {
        let mut shared = self.lock();
        let rate = f64::from(per_second);
        let added = now.since(shared.filled).as_secs_f64() * rate;
        shared.tokens = (shared.tokens + added).min((rate / 20.0).max(1.0));
        shared.filled = shared.filled.max(now);
        if shared.tokens < 1.0 {
            return None;
        }
        shared.tokens -= 1.0;
        Some(())
    }

    /// A part has no entry for a rule with so many octets a second; `None`: it asks no more.
    pub(crate) fn ask(&self, now: Time, part: usize, octets: Option<u64>) {
        if let Some(asked) = self.lock().asked.get_mut(part) {
            *asked = octets.map(|octets| (now + ASKED, octets));
        }
    }

    /// The most octets a second of rules for which other parts ask.
    pub(crate) fn asked_by_others(&self, now: Time, part: usize) -> Option<u64> {
        let shared = self.lock();
        let others = shared.asked.iter().enumerate().filter(|(other, _)| *other != part);
        others
            .filter_map(|(_, asked)| *asked)
            .filter(|(until, _)| *until > now)
            .map(|(_, octets)| octets)
            .max()
    }
}

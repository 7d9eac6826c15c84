//! State that several users share under one key: it begins with the first user, and ends with the last.

use std::collections::{BTreeMap, BTreeSet};

use causeway_types::{QerId, Seid};

/// A QER of a session.
pub(crate) type User = (Seid, QerId);

/// The states, and the users of each.
#[derive(Clone, Debug)]
pub(crate) struct Correlated<K, V> {
    states: BTreeMap<K, (BTreeSet<User>, V)>,
}

impl<K, V> Default for Correlated<K, V> {
    fn default() -> Self {
        Self { states: BTreeMap::new() }
    }
}

impl<K: Ord + Clone, V> Correlated<K, V> {
    /// Adds a user. `update` changes a state that is there already; `create` creates it.
    pub(crate) fn join(
        &mut self,
        key: &K,
        user: User,
        update: impl FnOnce(&mut V),
        create: impl FnOnce() -> V,
    ) {
        match self.states.get_mut(key) {
            Some((users, state)) => {
                users.insert(user);
                update(state);
            }
            None => drop(self.states.insert(key.clone(), ([user].into(), create()))),
        }
    }

    /// Removes a user, and the state with its last user.
    pub(crate) fn leave(&mut self, key: &K, user: User) {
        let Some((users, _)) = self.states.get_mut(key) else { return };
        users.remove(&user);
        if users.is_empty() {
            self.states.remove(key);
        }
    }

    /// The state of a key.
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.states.get(key).map(|(_, state)| state)
    }

    /// The state of a key.
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.states.get_mut(key).map(|(_, state)| state)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::cmp::Ordering;

    use super::*;

    thread_local! {
        /// The number of comparisons of keys.
        static COMPARED: Cell<u64> = const { Cell::new(0) };
    }

    fn compared<T>(value: T) -> T {
        COMPARED.with(|count| count.set(count.get() + 1));
        value
    }

    /// A key that counts its comparisons.
    #[derive(Clone, Copy, Eq, Debug)]
    struct Counted(u64);

    impl PartialEq for Counted {
        fn eq(&self, other: &Self) -> bool {
            compared(self.0 == other.0)
        }
    }

    impl Ord for Counted {
        fn cmp(&self, other: &Self) -> Ordering {
            compared(self.0.cmp(&other.0))
        }
    }

    impl PartialOrd for Counted {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    // Input:  10,000 keys with two users each; one of them joins again and leaves, then the other one leaves.
    // Output: the state stays until the last user leaves; no step compares more than a search does, 100 keys at most.
    #[test]
    fn a_state_ends_with_its_last_user_and_no_other_is_visited() {
        let mut states = Correlated::default();
        let user = |session| (Seid(session), QerId(1));
        for key in 0..10_000 {
            for session in [1, 2] {
                states.join(&Counted(key), user(session), |count| *count += 1, || 1);
            }
        }
        for key in [Counted(0), Counted(4321), Counted(9999)] {
            COMPARED.with(|count| count.set(0));
            states.join(&key, user(1), |count| *count += 1, || 1);
            states.leave(&key, user(1));
            states.leave(&key, user(1));
            assert_eq!(states.get(&key).copied(), Some(3));
            states.leave(&key, user(2));
            assert_eq!(states.get_mut(&key), None);
            states.leave(&key, user(2));
            let count = COMPARED.with(Cell::get);
            assert!(count <= 8 * 100, "{count} comparisons");
        }
        assert_eq!(states.get(&Counted(4322)).copied(), Some(2));
    }
}

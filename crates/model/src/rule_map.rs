//! The rules of one kind.

use std::fmt;
use std::ops::Index;
use std::sync::Arc;

use causeway_collections::SortedMap;

/// The rules of one kind in a session, by id and in the order of their ids.
///
/// Rules are shared: a copy of the map, a plan and the data plane share them, and a rule is copied only if it is
/// changed while shared.
#[derive(PartialEq, Eq)]
pub struct RuleMap<I, R>(SortedMap<I, Arc<R>>);

impl<I, R> RuleMap<I, R> {
    /// No rules.
    pub const fn new() -> Self {
        Self(SortedMap::new())
    }

    /// The number of rules.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// There are no rules.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Ids and rules, in the order of the ids.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&I, &R)> + ExactSizeIterator + Clone {
        self.0.iter().map(|(id, rule)| (id, &**rule))
    }

    /// The ids in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &I> + ExactSizeIterator + Clone {
        self.0.keys()
    }

    /// The rules in the order of their ids.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &R> + ExactSizeIterator + Clone {
        self.0.values().map(|rule| &**rule)
    }

    /// The rules in the order of their ids, as shared references.
    pub fn shared(&self) -> impl DoubleEndedIterator<Item = &Arc<R>> + ExactSizeIterator + Clone {
        self.0.values()
    }

    /// Replaces each rule with another of the same id.
    pub fn replace(&mut self, mut other: impl FnMut(Arc<R>) -> Arc<R>) {
        for rule in self.0.values_mut() {
            *rule = other(Arc::clone(rule));
        }
    }

    /// Keeps the rules for which `keeps` is true.
    pub fn retain(&mut self, mut keeps: impl FnMut(&I, &R) -> bool) {
        self.0.retain(|id, rule| keeps(id, rule));
    }
}

impl<I: Ord, R> RuleMap<I, R> {
    /// The rule of this id.
    pub fn get(&self, id: &I) -> Option<&R> {
        self.0.get(id).map(|rule| &**rule)
    }

    /// The rule of this id, as a shared reference.
    pub fn get_shared(&self, id: &I) -> Option<&Arc<R>> {
        self.0.get(id)
    }

    /// There is a rule of this id.
    pub fn contains_key(&self, id: &I) -> bool {
        self.0.contains_key(id)
    }

    /// Inserts a rule and returns the previous one of the id.
    pub fn insert(&mut self, id: I, rule: impl Into<Arc<R>>) -> Option<Arc<R>> {
        self.0.insert(id, rule.into())
    }

    /// Inserts a rule unless there is one of this id.
    pub fn insert_if_absent(&mut self, id: I, rule: impl FnOnce() -> R) {
        self.0.get_or_insert_with(id, || Arc::new(rule()));
    }

    /// Removes a rule.
    pub fn remove(&mut self, id: &I) -> Option<Arc<R>> {
        self.0.remove(id)
    }
}

impl<I: Ord, R: Clone> RuleMap<I, R> {
    /// The rule of this id, mutable. Copies it if it is shared.
    pub fn get_mut(&mut self, id: &I) -> Option<&mut R> {
        self.0.get_mut(id).map(Arc::make_mut)
    }

    /// The rules in the order of their ids, mutable. Copies those that are shared.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut R> + ExactSizeIterator {
        self.0.values_mut().map(Arc::make_mut)
    }

    /// Changes every rule for which `concerns` is true; the others stay shared.
    pub fn change(&mut self, concerns: impl Fn(&R) -> bool, mut change: impl FnMut(&mut R)) {
        for rule in self.0.values_mut().filter(|rule| concerns(rule)) {
            change(Arc::make_mut(rule));
        }
    }
}

impl<I: Clone, R> Clone for RuleMap<I, R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<I, R> Default for RuleMap<I, R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: fmt::Debug, R: fmt::Debug> fmt::Debug for RuleMap<I, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<I: Ord, R> Index<&I> for RuleMap<I, R> {
    type Output = R;

    /// # Panics
    /// If there is no rule of this id.
    fn index(&self, id: &I) -> &R {
        &self.0[id]
    }
}

impl<I: Ord, R> Extend<(I, R)> for RuleMap<I, R> {
    fn extend<T: IntoIterator<Item = (I, R)>>(&mut self, rules: T) {
        self.0.extend(rules.into_iter().map(|(id, rule)| (id, Arc::new(rule))));
    }
}

impl<I: Ord, R> FromIterator<(I, R)> for RuleMap<I, R> {
    fn from_iter<T: IntoIterator<Item = (I, R)>>(rules: T) -> Self {
        let mut map = Self::new();
        map.extend(rules);
        map
    }
}

impl<I: Ord, R, const N: usize> From<[(I, R); N]> for RuleMap<I, R> {
    fn from(rules: [(I, R); N]) -> Self {
        rules.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// One call.
    #[derive(Clone, Copy, Debug)]
    enum Call {
        Insert(u8, u16),
        GetOrInsert(u8, u16),
        Remove(u8),
        Change(u8),
        RetainAbove(u8),
    }

    fn call() -> impl Strategy<Value = Call> {
        let key = 0..12_u8;
        prop_oneof![
            4 => (key.clone(), any::<u16>()).prop_map(|(key, value)| Call::Insert(key, value)),
            1 => (key.clone(), any::<u16>()).prop_map(|(key, value)| Call::GetOrInsert(key, value)),
            2 => key.clone().prop_map(Call::Remove),
            2 => key.clone().prop_map(Call::Change),
            1 => key.prop_map(Call::RetainAbove),
        ]
    }

    proptest! {
        // Input:  any calls, made to a map of shared rules and to a `BTreeMap`, with a copy of the map kept before each.
        // Output: the same entries; no copy changes with the original.
        #[test]
        fn a_change_of_a_rule_map_leaves_its_copies_alone(calls in prop::collection::vec(call(), 0..40)) {
            let (mut map, mut model) = (RuleMap::new(), BTreeMap::new());
            for call in calls {
                let (copy, before) = (map.clone(), model.clone());
                match call {
                    Call::Insert(key, value) | Call::GetOrInsert(key, value) => {
                        let (held, known) = (map.insert(key, value), model.insert(key, value));
                        prop_assert_eq!(held.map(|held| *held), known);
                    }
                    Call::Remove(key) => {
                        prop_assert_eq!(map.remove(&key).map(|held| *held), model.remove(&key));
                    }
                    Call::Change(key) => {
                        map.get_mut(&key).into_iter().for_each(|value| *value ^= 1);
                        model.get_mut(&key).into_iter().for_each(|value| *value ^= 1);
                    }
                    Call::RetainAbove(least) => {
                        map.retain(|key, _| *key > least);
                        model.retain(|key, _| *key > least);
                    }
                }
                prop_assert!(map.iter().eq(model.iter()) && map.values().eq(model.values()));
                prop_assert!(copy.iter().eq(before.iter()));
                prop_assert_eq!(copy == map, before == model);
            }
        }
    }
}

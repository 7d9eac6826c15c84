//! Collections that nearly always have one item.

use thin_vec::ThinVec;

/// Items in insertion order; a single one takes no memory of its own.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum SmallList<T> {
    /// No item.
    #[default]
    None,
    /// One item.
    One(T),
    /// Two or more items.
    More(ThinVec<T>),
}

impl<T: PartialEq> SmallList<T> {
    /// The items.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let (one, more) = match self {
            Self::None => (None, None),
            Self::One(item) => (Some(item), None),
            Self::More(items) => (None, Some(items.iter())),
        };
        one.into_iter().chain(more.into_iter().flatten())
    }

    /// There is an item that differs from this one.
    pub fn has_other(&self, item: &T) -> bool {
        match self {
            Self::None => false,
            Self::One(held) => held != item,
            Self::More(items) => items.iter().any(|held| held != item),
        }
    }

    /// There are no items.
    pub const fn is_empty(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Appends an item.
    pub fn push(&mut self, item: T) {
        if self.is_empty() {
            *self = Self::One(item);
            return;
        }
        *self = match std::mem::take(self) {
            Self::None => Self::One(item),
            Self::One(first) => Self::More(ThinVec::from([first, item])),
            Self::More(mut items) => {
                items.push(item);
                Self::More(items)
            }
        };
    }

    /// Removes an item. `false`: it was not there.
    pub fn remove(&mut self, item: &T) -> bool {
        match self {
            Self::One(held) if held == item => {
                *self = Self::None;
                true
            }
            Self::More(items) => {
                let Some(at) = items.iter().position(|held| held == item) else { return false };
                items.remove(at);
                if items.len() < 2 {
                    *self = items.pop().map_or(Self::None, Self::One);
                }
                true
            }
            Self::None | Self::One(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  three items, two of them equal; one after the other is removed, and one that is not there.
    // Output: the remaining ones, in their order; equality does not depend on the history of a list.
    #[test]
    fn random_inserts_and_removals_keep_the_list() {
        let mut few = SmallList::default();
        [1, 2, 1].into_iter().for_each(|item| few.push(item));
        let left = |few: &SmallList<i32>| few.iter().copied().collect::<Vec<_>>();
        assert!(few.has_other(&1) && few.has_other(&7) && !SmallList::One(1).has_other(&1));
        assert!(!few.remove(&7) && few.remove(&1));
        assert_eq!((left(&few), few.is_empty()), (vec![2, 1], false));
        assert!(few.remove(&2));
        assert_eq!(few, SmallList::One(1));
        assert!(!few.remove(&2) && few.remove(&1) && !few.remove(&1));
        assert_eq!((few.is_empty(), few), (true, SmallList::None));
    }
}

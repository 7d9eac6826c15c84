//! IEs that may be repeated in a message or group.

use std::fmt;

use crate::{Ie, RawIes};

/// All IEs of one type in a message or group, in their order.
///
/// Decoded messages hold a view into the datagram: every item was checked when the message was decoded, and is
/// decoded again, without allocation, during iteration. Messages to be sent hold a list.
pub struct Many<'a, T>(Items<'a, T>);

enum Items<'a, T> {
    /// The octets of the group from the first such IE on, and the number of its usable IEs of this type.
    Wire {
        group: &'a [u8],
        ie_type: u16,
        count: usize,
    },
    List(Vec<T>),
}

impl<'a, T: Ie<'a>> Many<'a, T> {
    /// The items of `ie_type` in `group`, of which `count` are usable; `group` starts with the first of them.
    pub(crate) const fn wire(group: &'a [u8], ie_type: u16, count: usize) -> Self {
        Self(Items::Wire { group, ie_type, count })
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        match &self.0 {
            Items::Wire { count, .. } => *count,
            Items::List(items) => items.len(),
        }
    }

    /// There are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a, T: Ie<'a> + Clone> Many<'a, T> {
    /// The items in their order.
    pub fn iter(&self) -> ManyIter<'_, 'a, T> {
        ManyIter(match &self.0 {
            Items::Wire { group, ie_type, count } => {
                Source::Wire { ies: RawIes::new(group), ie_type: *ie_type, left: *count }
            }
            Items::List(items) => Source::List(items.iter()),
        })
    }

    /// The first item.
    pub fn first(&self) -> Option<T> {
        self.iter().next()
    }
}

/// The items of a [`Many`].
pub struct ManyIter<'m, 'a, T>(Source<'m, 'a, T>);

enum Source<'m, 'a, T> {
    Wire { ies: RawIes<'a>, ie_type: u16, left: usize },
    List(std::slice::Iter<'m, T>),
}

impl<'a, T: Ie<'a> + Clone> Iterator for ManyIter<'_, 'a, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        match &mut self.0 {
            Source::List(items) => items.next().cloned(),
            Source::Wire { left: 0, .. } => None,
            Source::Wire { ies, ie_type, left } => {
                *left -= 1;
                ies.flatten()
                    .filter(|ie| ie.ie_type == *ie_type && is_value::<T>(ie.value))
                    .find_map(|ie| T::decode(ie.value).ok())
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match &self.0 {
            Source::List(items) => items.len(),
            Source::Wire { left, .. } => *left,
        };
        (left, Some(left))
    }
}

/// A null length means removal, except in a group that may be empty.
pub(crate) fn is_value<'a, T: Ie<'a>>(value: &[u8]) -> bool {
    T::NULL_IS_VALUE || !value.is_empty()
}

impl<'m, 'a, T: Ie<'a> + Clone> IntoIterator for &'m Many<'a, T> {
    type Item = T;
    type IntoIter = ManyIter<'m, 'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T> Default for Many<'_, T> {
    fn default() -> Self {
        Self(Items::Wire { group: &[], ie_type: 0, count: 0 })
    }
}

impl<T> From<Vec<T>> for Many<'_, T> {
    fn from(items: Vec<T>) -> Self {
        Self(Items::List(items))
    }
}

impl<T, const N: usize> From<[T; N]> for Many<'_, T> {
    fn from(items: [T; N]) -> Self {
        Vec::from(items).into()
    }
}

impl<T> FromIterator<T> for Many<'_, T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Vec::from_iter(items).into()
    }
}

impl<T: Clone> Clone for Many<'_, T> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Items::Wire { group, ie_type, count } => Items::Wire { group, ie_type: *ie_type, count: *count },
            Items::List(items) => Items::List(items.clone()),
        })
    }
}

impl<'a, T: Ie<'a> + Clone + PartialEq> PartialEq for Many<'a, T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<'a, T: Ie<'a> + Clone + Eq> Eq for Many<'a, T> {}

impl<'a, T: Ie<'a> + Clone + fmt::Debug> fmt::Debug for Many<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

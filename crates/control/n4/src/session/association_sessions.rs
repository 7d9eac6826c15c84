//! The sessions of each association.

use std::collections::BTreeMap;

use causeway_collections::fit;

use crate::association::AssociationId;

/// The spare capacity of an association's list is checked each time a session leaves and its length is a multiple of
/// this power of two.
const ROUND: usize = 1024;

/// The indices of the sessions of each association, in any order. There are few associations and frequent lookups: a
/// linear search by id is faster than a hash.
#[derive(Debug, Default)]
pub(super) struct AssociationSessions(BTreeMap<AssociationId, Vec<u32>>);

impl AssociationSessions {
    /// Adds a session. Returns its number within the association, by which it is removed.
    pub(super) fn join(&mut self, association: AssociationId, index: u32) -> u32 {
        let Some(members) = self.0.get_mut(&association) else {
            self.0.insert(association, vec![index]);
            return 0;
        };
        members.push(index);
        members.len() as u32 - 1
    }

    /// Removes the session with this number. Returns the index of the session that has the number from now on, if there
    /// is one.
    pub(super) fn leave(&mut self, association: AssociationId, number: u32) -> Option<u32> {
        let members = self.0.get_mut(&association)?;
        if (number as usize) < members.len() {
            members.swap_remove(number as usize);
        }
        if members.len().is_multiple_of(ROUND) {
            fit(members);
        }
        let successor = members.get(number as usize).copied();
        if members.is_empty() {
            self.0.remove(&association);
        }
        successor
    }

    /// The index of the session with the last number.
    pub(super) fn last(&self, association: AssociationId) -> Option<u32> {
        self.of(association).last().copied()
    }

    /// The indices of the sessions of an association.
    pub(super) fn of(&self, association: AssociationId) -> &[u32] {
        self.0.get(&association).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a hundred sessions of two associations in turn; every third is removed.
    // Output: each association has the remaining ones, each under its number; an association without sessions has none.
    #[test]
    fn a_removed_session_frees_its_number() {
        let mut members = AssociationSessions::default();
        let (one, other) = (AssociationId(1), AssociationId(2));
        let of = |index: u32| if index.is_multiple_of(2) { one } else { other };
        let mut numbers: Vec<_> = (0..100_u32).map(|index| members.join(of(index), index)).collect();
        let mut leave = |members: &mut AssociationSessions, index: u32| {
            let number = numbers[index as usize];
            if let Some(successor) = members.leave(of(index), number) {
                assert_eq!(members.of(of(index))[number as usize], successor);
                numbers[successor as usize] = number;
            }
        };
        (0..100_u32).step_by(3).for_each(|index| leave(&mut members, index));
        for association in [one, other] {
            let mut left = members.of(association).to_vec();
            left.sort_unstable();
            assert_eq!(
                left,
                (0..100_u32)
                    .filter(|index| !index.is_multiple_of(3) && of(*index) == association)
                    .collect::<Vec<_>>()
            );
        }
        (0..100_u32).filter(|index| !index.is_multiple_of(3)).for_each(|index| leave(&mut members, index));
        assert_eq!((members.of(one), members.of(other), members.0.len()), (&[][..], &[][..], 0));
    }
}

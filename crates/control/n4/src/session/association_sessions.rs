//! Which sessions each association has.

use std::collections::BTreeMap;

use causeway_rules::fit;

use crate::association::AssociationId;

/// Each time the sessions of an association are a multiple of so many when one leaves, their list is looked at for room that it does not need:
/// a power of two.
const ROUND: usize = 1024;

/// The places of the sessions of each association, in any order. There are few associations, and they are asked for often: each is
/// found sooner by its id than by a hash of it.
#[derive(Debug, Default)]
pub(super) struct AssociationSessions(BTreeMap<AssociationId, Vec<u32>>);

impl AssociationSessions {
    /// A session joins. Returns its number among those of the association, by which it is found when it leaves.
    pub(super) fn join(&mut self, association: AssociationId, index: u32) -> u32 {
        let Some(members) = self.0.get_mut(&association) else {
            self.0.insert(association, vec![index]);
            return 0;
        };
        members.push(index);
        members.len() as u32 - 1
    }

    /// The session of this number leaves. Returns the place of the one that has its number from now on, if there is one.
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

    /// The place of the session of the last number.
    pub(super) fn last(&self, association: AssociationId) -> Option<u32> {
        self.of(association).last().copied()
    }

    /// The places of the sessions of an association.
    pub(super) fn of(&self, association: AssociationId) -> &[u32] {
        self.0.get(&association).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a hundred sessions of two associations in turn; every third leaves.
    // Output: each association has those that are left, each under its number; one that none is left of has none.
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

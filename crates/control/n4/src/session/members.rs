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
pub(super) struct Members(BTreeMap<AssociationId, Vec<u32>>);

impl Members {
    /// A session joins. Returns its number among those of the association, by which it is found when it leaves.
    pub(super) fn join(&mut self, association: AssociationId, place: u32) -> u32 {
        let Some(members) = self.0.get_mut(&association) else {
            self.0.insert(association, vec![place]);
            return 0;
        };
        members.push(place);
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
        let heir = members.get(number as usize).copied();
        if members.is_empty() {
            self.0.remove(&association);
        }
        heir
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
    fn whoever_leaves_leaves_its_number_to_another() {
        let mut members = Members::default();
        let (one, other) = (AssociationId(1), AssociationId(2));
        let of = |place: u32| if place.is_multiple_of(2) { one } else { other };
        let mut numbers: Vec<_> = (0..100_u32).map(|place| members.join(of(place), place)).collect();
        let mut leave = |members: &mut Members, place: u32| {
            let number = numbers[place as usize];
            if let Some(heir) = members.leave(of(place), number) {
                assert_eq!(members.of(of(place))[number as usize], heir);
                numbers[heir as usize] = number;
            }
        };
        (0..100_u32).step_by(3).for_each(|place| leave(&mut members, place));
        for association in [one, other] {
            let mut left = members.of(association).to_vec();
            left.sort_unstable();
            assert_eq!(
                left,
                (0..100_u32)
                    .filter(|place| !place.is_multiple_of(3) && of(*place) == association)
                    .collect::<Vec<_>>()
            );
        }
        (0..100_u32).filter(|place| !place.is_multiple_of(3)).for_each(|place| leave(&mut members, place));
        assert_eq!((members.of(one), members.of(other), members.0.len()), (&[][..], &[][..], 0));
    }
}

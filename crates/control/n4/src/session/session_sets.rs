//! Session sets that fail or move together: FQ-CSIDs and Group IDs (TS 29.244 clause 5.22.4, TS 23.007 clause 23).

use causeway_pfcp::{
    CsidAddress, FqCsid, GroupId, Many, SessionEstablishmentRequest, SessionModificationRequest,
};
use causeway_types::Transfer;

/// The most sets of one session: each kind of node (clause 8.2.43) with as many as one IE holds.
const MAX_SESSION_SETS: usize = 90;

/// One session set: a CSID and the node that assigned it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Csid {
    node: CsidAddress,
    number: [u8; 2],
}

/// The sets that a session belongs to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct SessionSets {
    csids: Vec<Csid>,
    group: Option<Vec<u8>>,
}

/// Every set in these IEs.
pub(crate) fn named(ies: &Many<'_, FqCsid<'_>>) -> Vec<Csid> {
    let of =
        |ie: FqCsid<'_>| ie.csids.iter().map(|number| Csid { node: ie.address, number: *number }).collect();
    ies.iter().flat_map(|ie| -> Vec<_> { of(ie) }).collect()
}

impl SessionSets {
    /// The sets that an establishment names, if it names any.
    pub(crate) fn of(request: &SessionEstablishmentRequest<'_>) -> Option<Self> {
        let names_sets = !request.fq_csids.is_empty() || request.group_id.is_some();
        names_sets.then(|| {
            let mut sets = Self::default();
            sets.update(request.fq_csids.iter(), request.group_id);
            sets
        })
    }

    /// These sets after a modification, if it names any.
    pub(crate) fn after(&self, request: &SessionModificationRequest<'_>) -> Option<Self> {
        let names_sets = !request.fq_csids.is_empty() || request.group_id.is_some();
        names_sets.then(|| {
            let mut sets = self.clone();
            sets.update(request.fq_csids.iter(), request.group_id);
            sets
        })
    }

    /// Applies a message: the sets of a node replace its earlier ones, and so does a group.
    pub(crate) fn update<'a>(
        &mut self,
        fq_csids: impl Iterator<Item = FqCsid<'a>>,
        group: Option<GroupId<'_>>,
    ) {
        let mut cleared = Vec::new();
        for ie in fq_csids {
            if !cleared.contains(&ie.address) {
                self.csids.retain(|csid| csid.node != ie.address);
                cleared.push(ie.address);
            }
            self.csids.extend(ie.csids.iter().map(|number| Csid { node: ie.address, number: *number }));
        }
        self.csids.truncate(MAX_SESSION_SETS);
        if let Some(group) = group {
            self.group = Some(group.0.to_vec());
        }
    }

    /// The session belongs to one of these sets.
    pub(crate) fn is_in(&self, sets: &[Csid]) -> bool {
        self.csids.iter().any(|csid| sets.contains(csid))
    }

    /// The session belongs to this group.
    pub(crate) fn is_of(&self, group: &[u8]) -> bool {
        self.group.as_deref() == Some(group)
    }
}

impl Transfer for SessionSets {
    fn put(&self, out: &mut Vec<u8>) {
        (self.csids.len() as u32).put(out);
        for Csid { node, number } in &self.csids {
            match node {
                CsidAddress::Ip(ip) => (true, *ip).put(out),
                CsidAddress::Operator(id) => (false, *id).put(out),
            }
            number.put(out);
        }
        self.group.put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        let count = u32::take(input)?;
        let mut sets = Self::default();
        for _ in 0..count {
            let node = match bool::take(input)? {
                true => CsidAddress::Ip(Transfer::take(input)?),
                false => CsidAddress::Operator(Transfer::take(input)?),
            };
            sets.csids.push(Csid { node, number: Transfer::take(input)? });
        }
        sets.group = Transfer::take(input)?;
        Some(sets)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn fq_csid(last: u8, csids: &'static [[u8; 2]]) -> FqCsid<'static> {
        let address = CsidAddress::Ip(Ipv4Addr::new(192, 0, 2, last).into());
        FqCsid { address, csids, node: None }
    }

    // Input:  two CSIDs of one node and one of another; then another one of the first node; then an empty list of it.
    // Output: each replaces the earlier sets of its node; those of the other node stay.
    #[test]
    fn the_sets_of_a_node_replace_each_other() {
        let mut membership = SessionSets::default();
        let is_in =
            |membership: &SessionSets, last, csids| membership.is_in(&named(&[fq_csid(last, csids)].into()));
        membership.update([fq_csid(1, &[[0, 1], [0, 2]]), fq_csid(2, &[[0, 1]])].into_iter(), None);
        assert!(is_in(&membership, 1, &[[0, 2]]) && is_in(&membership, 2, &[[0, 1]]));
        assert!(!is_in(&membership, 2, &[[0, 2]]));
        membership.update([fq_csid(1, &[[0, 3]])].into_iter(), None);
        assert!(is_in(&membership, 1, &[[0, 3]]) && !is_in(&membership, 1, &[[0, 1], [0, 2]]));
        membership.update([fq_csid(1, &[])].into_iter(), None);
        assert!(!is_in(&membership, 1, &[[0, 3]]) && is_in(&membership, 2, &[[0, 1]]));
    }

    #[test]
    fn a_session_is_in_one_group() {
        let mut membership = SessionSets::default();
        membership.update(std::iter::empty(), Some(GroupId(b"a")));
        membership.update(std::iter::empty(), Some(GroupId(b"b")));
        assert!(membership.is_of(b"b") && !membership.is_of(b"a"));
    }
}

//! Session sets that fail or move together: FQ-CSIDs and Group IDs (TS 29.244 clause 5.22.4, TS 23.007 clause 23).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use causeway_pfcp::{
    Cause, CsidAddress, FqCsid, GroupId, Ie, Many, OffendingIe, SessionChangeInfo,
    SessionEstablishmentRequest, SessionModificationRequest,
};
use causeway_types::Transfer;

use super::Session;
use crate::RefusalReason;
use crate::transaction::RequestRefusal;

/// The most sets of one session: each kind of node (clause 8.2.43) with as many as one IE holds.
const MAX_SESSION_SETS: usize = 90;

/// The most octets of a Group ID, whose length TS 29.244 leaves open (clause 8.2.198).
const MAX_GROUP: usize = 256;

/// The Group ID is longer than [`MAX_GROUP`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GroupTooLong;

impl From<GroupTooLong> for RequestRefusal {
    fn from(_: GroupTooLong) -> Self {
        Self {
            offending_ie: Some(OffendingIe(GroupId::TYPE)),
            ..Self::new(Cause::MandatoryIeIncorrect, RefusalReason::GroupTooLong(MAX_GROUP))
        }
    }
}

/// One session set: a CSID and the node that assigned it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Csid {
    node: CsidAddress,
    number: [u8; 2],
}

impl Csid {
    const fn key(&self) -> (Option<IpAddr>, u32, [u8; 2]) {
        match self.node {
            CsidAddress::Ip(ip) => (Some(ip), 0, self.number),
            CsidAddress::Operator(id) => (None, id, self.number),
        }
    }
}

impl Ord for Csid {
    fn cmp(&self, other: &Self) -> Ordering {
        #[cfg(test)]
        tests::COMPARED.set(tests::COMPARED.get() + 1);
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Csid {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The sets that a session belongs to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct SessionSets {
    csids: Vec<Csid>,
    group: Option<Vec<u8>>,
}

/// Every set in these IEs.
pub(crate) fn named(ies: &Many<'_, FqCsid<'_>>) -> BTreeSet<Csid> {
    let mut sets = BTreeSet::new();
    for ie in ies.iter() {
        sets.extend(ie.csids.iter().map(|number| Csid { node: ie.address, number: *number }));
    }
    sets
}

/// The receivers of reports that a Session Set Modification names for sessions: by session set, by group, and by
/// address of the CP F-SEID.
#[derive(Debug, Default)]
pub(crate) struct ChangedReceivers {
    all: Vec<IpAddr>,
    /// The last of the receivers of each.
    of_sets: BTreeMap<Csid, usize>,
    of_groups: BTreeMap<Vec<u8>, usize>,
    of_addresses: BTreeMap<IpAddr, usize>,
}

impl ChangedReceivers {
    /// Those in a message.
    pub(crate) fn of(changes: &Many<'_, SessionChangeInfo<'_>>) -> Self {
        let mut receivers = Self::default();
        for info in changes.iter() {
            let Some(to) = info.alternative_smf_ip_address.addr.preferred() else { continue };
            let number = receivers.all.len();
            receivers.all.push(to);
            receivers.of_sets.extend(named(&info.fq_csids).into_iter().map(|set| (set, number)));
            receivers.of_groups.extend(info.group_ids.iter().map(|group| (group.0.to_vec(), number)));
            let addresses = info.cp_ip_addresses.iter().flat_map(|cp| cp.0.iter());
            receivers.of_addresses.extend(addresses.map(|ip| (ip, number)));
        }
        receivers
    }

    /// The receiver of the reports of a session: the last one that the message names for it. `None`: its receiver does
    /// not change. Its time depends on the sets of the session; on the length of the message it depends by the logarithm.
    pub(crate) fn of_session(&self, session: &Session) -> Option<IpAddr> {
        let membership = session.membership();
        let by_set =
            membership.into_iter().flat_map(|of| &of.csids).filter_map(|csid| self.of_sets.get(csid));
        let by_group = membership.and_then(|of| self.of_groups.get(of.group.as_ref()?));
        let cp = session.cp();
        let by_address = cp.addr.iter().filter_map(|ip| self.of_addresses.get(&ip));
        let last = by_set.chain(by_group).chain(by_address).max()?;
        self.all.get(*last).copied()
    }
}

impl SessionSets {
    /// The sets that an establishment names, if it names any.
    ///
    /// # Errors
    /// [`GroupTooLong`].
    pub(crate) fn of(request: &SessionEstablishmentRequest<'_>) -> Result<Option<Self>, GroupTooLong> {
        if request.fq_csids.is_empty() && request.group_id.is_none() {
            return Ok(None);
        }
        let mut sets = Self::default();
        sets.update(request.fq_csids.iter(), request.group_id)?;
        Ok(Some(sets))
    }

    /// These sets, or none, after a modification, if it names any.
    ///
    /// # Errors
    /// [`GroupTooLong`].
    pub(crate) fn after(
        held: Option<&Self>,
        request: &SessionModificationRequest<'_>,
    ) -> Result<Option<Self>, GroupTooLong> {
        if request.fq_csids.is_empty() && request.group_id.is_none() {
            return Ok(None);
        }
        let mut sets = held.cloned().unwrap_or_default();
        sets.update(request.fq_csids.iter(), request.group_id)?;
        Ok(Some(sets))
    }

    /// The octets of memory that they need.
    pub(crate) fn octets(&self) -> usize {
        self.csids.len() * size_of::<Csid>() + self.group.as_ref().map_or(0, Vec::len)
    }

    /// Applies a message: the sets of a node replace its earlier ones, and so does a group.
    ///
    /// # Errors
    /// [`GroupTooLong`]; nothing has changed.
    pub(crate) fn update<'a>(
        &mut self,
        fq_csids: impl Iterator<Item = FqCsid<'a>>,
        group: Option<GroupId<'_>>,
    ) -> Result<(), GroupTooLong> {
        if group.is_some_and(|group| group.0.len() > MAX_GROUP) {
            return Err(GroupTooLong);
        }
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
        Ok(())
    }

    /// The session belongs to one of these sets.
    pub(crate) fn is_in(&self, sets: &BTreeSet<Csid>) -> bool {
        self.csids.iter().any(|csid| sets.contains(csid))
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
    use std::cell::Cell;
    use std::net::Ipv4Addr;

    use super::*;

    thread_local! {
        /// The number of comparisons of two sets.
        pub(super) static COMPARED: Cell<usize> = const { Cell::new(0) };
    }

    // Input:  a session of 90 sets, and a message with 24,000 others.
    // Output: the session is in none of them, after at most 100 comparisons for each of its sets.
    #[test]
    fn a_long_message_is_not_searched_from_end_to_end() {
        let numbers: Vec<[u8; 2]> = (0..24_000_u16).map(u16::to_be_bytes).collect();
        let address = |last| CsidAddress::Ip(Ipv4Addr::new(192, 0, 2, last).into());
        let ies: Vec<_> =
            numbers.chunks(15).map(|csids| FqCsid { address: address(1), csids, node: None }).collect();
        let sets = named(&ies.into());
        let mut membership = SessionSets::default();
        let its: Vec<_> =
            (2..92).map(|last| FqCsid { address: address(last), csids: &[[0, 1]], node: None }).collect();
        membership.update(its.into_iter(), None).unwrap();
        COMPARED.set(0);
        assert!(sets.len() == 24_000 && !membership.is_in(&sets));
        assert!((90..=90 * 100).contains(&COMPARED.get()), "{}", COMPARED.get());
    }

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
        membership.update([fq_csid(1, &[[0, 1], [0, 2]]), fq_csid(2, &[[0, 1]])].into_iter(), None).unwrap();
        assert!(is_in(&membership, 1, &[[0, 2]]) && is_in(&membership, 2, &[[0, 1]]));
        assert!(!is_in(&membership, 2, &[[0, 2]]));
        membership.update([fq_csid(1, &[[0, 3]])].into_iter(), None).unwrap();
        assert!(is_in(&membership, 1, &[[0, 3]]) && !is_in(&membership, 1, &[[0, 1], [0, 2]]));
        membership.update([fq_csid(1, &[])].into_iter(), None).unwrap();
        assert!(!is_in(&membership, 1, &[[0, 3]]) && is_in(&membership, 2, &[[0, 1]]));
    }

    #[test]
    fn a_session_is_in_one_group() {
        let mut membership = SessionSets::default();
        membership.update(std::iter::empty(), Some(GroupId(b"a"))).unwrap();
        membership.update(std::iter::empty(), Some(GroupId(b"b"))).unwrap();
        assert_eq!(membership.group.as_deref(), Some(&b"b"[..]));
    }
}

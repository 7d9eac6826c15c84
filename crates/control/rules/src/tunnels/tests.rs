use std::collections::BTreeSet;

use causeway_collections::SortedSet;
use causeway_types::{DualIp, FTeid, Seid, Teid};
use proptest::prelude::*;

use super::{Reservation, Tunnels};

const HERE: &str = "192.0.2.1";
const ALSO_HERE: &str = "2001:db8::1";

fn addr(ip: &str) -> DualIp {
    ip.parse::<std::net::IpAddr>().unwrap().into()
}

fn both() -> DualIp {
    DualIp { v4: addr(HERE).v4, v6: addr(ALSO_HERE).v6 }
}

fn assigned(teid: u32, addr: DualIp) -> FTeid {
    FTeid { teid: Teid::new(teid).unwrap(), addr }
}

fn set(tunnels: &[FTeid]) -> SortedSet<FTeid> {
    tunnels.iter().copied().collect()
}

/// Takes these tunnels for a session that has none, and commits them.
fn take(tunnels: &mut Tunnels, session: u64, wanted: &[FTeid]) -> Result<(), FTeid> {
    let reservation = Reservation::new(tunnels, Seid(session));
    reservation.check(&set(&[]), &set(wanted))?;
    let change = reservation.claim_changes(&set(&[]), &set(wanted));
    tunnels.commit(change);
    Ok(())
}

fn choose(tunnels: &mut Tunnels, session: u64) -> Option<FTeid> {
    let mut reservation = Reservation::new(tunnels, Seid(session));
    let tunnel = reservation.choose(addr(HERE), None)?;
    let change = reservation.claim_changes(&set(&[]), &set(&[tunnel]));
    tunnels.commit(change);
    Some(tunnel)
}

fn release(tunnels: &mut Tunnels, session: u64, held: &[FTeid]) {
    let change = Reservation::new(tunnels, Seid(session)).claim_changes(&set(held), &set(&[]));
    tunnels.commit(change);
}

// Input:  two TEIDs are chosen for a change that is rejected.
// Output: everything is as before; the next change gets these TEIDs.
#[test]
fn a_rejected_change_returns_what_it_took() {
    let mut tunnels = Tunnels::new(10, 3);
    let before = tunnels.available();
    let mut reservation = Reservation::new(&mut tunnels, Seid(1));
    let first = reservation.choose(both(), None).unwrap();
    reservation.choose(both(), None).unwrap();
    drop(reservation);
    assert_eq!((tunnels.available(), tunnels.in_use()), (before, 0));
    assert_eq!(choose(&mut tunnels, 1).map(|tunnel| tunnel.teid), Some(first.teid));
}

// Input:  a change that replaces a tunnel, and that the data plane cannot carry out.
// Output: abandoned, the session has its old tunnel; committed, its new one.
#[test]
fn a_change_is_committed_or_abandoned() {
    for commit in [true, false] {
        let mut tunnels = Tunnels::new(2, 0);
        let old = choose(&mut tunnels, 1).unwrap();
        let mut reservation = Reservation::new(&mut tunnels, Seid(1));
        let new = reservation.choose(addr(HERE), None).unwrap();
        let change = reservation.claim_changes(&set(&[old]), &set(&[new]));
        assert_eq!(tunnels.available(), 0);
        let held = if commit {
            tunnels.commit(change);
            new
        } else {
            tunnels.abandon(change);
            old
        };
        assert_eq!((tunnels.available(), tunnels.in_use()), (1, 1));
        assert!(tunnels.is_foreign(Seid(2), held));
        assert!(!tunnels.is_foreign(Seid(1), held));
    }
}

// Input:  an SMF assigns a TEID that another session uses: at the same address, at one of two, elsewhere.
// Output: refused, refused, accepted.
#[test]
fn a_tunnel_belongs_to_one_session() {
    let mut tunnels = Tunnels::new(10, 0);
    take(&mut tunnels, 1, &[assigned(0xabcd, both())]).unwrap();
    for (ip, free) in [(HERE, false), (ALSO_HERE, false), ("192.0.2.2", true)] {
        let wanted = assigned(0xabcd, addr(ip));
        assert_eq!(take(&mut tunnels, 2, &[wanted]).is_ok(), free, "{ip}");
    }
}

// Input:  an SMF assigns the TEID that the UPF would choose next.
// Output: the UPF chooses another.
#[test]
fn what_an_smf_assigned_is_not_chosen() {
    let mut tunnels = Tunnels::new(1, 0);
    take(&mut tunnels, 1, &[assigned(1, addr(HERE))]).unwrap();
    assert_eq!(choose(&mut tunnels, 2).map(|tunnel| tunnel.teid.value()), Some(0x0100_0001));
}

// Input:  a session refers to its chosen tunnel a second time, by one of its addresses only.
// Output: the TEID is free when both references are removed, not before.
#[test]
fn a_teid_is_free_when_nobody_names_it() {
    let mut tunnels = Tunnels::new(1, 0);
    let mut reservation = Reservation::new(&mut tunnels, Seid(1));
    let whole = reservation.choose(both(), None).unwrap();
    let part = FTeid { addr: addr(HERE), ..whole };
    let change = reservation.claim_changes(&set(&[]), &set(&[whole, part]));
    tunnels.commit(change);
    release(&mut tunnels, 1, &[whole]);
    assert_eq!(tunnels.available(), 0);
    release(&mut tunnels, 1, &[part]);
    assert_eq!((tunnels.available(), tunnels.in_use()), (1, 0));
}

proptest! {
    // Input:  sessions are established and deleted in any order, some with a tunnel that the SMF assigned.
    // Output: no tunnel belongs to two sessions, and after all are deleted every TEID can be chosen.
    #[test]
    fn churn_allocates_each_address_once(steps in proptest::collection::vec((0..8_u64, 0..12_u32), 0..200)) {
        const CAPACITY: u32 = 5;
        let mut tunnels = Tunnels::new(CAPACITY, 2);
        let mut held: Vec<(u64, FTeid)> = Vec::new();
        for (session, teid) in steps {
            if let Some(index) = held.iter().position(|(owner, _)| *owner == session) {
                let (_, tunnel) = held.swap_remove(index);
                release(&mut tunnels, session, &[tunnel]);
            } else if teid == 0 {
                held.extend(choose(&mut tunnels, session).map(|tunnel| (session, tunnel)));
            } else if take(&mut tunnels, session, &[assigned(teid, addr(HERE))]).is_ok() {
                held.push((session, assigned(teid, addr(HERE))));
            }
            let distinct: BTreeSet<_> = held.iter().map(|(_, tunnel)| tunnel).collect();
            prop_assert_eq!(distinct.len(), held.len());
            prop_assert_eq!(tunnels.in_use(), held.len());
        }
        for (session, tunnel) in held {
            release(&mut tunnels, session, &[tunnel]);
        }
        prop_assert_eq!((tunnels.available(), tunnels.in_use()), (CAPACITY, 0));
    }
}

// Input:  a TEID that was chosen, then assigned by SMFs to other sessions at other addresses; they end in every
// order.
// Output: each tunnel belongs to its session until that ends; the TEID can be chosen again when the last has ended,
// and not before.
#[test]
fn a_chosen_teid_may_have_more_tunnels() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut tunnels = Tunnels::new(1, 0);
        let chosen = choose(&mut tunnels, 1).unwrap();
        let others = [ALSO_HERE, "192.0.2.2"].map(|ip| assigned(chosen.teid.value(), addr(ip)));
        take(&mut tunnels, 2, &others[..1]).unwrap();
        take(&mut tunnels, 3, &others[1..]).unwrap();
        assert_eq!(take(&mut tunnels, 4, &[chosen]), Err(chosen));
        let all = [chosen, others[0], others[1]];
        for (gone, at) in order.into_iter().enumerate() {
            assert_eq!((tunnels.in_use(), tunnels.available()), (3 - gone, 0));
            // Another session releases tunnels that it does not have.
            release(&mut tunnels, 9, &all);
            assert_eq!(tunnels.in_use(), 3 - gone);
            assert_eq!(take(&mut tunnels, 5, &[all[at]]), Err(all[at]));
            release(&mut tunnels, at as u64 + 1, &[all[at]]);
        }
        assert_eq!((tunnels.in_use(), tunnels.available()), (0, 1));
        assert_ne!(choose(&mut tunnels, 1).unwrap().teid, chosen.teid);
    }
}

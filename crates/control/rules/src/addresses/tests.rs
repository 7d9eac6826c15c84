use std::collections::BTreeSet;

use causeway_types::{IpNet, NetworkInstance, Seid, Span, Time};
use proptest::prelude::*;

use causeway_collections::SortedSet;

use super::{
    AddressPool, AddressReservation, Addresses, ChooseError, ClaimError, ClaimedPrefix, OverlappingSessions,
    PrefixKind, RouteLimits,
};

fn internet() -> NetworkInstance {
    NetworkInstance::new("internet")
}

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

fn pool(range: &str, name: Option<&str>, barred: &[&str]) -> AddressPool {
    let barred = barred.iter().map(|text| net(text)).collect();
    AddressPool { network: internet(), range: net(range), name: name.map(str::to_owned), reserved: barred }
}

/// Six addresses, of which the gateway has one, and sixteen /64; released addresses are quarantined for 10 s.
fn addresses() -> Addresses {
    let pools = vec![
        pool("10.45.0.0/29", Some("four"), &["10.45.0.1/32"]),
        pool("2001:db8:45::/60", None, &["2001:db8:45::1/128"]),
    ];
    Addresses::new(pools, Span::from_secs(10))
}

fn held(text: &str, chosen: bool) -> SortedSet<ClaimedPrefix> {
    let kind = PrefixKind::Ue;
    [ClaimedPrefix { network: internet(), net: net(text), chosen, all_networks: false, kind }].into()
}

/// Chooses an IPv4 address for a session that has none.
fn choose(addresses: &mut Addresses, session: u64) -> Result<String, ChooseError> {
    let mut reservation = AddressReservation::new(addresses, Seid(session));
    let net = reservation.choose_v4(&internet(), &[])?;
    let change = reservation.claim_changes(&SortedSet::new(), &held(&net.to_string(), true)).unwrap();
    addresses.commit(&change);
    Ok(net.addr().to_string())
}

fn release(addresses: &mut Addresses, session: u64, text: &str, chosen: bool) {
    let reservation = AddressReservation::new(addresses, Seid(session));
    let change = reservation.claim_changes(&held(text, chosen), &SortedSet::new()).unwrap();
    addresses.commit(&change);
}

// Input:  a pool of 10.45.0.0/29 with the gateway at .1, and sessions until it is exhausted.
// Output: .2 to .6, without the network, the gateway and the broadcast address; then occupied.
#[test]
fn the_gateway_and_the_ends_of_a_range_are_left_out() {
    let mut addresses = addresses();
    let all: Vec<_> = (0..5).map(|session| choose(&mut addresses, session).unwrap()).collect();
    assert_eq!(all, ["10.45.0.2", "10.45.0.3", "10.45.0.4", "10.45.0.5", "10.45.0.6"]);
    assert_eq!(choose(&mut addresses, 9), Err(ChooseError::Occupied));
    let usage = addresses.pools().next().unwrap();
    assert_eq!((usage.occupied, usage.total, usage.name.as_deref()), (5, 6, Some("four")));
}

// Input:  an exhausted pool; .4 is released, then .3, one second apart.
// Output: nothing for 10 s, then .4, a second later .3.
#[test]
fn a_freed_address_is_quarantined_and_reused_oldest_first() {
    let mut addresses = addresses();
    (0..5).for_each(|session| drop(choose(&mut addresses, session).unwrap()));
    addresses.set_time(Time::from_secs(100));
    release(&mut addresses, 2, "10.45.0.4/32", true);
    addresses.set_time(Time::from_secs(101));
    release(&mut addresses, 1, "10.45.0.3/32", true);
    for (at, expected) in [(109, None), (110, Some("10.45.0.4")), (110, None), (111, Some("10.45.0.3"))] {
        addresses.set_time(Time::from_secs(at));
        assert_eq!(choose(&mut addresses, 7 + at).ok().as_deref(), expected, "at {at}");
    }
}

// Input:  an SMF assigns .2 itself, and another session requests an address; later .2 is free, and all others are
// in use.
// Output: .3 at first; .2 in the end.
#[test]
fn what_an_smf_assigned_is_not_given_out() {
    let mut addresses = addresses();
    let change = AddressReservation::new(&mut addresses, Seid(1))
        .claim_changes(&SortedSet::new(), &held("10.45.0.2/32", false));
    addresses.commit(&change.unwrap());
    assert_eq!(choose(&mut addresses, 2).unwrap(), "10.45.0.3");
    (3..6).for_each(|session| drop(choose(&mut addresses, session).unwrap()));
    assert_eq!(choose(&mut addresses, 9), Err(ChooseError::Occupied));
    release(&mut addresses, 1, "10.45.0.2/32", false);
    assert_eq!(choose(&mut addresses, 9).unwrap(), "10.45.0.2");
}

// Input:  two sessions of a data network request the same address, then one of another data network.
// Output: the second is refused with the owner; the third is accepted.
#[test]
fn an_address_belongs_to_one_session_of_its_network() {
    let mut addresses = addresses();
    let wanted = held("203.0.113.5/32", false);
    let change =
        AddressReservation::new(&mut addresses, Seid(1)).claim_changes(&SortedSet::new(), &wanted).unwrap();
    addresses.commit(&change);
    let refused = AddressReservation::new(&mut addresses, Seid(2))
        .claim_changes(&SortedSet::new(), &wanted)
        .unwrap_err();
    let ClaimError::InUse { held: conflict, owners } = refused else { panic!("{refused:?}") };
    let expected = OverlappingSessions { same_ue: [Seid(1)].into(), ..OverlappingSessions::default() };
    assert_eq!((conflict.net.to_string().as_str(), *owners), ("203.0.113.5/32", expected));
    let ims = wanted
        .iter()
        .map(|held| ClaimedPrefix { network: NetworkInstance::new("ims"), ..held.clone() })
        .collect();
    assert!(AddressReservation::new(&mut addresses, Seid(3)).claim_changes(&SortedSet::new(), &ims).is_ok());
    addresses.release_addresses(Seid(1), &wanted);
    assert!(
        AddressReservation::new(&mut addresses, Seid(2)).claim_changes(&SortedSet::new(), &wanted).is_ok()
    );
}

// Input:  prefixes of /64, /60, /128 of a /60 whose first /64 is reserved for the gateway; one of /56; IPv4 of a
// pool that has another name; of a data network without pools.
// Output: the second /64; occupied, since part of it is in use; an address beside them; no pool; unknown; no pool.
#[test]
fn prefixes_of_different_lengths_do_not_overlap() {
    let mut addresses = addresses();
    let mut reservation = AddressReservation::new(&mut addresses, Seid(1));
    let text = |net: Result<IpNet, ChooseError>| net.map(|net| net.to_string());
    assert_eq!(text(reservation.choose_v6(&internet(), 64, &[])).unwrap(), "2001:db8:45:1::/64");
    let change = reservation.claim_changes(&SortedSet::new(), &held("2001:db8:45:1::/64", true)).unwrap();
    addresses.commit(&change);
    let mut reservation = AddressReservation::new(&mut addresses, Seid(2));
    assert_eq!(reservation.choose_v6(&internet(), 60, &[]), Err(ChooseError::Occupied));
    assert_eq!(text(reservation.choose_v6(&internet(), 128, &[])).unwrap(), "2001:db8:45:2::/128");
    assert_eq!(text(reservation.choose_v6(&internet(), 62, &[])).unwrap(), "2001:db8:45:4::/62");
    assert_eq!(reservation.choose_v6(&internet(), 56, &[]), Err(ChooseError::NoPool));
    assert_eq!(reservation.choose_v4(&internet(), &[b"six".to_vec()]), Err(ChooseError::UnknownPool));
    assert_eq!(text(reservation.choose_v4(&internet(), &[b"four".to_vec()])).unwrap(), "10.45.0.2/32");
    assert_eq!(reservation.choose_v4(&NetworkInstance::new("ims"), &[]), Err(ChooseError::NoPool));
    drop(reservation);
    assert_eq!(addresses.in_use(), 1);
}

// Input:  a change that takes an address and is abandoned, ten times.
// Output: nothing is in use, and the pool is as large as before.
#[test]
fn an_abandoned_address_is_free_at_once() {
    let mut addresses = addresses();
    for _ in 0..10 {
        let mut reservation = AddressReservation::new(&mut addresses, Seid(1));
        let net = reservation.choose_v4(&internet(), &[]).unwrap();
        let change = reservation.claim_changes(&SortedSet::new(), &held(&net.to_string(), true)).unwrap();
        addresses.abandon(&change);
    }
    assert_eq!(addresses.in_use(), 0);
    assert!((0..5).all(|session| choose(&mut addresses, session).is_ok()));
}

proptest! {
    // Input:  sessions are established and deleted, some with an address that their SMF assigned from the same
    // range, and time passes.
    // Output: no address is in two sessions, none is allocated before its quarantine is over, and in the end all
    // are free.
    #[test]
    fn churn_allocates_each_address_once(
        steps in proptest::collection::vec((0..8_u64, 0..12_u8, 0..4_u64), 0..200),
    ) {
        let mut addresses = addresses();
        let mut owned: Vec<(u64, String, bool)> = Vec::new();
        let mut rests: Vec<(u64, String)> = Vec::new();
        let mut now = 0;
        for (session, pick, seconds) in steps {
            now += seconds;
            addresses.set_time(Time::from_secs(now));
            if let Some(at) = owned.iter().position(|(owner, ..)| *owner == session) {
                let (_, text, chosen) = owned.swap_remove(at);
                release(&mut addresses, session, &text, chosen);
                if chosen {
                    rests.push((now + 10, text));
                }
            } else if pick < 8 {
                if let Ok(ip) = choose(&mut addresses, session) {
                    let text = format!("{ip}/32");
                    prop_assert!(rests.iter().all(|(until, resting)| *until <= now || *resting != text));
                    owned.push((session, text, true));
                }
            } else {
                let text = format!("10.45.0.{}/32", pick - 6);
                let wanted = held(&text, false);
                let reservation = AddressReservation::new(&mut addresses, Seid(session));
                if let Ok(change) = reservation.claim_changes(&SortedSet::new(), &wanted) {
                    addresses.commit(&change);
                    owned.push((session, text, false));
                }
            }
            let distinct: BTreeSet<_> = owned.iter().map(|(_, text, _)| text).collect();
            prop_assert_eq!(distinct.len(), owned.len());
            prop_assert_eq!(addresses.in_use(), owned.len());
        }
        for (session, text, chosen) in owned {
            release(&mut addresses, session, &text, chosen);
        }
        addresses.set_time(Time::from_secs(now + 10));
        prop_assert!((0..5).all(|session| choose(&mut addresses, session).is_ok()));
    }
}

fn of(text: &str, kind: PrefixKind, everywhere: bool) -> ClaimedPrefix {
    ClaimedPrefix { network: internet(), net: net(text), chosen: false, all_networks: everywhere, kind }
}

fn claim_changes(
    addresses: &mut Addresses,
    session: u64,
    wanted: &[ClaimedPrefix],
) -> Result<(), ClaimError> {
    let wanted = wanted.iter().cloned().collect();
    let kept = AddressReservation::new(addresses, Seid(session)).claim_changes(&SortedSet::new(), &wanted);
    kept.map(|change| addresses.commit(&change))
}

// Input:  a session with a UE address, a UE prefix and two routes; each address and route that contains them, lies
// inside, equals them or lies beside them.
// Output: prefixes that take packets of the other session are distinguished from those that leave them to the
// longer prefix.
#[test]
fn overlaps_are_classified() {
    use PrefixKind::{Route, Ue};
    let mut addresses = addresses();
    let first =
        [("10.45.0.2/32", Ue), ("2001:db8:1::/64", Ue), ("172.16.5.0/24", Route), ("2001:db8:5::/48", Route)];
    claim_changes(&mut addresses, 1, &first.map(|(text, kind)| of(text, kind, false))).unwrap();
    for (text, kind, expected) in [
        ("10.45.0.2/32", Ue, "same"),
        ("10.45.0.2/32", Route, "taken"),
        ("10.45.0.0/24", Route, "nested"),
        ("10.45.0.3/32", Ue, "free"),
        ("2001:db8:1::/60", Ue, "same"),
        ("2001:db8:1::5/128", Ue, "same"),
        ("2001:db8:1::5/128", Route, "taken"),
        ("2001:db8:1::/48", Route, "nested"),
        ("172.16.5.7/32", Ue, "nested"),
        ("172.16.5.0/24", Route, "taken"),
        ("172.16.5.128/25", Route, "nested"),
        ("172.16.0.0/12", Route, "nested"),
        ("172.16.6.0/24", Route, "free"),
        ("2001:db8:5::/64", Ue, "nested"),
        ("2001:db8:5::/48", Ue, "taken"),
    ] {
        let mut addresses = addresses.clone();
        let found = match claim_changes(&mut addresses, 2, &[of(text, kind, false)]) {
            Ok(()) => "free",
            Err(ClaimError::InUse { owners, .. }) if !owners.taken.is_empty() => "taken",
            Err(ClaimError::InUse { owners, .. }) if !owners.nested.is_empty() => "nested",
            Err(ClaimError::InUse { .. }) => "same",
            Err(error) => panic!("{error:?}"),
        };
        assert_eq!(found, expected, "{text} {kind:?}");
        addresses.allow_overlaps([Seid(1)].into());
        let is_let = claim_changes(&mut addresses, 2, &[of(text, kind, false)]).is_ok();
        assert_eq!(is_let, matches!(expected, "free" | "nested"), "{text} {kind:?}");
    }
}

// Input:  an address of any network, then the same in a network that is not the first; the reverse; all released.
// Output: both conflict, and nothing is left.
#[test]
fn an_address_of_any_network_is_one_of_each() {
    let mut addresses = addresses();
    let ims = NetworkInstance::new("ims");
    addresses.add_networks([&ims].into_iter());
    let (any, one) = (
        of("10.45.0.4/32", PrefixKind::Ue, true),
        ClaimedPrefix { network: ims, ..of("10.45.0.4/32", PrefixKind::Ue, false) },
    );
    for (first, second) in [(&any, &one), (&one, &any)] {
        claim_changes(&mut addresses, 1, std::slice::from_ref(first)).unwrap();
        assert!(claim_changes(&mut addresses, 2, std::slice::from_ref(second)).is_err());
        assert!(!addresses.try_claim(Seid(2), second, &second.net));
        addresses.release(Seid(1), first, true);
        assert_eq!(addresses.in_use(), 0);
    }
}

// Input:  routes of one session, then of all, up to the limits and beyond; one is released.
// Output: the error names the limit; a refused route is not counted, and a released one can be replaced.
#[test]
fn routes_are_limited() {
    let mut addresses = addresses();
    addresses.limit_routes(RouteLimits { total: 3, per_session: 2 });
    let routes = |from: u8, count: u8| -> Vec<ClaimedPrefix> {
        (from..from + count).map(|at| of(&format!("172.16.{at}.0/24"), PrefixKind::Route, false)).collect()
    };
    let refused = |error: ClaimError| match error {
        ClaimError::TooMany { limit, .. } => limit,
        disputed @ ClaimError::InUse { .. } => panic!("{disputed:?}"),
    };
    assert_eq!(refused(claim_changes(&mut addresses, 1, &routes(0, 3)).unwrap_err()), 2);
    claim_changes(&mut addresses, 1, &routes(0, 2)).unwrap();
    assert_eq!(refused(claim_changes(&mut addresses, 2, &routes(2, 2)).unwrap_err()), 3);
    assert_eq!((addresses.routes(), addresses.routed().collect::<Vec<_>>()), (2, vec![(Seid(1), 2)]));
    addresses.release(Seid(1), &routes(0, 1)[0], true);
    claim_changes(&mut addresses, 2, &routes(2, 2)).unwrap();
    assert_eq!(addresses.routes(), 3);
}

// Input:  a route over the first half of a pool.
// Output: the addresses that the UPF chooses lie in the other half.
#[test]
fn chosen_addresses_lie_beside_routes() {
    let mut addresses = addresses();
    claim_changes(&mut addresses, 1, &[of("10.45.0.0/30", PrefixKind::Route, false)]).unwrap();
    let chosen: Vec<_> = (2..5).map(|session| choose(&mut addresses, session).unwrap()).collect();
    assert_eq!(chosen, ["10.45.0.4", "10.45.0.5", "10.45.0.6"]);
}

// Input:  a pool with two sessions; another pool takes its place; one session ends; the first pool comes back, goes
//         again, and the other session ends.
// Output: new addresses come from the new pool at once. The old one shows what is still in use, gives nothing out, and
//         is gone with the last address. While it is back, it allocates as before.
#[test]
fn a_pool_that_is_taken_away_is_drained() {
    let mut addresses = addresses();
    let of = |addresses: &Addresses| -> Vec<(String, bool, u64)> {
        let v4 = addresses.pools().filter(|pool| !pool.is_v6);
        v4.map(|pool| (pool.range.to_string(), pool.is_draining, pool.occupied)).collect()
    };
    let (old, new) =
        (|| pool("10.45.0.0/29", Some("four"), &["10.45.0.1/32"]), || pool("10.46.0.0/29", None, &[]));
    assert_eq!(choose(&mut addresses, 1).unwrap(), "10.45.0.2");
    assert_eq!(choose(&mut addresses, 2).unwrap(), "10.45.0.3");
    addresses.set_pools(vec![new()]);
    let [there, drained] = [("10.46.0.0/29", false), ("10.45.0.0/29", true)];
    let state = |(range, is_draining): (&str, bool), occupied| (range.to_owned(), is_draining, occupied);
    assert_eq!(of(&addresses), [state(there, 0), state(drained, 2)]);
    assert_eq!(choose(&mut addresses, 3).unwrap(), "10.46.0.1");
    assert!(addresses.is_in_use_within(&internet(), &net("10.45.0.0/16")));
    release(&mut addresses, 1, "10.45.0.2/32", true);
    assert_eq!(of(&addresses), [state(there, 1), state(drained, 1)]);
    addresses.set_pools(vec![old(), new()]);
    assert_eq!(of(&addresses), [state(("10.45.0.0/29", false), 1), state(there, 1)]);
    assert_eq!(choose(&mut addresses, 4).unwrap(), "10.45.0.4");
    release(&mut addresses, 4, "10.45.0.4/32", true);
    addresses.set_pools(vec![new()]);
    release(&mut addresses, 2, "10.45.0.3/32", true);
    assert_eq!(of(&addresses), [state(there, 1)]);
    assert!(!addresses.is_in_use_within(&internet(), &net("10.45.0.0/16")));
}

// Input:  a pool becomes part of a wider one, while sessions have an address that the UPF chose, one that their SMF
//         chose, and one that two sessions share; each is released, the first for the wider pool in quarantine.
// Output: the wider pool does not count them, does not allocate them before, and the first not before its quarantine.
#[test]
fn a_wider_pool_respects_the_addresses_of_the_one_that_it_replaces() {
    let mut addresses = Addresses::new(vec![pool("10.45.0.0/31", None, &[])], Span::from_secs(10));
    let claim = |addresses: &mut Addresses, session: u64, text: &str| {
        let reservation = AddressReservation::new(addresses, Seid(session));
        let change = reservation.claim_changes(&SortedSet::new(), &held(text, false)).unwrap();
        addresses.commit(&change);
    };
    assert_eq!(choose(&mut addresses, 1).unwrap(), "10.45.0.0");
    claim(&mut addresses, 2, "10.45.0.1/32");
    addresses.set_pools(vec![pool("10.45.0.0/30", None, &[])]);
    let occupied = |addresses: &Addresses| addresses.pools().map(|pool| pool.occupied).collect::<Vec<_>>();
    assert_eq!(occupied(&addresses), [0, 2]);
    assert_eq!(choose(&mut addresses, 3).unwrap(), "10.45.0.2");
    release(&mut addresses, 2, "10.45.0.1/32", false);
    assert_eq!(choose(&mut addresses, 4).unwrap(), "10.45.0.1");
    assert_eq!(occupied(&addresses), [2, 1]);
    release(&mut addresses, 4, "10.45.0.1/32", true);
    release(&mut addresses, 1, "10.45.0.0/32", true);
    assert_eq!(occupied(&addresses), [1]);
    assert_eq!(choose(&mut addresses, 5), Err(ChooseError::Occupied));
    addresses.set_time(Time::from_secs(10));
    assert_eq!(choose(&mut addresses, 5).unwrap(), "10.45.0.1");
}

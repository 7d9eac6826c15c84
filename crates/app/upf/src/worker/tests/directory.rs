use std::collections::BTreeMap;
use std::net::IpAddr;

use causeway_types::{IpNet, Teid};

use super::super::directory::{ALL_WORKERS, Directory, Key};

fn teid(raw: u32) -> Teid {
    Teid::new(raw).unwrap()
}

// Input:  a tunnel, an IPv4 and an IPv6 address and a peer's tunnel with an owner each, and others that differ a
//         little.
// Output: each has its owner, and all workers once a second one has it; the others have none.
#[test]
fn every_kind_of_key_has_its_owner() {
    let (directory, mut writer) = Directory::new(8, |_| ());
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    let net = |text: &str| text.parse::<IpNet>().unwrap();
    let keys = [
        directory.tunnel(1, 7),
        directory.ue(net("10.0.0.7/32")),
        directory.ue(net("2001:db8:0:7::/64")),
        directory.remote(ip("192.0.2.1"), teid(7)),
    ];
    for (n, key) in keys.iter().enumerate() {
        assert_eq!(writer.claim(*key, n + 59), Some(true));
    }
    assert_eq!(keys.map(|key| directory.owner(key)), [59, 60, 61, 62].map(Some));
    assert_eq!(directory.owner_of(ip("10.0.0.7")), Some(60));
    let same = writer.claim(keys[0], 59);
    assert_eq!((same, directory.owner(keys[0])), (Some(false), Some(59)));
    let other = writer.claim(keys[0], 7);
    assert_eq!((other, directory.owner(keys[0])), (Some(false), Some(ALL_WORKERS)));
    assert_eq!(directory.owner_of(ip("2001:db8:0:7:ffff::")), Some(61));
    for other in [
        directory.tunnel(0, 7),
        directory.ue(net("0.0.0.7/32")),
        directory.ue(net("2001:db8:0:8::/64")),
        directory.remote(ip("192.0.2.2"), teid(7)),
        directory.other_tunnel(ip("192.0.2.1"), teid(7)),
    ] {
        assert_eq!(directory.owner(other), None);
    }
}

// Input:  100,000 random insertions and removals in a table that is nearly full, and a map beside it.
// Output: both agree at each step; the full table refuses; no entry is left at the end.
#[test]
fn the_table_is_a_map() {
    let (directory, mut writer) = Directory::new(500, |_| ());
    let mut map = BTreeMap::new();
    let mut seed = 1_u64;
    for _ in 0..100_000 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (raw, owner) = ((seed >> 33) as u32 % 1000, 1 + (seed >> 20) as usize % 3);
        let key = directory.tunnel(0, raw);
        if map.remove(&raw).is_some() {
            assert!(writer.remove(key) && !writer.remove(key));
        } else {
            let has_room = map.len() < 500;
            assert_eq!(writer.claim(key, owner), has_room.then_some(true));
            if has_room {
                map.insert(raw, owner);
            }
        }
        let asked = (seed >> 44) as u32 % 1000;
        assert_eq!(directory.owner(directory.tunnel(0, asked)), map.get(&asked).copied());
    }
    for raw in map.into_keys() {
        assert!(writer.remove(directory.tunnel(0, raw)));
    }
    assert!((0..1000).all(|raw| directory.owner(directory.tunnel(0, raw)).is_none()));
}

// Input:  a thousand tables with different secrets, and as many consecutive tunnels as each takes.
// Output: all fit: no secret maps consecutive keys to few buckets.
#[test]
fn a_row_of_keys_fits_whatever_the_secrets() {
    for first in 0..1000 {
        let (directory, mut writer) = Directory::new(32, |_| ());
        assert!(
            (0..32).all(|n| writer.claim(directory.tunnel(0, first * 8 + n), 1).is_some()),
            "from {first}"
        );
    }
}

// Input:  one thread that inserts and removes neighbours of a key continuously, two that look the key up.
// Output: they find it each time.
#[test]
fn concurrent_readers_find_stable_entries() {
    let (directory, mut writer) = Directory::new(32, |_| ());
    let stays: Vec<Key> = (0..8).map(|raw| directory.tunnel(0, raw)).collect();
    assert!(stays.iter().all(|key| writer.claim(*key, 2).is_some()));
    std::thread::scope(|scope| {
        let look = || (0..20_000).all(|_| stays.iter().all(|key| directory.owner(*key) == Some(2)));
        let readers = [scope.spawn(look), scope.spawn(look)];
        for round in 0..20_000 {
            let passing = (0..24).map(|n| directory.tunnel(1, round + n));
            passing.clone().for_each(|key| assert!(writer.claim(key, 1).is_some()));
            passing.for_each(|key| assert!(writer.remove(key)));
        }
        assert!(readers.into_iter().all(|reader| reader.join().unwrap()));
    });
}

// Input:  prefixes of three lengths, one of which is removed; addresses inside and outside them, and one with its own
//         entry.
// Output: an address has the owner of its entry, else that of a prefix that contains it.
#[test]
fn an_address_is_found_by_the_prefix_that_it_lies_in() {
    let (directory, mut writer) = Directory::new(8, |_| ());
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    let net = |text: &str| text.parse::<IpNet>().unwrap();
    let nets = [("172.16.5.0/24", 1), ("2001:db8:1::/48", 2), ("2001:db8:2::7/128", 3)];
    for (text, owner) in nets {
        assert!(writer.claim(directory.ue(net(text)), owner).is_some());
        writer.has_prefixes(net(text).addr().is_ipv4(), net(text).prefix_len(), true);
    }
    assert!(writer.claim(directory.ue(net("172.16.5.9/32")), 4).is_some());
    let owner = |text| directory.owner_of(ip(text));
    assert_eq!(["172.16.5.8", "172.16.5.9", "172.16.6.8"].map(owner), [Some(1), Some(4), None]);
    assert_eq!(["2001:db8:1:ff::", "2001:db8:2::7", "2001:db8:2::8"].map(owner), [Some(2), Some(3), None]);
    writer.has_prefixes(true, 24, false);
    assert!(writer.remove(directory.ue(net("172.16.5.0/24"))));
    assert_eq!(["172.16.5.8", "172.16.5.9"].map(owner), [None, Some(4)]);
}

// Input:  three hundred thousand random insertions and removals in a table that stays nearly full.
// Output: each insertion succeeds: removed entries free their slots.
#[test]
fn removed_entries_free_their_slots() {
    let (directory, mut writer) = Directory::new(3600, |_| ());
    let mut there: Vec<u32> = (0..3600).collect();
    assert!(there.iter().all(|raw| writer.claim(directory.tunnel(0, *raw), 1).is_some()));
    let mut random = fastrand::Rng::with_seed(7);
    for raw in 3600..300_000 {
        let place = random.usize(..there.len());
        assert!(writer.remove(directory.tunnel(0, there[place])));
        there[place] = raw;
        assert!(writer.claim(directory.tunnel(0, raw), 1).is_some(), "{raw}");
    }
}

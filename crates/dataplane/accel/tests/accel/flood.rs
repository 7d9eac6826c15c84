//! An SMF that knows the seed of the tables of keys, and makes 65,536 sessions whose keys collide.

use std::net::Ipv4Addr;

use causeway_accel::{Accel, Reason, Reservation, Verdict};
use causeway_types::{Seid, Teid};

use crate::both::numbers;
use crate::world::*;

const SESSIONS: u32 = 65_536;
const SEED: u64 = 0x5eed_0123_4567_89ab;
/// Tables are seeded so; the generation of the first SMF.
const CPS: u64 = SEED;
const UES: u64 = SEED + 1;
const TEIDS: u64 = SEED + 2;
const GENERATION: u64 = 1;

/// The hash of a key, of which both halves are its buckets.
fn hash(seed: u64, low: u64, high: u64) -> u64 {
    let mix = |value: u64| {
        let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    };
    mix(mix(low ^ seed).wrapping_add(high) ^ seed.rotate_left(32))
}

/// The key with this hash.
fn unhash(seed: u64, hash: u64, high: u64) -> u64 {
    let unmix = |value: u64| {
        let value = (value ^ (value >> 31) ^ (value >> 62)).wrapping_mul(0x3196_42b2_d24d_8ec3);
        let value = (value ^ (value >> 27) ^ (value >> 54)).wrapping_mul(0x96de_1b17_3f11_9089);
        value ^ (value >> 30) ^ (value >> 60)
    };
    unmix((unmix(hash) ^ seed.rotate_left(32)).wrapping_sub(high)) ^ seed
}

/// The data plane with N4 behind it, which gets what the data plane does not answer.
struct World {
    accel: Accel,
    control: Control,
    /// The keys of N4's sessions, by their SEIDs.
    of_n4: Vec<(u64, Vec<Reservation>)>,
    sequence: u32,
}

impl World {
    fn new() -> Self {
        let mut config = config();
        (config.sessions, config.keys, config.seed) = (SESSIONS, 2 * SESSIONS, SEED);
        let control = Control::with_sessions(SESSIONS as usize);
        Self { accel: accel_with(config), control, of_n4: Vec::new(), sequence: 0 }
    }

    /// A request, which is accepted. By the data plane: its answer; otherwise by N4, for this reason.
    fn ask(&mut self, number: u8, octets: &[u8]) -> (Vec<u8>, Option<Reason>) {
        let (answer, verdict) = message(&mut self.accel, smf_port(number), octets);
        let (answer, reason) = match verdict {
            Verdict::Answered { .. } => (answer, None),
            Verdict::ToN4 { reason, adopt } => {
                assert_eq!(adopt, None);
                let answer = self.control.message(smf_port(number), octets);
                (answer.expect("no request is lost"), Some(reason))
            }
        };
        assert!(answer.windows(5).any(|ie| ie == [0, 19, 0, 1, 1]), "{answer:02x?} to {octets:02x?}");
        (answer, reason)
    }

    fn establish(&mut self, asked: &Asked) -> (u64, Option<Reason>) {
        self.sequence += 1;
        let (answer, reason) = self.ask(asked.smf, &asked.request(self.sequence));
        let seid = numbers(&answer).0.expect("a SEID");
        if reason.is_some() {
            let mut keys = vec![Reservation::Cp(smf(asked.smf), Seid(asked.cp)), Reservation::Ue(asked.ue)];
            if let [1, teid @ .., _, _, _, _] = &asked.f_teid[..] {
                let teid = u32::from_be_bytes(teid.try_into().expect("four octets"));
                keys.extend(Teid::new(teid).map(Reservation::Teid));
            }
            keys.iter().for_each(|key| assert_eq!(self.accel.reserve(*key), Ok(None)));
            self.of_n4.push((seid, keys));
        }
        (seid, reason)
    }

    /// 65,536 sessions of the first SMF; the number of those that the data plane has. Then sessions of the other one; `is_hit`: all
    /// places of a key of it are taken. Then the first ones end.
    fn flood(&mut self, flood: impl Fn(u32) -> Asked, is_hit: impl Fn(&Asked) -> bool) -> u32 {
        let mut here = Vec::new();
        for number in 0..SESSIONS {
            let (seid, reason) = self.establish(&Asked { smf: 0, ..flood(number) });
            match reason {
                None => here.push(seid),
                Some(reason) => {
                    assert!(matches!(reason, Reason::Collision | Reason::KeysMissing), "{reason:?}");
                }
            }
        }
        assert_eq!(here.len() + self.of_n4.len(), SESSIONS as usize);
        let (flooded, of_flood) = (here.len(), self.of_n4.len());

        // Others: none of them goes to N4 that finds a place.
        let mut hits = 0;
        for number in 0..4096_u32 {
            let [.., high, low] = number.to_be_bytes();
            let teid = [&[1][..], &(0x4000 + number).to_be_bytes(), &N3.octets()].concat();
            let ue = Ipv4Addr::new(100, 64, high, low);
            let asked = Asked { smf: 1, cp: u64::from(number) + 1, ue, f_teid: teid, ..Asked::default() };
            let (seid, reason) = self.establish(&asked);
            assert_eq!(reason.is_some(), is_hit(&asked), "{reason:?}: {asked:?}");
            hits += u32::from(reason.is_some());
            for body in [&to_gnb(9, None)[..], &[]] {
                self.sequence += 1;
                let kind = if body.is_empty() { DELETION } else { MODIFICATION };
                let (_, again) = self.ask(1, &datagram(kind, seid, self.sequence, body));
                assert_eq!(again.is_some(), reason.is_some());
            }
        }
        assert!(hits < 40, "{hits}");

        // The sessions of the flood are those of before, and end.
        assert_eq!(self.accel.len() as usize, flooded);
        let of_n4 = std::mem::take(&mut self.of_n4);
        let seids: Vec<_> =
            here.into_iter().chain(of_n4.iter().take(of_flood).map(|(seid, _)| *seid)).collect();
        for seid in seids {
            self.sequence += 1;
            self.ask(0, &datagram(DELETION, seid, self.sequence, &[]));
        }
        of_n4.iter().flat_map(|(_, keys)| keys).for_each(|key| self.accel.unreserve(*key));
        assert_eq!((self.accel.len(), self.control.n4.session_count()), (0, 0));
        let keys = self.accel.occupancy().keys;
        // Deleted sessions keep their CP F-SEIDs for a while.
        assert!(keys[0] <= flooded + 4096 && keys[1..] == [0, 0], "{keys:?}");
        let again = Asked { smf: 0, cp: 1 << 63, f_teid: vec![5], ..flood(SESSIONS - 1) };
        assert_eq!(self.establish(&again).1, None);
        flooded as u32
    }
}

/// The first buckets, a sixteenth of those of a table of 131,072 UE addresses or TEIDs.
fn is_low(seed: u64, key: u32) -> bool {
    let hash = hash(seed, key.into(), 0);
    [hash, hash >> 32].into_iter().all(|half| half & 0xffff < 0x1000)
}

/// 65,536 numbers of 32 bits from this one on with both buckets in a sixteenth of the table.
fn low_keys(seed: u64, from: u32) -> Vec<u32> {
    let keys: Vec<_> = (from..=u32::MAX).filter(|key| is_low(seed, *key)).take(SESSIONS as usize).collect();
    assert_eq!(keys.len(), SESSIONS as usize);
    keys
}

/// A session without a key that collides.
fn plain(number: u32) -> Asked {
    let [_, a, b, c] = number.to_be_bytes();
    Asked { cp: (1 << 40) + u64::from(number), ue: Ipv4Addr::new(10, 64 + a, b, c), ..Asked::default() }
}

// Input:  an SMF that knows the seed establishes 65,536 sessions whose CP F-SEIDs have the same two buckets of 131,072; then 4,096 sessions of another
//         one, each with a modification and a deletion; then the first ones are deleted.
// Output: the data plane has eight of the flood, N4 the others: each request is answered. All requests of the other SMF are answered by the data plane. In
//         the end no key is left, and one of the flood finds a place again.
#[test]
fn cp_f_seids_that_collide_hurt_nobody_else() {
    let rest = |number: u64| (number & 0x7fff) << 17 | (number >> 15) << 49;
    let cp = |number: u32| unhash(CPS, 0x0000_4567_0000_89ab | rest(number.into()), GENERATION);
    let buckets = |hash: u64| [hash & 0x1_ffff, hash >> 32 & 0x1_ffff];
    assert_eq!(buckets(hash(CPS, cp(40_000), GENERATION)), [0x89ab, 0x4567]);
    let mut world = World::new();
    assert_eq!(world.accel.occupancy().entries[0], 4 << 17);
    let here = world.flood(|number| Asked { cp: cp(number), ..plain(number) }, |_| false);
    assert_eq!(here, 8);
}

// Input:  the same with 65,536 UE addresses whose buckets are all in a sixteenth of the table: four for each entry there.
// Output: the data plane has at most as many of the flood as there are entries. Of the other SMF, sessions with both buckets there go to N4, one of 256.
#[test]
fn ue_addresses_that_collide_hurt_nobody_else() {
    let ues = low_keys(UES, u32::from(Ipv4Addr::new(1, 0, 0, 0)));
    let here = World::new().flood(
        |number| Asked { ue: ues[number as usize].into(), ..plain(number) },
        |asked| is_low(UES, asked.ue.into()),
    );
    assert!((16_000..=16_384).contains(&here), "{here}");
}

// Input:  the same with TEIDs that the SMF chooses.
// Output: the same.
#[test]
fn teids_that_collide_hurt_nobody_else() {
    let teid = |asked: &Asked| u32::from_be_bytes(asked.f_teid[1..5].try_into().expect("four octets"));
    let teids = low_keys(TEIDS, 0x0100_0000);
    let here = World::new().flood(
        |number| {
            let f_teid = [&[1][..], &teids[number as usize].to_be_bytes(), &N3.octets()].concat();
            Asked { f_teid, ..plain(number) }
        },
        |asked| is_low(TEIDS, teid(asked)),
    );
    assert!((16_000..=16_384).contains(&here), "{here}");
}

//! TEIDs that end like the addresses of their UEs.

use std::net::Ipv4Addr;

use causeway_types::{IpNet, Ipv4Net, NetworkInstance, Seid, Teid};

/// The bounds of the TEIDs of large pools: 24 bits. Those of small pools come first, then those of other tunnels, then these.
pub(super) const FIRST: u32 = 1 << 23;
const END: u32 = 1 << 24;

/// Where the TEIDs of small pools end without their generation. A switch may use them as the index of a session's entry.
const NUMBERS: u32 = 1 << 17;

/// The first bit of the generation in the TEID of a small pool.
const GENERATION: u32 = 1 << 18;

/// A subnet of UEs, each with a TEID that ends like its address: a data plane can check the source addresses of all
/// of them by one rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TeidPool {
    /// The UE addresses.
    pub net: Ipv4Net,
    /// The data network in which they are these UEs'; `None`: any.
    pub network: Option<NetworkInstance>,
    /// The TEID of the first of them. The others' differ from it as their addresses do.
    pub first: u32,
}

impl TeidPool {
    /// Maximum number of pools.
    pub const MOST: usize = 32;

    /// TEIDs for these subnets, each with its data network if that matters, the largest first; then once more, so that a UE may have two
    /// tunnels, and does not immediately get the TEID of an earlier one. Subnets of 2^17 addresses in all have TEIDs that differ in
    /// the bits above the last 18 alone, the generation, when they come once more. A subnet for which 24 bits do not suffice gets
    /// none, nor do IPv6 subnets.
    pub fn layout(nets: impl IntoIterator<Item = (IpNet, Option<NetworkInstance>)>) -> Vec<Self> {
        let mut nets: Vec<(Ipv4Net, Option<NetworkInstance>)> = nets
            .into_iter()
            .filter_map(|(net, network)| match net {
                IpNet::V4(net) => Some((net.trunc(), network)),
                IpNet::V6(_) => None,
            })
            .collect();
        nets.sort_by(|(one, of), (other, of_other)| {
            (one.prefix_len(), one, of).cmp(&(other.prefix_len(), other, of_other))
        });
        nets.dedup();
        let mut pools = Vec::new();
        let mut end = END;
        for generation in [0, GENERATION] {
            let mut numbers = NUMBERS;
            for (net, network) in &nets {
                let size = u64::from(u32::from(net.hostmask())) + 1;
                let small = below(&mut numbers, size, 0).map(|number| generation | number);
                let first = small.or_else(|| below(&mut end, size, FIRST));
                if let Some(first) = first.filter(|_| pools.len() < Self::MOST) {
                    pools.push(Self { net: *net, network: network.clone(), first });
                }
            }
        }
        pools
    }

    /// The TEID behind those of small pools.
    pub(super) fn end_of_small(pools: &[Self]) -> u32 {
        let small = pools.iter().filter(|pool| pool.first < FIRST);
        small.map(|pool| (pool.first | u32::from(pool.net.hostmask())) + 1).max().unwrap_or_default()
    }

    /// Whether the TEID is one of the pool.
    pub(super) fn has(&self, teid: Teid) -> bool {
        let free = u32::from(self.net.hostmask());
        teid.value() & !free == self.first & !free
    }

    /// The TEID of a UE; `None` if it is of another pool.
    pub fn teid(&self, ue: Ipv4Addr) -> Option<Teid> {
        let free = u32::from(self.net.hostmask());
        let teid = self.first | u32::from(ue) & free;
        Teid::new(teid).filter(|_| self.net.contains(&ue))
    }
}

/// The last TEIDs below `end` for this many UEs, from `least` on: the first of them, where `end` is afterwards.
fn below(end: &mut u32, size: u64, least: u32) -> Option<u32> {
    // The rest, for subnets that are powers of two: a second round begins with larger ones.
    let aligned = u64::from(*end) / size * size;
    let first = aligned.checked_sub(size).filter(|first| *first >= u64::from(least))? as u32;
    *end = first;
    Some(first)
}

/// The UE of a tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OwnUe<'a> {
    /// Its address.
    pub(crate) ue: Ipv4Addr,
    /// The data network of its session, if it is known.
    pub(crate) network: Option<&'a NetworkInstance>,
}

impl<'a> OwnUe<'a> {
    /// The pools of the UE in its data network. Where that is not known, those of the only data network that has its address.
    fn pools<'p: 'a>(self, pools: &'p [TeidPool]) -> impl Iterator<Item = &'p TeidPool> + Clone + 'a {
        let mut having =
            pools.iter().filter(move |pool| pool.net.contains(&self.ue)).map(|pool| &pool.network);
        let first = having.next().and_then(Option::as_ref);
        let only = first.filter(|first| having.all(|other| other.as_ref() == Some(*first)));
        let network = self.network.or(only);
        let is_its = move |pool: &&TeidPool| pool.network.is_none() || pool.network.as_ref() == network;
        pools.iter().filter(is_its)
    }
}

/// The TEID of a UE that is `usable`; its TEIDs take turns from session to session.
pub(super) fn choose(
    pools: &[TeidPool],
    own: OwnUe<'_>,
    session: Seid,
    usable: impl Fn(Teid) -> bool,
) -> Option<Teid> {
    let all = || own.pools(pools).filter_map(|pool| pool.teid(own.ue));
    let count = all().count();
    let turn = session.0.checked_rem(count as u64)? as usize;
    all().cycle().skip(turn).take(count).find(|teid| usable(*teid))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nets(texts: &[&str]) -> Vec<(IpNet, Option<NetworkInstance>)> {
        texts.iter().map(|text| (text.parse().unwrap(), None)).collect()
    }

    fn own(ue: &str) -> OwnUe<'static> {
        OwnUe { ue: ue.parse().unwrap(), network: None }
    }

    // Input:  subnets of three sizes, one twice, one for IPv6, and one that is too large.
    // Output: each has two ranges of TEIDs, which end like its addresses: those of the large one are above those of other tunnels, those
    //         of small ones below, and differ in their generation.
    #[test]
    fn teids_end_like_addresses() {
        let pools = TeidPool::layout(nets(&[
            "10.45.0.0/16",
            "10.46.0.0/24",
            "10.45.0.0/16",
            "2001:db8::/48",
            "11.0.0.0/8",
            "10.64.0.0/11",
        ]));
        let shown: Vec<_> = pools.iter().map(|pool| (pool.net.to_string(), pool.first)).collect();
        let expected = [
            ("10.64.0.0/11", 0xe0_0000),
            ("10.45.0.0/16", 0x1_0000),
            ("10.46.0.0/24", 0xff00),
            ("10.64.0.0/11", 0xc0_0000),
            ("10.45.0.0/16", 0x5_0000),
            ("10.46.0.0/24", 0x4_ff00),
        ];
        assert_eq!(shown, expected.map(|(net, first)| (net.to_owned(), first)));
        let ue: Ipv4Addr = "10.45.1.2".parse().unwrap();
        let teids: Vec<_> = pools.iter().filter_map(|pool| pool.teid(ue)).map(Teid::value).collect();
        assert_eq!(teids, [0x1_0102, 0x5_0102]);
        assert_eq!(TeidPool::end_of_small(&pools), 0x6_0000);
        assert_eq!(TeidPool::end_of_small(&[]), 0);
    }

    // Input:  subnets of 2^18 addresses in all.
    // Output: those of the first half have small TEIDs, the others those of large pools; no two overlap.
    #[test]
    fn there_are_so_many_small_teids() {
        let pools = TeidPool::layout(nets(&["10.44.0.0/16", "10.45.0.0/16", "10.46.0.0/16", "10.47.0.0/16"]));
        let firsts: Vec<_> = pools.iter().map(|pool| pool.first).collect();
        let second = [0x5_0000, 0x4_0000, 0xfd_0000, 0xfc_0000];
        assert_eq!(firsts, [[0x1_0000, 0, 0xff_0000, 0xfe_0000], second].concat());
        // The first address of the second subnet would have TEID 0.
        let of = |ue: &str| pools.iter().filter_map(|pool| pool.teid(ue.parse().unwrap())).count();
        assert_eq!((of("10.45.0.0"), of("10.45.0.1")), (1, 2));
    }

    // Input:  more subnets than the maximum number of pools.
    // Output: the maximum number of pools.
    #[test]
    fn pools_are_few() {
        let many = (0..40).map(|number| (format!("10.{number}.0.0/24").parse().unwrap(), None));
        assert_eq!(TeidPool::layout(many).len(), TeidPool::MOST);
    }

    // Input:  sessions of one UE, one after the other, and a third beside two of them.
    // Output: the TEIDs take turns; the third has none.
    #[test]
    fn a_session_does_not_get_the_teid_of_the_last_one() {
        let pools = TeidPool::layout(nets(&["10.45.0.0/16"]));
        let ue = own("10.45.0.2");
        let of = |session| choose(&pools, ue, Seid(session), |_| true);
        assert_ne!(of(1), of(2));
        assert_eq!(of(1), of(3));
        let taken = of(1);
        assert_eq!(choose(&pools, ue, Seid(1), |teid| Some(teid) != taken), of(2));
        assert_eq!(choose(&pools, ue, Seid(1), |_| false), None);
        assert_eq!(choose(&pools, own("10.46.0.2"), Seid(1), |_| true), None);
    }

    // Input:  one subnet in two data networks, and one of the first alone; sessions whose data network is known, and others.
    // Output: each data network has TEIDs of its own; without it there are none for an address that both have, and that of the only one
    //         for another.
    #[test]
    fn data_networks_have_teids_of_their_own() {
        let named = ["tenant-a", "tenant-b"].map(NetworkInstance::new);
        let of = |net: &str, network: usize| (net.parse().unwrap(), Some(named[network].clone()));
        let pools = TeidPool::layout([of("10.45.0.0/16", 0), of("10.45.0.0/16", 1), of("10.46.0.0/16", 0)]);
        assert_eq!(pools.len(), 6);
        let chosen = |ue: &str, network: Option<usize>, session| {
            let own = OwnUe { ue: ue.parse().unwrap(), network: network.map(|of| &named[of]) };
            choose(&pools, own, Seid(session), |_| true)
        };
        let pool_of = |teid: Option<Teid>| {
            let teid = teid.unwrap();
            pools.iter().find(|pool| pool.teid("10.45.0.2".parse().unwrap()) == Some(teid)).unwrap()
        };
        for session in 0..4 {
            for network in [0, 1] {
                let pool = pool_of(chosen("10.45.0.2", Some(network), session));
                assert_eq!(pool.network.as_ref(), Some(&named[network]));
            }
            assert_eq!(chosen("10.45.0.2", None, session), None);
            assert_eq!(chosen("10.46.0.2", None, session), chosen("10.46.0.2", Some(0), session));
            assert_eq!(chosen("10.46.0.2", Some(1), session), None);
        }
    }
}

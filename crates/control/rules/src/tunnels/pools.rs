//! TEIDs that end like the addresses of their UEs.

use std::net::Ipv4Addr;

use causeway_types::{IpNet, Ipv4Net, Seid, Teid};

/// The bounds of the TEIDs of pools: 24 bits. Below are the TEIDs of other tunnels.
pub(super) const FIRST: u32 = 1 << 23;
const END: u32 = 1 << 24;

/// A subnet of UEs, each with a TEID that ends like its address: a data plane can check the source addresses of all
/// of them by one rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TeidPool {
    /// The UE addresses.
    pub net: Ipv4Net,
    /// The TEID of the first of them. The others' differ from it as their addresses do.
    pub first: u32,
}

impl TeidPool {
    /// Maximum number of pools.
    pub const MOST: usize = 32;

    /// TEIDs for these subnets, the largest first; then once more, so that a UE may have two tunnels, and does not
    /// immediately get the TEID of an earlier one. A subnet for which 24 bits do not suffice gets none, nor do IPv6
    /// subnets.
    pub fn layout(nets: impl IntoIterator<Item = IpNet>) -> Vec<Self> {
        let mut nets: Vec<Ipv4Net> = nets
            .into_iter()
            .filter_map(|net| match net {
                IpNet::V4(net) => Some(net.trunc()),
                IpNet::V6(_) => None,
            })
            .collect();
        nets.sort_by_key(|net| (net.prefix_len(), *net));
        nets.dedup();
        let mut pools = Vec::new();
        let mut end = END;
        for net in nets.iter().chain(&nets) {
            let size = u64::from(u32::from(net.hostmask())) + 1;
            // The rest, for subnets that are powers of two: a second round begins with larger ones.
            let aligned = u64::from(end) / size * size;
            let first = aligned.checked_sub(size).filter(|first| *first >= u64::from(FIRST));
            if let Some(first) = first.filter(|_| pools.len() < Self::MOST) {
                end = first as u32;
                pools.push(Self { net: *net, first: end });
            }
        }
        pools
    }

    /// The TEID of a UE; `None` if it is of another pool.
    pub fn teid(&self, ue: Ipv4Addr) -> Option<Teid> {
        let free = u32::from(self.net.hostmask());
        let teid = self.first | u32::from(ue) & free;
        Teid::new(teid).filter(|_| self.net.contains(&ue))
    }
}

/// The TEID of a UE that is `usable`; its TEIDs take turns from session to session.
pub(super) fn choose(
    pools: &[TeidPool],
    ue: Ipv4Addr,
    session: Seid,
    usable: impl Fn(Teid) -> bool,
) -> Option<Teid> {
    let all = || pools.iter().filter_map(|pool| pool.teid(ue));
    let count = all().count();
    let turn = session.0.checked_rem(count as u64)? as usize;
    all().cycle().skip(turn).take(count).find(|teid| usable(*teid))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nets(texts: &[&str]) -> Vec<IpNet> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    // Input:  subnets of three sizes, one twice, one for IPv6, and one that is too large.
    // Output: each has two ranges of TEIDs, which end like its addresses and are above those of other tunnels.
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
            ("10.45.0.0/16", 0xdf_0000),
            ("10.46.0.0/24", 0xde_ff00),
            ("10.64.0.0/11", 0xc0_0000 - 0x20_0000),
            ("10.45.0.0/16", 0x9f_0000),
            ("10.46.0.0/24", 0x9e_ff00),
        ];
        assert_eq!(shown, expected.map(|(net, first)| (net.to_owned(), first)));
        let ue: Ipv4Addr = "10.45.1.2".parse().unwrap();
        let teids: Vec<_> = pools.iter().filter_map(|pool| pool.teid(ue)).map(Teid::value).collect();
        assert_eq!(teids, [0xdf_0102, 0x9f_0102]);
    }

    // Input:  more subnets than the maximum number of pools.
    // Output: the maximum number of pools.
    #[test]
    fn pools_are_few() {
        let many = (0..40).map(|number| format!("10.{number}.0.0/24").parse().unwrap());
        assert_eq!(TeidPool::layout(many).len(), TeidPool::MOST);
    }

    // Input:  sessions of one UE, one after the other, and a third beside two of them.
    // Output: the TEIDs take turns; the third has none.
    #[test]
    fn a_session_does_not_get_the_teid_of_the_last_one() {
        let pools = TeidPool::layout(nets(&["10.45.0.0/16"]));
        let ue = "10.45.0.2".parse().unwrap();
        let of = |session| choose(&pools, ue, Seid(session), |_| true);
        assert_ne!(of(1), of(2));
        assert_eq!(of(1), of(3));
        let taken = of(1);
        assert_eq!(choose(&pools, ue, Seid(1), |teid| Some(teid) != taken), of(2));
        assert_eq!(choose(&pools, ue, Seid(1), |_| false), None);
        assert_eq!(choose(&pools, "10.46.0.2".parse().unwrap(), Seid(1), |_| true), None);
    }
}

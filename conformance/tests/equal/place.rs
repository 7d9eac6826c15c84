//! Where a session stands: its addresses, its tunnels, its gNB.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use causeway_model::{HeaderRemoval, RemovedHeader, UeAddress, UeSide};
use causeway_types::{DualIp, FTeid, IpNet, Ipv6Net, Teid};

use crate::genes::Genes;

/// The UPF's addresses on N3; the second pair is for the network `internet` alone.
pub(crate) const UPF: [(Ipv4Addr, Ipv6Addr); 2] = [
    (Ipv4Addr::new(192, 0, 2, 1), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
    (Ipv4Addr::new(192, 0, 2, 2), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2)),
];

/// The addresses of one session.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    index: u32,
    /// The UE's IPv4 address.
    pub(crate) v4: Option<Ipv4Addr>,
    /// The UE's IPv6 prefix.
    pub(crate) v6: Option<Ipv6Net>,
    /// What lies behind the UE.
    pub(crate) routes: Vec<IpNet>,
    local: DualIp,
    teids: Teids,
    gnb: IpAddr,
}

#[derive(Clone, Copy, Debug)]
enum Teids {
    /// As the UPF gives them out: a slot, and the generation of its use.
    Slots { generation: u8 },
    /// As an SMF might choose them.
    Foreign,
}

impl Place {
    /// Of the session with this number.
    pub(crate) fn new(index: u32, genes: &mut Genes<'_>) -> Self {
        let teids = match genes.chance(64) {
            true => Teids::Foreign,
            false => Teids::Slots { generation: genes.octet() },
        };
        let (upf4, upf6) = UPF[usize::from(genes.chance(24))];
        let local = match genes.below(8) {
            6 => DualIp { v4: None, v6: Some(upf6) },
            7 => DualIp { v4: Some(upf4), v6: Some(upf6) },
            _ => DualIp { v4: Some(upf4), v6: None },
        };
        // Some sessions have the address of another one: overlapping pools.
        let host = if genes.chance(16) { genes.below(4) as u32 } else { index };
        let (has_v4, has_v6) = genes.pick(&[(true, false), (true, false), (true, true), (false, true)]);
        let length = genes.pick(&[64, 64, 64, 56, 60, 128]);
        let prefix = Ipv6Addr::new(0x2001, 0xdb8, 0x45, (host as u16) << 8, 0, 0, 0, 0);
        let routes = ["172.16.0.0/24", "172.16.0.128/25", "2001:db8:77::/48", "10.45.0.0/24", "0.0.0.0/0"];
        let routes = routes.map(|net| net.parse().expect("a prefix"));
        let gnb4 = Ipv4Addr::new(198, 51, 100, 1 + genes.below(3) as u8);
        let gnb6 = Ipv6Addr::new(0x2001, 0xdb8, 0x99, 0, 0, 0, 0, 1);
        let to_v6 = if local.v4.is_none() { true } else { local.v6.is_some() && genes.chance(128) };
        Self {
            index,
            v4: has_v4.then(|| Ipv4Addr::new(10, 45, (host >> 8) as u8, 2 + host as u8)),
            v6: Ipv6Net::new(prefix, length).ok().filter(|_| has_v6),
            routes: genes.maybe(20, &routes).into_iter().collect(),
            local,
            teids,
            gnb: if to_v6 { gnb6.into() } else { gnb4.into() },
        }
    }

    /// The UE's addresses, as a PDI has them.
    pub(crate) fn ue(&self, side: UeSide) -> Option<UeAddress> {
        Some(UeAddress { v4: self.v4, v6: self.v6, side })
    }

    /// A tunnel of the UPF that no other session has; `at` is below 8.
    pub(crate) fn tunnel(&self, at: u32) -> FTeid {
        let slot = self.index * 8 + at + 1;
        let raw = match self.teids {
            Teids::Slots { generation } => u32::from(generation) << 24 | slot,
            Teids::Foreign => slot.wrapping_mul(0x9e37_79b1) | 0x00ff_0000,
        };
        FTeid { teid: Teid::new(raw).expect("slots begin at one"), addr: self.local }
    }

    /// How the outer header of those tunnels is removed.
    pub(crate) fn removal(&self, genes: &mut Genes<'_>) -> HeaderRemoval {
        let exact = match self.local {
            DualIp { v4: Some(_), v6: None } => RemovedHeader::GtpuIpv4,
            DualIp { v4: None, .. } => RemovedHeader::GtpuIpv6,
            _ => RemovedHeader::Gtpu,
        };
        let header = if genes.chance(64) { RemovedHeader::Gtpu } else { exact };
        HeaderRemoval { header, deletes_container: genes.chance(8) }
    }

    /// A tunnel of the gNB, or of another UPF.
    pub(crate) fn peer(&self, at: u32) -> FTeid {
        let teid = Teid::new(0x4000_0000 + self.index * 8 + at).expect("not zero");
        FTeid { teid, addr: self.gnb.into() }
    }
}

//! Filters independent of their rules: each is an entry of a table of classes.

use causeway_model::{Pdr, UeSide};
use causeway_p4::names::{action, parameter, table};

use crate::backend::compile_session::LookupKey;
use crate::backend::filter::patterns;
use crate::backend::layout::Layout;
use crate::backend::pattern::Pattern;
use crate::backend::pdr_treatment::{Refused, unsupported};
use crate::backend::table_placement::has_packets;
use crate::driver::{Entry, EntryKey};

/// A table of classes: of packets in tunnels or of a data network, by IP version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(in crate::backend) struct ClassTable {
    pub(super) is_tunnel: bool,
    pub(super) is_ipv6: bool,
}

impl ClassTable {
    pub(super) const ALL: [Self; 4] = [
        Self { is_tunnel: true, is_ipv6: false },
        Self { is_tunnel: true, is_ipv6: true },
        Self { is_tunnel: false, is_ipv6: false },
        Self { is_tunnel: false, is_ipv6: true },
    ];

    pub(super) const fn table(self) -> &'static str {
        match (self.is_tunnel, self.is_ipv6) {
            (true, false) => table::FILTERS_UL,
            (true, true) => table::FILTERS_UL_IPV6,
            (false, false) => table::FILTERS_DL,
            (false, true) => table::FILTERS_DL_IPV6,
        }
    }
}

/// A filter in one table of classes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(in crate::backend) struct Filter {
    pub(super) way: ClassTable,
    pub(super) pattern: Pattern,
}

impl Filter {
    /// Packets that match both.
    pub(super) fn intersect(&self, other: &Self) -> Option<Self> {
        let pattern = (self.way == other.way).then(|| self.pattern.intersect(&other.pattern))??;
        Some(Self { way: self.way, pattern })
    }

    /// Whether it matches all packets of the other one.
    pub(super) fn contains(&self, other: &Self) -> bool {
        self.way == other.way && self.pattern.contains(&other.pattern)
    }

    /// Its entry precedes those of all filters that contain it.
    pub(super) fn priority(&self) -> i32 {
        1 + self.pattern.bits()
    }

    pub(in crate::backend) fn key(&self, layout: &Layout) -> Result<EntryKey, Refused> {
        Ok(layout.row(self.way.table(), &self.pattern, self.priority())?)
    }

    /// The entry with the class of its packets.
    pub(in crate::backend) fn entry(&self, layout: &Layout, class: u16) -> Option<Entry> {
        layout.entry(self.key(layout).ok()?, action::SET_CLASS, &[(parameter::FILTER_CLASS, class.into())])
    }
}

/// The packets of a lookup key, and of its QoS flows, that a PDR requests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::backend) enum RequestedPackets {
    All,
    For(Vec<Filter>),
    /// No entry can express it.
    Inexpressible(Refused),
}

/// The packets that a PDR requests at one of its lookup keys.
pub(super) fn asks(pdr: &Pdr, key: LookupKey, layout: &Layout) -> RequestedPackets {
    let names_receiver =
        matches!(key, LookupKey::Tunnel(_)) && pdr.pdi.ue.is_some_and(|ue| ue.side == UeSide::Destination);
    match pdr.pdi.filters.is_empty() {
        _ if names_receiver => {
            RequestedPackets::Inexpressible(unsupported("the UE that packets in a tunnel go to"))
        }
        true => RequestedPackets::All,
        false => filters(pdr, key, layout).unwrap_or_else(RequestedPackets::Inexpressible),
    }
}

fn filters(pdr: &Pdr, key: LookupKey, layout: &Layout) -> Result<RequestedPackets, Refused> {
    let versions: &[bool] = match key {
        LookupKey::Tunnel(_) => &[false, true],
        LookupKey::V4(..) => &[false],
        LookupKey::V6(..) => &[true],
    };
    let (mut filters, mut takes_all) = (Vec::new(), true);
    for is_ipv6 in versions.iter().copied().filter(|is_ipv6| has_packets(pdr, *is_ipv6)) {
        let way = ClassTable { is_tunnel: matches!(key, LookupKey::Tunnel(_)), is_ipv6 };
        let patterns = patterns(pdr, &Pattern::default(), is_ipv6)?;
        takes_all &= patterns.contains(&Pattern::default());
        for pattern in patterns {
            let filter = Filter { way, pattern };
            filter.key(layout)?;
            filters.push(filter);
        }
    }
    Ok(if takes_all { RequestedPackets::All } else { RequestedPackets::For(filters) })
}

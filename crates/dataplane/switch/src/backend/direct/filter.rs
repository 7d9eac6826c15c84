//! A filter apart from its rule: what one of the tables of classes has a row for.

use causeway_rules::{Pdr, UeSide};

use crate::backend::filter::patterns;
use crate::backend::layout::Layout;
use crate::backend::pattern::Pattern;
use crate::backend::picture::Door;
use crate::backend::place::has_packets;
use crate::backend::treat::{Refused, unsupported};
use crate::driver::{Entry, EntryKey};

/// A table of classes: of packets in tunnels or of a data network, by IP version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(in crate::backend) struct Way {
    pub(super) is_tunnel: bool,
    pub(super) is_ipv6: bool,
}

impl Way {
    pub(super) const ALL: [Self; 4] = [
        Self { is_tunnel: true, is_ipv6: false },
        Self { is_tunnel: true, is_ipv6: true },
        Self { is_tunnel: false, is_ipv6: false },
        Self { is_tunnel: false, is_ipv6: true },
    ];

    pub(super) const fn table(self) -> &'static str {
        match (self.is_tunnel, self.is_ipv6) {
            (true, false) => "filters_ul",
            (true, true) => "filters_ul_ipv6",
            (false, false) => "filters_dl",
            (false, true) => "filters_dl_ipv6",
        }
    }
}

/// Packets of a way.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(in crate::backend) struct Filter {
    pub(super) way: Way,
    pub(super) pattern: Pattern,
}

impl Filter {
    /// Packets of both.
    pub(super) fn meet(&self, other: &Self) -> Option<Self> {
        let pattern = (self.way == other.way).then(|| self.pattern.meet(&other.pattern))??;
        Some(Self { way: self.way, pattern })
    }

    /// All packets of the other one are among its own.
    pub(super) fn holds(&self, other: &Self) -> bool {
        self.way == other.way && self.pattern.holds(&other.pattern)
    }

    /// Its row stands before those of all filters that hold it.
    pub(super) fn priority(&self) -> i32 {
        1 + self.pattern.bits()
    }

    pub(super) fn key(&self, layout: &Layout) -> Result<EntryKey, Refused> {
        Ok(layout.row(self.way.table(), &self.pattern, self.priority())?)
    }

    /// The row that says the class of its packets.
    pub(super) fn entry(&self, layout: &Layout, class: u16) -> Option<Entry> {
        layout.entry(self.key(layout).ok()?, "set_class", &[("filter_class", class.into())])
    }
}

/// Which packets of a door, and of its QoS flows, a PDR asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::backend) enum Asks {
    All,
    For(Vec<Filter>),
    /// No row says it.
    Unsaid(Refused),
}

/// What a PDR asks for at a door of its own.
pub(super) fn asks(pdr: &Pdr, door: Door, layout: &Layout) -> Asks {
    let names_receiver =
        matches!(door, Door::Tunnel(_)) && pdr.pdi.ue.is_some_and(|ue| ue.side == UeSide::Destination);
    match pdr.pdi.filters.is_empty() {
        _ if names_receiver => Asks::Unsaid(unsupported("the UE that packets in a tunnel go to")),
        true => Asks::All,
        false => filters(pdr, door, layout).unwrap_or_else(Asks::Unsaid),
    }
}

fn filters(pdr: &Pdr, door: Door, layout: &Layout) -> Result<Asks, Refused> {
    let versions: &[bool] = match door {
        Door::Tunnel(_) => &[false, true],
        Door::V4(_) => &[false],
        Door::V6(_) => &[true],
    };
    let (mut filters, mut takes_all) = (Vec::new(), true);
    for is_ipv6 in versions.iter().copied().filter(|is_ipv6| has_packets(pdr, *is_ipv6)) {
        let way = Way { is_tunnel: matches!(door, Door::Tunnel(_)), is_ipv6 };
        let patterns = patterns(pdr, &Pattern::default(), is_ipv6)?;
        takes_all &= patterns.contains(&Pattern::default());
        for pattern in patterns {
            let filter = Filter { way, pattern };
            filter.key(layout)?;
            filters.push(filter);
        }
    }
    Ok(if takes_all { Asks::All } else { Asks::For(filters) })
}

//! The keys of the data plane `xplane`.

use std::net::SocketAddr;

use causeway_packet::roce::UDP_PORT;
use causeway_types::Span;
use causeway_xplane::Sizes;
use serde::Serialize;

use super::data_plane::DataPlane;
use super::model::Upf;
use super::section::Section;
use super::serialize::{shown_if_any, span};
use super::{quantities, values};

/// The external memory, and what its tables hold.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct XPlaneKeys {
    /// The memory server; `None`: memory of this process.
    #[serde(serialize_with = "shown_if_any", skip_serializing_if = "Option::is_none")]
    pub server: Option<SocketAddr>,
    /// UEs for which the tables are made.
    pub ues: u32,
    /// Flows in use for which the table is made.
    pub flows: u32,
    /// Idle UEs whose packets wait in the memory.
    pub idle_ues: u32,
    /// A flow whose rule is known gives its place to others when it was not used for so long; at least a second.
    #[serde(serialize_with = "span")]
    pub flow_age: Span,
}

impl Default for XPlaneKeys {
    fn default() -> Self {
        Self { server: None, ues: 1024, flows: 8192, idle_ues: 64, flow_age: Span::from_secs(30) }
    }
}

impl XPlaneKeys {
    /// The tables of one of so many packet threads. A UE has two or three lookup keys, for which there are four buckets of two places, so that
    /// few keys find both taken: 3.3 and 6.5 % of so many UEs. A flow has one bucket: of so many flows 10.4 % find both places taken. What has no place is for
    /// the slow path: a flow until a place is free, a lookup key until its session is written anew, as by a request for it.
    pub fn sizes(&self, workers: u32) -> Sizes {
        let share = |number: u32| number.div_ceil(workers.max(1));
        Sizes {
            ue_buckets: u64::from(share(self.ues)) * 4,
            flow_buckets: u64::from(share(self.flows)),
            paging_rings: share(self.idle_ues),
            ..Sizes::default()
        }
    }

    pub(super) fn read(xplane: &mut Section<'_>) -> Self {
        let default = Self::default();
        let number = || values::number(1..=100_000_000);
        Self {
            server: xplane.value("server", |text: &str| values::endpoint(text, UDP_PORT)),
            ues: xplane.value("ues", number()).unwrap_or(default.ues),
            flows: xplane.value("flows", number()).unwrap_or(default.flows),
            idle_ues: xplane.value("idle_ues", values::number(0..=1_000_000)).unwrap_or(default.idle_ues),
            flow_age: xplane.value("flow_age", quantities::second_or_more).unwrap_or(default.flow_age),
        }
    }
}

impl Upf {
    /// Octets of the tables in this process, with so many packet threads; none over a memory server or with another data plane.
    pub(crate) fn own_xplane_tables(&self, workers: usize) -> u64 {
        if self.dataplane != DataPlane::XPlane || self.xplane.server.is_some() {
            return 0;
        }
        let workers = u32::try_from(workers).unwrap_or(u32::MAX).max(1);
        self.xplane.sizes(workers).octets().saturating_mul(workers.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  keys for a million UEs with ten million flows, and the default of idle UEs; the defaults.
    // Output: the octets that docs/xplane.md has for each, and those without rings; three packet threads take a few buckets more.
    #[test]
    fn tables_have_the_octets_of_the_page() {
        let many = XPlaneKeys { ues: 1_000_000, flows: 10_000_000, ..XPlaneKeys::default() };
        let without_rings = Sizes { rings: 0, paging_rings: 0, ..many.sizes(1) };
        assert_eq!((many.sizes(1).octets(), without_rings.octets()), (40_354_948_096, 40_336_000_000));
        let of_three = Sizes { rings: 0, paging_rings: 0, ..many.sizes(3) }.octets() * 3;
        assert!((40_336_000_000..40_336_060_000).contains(&of_three), "{of_three}");
        assert_eq!(XPlaneKeys::default().sizes(1).octets(), 55_386_112);
    }
}

//! The common tables of all profiles after the PDR and its action: meters, queues, copies, routes.

use super::fields::{METER_ID, key};
use crate::error::PlanError;
use crate::pipeline::{Dependency, Pipeline};
use crate::table::Gress::Ingress;
use crate::table::{Match, Table};

/// Routes with a whole address.
const HOST_ROUTES: u32 = 2048;
/// Routes with a prefix.
const PREFIX_ROUTES: u32 = 512;
/// One PDR in this many has a meter of its own.
const PDRS_PER_METER: u32 = 8;
/// Operands of a route: port and two MAC addresses.
const ROUTE: &[u32] = &[16, 48, 48];

/// The tables that precede the later ones.
pub(super) struct Before<'a> {
    /// Those that find the PDR.
    pub(super) pdr: &'a [(&'a str, Dependency)],
    /// Those that determine the action.
    pub(super) action: &'a [(&'a str, Dependency)],
    /// Those that determine the meter.
    pub(super) meter: &'a [(&'a str, Dependency)],
}

/// The response to an Echo Request. It precedes all PDR tables.
pub(super) fn echo(pipeline: &mut Pipeline) -> Result<(), PlanError> {
    let control = key(&[&[("valid", 2), ("gtpu.type", 8)]]);
    pipeline.add(Table::new("gtpu_control", Ingress, Match::Exact(control), 2), &[])
}

/// The meters of `pdrs` PDRs, and the queue by colour and QFI.
pub(super) fn enforcement(pipeline: &mut Pipeline, pdrs: u32, before: &Before<'_>) -> Result<(), PlanError> {
    let meters = pdrs.div_ceil(PDRS_PER_METER).max(1);
    pipeline
        .add(Table::new("meters", Ingress, Match::Exact(key(&[METER_ID])), meters).metered(), before.meter)?;
    let queue = Table::new("queue_assignment", Ingress, Match::Exact(key(&[&[("qfi", 6)]])), 64);
    let after: Vec<_> = before.action.iter().copied().chain([("meters", Dependency::Match)]).collect();
    pipeline.add(queue.actions(&[&[8]]).when("yellow", 1), &after)
}

/// Metadata for egress, copies for the control plane, and routes.
pub(super) fn delivery(pipeline: &mut Pipeline, before: &Before<'_>) -> Result<(), PlanError> {
    let bridge: Vec<_> = before.pdr.iter().map(|(name, _)| (*name, Dependency::Action)).collect();
    pipeline.add(Table::new("bridge_header", Ingress, Match::Always, 0), &bridge)?;
    let flags = key(&[&[("buffer", 1), ("nocp", 1)]]);
    let copies = Table::new("to_cpu", Ingress, Match::Exact(flags), 3).actions(&[&[8, 8]]);
    pipeline.add(copies, before.action)?;
    for (way, side, address) in [(0, "tunnel", ("outer.dst", 32)), (1, "network", ("inner.dst", 32))] {
        let under = |table: Table| table.actions(&[ROUTE]).when("buffer", 0).when("encapsulated", way);
        let hosts = format!("{side}_exact");
        let exact = Table::new(hosts.as_str(), Ingress, Match::Exact(key(&[&[address]])), HOST_ROUTES);
        pipeline.add(under(exact), before.action)?;
        let name = format!("{side}_lpm");
        let prefixes = Table::new(name, Ingress, Match::Ternary(key(&[&[address]])), PREFIX_ROUTES);
        pipeline.add(under(prefixes), &[(&hosts, Dependency::Control)])?;
    }
    Ok(())
}

//! Causeway's programs of `p4/`: in addition to the paper's, they have a source guard, congestion marks, one table that
//! rewrites packets, a reason for each drop, counters of queues, and commands of the control plane.

mod banks;
mod direct;
mod rules;

use super::fields::{OPERAND_IPV4, OPERAND_METER, OPERAND_OCTET, PDR_ID, UE_ADDRESS, encapsulation, key};
use super::{Population, Profile, Program, accounting};
use crate::error::PlanError;
use crate::pipeline::Dependency::{self, Action, Control, Match as Matches};
use crate::pipeline::Pipeline;
use crate::table::Gress::{Egress, Ingress};
use crate::table::{Field, Match, Table};

/// Entries of the source guard, one for each pool.
const POOLS: u32 = 64;
/// Entries of the tables of constants: congestion marks, rewriting, the verdict.
const CONSTANTS: [u32; 3] = [4, 16, 36];
/// Prefixes that UEs must not reach.
const CLOSED: u32 = 512;
/// Queues by colour and QFI, and cells of the counters of queues.
const QUEUES: [u32; 2] = [192, 32];
/// Routes with a whole address, and with a prefix.
const ROUTES: [u32; 2] = [2048, 512];
/// One rule in this many has a meter of its own.
const RULES_PER_METER: u32 = 8;
/// Above this number of meters there are two tables of half of them, by the last bit of the meter's number.
const HALVES_FROM: u32 = 16_384;
/// Operands of a route: port and two MAC addresses.
const ROUTE: &[u32] = &[16, 48, 48];

/// Dependencies by the names of earlier tables.
type After<'a> = Vec<(&'a str, Dependency)>;

pub(super) fn build(program: &Program, population: &Population) -> Result<Pipeline, PlanError> {
    if program.profile == Profile::Direct {
        return direct::build(program, population);
    }
    let mut pipeline = Pipeline::default();
    pipeline.add(Table::new("difference", Ingress, Match::Always, 0), &[])?;
    let found = rules::matching(&mut pipeline, program, population)?;
    // Rules of `red` and `red-spt` write the results of the commands before them.
    let command = Match::Exact(key(&[&[("command", 8)]]));
    let behind: After<'_> = rules::written(program.profile).iter().map(|name| (*name, Action)).collect();
    pipeline.add(Table::new("cpu_commands", Ingress, command, 3).when("from the CPU", 1), &behind)?;
    guard(&mut pipeline, None)?;
    pipeline.add(Table::new("user_packet", Ingress, Match::Always, 0), &[])?;
    let sound: After<'_> =
        found.iter().copied().chain(["source_guard", "ecn"]).map(|name| (name, Matches)).collect();
    let decided = rules::forwarding(&mut pipeline, program, population, &sound)?;
    let decided: After<'_> = decided.iter().map(|name| (*name, Matches)).collect();
    let rules = rules::count(program.profile, population);
    let mut metered = sound.clone();
    metered.extend(decided.iter().copied().filter(|(name, _)| *name == "meter_lookup"));
    let meters = metering(&mut pipeline, program.profile, rules, &metered)?;
    let colored: After<'_> =
        decided.iter().copied().chain(meters.iter().map(|name| (*name, Matches))).collect();
    let queue = Match::Exact(key(&[&[("color", 8), ("qfi", 6)]]));
    pipeline.add(Table::new("queue_assignment", Ingress, queue, QUEUES[0]).actions(&[&[8]]), &colored)?;
    delivery(&mut pipeline, program.profile, &decided, &colored)?;
    accounting::side(&mut pipeline, program, rules, Ingress, &sound)?;
    accounting::side(&mut pipeline, program, rules, Egress, &[])?;
    pipeline.add(Table::new("queue_packets", Egress, Match::Always, QUEUES[1]).counted(), &[])?;
    Ok(pipeline)
}

/// Tables for tunnel packets only, behind the tables that find their rule, or in a given stage.
fn guard(pipeline: &mut Pipeline, stage: Option<usize>) -> Result<(), PlanError> {
    let source = key(&[&[("gtpu.teid", 24), ("inner.src", 32), ("difference", 24)]]);
    let guard = Table::new("source_guard", Ingress, Match::Ternary(source), POOLS);
    pipeline.add(guard.at_stage(stage).when("in a tunnel", 1), &[("difference", Matches)])?;
    let marks = key(&[&[("outer.ecn", 2), ("inner.ecn", 2)]]);
    let ecn = Table::new("ecn", Ingress, Match::Exact(marks), CONSTANTS[0]);
    pipeline.add(ecn.actions(&[&[8]]).when("in a tunnel", 1), &[])
}

/// The meters, in two halves if there are many. In `hip4` a table holds the rules of each half, and executes its
/// meters.
fn metering(
    pipeline: &mut Pipeline,
    profile: Profile,
    rules: u32,
    after: &After<'_>,
) -> Result<&'static [&'static str], PlanError> {
    let meters = (rules / RULES_PER_METER).max(1);
    // Otherwise addressed by the meter's number, so none can be spread over stages.
    let mut table = |name: &'static str, entries: u32| {
        let (matching, operands) = match profile {
            Profile::Hip4 => (Match::Exact(key(&[PDR_ID])), &[OPERAND_METER][..]),
            _ => (Match::Always, &[][..]),
        };
        pipeline.add(Table::new(name, Ingress, matching, entries).actions(&[operands]).metered(), after)
    };
    if meters <= HALVES_FROM {
        table("meters", meters)?;
        return Ok(&["meters"]);
    }
    table("meters_even", meters / 2)?;
    table("meters_odd", meters / 2)?;
    Ok(&["meters_even", "meters_odd"])
}

/// Transmission of the packet: rewriting, its route, its port if it is not forwarded, and the drop verdict.
fn delivery(
    pipeline: &mut Pipeline,
    profile: Profile,
    decided: &After<'_>,
    colored: &After<'_>,
) -> Result<(), PlanError> {
    let ternary = |fields: &[(&'static str, u32)]| Match::Ternary(fields.iter().map(field).collect());
    let how = [("ipv4", 1), ("buffer", 1), ("forward", 2), ("tunnelled", 1), ("expired", 1), ("mark", 1)];
    let tunnel = encapsulation(&[]);
    let rewriting = Table::new("rewriting", Ingress, ternary(&how), CONSTANTS[1]);
    let before: After<'_> = decided.iter().copied().chain([("user_packet", Matches)]).collect();
    pipeline.add(rewriting.actions(&[&[OPERAND_OCTET, 16], &tunnel, &[]]), &before)?;
    let (hop, tunnel_hop) = (ROUTE.to_vec(), [ROUTE, &[OPERAND_IPV4]].concat());
    for (way, side, address, hop) in
        [(1, "tunnel", ("tunnel", 32), &tunnel_hop), (0, "network", UE_ADDRESS[0], &hop)]
    {
        let under = |table: Table| table.actions(&[hop]).when("to a tunnel", way);
        let hosts = format!("{side}_exact");
        let exact = Table::new(hosts.as_str(), Ingress, Match::Exact(key(&[&[address]])), ROUTES[0]);
        // The route of the controller's packets depends on the address in the commands. This applies to `red`, too, but
        // the planner's capacity for it is too low already.
        let commanded = (side == "tunnel" && profile == Profile::RedSpt).then_some(("cpu_commands", Matches));
        let after: After<'_> = before.iter().copied().chain(commanded).collect();
        pipeline.add(under(exact), &after)?;
        let prefixes =
            Table::new(format!("{side}_lpm"), Ingress, Match::Ternary(key(&[&[address]])), ROUTES[1]);
        pipeline.add(under(prefixes), &[(&hosts, Control)])?;
    }
    let unreached = ternary(&[UE_ADDRESS[0], ("protocol", 8)]);
    pipeline.add(Table::new("closed", Ingress, unreached, CLOSED).actions(&[&[OPERAND_OCTET]]), &[])?;
    let reason = Match::Exact(key(&[&[("punt", 8)]]));
    let ports = Table::new("punt_ports", Ingress, reason, 8).actions(&[&[16, 8]]);
    pipeline.add(ports.when("not forwarded", 1), &[("rewriting", Matches)])?;
    let asked = [
        ("cut_short", 1),
        ("outer_udp", 1),
        ("tunnelled", 1),
        ("user_packet", 1),
        ("command", 8),
        ("drop_reason", 8),
        ("spoofed", 1),
        ("congested", 1),
        ("pdr_id", 24),
        ("color", 8),
        ("forward", 2),
        ("bad_checksum", 1),
        ("no_route", 1),
        ("closed", 2),
    ];
    let verdict = Table::new("verdict", Ingress, ternary(&asked), CONSTANTS[2]).counted();
    let routes = ["tunnel_exact", "tunnel_lpm", "network_exact", "network_lpm"].map(|name| (name, Matches));
    let all: After<'_> = colored.iter().copied().chain(routes).chain([("closed", Matches)]).collect();
    pipeline.add(verdict.actions(&[&[OPERAND_OCTET, OPERAND_OCTET]]), &all)
}

const fn field(&(name, bits): &(&'static str, u32)) -> Field {
    Field { name, bits }
}

//! Causeway's program `direct`: sessions by index, with counters in banks, and rules with filters behind them.

use super::banks::{INDEX, banks, index, rule_banks, session_meters};
use super::rules::{DECAPSULATE, DROP, ENCAPSULATE, FILTER, MERGED_BUFFER, MERGED_DROP};
use super::{After, QUEUES, RULES_PER_METER, delivery, guard};
use crate::error::PlanError;
use crate::pipeline::Dependency::{Action, Control, Match as Matches};
use crate::pipeline::Pipeline;
use crate::profiles::fields::{TUNNEL, UE_ADDRESS, key};
use crate::profiles::{Filters, Population, Profile, Program};
use crate::table::Gress::{Egress, Ingress};
use crate::table::{Field, Match, Table};

/// Sessions of the first tables by index in each direction; above this there are more tables.
const FIRST_SESSIONS: u32 = 131_072;
/// Entries of a table of pools.
const POOLS: u32 = 64;
/// Distinct filters of each direction, where sessions share them.
const FILTERS: u32 = 512;
/// Operands: the offset of a pool, the class of a filter.
const OFFSET: u32 = 32;
const CLASS: u32 = 16;
/// Entries of the templates, up and down.
const TEMPLATES: [u32; 2] = [64, 2048];
/// Operands of a rule's entry: PDR_ID, meter, and in two octets mark, DSCP and whether a copy is sent.
const TO_N6: &[u32] = &[32, 16, 8, 8];
/// PDR_ID, meter, TEID, address, QFI, PDU type, DSCP and whether a copy is sent, and two octets of constants.
const TO_TUNNEL: &[u32] = &[32, 16, 32, 32, 8, 8, 8, 8, 8, 8];
/// Partitions of algorithmic TCAM.
const PARTITIONS: u32 = 4096;

/// The name of an index, and its bits.
type Index = (&'static str, u32);

/// Sizes of the program.
pub(super) struct Sizes {
    /// Sessions without filters.
    pub(super) simple: u32,
    /// Rules with filters in each of three tables: half as many as complex UEs.
    complex: u32,
    n9: u32,
    /// The program specifies stages where it needs all twelve. The model uses them at smaller sizes, too.
    pub(super) is_pinned: bool,
    /// There are so many rules of shared filters that their tables take four stages.
    pub(super) has_many_rules: bool,
}

impl Sizes {
    fn of(program: &Program, population: &Population) -> Self {
        let are_many = 8 * population.complex > population.simple;
        let is_pinned = program.filters == Filters::Shared || !are_many;
        let has_many_rules = is_pinned && are_many;
        let (simple, complex) = (population.simple - population.n9, population.complex / 2);
        Self { simple, complex, n9: population.n9, is_pinned, has_many_rules }
    }

    /// Sessions with an entry of their number.
    const fn sessions(&self) -> u32 {
        self.simple + self.complex
    }

    /// The stage that the program specifies for a table, if it does.
    pub(super) const fn pin(&self, stage: usize) -> Option<usize> {
        if self.is_pinned { Some(stage) } else { None }
    }

    /// Rules with entries of their own.
    pub(super) const fn rules(&self) -> u32 {
        self.n9 + (self.n9 + self.complex) + 3 * self.complex
    }
}

pub(super) fn build(program: &Program, population: &Population) -> Result<Pipeline, PlanError> {
    let sizes = Sizes::of(program, population);
    let mut pipeline = Pipeline::default();
    let command = Match::Exact(key(&[&[("command", 8)]]));
    pipeline.add(Table::new("cpu_commands", Ingress, command, 3).when("from the CPU", 1), &[])?;
    pipeline.add(Table::new("difference", Ingress, Match::Always, 0), &[])?;
    let sessions = sessions(&mut pipeline, &sizes)?;
    let sessions: After<'_> = sessions.iter().map(|name| (name.as_str(), Matches)).collect();
    if program.filters == Filters::Shared {
        for (way, name) in [(1, "filters_ul"), (0, "filters_dl")] {
            let filters = Table::new(name, Ingress, Match::Ternary(key(&[FILTER])), FILTERS);
            let filters = filters.actions(&[&[CLASS]]).at_stage(sizes.pin(4));
            pipeline.add(filters.when("tunnelled", way), &[])?;
        }
    }
    guard(&mut pipeline, sizes.pin(1))?;
    // Conditions on the entry are evaluated in a stage of their own.
    for name in ["user_packet", "is_simple", "is_counted"] {
        let guarded = [("source_guard", Matches), ("ecn", Matches)];
        let after: After<'_> = match name {
            "user_packet" => Vec::new(),
            "is_simple" => sessions.clone(),
            _ => sessions.iter().copied().chain(guarded).collect(),
        };
        pipeline.add(Table::new(name, Ingress, Match::Always, 0), &after)?;
    }
    index(&mut pipeline, &sizes)?;
    let mut counted: After<'_> = INDEX.map(|(name, _)| (name, Matches)).to_vec();
    counted.push(("is_counted", Matches));
    banks(&mut pipeline, &sizes, Ingress, &counted)?;
    let simple: After<'_> = ["is_simple", "source_guard", "ecn"].map(|name| (name, Matches)).to_vec();
    templates(&mut pipeline, &simple)?;
    let (mut meters, behind) = session_meters(&mut pipeline, &sizes, &simple)?;
    let rules = rules(&mut pipeline, program, &sizes)?;
    let mut decided: After<'_> = rules.iter().map(|name| (*name, Matches)).collect();
    decided.extend(["ul_template", "dl_template"].map(|name| (name, Matches)));
    let mut metered: After<'_> = rules.iter().map(|name| (*name, Matches)).collect();
    metered.extend(meters.last().map(|last| (*last, Action)));
    let of_rules = (sizes.rules() / RULES_PER_METER).max(1) + behind;
    let of_rules = Table::new("rule_meters", Ingress, Match::Always, of_rules);
    pipeline.add(of_rules.metered(), &metered)?;
    meters.push("rule_meters");
    rule_banks(&mut pipeline, &sizes, Ingress, &decided)?;
    let colored: After<'_> =
        decided.iter().copied().chain(meters.iter().map(|name| (*name, Matches))).collect();
    let queue = Match::Exact(key(&[&[("color", 8), ("qfi", 6)]]));
    pipeline.add(Table::new("queue_assignment", Ingress, queue, QUEUES[0]).actions(&[&[8]]), &colored)?;
    delivery(&mut pipeline, Profile::Direct, &decided, &colored)?;
    pipeline.add(Table::new("queue_packets", Egress, Match::Always, QUEUES[1]).counted(), &[])?;
    rule_banks(&mut pipeline, &sizes, Egress, &[])?;
    banks(&mut pipeline, &sizes, Egress, &[])?;
    Ok(pipeline)
}

/// The sessions' entries by index, and their names.
fn sessions(pipeline: &mut Pipeline, sizes: &Sizes) -> Result<Vec<String>, PlanError> {
    let mut names = Vec::new();
    let mut add = |pipeline: &mut Pipeline,
                   name: &str,
                   way: u16,
                   (index, stage): (Index, Option<usize>),
                   after: &After<'_>| {
        let operands: &[u32] = if way == 1 { &[32] } else { &[32, 32] };
        let matching = Match::Index(vec![Field { name: index.0, bits: index.1 }]);
        let table = Table::new(name, Ingress, matching, 1 << index.1).actions(&[operands]).at_stage(stage);
        names.push(name.to_owned());
        // Those of the downlink are looked up separately.
        let table =
            if way == 1 { table.when("tunnelled", 1).when("sessions", names.len() as u16) } else { table };
        pipeline.add(table, after)
    };
    let more = sizes.sessions() > FIRST_SESSIONS;
    add(pipeline, "ul_sessions_low", 1, (("teid_17", 17), None), &Vec::new())?;
    if more {
        add(pipeline, "ul_sessions_high", 1, (("teid_16", 16), None), &Vec::new())?;
    }
    let pools = Table::new("ue_pools", Ingress, Match::Ternary(key(&[UE_ADDRESS])), POOLS);
    pipeline.add(pools.actions(&[&[OFFSET]]).when("tunnelled", 0), &[])?;
    let found = vec![("ue_pools", Matches)];
    let downlink = ["dl_sessions_low", "dl_sessions_middle", "dl_sessions_high"];
    for (number, name) in downlink.into_iter().take(2 + usize::from(more)).enumerate() {
        add(pipeline, name, 0, (("session_16", 16), Some(1 + number)), &found)?;
    }
    Ok(names)
}

fn templates(pipeline: &mut Pipeline, simple: &After<'_>) -> Result<(), PlanError> {
    for (way, name, bits, entries, actions) in [
        (1, "ul_template", ("ul_template", 6), TEMPLATES[0], [DECAPSULATE, &[8], DROP]),
        (0, "dl_template", ("dl_template", 10), TEMPLATES[1], [ENCAPSULATE, &[8], DROP]),
    ] {
        let table = Table::new(name, Ingress, Match::Exact(key(&[&[bits]])), entries).actions(&actions);
        pipeline.add(table.when("simple", 1).when("tunnelled", way), simple)?;
    }
    Ok(())
}

/// Rules with entries of their own, and the names of their tables.
fn rules(pipeline: &mut Pipeline, program: &Program, sizes: &Sizes) -> Result<Vec<&'static str>, PlanError> {
    let shared = program.filters == Filters::Shared;
    let (complex, back) = (sizes.complex, sizes.n9 + sizes.complex);
    let session: &[(&'static str, u32)] = &[("session", 24)];
    let exact = |who: &[(&'static str, u32)]| Match::Exact(key(&[who]));
    let filtered = |who: &[(&'static str, u32)], partitioned: Match| match shared {
        true => Match::Exact(key(&[who, &[("filter_class", 12)]])),
        false => partitioned,
    };
    let rows = if shared { complex } else { PARTITIONS * (complex * 9 / 8 / PARTITIONS + 1) };
    let names: [&'static str; 3] = match shared {
        true => ["ul_to_n6_rules", "ul_to_n9_n3_rules", "dl_from_n6_rules"],
        false => ["ul_to_n6_complex", "ul_to_n9_n3_complex", "dl_from_n6_complex"],
    };
    let to_n6: &[&[u32]] = &[TO_N6, MERGED_DROP];
    let to_either: &[&[u32]] = &[TO_N6, TO_TUNNEL, MERGED_DROP];
    let to_tunnel: &[&[u32]] = &[TO_TUNNEL, MERGED_BUFFER, MERGED_DROP];
    let unknown: &[&[u32]] = &[TO_TUNNEL, MERGED_BUFFER, MERGED_DROP, &[]];
    let mut last: [Option<&str>; 2] = [None; 2];
    let mut found = Vec::new();
    for (way, name, matching, entries, actions, stage) in [
        (1, names[0], filtered(TUNNEL, partitioned(true)), rows, to_n6, 5),
        (1, names[1], filtered(TUNNEL, partitioned(true)), rows, to_either, 5),
        (1, "ul_to_n6_simple", exact(TUNNEL), complex, to_n6, 6),
        (1, "ul_to_n9_n3_simple", exact(TUNNEL), sizes.n9, to_tunnel, 7),
        (1, "dl_from_n9_simple", exact(TUNNEL), back, unknown, 8),
        (0, names[2], filtered(session, partitioned(false)), rows, to_tunnel, 6),
        (0, "dl_from_n6_simple", exact(session), complex, unknown, 7),
    ] {
        let stage = sizes.has_many_rules.then_some(stage);
        let matching = if entries == 0 { Match::Always } else { matching };
        let table = Table::new(name, Ingress, matching, entries).actions(actions).at_stage(stage);
        let mut after: After<'_> = vec![("is_simple", Matches)];
        if shared {
            after.push((["filters_dl", "filters_ul"][usize::from(way)], Matches));
        }
        if sizes.has_many_rules {
            pipeline.add(table, &after)?;
        } else {
            after.extend(last[usize::from(way)].map(|name| (name, Control)));
            pipeline.add(table.when("simple", 0).when("tunnelled", way), &after)?;
        }
        last[usize::from(way)] = Some(name);
        found.push(name);
    }
    Ok(found)
}

/// The key of algorithmic TCAM as stored and compared in SRAM. Filter fields are stored with their masks; the partition
/// is the address.
fn partitioned(is_uplink: bool) -> Match {
    let ternary: &[(&'static str, u32)] = if is_uplink { &[("gtpu.qfi", 6)] } else { &[] };
    let masked = [ternary, FILTER].concat().into_iter().map(|(name, bits)| Field { name, bits: 2 * bits });
    Match::Exact(key(&[&[("number", 24)]]).into_iter().chain(masked).collect())
}

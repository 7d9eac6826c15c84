//! Causeway's program `direct`: sessions by index, with counters in banks whose sizes are powers of two, and rules with filters
//! behind them.

use super::rules::{DECAPSULATE, DROP, ENCAPSULATE, FILTER, MERGED_BUFFER, MERGED_DROP};
use super::{After, HALVES_FROM, QUEUES, RULES_PER_METER, delivery, guard};
use crate::error::PlanError;
use crate::pipeline::Dependency::{self, Action, Control, Match as Matches};
use crate::pipeline::Pipeline;
use crate::profiles::fields::{TUNNEL, UE_ADDRESS, key};
use crate::profiles::{Filters, Population, Profile, Program};
use crate::table::Gress::{self, Egress, Ingress};
use crate::table::{Field, Match, Table};

/// Sessions that the first tables by index hold in each direction; there are more tables above.
const FIRST_SESSIONS: u32 = 131_072;
/// Rows of a table of pools.
const POOLS: u32 = 64;
/// Distinct filters of each direction, where sessions share them.
const FILTERS: u32 = 512;
/// Operands: the offset of a pool, the class of a filter.
const OFFSET: u32 = 32;
const CLASS: u32 = 16;
/// Entries of the templates, up and down.
const TEMPLATES: [u32; 2] = [64, 2048];
/// What an entry of a rule says: PDR_ID, meter, mark, DSCP and whether a copy is sent. The last three octets are constants of the action that
/// the compiler keeps beside them, as its map of blocks shows.
const TO_N6: &[u32] = &[32, 16, 8, 8, 8, 8, 8, 8];
/// PDR_ID, meter, TEID, address, QFI, PDU type, DSCP and whether a copy is sent, and two octets of constants.
const TO_TUNNEL: &[u32] = &[32, 16, 32, 32, 8, 8, 8, 8, 8, 8];
/// Counters in a bank, and in those of what is left.
const BANK: u32 = 32_768;
const SMALL_BANK: u32 = 8192;
/// Partitions of algorithmic TCAM.
const PARTITIONS: u32 = 4096;

/// What an entry is found by, and how many bits it has.
type Index = (&'static str, u32);

/// How many there are of what.
struct Sizes {
    /// Sessions without filters.
    simple: u32,
    /// Rules with filters in each of three tables: half as many as complex UEs.
    complex: u32,
    n9: u32,
}

impl Sizes {
    const fn of(population: &Population) -> Self {
        Self { simple: population.simple - population.n9, complex: population.complex / 2, n9: population.n9 }
    }

    /// Sessions with an entry of their number.
    const fn sessions(&self) -> u32 {
        self.simple + self.complex
    }

    /// The stage of a downlink table by index: where many rules have filters, the program lets them stand apart (`p4/contract/places.p4`). So it
    /// does above 131,072 sessions; with that the model would find more room than the compiler does.
    const fn place(&self, number: usize) -> Option<usize> {
        if 16 * self.complex > self.simple + self.n9 { Some(1 + number) } else { None }
    }

    /// Rules with entries of their own.
    const fn rules(&self) -> u32 {
        self.n9 + (self.n9 + self.complex) + 3 * self.complex
    }
}

pub(super) fn build(program: &Program, population: &Population) -> Result<Pipeline, PlanError> {
    let sizes = Sizes::of(population);
    let mut pipeline = Pipeline::default();
    let command = Match::Exact(key(&[&[("command", 8)]]));
    pipeline.add(Table::new("cpu_commands", Ingress, command, 3).when("from the CPU", 1), &[])?;
    pipeline.add(Table::new("difference", Ingress, Match::Always, 0), &[])?;
    let sessions = sessions(&mut pipeline, &sizes)?;
    let sessions: After<'_> = sessions.iter().map(|name| (name.as_str(), Matches)).collect();
    if program.filters == Filters::Shared {
        for (way, name) in [(1, "filters_ul"), (0, "filters_dl")] {
            let filters = Table::new(name, Ingress, Match::Ternary(key(&[FILTER])), FILTERS);
            pipeline.add(filters.actions(&[&[CLASS]]).when("tunnelled", way), &[])?;
        }
    }
    guard(&mut pipeline)?;
    // What an entry says is found out of it by conditions, in a stage of their own.
    for name in ["user_packet", "is_simple", "is_counted"] {
        let guarded = [("source_guard", Matches), ("ecn", Matches)];
        let after: After<'_> = match name {
            "user_packet" => Vec::new(),
            "is_simple" => sessions.clone(),
            _ => sessions.iter().copied().chain(guarded).collect(),
        };
        pipeline.add(Table::new(name, Ingress, Match::Always, 0), &after)?;
    }
    banks(&mut pipeline, &sizes, Ingress, &[("is_counted", Matches)])?;
    let simple: After<'_> = ["is_simple", "source_guard", "ecn"].map(|name| (name, Matches)).to_vec();
    templates(&mut pipeline, &simple)?;
    let mut meters = session_meters(&mut pipeline, &sizes, &simple)?;
    let rules = rules(&mut pipeline, program, &sizes)?;
    let mut decided: After<'_> = rules.iter().map(|name| (*name, Matches)).collect();
    decided.extend(["ul_template", "dl_template"].map(|name| (name, Matches)));
    let mut metered: After<'_> = rules.iter().map(|name| (*name, Matches)).collect();
    metered.extend(meters.last().map(|last| (*last, Action)));
    let of_rules =
        Table::new("rule_meters", Ingress, Match::Always, (sizes.rules() / RULES_PER_METER).max(1));
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
        pipeline.add(table.when("tunnelled", way).when("sessions", names.len() as u16), after)
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
        add(pipeline, name, 0, (("session_16", 16), sizes.place(number)), &found)?;
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

/// Those of simple rules, which write the colour one after the other.
fn session_meters(
    pipeline: &mut Pipeline,
    sizes: &Sizes,
    simple: &After<'_>,
) -> Result<Vec<&'static str>, PlanError> {
    let meters = (2 * sizes.simple / RULES_PER_METER).max(1);
    let names: &[&'static str] = if meters > HALVES_FROM {
        &["session_meters_even", "session_meters_odd"]
    } else {
        &["session_meters"]
    };
    let mut after = simple.clone();
    for name in names {
        let table = Table::new(*name, Ingress, Match::Always, meters.div_ceil(names.len() as u32)).metered();
        pipeline.add(table, &after)?;
        after.push((name, Action));
    }
    Ok(names.to_vec())
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
    for (way, name, matching, entries, actions) in [
        (1, names[0], filtered(TUNNEL, partitioned(true)), rows, to_n6),
        (1, names[1], filtered(TUNNEL, partitioned(true)), rows, to_either),
        (1, "ul_to_n6_simple", exact(TUNNEL), complex, to_n6),
        (1, "ul_to_n9_n3_simple", exact(TUNNEL), sizes.n9, to_tunnel),
        (1, "dl_from_n9_simple", exact(TUNNEL), back, unknown),
        (0, names[2], filtered(session, partitioned(false)), rows, to_tunnel),
        (0, "dl_from_n6_simple", exact(session), complex, unknown),
    ] {
        let matching = if entries == 0 { Match::Always } else { matching };
        let table = Table::new(name, Ingress, matching, entries).actions(actions);
        // They write what templates write, for other packets, which the compiler does not see.
        let mut after: After<'_> =
            vec![("is_simple", Matches), ("ul_template", Action), ("dl_template", Action)];
        if shared {
            after.push((["filters_dl", "filters_ul"][usize::from(way)], Matches));
        }
        after.extend(last[usize::from(way)].map(|name| (name, Control)));
        pipeline.add(table.when("simple", 0).when("tunnelled", way), &after)?;
        last[usize::from(way)] = Some(name);
        found.push(name);
    }
    Ok(found)
}

/// The key of algorithmic TCAM: what is stored and compared in SRAM. Fields of a filter have their masks besides; the partition is the
/// address.
fn partitioned(is_uplink: bool) -> Match {
    let ternary: &[(&'static str, u32)] = if is_uplink { &[("gtpu.qfi", 6)] } else { &[] };
    let masked = [ternary, FILTER].concat().into_iter().map(|(name, bits)| Field { name, bits: 2 * bits });
    Match::Exact(key(&[&[("number", 24)]]).into_iter().chain(masked).collect())
}

/// Counters of sessions' simple rules, large banks first, as the program's stages for them have it (`p4/contract/places.p4`).
fn banks(
    pipeline: &mut Pipeline,
    sizes: &Sizes,
    gress: Gress,
    after: &[(&str, Dependency)],
) -> Result<(), PlanError> {
    let whole = sizes.simple / BANK;
    let small = (sizes.simple % BANK).div_ceil(SMALL_BANK);
    for way in ["dl", "ul"] {
        let small =
            (0..small).rev().map(|number| (format!("counters_{gress}_{way}_small_{number}"), SMALL_BANK));
        let whole = (0..whole).rev().map(|number| (format!("counters_{gress}_{way}_{number}"), BANK));
        for (name, entries) in whole.chain(small) {
            pipeline.add(Table::new(name, gress, Match::Always, entries).counted(), after)?;
        }
    }
    Ok(())
}

/// Counters of rules with entries of their own.
fn rule_banks(
    pipeline: &mut Pipeline,
    sizes: &Sizes,
    gress: Gress,
    after: &[(&str, Dependency)],
) -> Result<(), PlanError> {
    let (first, rest) = (sizes.rules().min(BANK), sizes.rules().saturating_sub(BANK));
    for (number, entries) in [(1_u16, rest), (0, first)] {
        if entries > 0 {
            let name = format!("counters_{gress}_rules_{number}");
            let table = Table::new(name, gress, Match::Always, entries).counted();
            pipeline.add(table.when("bank of rules", number), after)?;
        }
    }
    Ok(())
}

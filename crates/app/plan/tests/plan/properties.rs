//! Properties of every placement, for any tables.

use causeway_plan::architecture::Architecture;
use causeway_plan::pipeline::{Dependency, Pipeline};
use causeway_plan::place::{Placement, place};
use causeway_plan::profiles::{Counting, Filters, Indexed, Population, Profile, Program, Ratio};
use causeway_plan::search::{fits, largest};
use causeway_plan::table::{Field, Gress, Match, Table};
use proptest::prelude::*;

const KEYS: [&str; 4] = ["a", "b", "c", "d"];

/// A table: kind, key, entries, operands, counted, gress, conditions, dependencies on earlier tables.
type Gene = (u8, usize, u32, u8, bool, bool, u8, Vec<(usize, u8)>);

fn gene() -> impl Strategy<Value = Gene> {
    (
        0..4u8,
        0..4usize,
        1..120_000u32,
        0..4u8,
        any::<bool>(),
        any::<bool>(),
        0..4u8,
        prop::collection::vec((0..12usize, 0..3u8), 0..3),
    )
}

fn table(number: usize, gene: &Gene) -> Table {
    let (kind, key, entries, operands, counted, egress, conditions, _) = gene;
    let gress = if *egress { Gress::Egress } else { Gress::Ingress };
    let field = |bits| vec![Field { name: KEYS[*key], bits }];
    let (matching, entries) = match kind {
        0 => (Match::Exact(field(32)), *entries),
        1 => (Match::Ternary(field(40)), entries % 5000 + 1),
        2 => (Match::Index(field(12)), 1 << 12),
        _ => (Match::Always, u32::from(*counted) * (entries % 60_000)),
    };
    let operands: &[u32] = [&[][..], &[16], &[32, 16], &[32, 32, 16]][usize::from(*operands)];
    let mut table = Table::new(format!("t{number}"), gress, matching, entries).actions(&[operands]);
    if *counted {
        table = table.counted();
    }
    match conditions {
        1 => table.when("x", 0),
        2 => table.when("x", 1),
        3 => table.when("x", 1).when("y", 0),
        _ => table,
    }
}

fn pipeline(genes: &[Gene]) -> Pipeline {
    let mut pipeline = Pipeline::default();
    for (number, gene) in genes.iter().enumerate() {
        let names: Vec<_> =
            gene.7.iter().filter(|(from, _)| *from < number).map(|(n, k)| (format!("t{n}"), *k)).collect();
        let kind = |kind: u8| [Dependency::Match, Dependency::Action, Dependency::Control][usize::from(kind)];
        let after: Vec<_> = names.iter().map(|(name, k)| (name.as_str(), kind(*k))).collect();
        pipeline.add(table(number, gene), &after).unwrap();
    }
    pipeline
}

fn span(placement: &Placement, table: usize) -> (usize, usize) {
    let stages = placement.parts.iter().filter(|part| part.table == table).map(|part| part.stage);
    let stages: Vec<_> = stages.collect();
    (*stages.iter().min().unwrap(), *stages.iter().max().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // Input:  random tables with random dependencies, on both pipelines.
    // Output: every entry is placed; no stage exceeds a resource; no table precedes one on which it depends; the same
    //         input gives the same result.
    #[test]
    fn placements_are_legal(genes in prop::collection::vec(gene(), 1..12), second in any::<bool>()) {
        let arch = if second { Architecture::TOFINO2 } else { Architecture::TOFINO1 };
        let pipeline = pipeline(&genes);
        // A table that fits into no stage is a valid result.
        let Ok(placement) = place(&arch, &pipeline) else { return Ok(()) };
        for stage in &placement.stages {
            for (resource, used, available) in stage.levels(&arch) {
                prop_assert!(used <= available, "{resource}: {used} of {available}");
            }
        }
        for (number, table) in pipeline.tables().iter().enumerate() {
            let parts = placement.parts.iter().filter(|part| part.table == number);
            let placed: u32 = parts.clone().map(|part| part.entries).sum();
            prop_assert_eq!(placed, table.entries);
            prop_assert!(parts.clone().all(|part| part.demand.entries >= part.entries));
            prop_assert!(table.matching.splits() || parts.count() == 1);
        }
        for edge in pipeline.edges() {
            let (_, end) = span(&placement, edge.from);
            let (begin, _) = span(&placement, edge.to);
            prop_assert!(end + edge.kind.stages() <= begin, "{:?} {}..{}", edge, end, begin);
        }
        prop_assert_eq!(&place(&arch, &pipeline).unwrap(), &placement);
    }

    // Input:  two numbers of UEs at one ratio, for any program.
    // Output: if the larger one fits, the smaller one does.
    #[test]
    fn more_never_fit_where_fewer_do_not(
        profile in prop::sample::select(Profile::ALL.to_vec()),
        ratio in prop::sample::select(vec![5u16, 20, 50]),
        steps in (20..260u32, 1..40u32),
    ) {
        let arch = Architecture::TOFINO1;
        let program = Program::of(profile);
        let ratio = Ratio::one_to(ratio);
        let fit = |steps: u32| {
            let population = Population::at(ratio, steps * Population::STEP, Population::N9);
            fits(&arch, &program, population, ratio).unwrap().is_some()
        };
        let (few, more) = (steps.0, steps.0 + steps.1);
        prop_assert!(fit(few) || !fit(more), "{few} do not fit, {more} do");
    }
}

// Input:  every program at every ratio of the paper.
// Output: the larger pipeline has a higher capacity; shared filters hold more at 1:5 than unique ones; a second
//         partition costs UEs at 1:50.
#[test]
fn more_room_holds_more() {
    let ues = |arch: &Architecture, program: &Program, ratio| {
        let fit = largest(arch, program, Ratio::one_to(ratio), Population::N9).unwrap();
        fit.map_or(0, |fit| fit.population.ues())
    };
    let (one, two) = (Architecture::TOFINO1, Architecture::TOFINO2);
    for profile in Profile::ALL {
        let program = Program::of(profile);
        assert!(ues(&two, &program, 20) > ues(&one, &program, 20), "{profile}");
    }
    let direct = Program::of(Profile::Direct);
    let shared = Program { filters: Filters::Shared, ..direct };
    assert!(ues(&one, &shared, 5) > ues(&one, &direct, 5));
    let hip4 = Program::of(Profile::Hip4);
    assert!(ues(&one, &Program { partitions: 2, ..hip4 }, 50) < ues(&one, &hip4, 50));
}

// Input:  hip4 with one partition in one table and in two, and with two partitions, on both pipelines at every ratio of
//         the paper.
// Output: one partition in two tables holds no less than two partitions, which need an eighth more entries. On Tofino 2
//         two tables are necessary for that where TCAM leaves most of the stages to them, at 1:5 and 1:10.
#[test]
fn one_partition_holds_no_less_than_two() {
    let hip4 = Program::of(Profile::Hip4);
    for arch in [Architecture::TOFINO1, Architecture::TOFINO2] {
        for ratio in [5, 10, 20, 50] {
            let ues = |program: Program| {
                let fit = largest(&arch, &program, Ratio::one_to(ratio), Population::N9).unwrap();
                fit.map_or(0, |fit| fit.population.ues())
            };
            let [one, halves, two] =
                [hip4, Program { halves: true, ..hip4 }, Program { partitions: 2, ..hip4 }].map(ues);
            assert!(halves >= two, "{} 1:{ratio}: {one}, {halves} and {two}", arch.name);
            let takes_halves = arch.name == Architecture::TOFINO2.name && ratio <= 10;
            assert_eq!(takes_halves, two > one, "{} 1:{ratio}: {one}, {halves} and {two}", arch.name);
        }
    }
    let both = Program { halves: true, partitions: 2, ..hip4 };
    assert!(largest(&Architecture::TOFINO1, &both, Ratio::one_to(5), Population::N9).is_err());
}

// Input:  Causeway's own programs at 1:5, and without complex UEs; then options that they do not have.
// Output: each holds some UEs, hip4 more than the others, except that red-spt has the same tables of rules with
//         filters, which alone limit the capacity at 1:5; the options are refused.
#[test]
fn own_programs_hold_ues() {
    let ues = |profile, ratio| {
        largest(&Architecture::TOFINO1, &Program::causeway_program(profile), ratio, Population::N9)
            .unwrap()
            .map_or(0, |fit| fit.population.ues())
    };
    let none = Ratio { complex: 0, simple: 1 };
    for ratio in [Ratio::one_to(5), none] {
        let [baseline, red, split, hip4] =
            [Profile::Baseline, Profile::Red, Profile::RedSpt, Profile::Hip4].map(|of| ues(of, ratio));
        for other in [baseline, red] {
            assert!(0 < other && other < hip4, "{ratio}: {other} {hip4}");
        }
        let is_even = split == hip4 && ratio.complex > 0;
        assert!(0 < split && (split < hip4 || is_even), "{ratio}: {split} {hip4}");
    }
    let hip4 = Program::causeway_program(Profile::Hip4);
    let direct = Program::causeway_program(Profile::Direct);
    for unknown in [
        Program { indexed: Indexed::None, ..direct },
        Program { counting: Counting::PostQos, ..direct },
        Program { partitions: 2, ..direct },
        Program { filters: Filters::Shared, ..hip4 },
        Program { narrow_keys: true, ..hip4 },
    ] {
        assert!(largest(&Architecture::TOFINO1, &unknown, Ratio::one_to(5), Population::N9).is_err());
    }
}

// Input:  Causeway's `direct` at 1:5 with shared and with unique filters, and without complex UEs.
// Output: shared filters hold more than unique ones, both more than hip4; one session beyond the first tables by index
//         needs additional tables.
#[test]
fn direct_of_our_own_holds_the_most() {
    let (arch, direct) = (Architecture::TOFINO1, Program::causeway_program(Profile::Direct));
    let shared = Program { filters: Filters::Shared, ..direct };
    let ues = |program: &Program, ratio| {
        let fit = largest(&arch, program, ratio, Population::N9).unwrap();
        fit.map_or(0, |fit| fit.population.ues())
    };
    let hip4 = Program::causeway_program(Profile::Hip4);
    let five = Ratio::one_to(5);
    assert!(ues(&shared, five) > ues(&direct, five) && ues(&direct, five) > ues(&hip4, five));
    let none = Ratio { complex: 0, simple: 1 };
    assert_eq!(ues(&shared, none), ues(&direct, none));
    let tables = |simple: u32| {
        let pipeline = shared.pipeline(&Population { simple, complex: 0, n9: 2048 }).unwrap();
        pipeline.tables().iter().filter(|table| table.name.contains("_sessions_")).count()
    };
    assert_eq!((tables(131_072 + 2048), tables(131_073 + 2048)), (3, 5));
}

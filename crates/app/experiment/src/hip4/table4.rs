//! Table 4: registrations, deregistrations and handovers a second.

use causeway_show::{Bar, Bars, Cell, Column, Progress, Table};
use causeway_types::Span;

use super::{MODEL, balance_columns, ledger_cells, lost_octets};
use crate::ExperimentError;
use crate::cli::Common;
use crate::measure::Costs;
use crate::outcome::{Goal, Outcome};
use crate::row_writer::Rows;
use crate::simulation::{Kind, Load, OctetBalance, Simulation, SimulationConfig};
use crate::smf;
use crate::variant::Variant;

/// UEs with a session in the paper.
const UES: u32 = 150_000;

/// Kinds of operations with the paper's rates.
const KINDS: [(Kind, &str, f64); 3] = [
    (Kind::Register, "registrations", 1074.0),
    (Kind::Handover, "handovers", 2713.0),
    (Kind::Deregister, "deregistrations", 2725.0),
];

/// A row: the access to the tables, and the cost of requests.
type Row = (Variant, Costs);

const ROWS: [Row; 7] = [
    (Variant::HIP4, Costs::PAPER),
    (Variant::HIP4, Costs::SLOW),
    (Variant::CAUSEWAY, Costs::PAPER),
    (Variant::CAUSEWAY, Costs::SLOW),
    (Variant::INDEXED, Costs::PAPER),
    (Variant::INDEXED, Costs::SLOW),
    (Variant::BANKED, Costs::PAPER),
];

/// A number of handovers that is never reached.
const MAX_HANDOVERS: u32 = 1_000_000;

/// Operations per second of each kind, and the octet balance.
struct Rates {
    rates: [f64; 3],
    ledger: OctetBalance,
}

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when the workload does not fit.
pub fn run(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let ues = common.ues(UES);
    let all = common.rows(&ROWS, |(variant, _)| *variant)?;
    let measured: Vec<Rates> =
        rows.measure(&all, |row| rates(*row, ues, common, progress), |measured| table(&all, measured))?;
    let mut goals = Vec::new();
    for ((variant, _), measured) in all
        .iter()
        .zip(&measured)
        .filter(|((variant, costs), _)| *costs == Costs::PAPER && variant.name != Variant::HIP4.name)
    {
        for ((_, name, _), rate) in KINDS.iter().zip(measured.rates) {
            goals.push(Goal::at_least(&format!("{name}, {}", variant.name), 20_000.0, rate, "1/s"));
        }
    }
    goals.push(Goal::at_most(
        "lost, all rows",
        0.0,
        lost_octets(measured.iter().map(|rates| rates.ledger)),
        "octets",
    ));
    Ok(Outcome {
        name: "hip4-table4",
        title: "Operations per second (HiP4-UPF, table 4)".into(),
        conditions: vec![
            ("UEs", format!("{ues} with a session before the measurement, two rules and a URR each")),
            ("operations", "ten concurrent ones, and the next ten when all ten are answered, for a second; gNBs drawn from 200".into()),
            ("traffic", "a packet of 200 to 1,200 octets every 100 ms with probability 85 %, both directions, each UE".into()),
            ("seed", common.seed.to_string()),
        ],
        table: table(&all, &measured),
        goals,
        notes: vec![
            MODEL.into(),
            "slowest writes, modelled: all of the paper's table 4 is taken as the driver's, 141 µs for an entry; 20,000 registrations a second are \
             out of reach of any order of writes then, as each inserts two entries at least.".into(),
        ],
        details: Vec::new(),
        charts: vec![("rates", chart(&all, &measured).into())],
    })
}

fn rates(
    (variant, costs): Row,
    ues: u32,
    common: &Common,
    progress: &mut Progress,
) -> Result<Rates, ExperimentError> {
    // More than can be registered in a second.
    let all = ues + ues.max(1000) / 2;
    let setting =
        SimulationConfig { variant, timing: costs.timing, ues: all, load: Load::Emulator, seed: common.seed };
    let mut world = Simulation::new(setting)?;
    progress.stage(format!("{} ({}): {ues} sessions", variant.name, costs.name));
    world.load(ues, |done, of| progress.set_progress(done, of))?;
    smf::wait(&mut world, common.before(Span::from_secs(2)), |_, _| ())?;
    let mut random = fastrand::Rng::with_seed(common.seed);
    let mut rates = [0.0; 3];
    for ((kind, name, _), rate) in KINDS.iter().zip(&mut rates) {
        progress.stage(format!("{} ({}): {name}", variant.name, costs.name));
        let drawn: Box<dyn Iterator<Item = u32>> = match kind {
            Kind::Register => Box::new(ues..all),
            Kind::Deregister => Box::new(0..ues),
            Kind::Handover => Box::new((0..MAX_HANDOVERS).map(|_| random.u32(..ues))),
        };
        let (done, span) = smf::rate(&mut world, *kind, common.second(), drawn)?;
        *rate = done as f64 / span.as_secs_f64().max(1e-9);
    }
    progress.stage(format!("{} ({}): last readings", variant.name, costs.name));
    Ok(Rates { rates, ledger: world.finish()? })
}

fn table(rows: &[Row], measured: &[Rates]) -> Table {
    let mut columns = vec![Column::new("table access"), Column::new("driver")];
    for (_, name, _) in KINDS {
        columns.extend([Column::of(name, "1/s, modelled"), Column::of("paper, measured", "1/s")]);
    }
    columns.extend(balance_columns());
    let mut table = Table::new(columns);
    for ((variant, costs), Rates { rates, ledger }) in rows.iter().zip(measured) {
        let mut cells: Vec<Cell> = vec![variant.name.into(), costs.name.into()];
        for ((_, _, paper), rate) in KINDS.iter().zip(rates) {
            cells.extend([Cell::Number(*rate, 0), Cell::Number(*paper, 0)]);
        }
        cells.extend(ledger_cells(ledger));
        table.rows.push(cells);
    }
    table
}

fn chart(rows: &[Row], measured: &[Rates]) -> Bars {
    let bar = |((variant, costs), measured): (&Row, &Rates)| Bar {
        name: format!("{} ({})", variant.name, costs.name),
        values: measured.rates.map(Some).into(),
        is_of_others: false,
    };
    let paper = KINDS.map(|(_, _, rate)| Some(rate)).into();
    let mut bars = vec![Bar { name: "HiP4-UPF: paper, measured".into(), values: paper, is_of_others: true }];
    bars.extend(rows.iter().zip(measured).map(bar));
    Bars {
        title: "Operations per second".into(),
        x: String::new(),
        groups: KINDS.map(|(_, name, _)| name.to_owned()).into(),
        y: "1/s".into(),
        bars,
    }
}

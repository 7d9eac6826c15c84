//! The controller of a P4 switch, without a switch: the cost to number rules, and to choose and process counters.

use std::hint::black_box;
use std::time::Duration;

use causeway_switch::pendulum::{Partition, Reading, Side};
use causeway_switch::pulling::{Config, Limit, Measured, Pulling, Urr};
use causeway_switch::ranges::{Minimum, Ranges, Template};
use causeway_switch::{Count as Usage, SwitchPdr};
use causeway_types::{Direction, Span, Time};
use clap::Args;

use crate::kit::{Count, CpuTimer, MAX_TIME_MS, Progress, Samples, Summary, count, within};
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use crate::{BenchError, Common};

/// Counters of a pass, as in HiP4-UPF.
const PASS: usize = 10_000;

/// Templates of the rules.
const TEMPLATES: u32 = 200;

/// The most rules: their numbers have 24 bits.
const MOST_RULES: u64 = 8_000_000;

/// Each is measured with every number of rules.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Rules on the switch
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().rules)]
    pub rules: Vec<Count>,
    /// Milliseconds of CPU time for each row
    #[arg(long, value_name = "MS", default_value_t = Options::default().time)]
    pub time: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { rules: vec![count(150_000), count(1_000_000)], time: 500 }
    }
}

/// Measures all.
///
/// # Errors
/// [`BenchError::OutOfRange`].
pub fn run(options: &Options, common: &Common) -> Result<Vec<Report>, BenchError> {
    within("--rules", options.rules.iter().map(|rules| rules.0), 1..=MOST_RULES)?;
    within("--time", [options.time], 1..=MAX_TIME_MS)?;
    let time = Duration::from_millis(if common.quick { 1 } else { options.time });
    let conditions = Conditions::here(IoCost::Net)
        .with(
            "rules",
            format!(
                "of {TEMPLATES} templates, each with a separate URR, a volume threshold of 0.4 to 2.8 MB"
            ),
        )
        .with(
            "pass",
            format!(
                "the {PASS} most urgent counters, one pass each 50 ms, 200 to 1200 octets for each 100 ms"
            ),
        );
    let columns = vec![
        Column::new("rules"),
        Column::new("what"),
        Column::of("p10", "ns"),
        Column::of("median", "ns"),
        Column::of("p90", "ns"),
    ];
    let title = "The controller of a switch: cost of each number or counter";
    let mut report = Report::new("switch", title, conditions, columns);
    let mut progress = Progress::new();
    for rules in &options.rules {
        progress.stage(format!("switch: {rules} rules"));
        let number = if common.quick { rules.0.min(1000) } else { rules.0 } as u32;
        for (what, summary) in
            [("number", numbers(number, time, common.seed)), ("counter", counters(number, time, common.seed))]
        {
            report.row([
                Cell::Count(number.into()),
                what.into(),
                summary.map(|summary| Cell::nanos(summary.p10)).into(),
                summary.map(|summary| Cell::nanos(summary.median)).into(),
                summary.map(|summary| Cell::nanos(summary.p90)).into(),
            ]);
        }
    }
    report.note("number: a rule ends and another one of its template is added. counter: chosen, added to its URR, and moved to its next place.");
    Ok(vec![report])
}

/// A template by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Numbered(u32);

impl Template for Numbered {
    fn table(&self) -> usize {
        0
    }
}

/// Numbers that are released and assigned again, in random order.
fn numbers(rules: u32, time: Duration, seed: u64) -> Option<Summary> {
    let minimum = |number| Minimum { template: Numbered(number), rules: rules.div_ceil(TEMPLATES) };
    let minima: Vec<_> = (0..TEMPLATES).map(minimum).collect();
    let (mut ranges, _) = Ranges::bootstrap(24, &[4096], &minima).ok()?;
    let allocate =
        |ranges: &mut Ranges<Numbered>, rule: u32| ranges.allocate(&Numbered(rule % TEMPLATES)).ok();
    let mut given: Vec<(u32, SwitchPdr)> =
        (0..rules).filter_map(|rule| Some((rule, allocate(&mut ranges, rule)?.number))).collect();
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut samples, mut used) = (Samples::default(), Duration::ZERO);
    while used < time {
        let places: Vec<usize> = (0..PASS).map(|_| random.usize(..given.len())).collect();
        let timer = CpuTimer::start();
        for place in places {
            let (rule, number) = given.get_mut(place)?;
            black_box(ranges.release(*number).ok()?);
            *number = allocate(&mut ranges, *rule)?.number;
        }
        let elapsed = timer.elapsed();
        used += elapsed;
        samples.add(elapsed.as_nanos() as f64 / PASS as f64);
    }
    samples.summary()
}

/// Passes over both partitions in turns.
fn counters(rules: u32, time: Duration, seed: u64) -> Option<Summary> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut pulling: Pulling<u32> = Pulling::new(Config::default());
    let mut now = Time::from_secs(1_700_000_000);
    for rule in 0..rules {
        let threshold = Some(Limit::total(random.u64(400_000..2_800_000)));
        pulling.provision(now, rule, Urr { volume_threshold: threshold, ..Urr::new(Side::Ingress) });
        let measured = Measured {
            number: SwitchPdr(rule + 1),
            direction: Direction::Uplink,
            partitions: [Partition((rule % 2) as u8); 2],
            banks: [0; 2],
            urrs: &[rule],
            replaces: None,
        };
        pulling.enter(now, &measured).ok()?;
    }
    let mut read: Vec<Time> = vec![now; rules as usize + 1];
    let (mut samples, mut used) = (Samples::default(), Duration::ZERO);
    let mut partition = Partition(0);
    while used < time {
        partition = Partition(1 - partition.0);
        now = now + Span::from_millis(50);
        let timer = CpuTimer::start();
        let picked = pulling.pick(now, Side::Ingress, partition, PASS);
        let picking = timer.elapsed();
        let readings: Vec<Reading> = picked
            .into_iter()
            .filter_map(|number| {
                let last = std::mem::replace(read.get_mut(number.0 as usize)?, now);
                let packets = now.since(last).as_millis() as u64 / 100;
                let usage = Usage { octets: packets * random.u64(200..1200), packets };
                Some(Reading { number, side: Side::Ingress, usage, is_last: false })
            })
            .collect();
        let timer = CpuTimer::start();
        black_box(pulling.readings(now, &readings));
        let elapsed = timer.elapsed() + picking;
        used += elapsed;
        samples.add(elapsed.as_nanos() as f64 / readings.len().max(1) as f64);
    }
    samples.summary()
}

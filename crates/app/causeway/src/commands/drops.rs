//! `causeway drops`: why packets are dropped, how many, and what to do.

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use causeway_upf::management::views::{DropView, Drops};
use clap::Args;
use serde::Serialize;

use crate::exit;
use crate::management::{ManagementArgs, ask};
use crate::output::{Cell, Tone, number, rate};

/// The options of `causeway drops`.
#[derive(Args)]
pub(crate) struct DropsArgs {
    /// Show every reason, also those without a packet
    #[arg(long)]
    all: bool,
    /// Seconds over which the rate is measured
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: u64,

    #[command(flatten)]
    management: ManagementArgs,
}

/// A reason with its rate.
#[derive(Serialize)]
struct Reason<'a> {
    #[serde(flatten)]
    drops: &'a DropView,
    /// Packets per second.
    per_second: f64,
}

pub(super) fn run(args: &DropsArgs) -> ExitCode {
    ask(&args.management, |client, output| {
        let (before, since): (Drops, _) = (client.get("/api/v1/drops", &[])?, Instant::now());
        thread::sleep(Duration::from_secs(args.interval));
        let now: Drops = client.get("/api/v1/drops", &[])?;
        let seconds = since.elapsed().as_secs_f64();
        let reason = |(before, drops): (&DropView, _)| rated(before, drops, seconds);
        let mut reasons: Vec<_> = before.drops.iter().zip(&now.drops).map(reason).collect();
        reasons.retain(|reason| args.all || reason.drops.count > 0);
        reasons.sort_by(|a, b| b.per_second.total_cmp(&a.per_second).then(b.drops.count.cmp(&a.drops.count)));
        if output.is_json() {
            return Ok(output.json(&serde_json::json!({ "drops": reasons }))?);
        }
        for Reason { drops, per_second } in &reasons {
            let tone = if *per_second > 0.0 { Tone::Bad } else { Tone::Heading };
            let name = Cell::new(&drops.reason, tone);
            output.line(format_args!("{name}: {} packets, {}", number(drops.count), rate(*per_second)))?;
            output.line(format_args!("  {}", drops.meaning))?;
            output.line(format_args!("  To do: {}", drops.remedy))?;
        }
        if reasons.is_empty() {
            exit::note("no packet was dropped since the start");
        }
        Ok(())
    })
}

fn rated<'a>(before: &DropView, drops: &'a DropView, seconds: f64) -> Reason<'a> {
    Reason { drops, per_second: drops.count.saturating_sub(before.count) as f64 / seconds }
}

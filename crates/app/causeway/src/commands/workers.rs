//! `causeway workers`: the packet threads.

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use causeway_upf::management::views::{WorkerView, Workers};
use clap::Args;

use crate::management::{ManagementArgs, ask};
use crate::output::{Cell, Table, rate, span};

/// The time between two looks, from which rates follow.
const INTERVAL: Duration = Duration::from_secs(1);

/// The options of `causeway workers`.
#[derive(Args)]
pub(crate) struct WorkersArgs {
    #[command(flatten)]
    management: ManagementArgs,
}

pub(super) fn run(args: &WorkersArgs) -> ExitCode {
    ask(&args.management, |client, output| {
        let (before, since): (Workers, _) = (client.get("/api/v1/workers", &[])?, Instant::now());
        if output.is_json() {
            return Ok(output.json(&before)?);
        }
        thread::sleep(INTERVAL);
        let now: Workers = client.get("/api/v1/workers", &[])?;
        let seconds = since.elapsed().as_secs_f64();
        let mut table = Table::new(&[
            "THREAD",
            ">SESSIONS",
            ">LOAD",
            ">RECEIVED",
            ">FORWARDED",
            ">DROPPED",
            ">BUFFERED",
            ">HANDED OVER",
            ">PAUSES",
            ">LONGEST",
        ]);
        for (before, worker) in before.workers.iter().zip(&now.workers) {
            table.row(row(before, worker, seconds));
        }
        Ok(table.write(output)?)
    })
}

fn row(before: &WorkerView, now: &WorkerView, seconds: f64) -> [Cell; 10] {
    let per_second =
        |of: fn(&WorkerView) -> u64| rate(of(now).saturating_sub(of(before)) as f64 / seconds).into();
    let load = (now.core_seconds - before.core_seconds) / seconds * 100.0;
    [
        now.number.to_string().into(),
        now.sessions.into(),
        format!("{:.0} %", load.clamp(0.0, 100.0)).into(),
        per_second(|worker| worker.received_packets),
        per_second(|worker| worker.forwarded_packets),
        per_second(|worker| worker.dropped_packets),
        now.buffered_packets.into(),
        per_second(|worker| worker.handed_over_packets),
        now.pauses.into(),
        span(now.longest_pause).into(),
    ]
}

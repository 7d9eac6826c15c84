//! `causeway heavy`: the heavy hitters.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use causeway_upf::management::views::{HeavyHitterView, HeavyHittersView, TransportFlowView};
use clap::Args;

use crate::exit;
use crate::management::{ManagementArgs, ask};
use crate::output::{Cell, Table, bit_rate, rate, span};

/// The options of `causeway heavy`.
#[derive(Args)]
pub(crate) struct HeavyArgs {
    /// Show at most so many flows, the highest rates first
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,

    #[command(flatten)]
    management: ManagementArgs,
}

pub(super) fn run(args: &HeavyArgs) -> ExitCode {
    ask(&args.management, |client, output| {
        let list: HeavyHittersView =
            client.get("/api/v1/heavy-hitters", &[("limit", args.limit.to_string())])?;
        if output.is_json() {
            return Ok(output.json(&list)?);
        }
        let Some(threshold) = list.threshold.as_ref().filter(|_| list.enabled) else {
            exit::note(
                "heavy hitters are not looked for: set `upf.traffic.heavy_hitters.threshold`, and reload",
            );
            return Ok(());
        };
        if list.flows.is_empty() {
            exit::note(format_args!("no flow has {threshold} or more"));
            return Ok(());
        }
        table(&list).write(output)?;
        if list.total > list.flows.len() {
            exit::note(format_args!("{} more are not shown: --limit", list.total - list.flows.len()));
        }
        Ok(())
    })
}

/// With a column of transport flows where each is a flow of its own.
fn table(list: &HeavyHittersView) -> Table {
    if list.flows.iter().all(|hitter| hitter.flow.is_none()) {
        let mut table = Table::new(&["UE", "DIRECTION", ">RATE", ">PACKETS", ">FOR", "SESSION", "SMF"]);
        list.flows.iter().for_each(|hitter| table.row(row(hitter)));
        return table;
    }
    let mut table = Table::new(&["UE", "DIRECTION", ">RATE", ">PACKETS", ">FOR", "SESSION", "SMF", "FLOW"]);
    for hitter in &list.flows {
        let [ue, direction, bits, packets, since, session, smf] = row(hitter);
        let flow = hitter.flow.as_ref().map_or("-".into(), flow_text).into();
        table.row([ue, direction, bits, packets, since, session, smf, flow]);
    }
    table
}

fn row(hitter: &HeavyHitterView) -> [Cell; 7] {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let or_dash = |text: &Option<String>| text.as_deref().unwrap_or("-").into();
    [
        hitter.ue.as_str().into(),
        hitter.direction.as_str().into(),
        bit_rate(hitter.bits_per_second as f64).into(),
        rate(hitter.packets_per_second as f64).into(),
        span(now.saturating_sub(hitter.since) as f64).into(),
        or_dash(&hitter.seid),
        or_dash(&hitter.smf),
    ]
}

fn flow_text(flow: &TransportFlowView) -> String {
    let TransportFlowView { protocol, source, source_port, destination, destination_port } = flow;
    format!("{protocol} {source} {source_port} -> {destination} {destination_port}")
}

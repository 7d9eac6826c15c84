//! `causeway pools`: the pools of UE addresses.

use std::process::ExitCode;

use causeway_upf::management::views::Pools;
use clap::Args;

use crate::exit;
use crate::management::{ManagementArgs, ask};
use crate::output::{Cell, Table, Tone};

/// The options of `causeway pools`.
#[derive(Args)]
pub(crate) struct PoolsArgs {
    #[command(flatten)]
    management: ManagementArgs,
}

pub(super) fn run(args: &PoolsArgs) -> ExitCode {
    ask(&args.management, |client, output| {
        let list: Pools = client.get("/api/v1/pools", &[])?;
        if output.is_json() {
            return Ok(output.json(&list)?);
        }
        let mut table =
            Table::new(&["DNN", "POOL IDENTITY", "RANGE", ">SIZE", ">ALLOCATED", ">USED", "STATE"]);
        for pool in &list.pools {
            let part = pool.allocated as f64 / pool.size.max(1) as f64;
            let tone = if part >= 0.9 && !pool.draining { Tone::Bad } else { Tone::Plain };
            let state = if pool.draining { "draining" } else { "active" };
            table.row([
                pool.dnn.as_str().into(),
                pool.identity.as_deref().into(),
                pool.range.as_str().into(),
                pool.size.into(),
                pool.allocated.into(),
                Cell::new(format!("{:.1} %", part * 100.0), tone),
                state.into(),
            ]);
        }
        if table.is_empty() {
            exit::note("the UPF allocates no addresses: `upf.session` has no subnet");
            return Ok(());
        }
        Ok(table.write(output)?)
    })
}

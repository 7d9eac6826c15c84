//! `causeway peers`: the GTP-U paths to gNBs and other UPFs.

use std::process::ExitCode;

use causeway_upf::management::views::Peers;
use clap::Args;

use crate::exit;
use crate::management::{ManagementArgs, ask};
use crate::output::{Cell, Table};

/// The options of `causeway peers`.
#[derive(Args)]
pub(crate) struct PeersArgs {
    /// Show only the paths that are down
    #[arg(long)]
    down: bool,

    #[command(flatten)]
    management: ManagementArgs,
}

pub(super) fn run(args: &PeersArgs) -> ExitCode {
    ask(&args.management, |client, output| {
        let mut all: Peers = client.get("/api/v1/peers", &[])?;
        while let Some(after) = all.after.take() {
            let next: Peers = client.get("/api/v1/peers", &[("after", after)])?;
            all.peers.extend(next.peers);
            all.after = next.after;
        }
        all.peers.retain(|peer| !(args.down && peer.up));
        if output.is_json() {
            return Ok(output.json(&all)?);
        }
        if !all.supervised {
            exit::note("no path is supervised: `upf.gtpu.echo.interval` is 0s");
            return Ok(());
        }
        let mut table = Table::new(&["LOCAL", "PEER", "PATH", ">FARs"]);
        for peer in &all.peers {
            let (local, remote) = (peer.local.as_str().into(), peer.peer.as_str().into());
            table.row([local, remote, Cell::up(peer.up), peer.fars.into()]);
        }
        if table.is_empty() {
            let which = if args.down { "no path is down" } else { "no session has a tunnel to a peer" };
            exit::note(which);
            return Ok(());
        }
        Ok(table.write(output)?)
    })
}

//! `causeway associations`: the associations with SMFs.

use std::process::ExitCode;

use causeway_upf::management::views::Associations;
use clap::Args;

use crate::exit;
use crate::management::{ManagementArgs, ask};
use crate::output::{Cell, Table, ago};

/// The options of `causeway associations`.
#[derive(Args)]
pub(crate) struct AssociationsArgs {
    #[command(flatten)]
    management: ManagementArgs,
}

pub(super) fn run(args: &AssociationsArgs) -> ExitCode {
    ask(&args.management, |client, output| {
        let list: Associations = client.get("/api/v1/associations", &[])?;
        if output.is_json() {
            return Ok(output.json(&list)?);
        }
        let mut table = Table::new(&["NODE ID", "PEER", "PATH", ">SESSIONS", ">FOR", "IEs LEFT OUT"]);
        for association in &list.associations {
            let left_out: Vec<_> = association.left_out_ies.iter().map(u16::to_string).collect();
            table.row([
                association.node_id.as_str().into(),
                association.peer.as_str().into(),
                Cell::up(association.path_up),
                association.sessions.into(),
                ago(association.since as f64).into(),
                Some(left_out.join(",")).filter(|ies| !ies.is_empty()).into(),
            ]);
        }
        if table.is_empty() {
            exit::note(
                "there is no association: an SMF sets one up, or the UPF with those in `upf.pfcp.client.smf`",
            );
            return Ok(());
        }
        Ok(table.write(output)?)
    })
}

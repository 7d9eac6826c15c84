//! `causeway interfaces`: the packet ports.

use std::process::ExitCode;

use causeway_upf::management::views::Interfaces;
use clap::Args;

use crate::exit;
use crate::management::{ManagementArgs, ask};
use crate::output::{Cell, Table, number, octets};

/// The options of `causeway interfaces`.
#[derive(Args)]
pub(crate) struct InterfacesArgs {
    #[command(flatten)]
    management: ManagementArgs,
}

pub(super) fn run(args: &InterfacesArgs) -> ExitCode {
    ask(&args.management, |client, output| {
        let list: Interfaces = client.get("/api/v1/interfaces", &[])?;
        if output.is_json() {
            return Ok(output.json(&list)?);
        }
        let mut table = Table::new(&["NAME", "DNN", ">RECEIVED", ">OCTETS", ">SENT", ">OCTETS", "FAILURES"]);
        for port in &list.interfaces {
            let failures: Vec<_> = port
                .failures
                .iter()
                .map(|failure| format!("{} {}", failure.name, number(failure.count)))
                .collect();
            let dnn = Some(port.dnn.join(",")).filter(|dnn| !dnn.is_empty());
            table.row([
                port.name.as_str().into(),
                dnn.into(),
                port.received_packets.into(),
                octets(port.received_octets).into(),
                port.sent_packets.into(),
                octets(port.sent_octets).into(),
                if failures.is_empty() { "-".into() } else { Cell::bad(failures.join(", ")) },
            ]);
        }
        if table.is_empty() {
            exit::note("the UPF has no packet ports of its own: its data plane is elsewhere");
            return Ok(());
        }
        Ok(table.write(output)?)
    })
}

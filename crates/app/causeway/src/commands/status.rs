//! `causeway status`: the state of the UPF in brief.

use std::process::ExitCode;

use causeway_upf::management::views::StatusView;
use clap::Args;

use crate::management::{ManagementArgs, ask};
use crate::output::{Cell, Fields, Tone, ago, number, octets, span};

/// The options of `causeway status`.
#[derive(Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    management: ManagementArgs,
}

pub(super) fn run(args: &StatusArgs) -> ExitCode {
    ask(&args.management, |client, output| {
        let status: StatusView = client.get("/api/v1/status", &[])?;
        if output.is_json() {
            output.json(&status)?;
        } else {
            fields(&status).write(output)?;
        }
        Ok(())
    })
}

fn fields(status: &StatusView) -> Fields {
    let mut fields = Fields::new();
    let build = if status.build == "release" { String::new() } else { format!(", {} build", status.build) };
    fields.field("version", format!("{}{build}", status.version));
    fields.field("Node ID", &*status.node_id);
    fields.field("data plane", data_plane(status));
    fields.field("running for", ago(status.started as f64));
    let associations = number(status.associations);
    fields.field(
        "associations",
        Cell::new(associations, if status.associations == 0 { Tone::Bad } else { Tone::Plain }),
    );
    let is_full = status.sessions >= status.max_sessions;
    let sessions = format!("{} of at most {}", number(status.sessions), number(status.max_sessions));
    fields.field("sessions", Cell::new(sessions, if is_full { Tone::Bad } else { Tone::Plain }));
    if status.draining {
        fields.field("draining", Cell::new("no new sessions are accepted".to_owned(), Tone::Bad));
    }
    fields.field("received", format!("{} packets", number(status.received_packets)));
    fields.field("forwarded", format!("{} packets", number(status.forwarded_packets)));
    fields.field("dropped", format!("{} packets{}", number(status.dropped_packets), why(status)));
    fields.field("buffered", format!("{} packets", number(status.buffered_packets)));
    fields.field("N4 datagrams lost", Cell::failures(status.lost_datagrams));
    fields.field("longest pause", span(status.longest_pause));
    let memory = &status.memory;
    if memory.limit > 0 {
        let used = format!(
            "{} of {}; sessions need {} of {}",
            octets(memory.used),
            octets(memory.limit),
            octets(memory.needed),
            octets(memory.for_sessions)
        );
        fields.field("memory", used);
    }
    fields.field("refused for memory", Cell::failures(memory.refusals));
    fields
}

fn data_plane(status: &StatusView) -> String {
    let threads = if status.workers == 1 { "thread" } else { "threads" };
    format!("{}, {} packet {threads}", status.data_plane, status.workers)
}

const fn why(status: &StatusView) -> &'static str {
    if status.dropped_packets == 0 { "" } else { " (`causeway drops` says why)" }
}

//! `causeway trace`: the packets of a session as they pass, with their rules and what becomes of them.

use std::process::ExitCode;

use causeway_upf::management::views::{TraceEnd, TraceEvent, TracedPacketView};
use clap::Args;

use super::explain::rules;
use super::identifiers::{SessionName, session};
use crate::exit;
use crate::management::{ManagementArgs, ask};
use crate::output::{Cell, Tone, timestamp};

/// The options of `causeway trace`.
#[derive(Args)]
pub(crate) struct TraceArgs {
    /// An address of the UE, or the UPF's SEID (in decimal or, after 0x, hexadecimal)
    #[arg(value_name = "UE|SEID", value_parser = session)]
    session: SessionName,
    /// End after so many seconds
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u16).range(1..=3600))]
    seconds: u16,
    /// End after so many packets
    #[arg(
        short = 'c',
        long,
        visible_alias = "count",
        default_value_t = 1000,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    packets: u32,

    #[command(flatten)]
    management: ManagementArgs,
}

pub(super) fn run(args: &TraceArgs) -> ExitCode {
    ask(&args.management, |client, output| {
        let path = format!("/api/v1/sessions/{}/trace", args.session.seid(client)?);
        let bounds = [("seconds", args.seconds.to_string()), ("packets", args.packets.to_string())];
        let mut events = client.stream::<TraceEvent>(&path, &bounds)?;
        exit::note("waiting for packets; Ctrl-C ends");
        while let Some(event) = events.next()? {
            if output.is_json() {
                output.json_line(&event)?;
            } else {
                lines(&event).into_iter().try_for_each(|line| output.line(line))?;
            }
            output.flush()?;
        }
        Ok(())
    })
}

fn lines(event: &TraceEvent) -> Vec<String> {
    match event {
        TraceEvent::Packet(packet) => packet_lines(packet),
        TraceEvent::Missed { lost, not_observed } => missed(*lost, *not_observed).into_iter().collect(),
        TraceEvent::Ended { end, lost, not_observed } => {
            let why = match end {
                TraceEnd::Seconds => "its time is over",
                TraceEnd::Packets => "its number of packets is reached",
                TraceEnd::Session => "the session has ended",
            };
            missed(*lost, *not_observed).into_iter().chain([format!("the trace ends: {why}")]).collect()
        }
    }
}

fn missed(lost: u64, not_observed: u64) -> Option<String> {
    let text = format!(
        "not shown: {lost} packets read too slowly for, {not_observed} beyond the rate that is observed"
    );
    (lost + not_observed > 0).then(|| Cell::new(text, Tone::Bad).to_string())
}

fn packet_lines(packet: &TracedPacketView) -> Vec<String> {
    let tone = if packet.disposition == "dropped" { Tone::Bad } else { Tone::Good };
    let time = Cell::new(timestamp(packet.time), Tone::Faint);
    let verdict = Cell::new(&packet.disposition, tone);
    let why = packet.reason.as_ref().map_or_else(String::new, |reason| format!(", {}", reason.reason));
    let mut lines = vec![format!("{time}  {} octets from {}: {verdict}{why}", packet.octets, packet.from)];
    if let Some(explanation) = &packet.explanation {
        lines.extend(explanation.key.as_ref().map(|key| format!("  key {key}")));
        lines.extend(explanation.firewall.as_ref().map(|verdict| format!("  firewall {verdict}")));
        for session in &explanation.sessions {
            let pdrs = session.pdrs.iter();
            let pdrs: Vec<_> = pdrs
                .map(|pdr| format!("PDR {} {}", pdr.id, pdr.mismatch.as_deref().unwrap_or("matches")))
                .collect();
            lines.push(format!("  session {}: {}", session.seid, pdrs.join(", ")));
        }
        lines.extend(explanation.rules.as_ref().map(|found| format!("  {}", rules(found).join(", "))));
    }
    lines.extend(packet.sent.iter().map(|sent| format!("  sent {} octets to {}", sent.octets, sent.to)));
    lines
}

//! `causeway events`: what happens, as it happens.

use std::process::ExitCode;

use causeway_upf::management::views::{EventView, HeavyHitterView, TimedEvent};
use clap::Args;

use super::identifiers::count;
use crate::exit;
use crate::management::{ManagementArgs, ask};
use crate::output::{Cell, Tone, bit_rate, timestamp};

/// The options of `causeway events`.
#[derive(Args)]
pub(crate) struct EventsArgs {
    /// End after so many events
    #[arg(short, long, value_name = "N", value_parser = count)]
    count: Option<u64>,

    #[command(flatten)]
    management: ManagementArgs,
}

pub(super) fn run(args: &EventsArgs) -> ExitCode {
    ask(&args.management, |client, output| {
        let mut left = args.count;
        let listen = || client.stream::<TimedEvent>("/api/v1/events", &[]);
        let mut events = listen()?;
        exit::note("waiting for events; Ctrl-C ends");
        while left != Some(0) {
            let Some(event) = events.next()? else {
                // A stream ends after an hour.
                events = listen()?;
                exit::note("connected again; events in between are missing");
                continue;
            };
            if output.is_json() {
                output.json_line(&event)?;
            } else {
                output.line(line(&event))?;
            }
            output.flush()?;
            left = left.map(|left| left - 1);
        }
        Ok(())
    })
}

fn line(event: &TimedEvent) -> String {
    let (text, tone) = match &event.event {
        EventView::SessionEstablished { seid } => (format!("session {seid} established"), Tone::Good),
        EventView::SessionModified { seid } => (format!("session {seid} modified"), Tone::Plain),
        EventView::SessionDeleted { seid } => (format!("session {seid} deleted"), Tone::Plain),
        EventView::AssociationUp { node_id } => (format!("association with {node_id} set up"), Tone::Good),
        EventView::AssociationDown { node_id } => (format!("association with {node_id} ended"), Tone::Bad),
        EventView::PathUp { peer } => (format!("path to {peer} up"), Tone::Good),
        EventView::PathDown { peer } => (format!("path to {peer} down"), Tone::Bad),
        EventView::ReportSent { cp_seid, to } => {
            (format!("report on the SMF's session {cp_seid} sent to {to}"), Tone::Plain)
        }
        EventView::HeavyHitter { hitter } => (format!("heavy hitter: {}", flow_text(hitter)), Tone::Bad),
        EventView::HeavyHitterOver { hitter } => {
            let seconds = event.time as u64 - hitter.since.min(event.time as u64);
            (format!("heavy hitter is over: {}, after {seconds} s", flow_text(hitter)), Tone::Plain)
        }
        EventView::ClassChange { seid, ue, from, to } => {
            let ue = ue.as_ref().map_or_else(String::new, |ue| format!(" of UE {ue}"));
            (format!("session {seid}{ue}: application class {to}, before {from}"), Tone::Plain)
        }
        EventView::Lost { events } => (format!("{events} events are missing: read faster"), Tone::Bad),
    };
    format!("{}  {}", Cell::new(timestamp(event.time), Tone::Faint), Cell::new(text, tone))
}

fn flow_text(hitter: &HeavyHitterView) -> String {
    let session = hitter.seid.as_ref().map_or(String::new(), |seid| format!(" of session {seid}"));
    let rate = bit_rate(hitter.bits_per_second as f64);
    format!("{} of UE {}{session}, {rate}", hitter.direction, hitter.ue)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  changes of the class of a session with and without a UE address.
    // Output: a line with both classes, the session, and the UE if there is one.
    #[test]
    fn a_change_of_a_class_is_a_line() {
        let shown = |ue: Option<&str>| {
            let (from, to) = ("other".into(), "game".into());
            let event = EventView::ClassChange { seid: "0x2a".into(), ue: ue.map(str::to_owned), from, to };
            line(&TimedEvent { time: 1.7e9, event })
        };
        let with_ue = "session 0x2a of UE 10.45.0.2: application class game, before other";
        assert!(shown(Some("10.45.0.2")).contains(with_ue), "{}", shown(Some("10.45.0.2")));
        assert!(shown(None).contains("session 0x2a: application class game, before other"));
    }
}

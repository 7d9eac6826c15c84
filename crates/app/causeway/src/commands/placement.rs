//! `causeway placement`: which rules are on the switch of the hybrid data plane.

use std::process::ExitCode;

use causeway_upf::management::views::{PlacedRuleView, PlacementView, SideView};
use clap::Args;

use crate::exit;
use crate::management::{ManagementArgs, ask};
use crate::output::{Cell, Fields, Table, Tone, ago, bit_rate, number, rate};

/// The options of `causeway placement`.
#[derive(Args)]
pub(crate) struct PlacementArgs {
    /// Show both rules of this session: the UPF's SEID
    #[arg(value_name = "SEID")]
    seid: Option<String>,

    /// Show at most so many rules, the highest rates first
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,

    #[command(flatten)]
    management: ManagementArgs,
}

pub(super) fn run(args: &PlacementArgs) -> ExitCode {
    ask(&args.management, |client, output| {
        let mut parameters = vec![("limit", args.limit.to_string())];
        parameters.extend(args.seid.clone().map(|seid| ("seid", seid)));
        let placement: PlacementView = client.get("/api/v1/placement", &parameters)?;
        if output.is_json() {
            return Ok(output.json(&placement)?);
        }
        if !placement.enabled {
            exit::note("this data plane moves no rules: set `upf.dataplane: hybrid`, and restart the UPF");
            return Ok(());
        }
        fields(&placement).write(output)?;
        if !placement.listed.is_empty() {
            output.line("")?;
            table(&placement.listed).write(output)?;
        }
        let more = placement.total.saturating_sub(placement.listed.len() as u64);
        if args.seid.is_none() && more > 0 {
            exit::note(format_args!("{} more are not shown: --limit", number(more)));
        }
        Ok(())
    })
}

fn fields(placement: &PlacementView) -> Fields {
    let PlacementView { rules, moves, .. } = placement;
    let mut fields = Fields::new();
    let moving = rules.promoting + rules.armed + rules.demoting;
    let of_rules = format!(
        "{} on the switch of at most {}, {} moving ({} armed), {} in software",
        number(rules.switch),
        number(rules.capacity),
        number(moving),
        number(rules.armed),
        number(rules.software)
    );
    fields.field("rules", of_rules);
    let share = placement.switch_share * 100.0;
    fields.field("switch", format!("{} ({share:.1} % of packets)", side(&placement.switch)));
    fields.field("software", side(&placement.software));
    let to_switch = format!(
        "{}, again within 5 s: {}; {} rule changes in the last second",
        number(moves.promoted),
        number(moves.again),
        number(placement.changes_per_second)
    );
    fields.field("to the switch", to_switch);
    let back = format!(
        "{} by rate, {} by a change or quota, {} without a gap",
        number(moves.demoted),
        number(moves.returned),
        number(moves.gave_up)
    );
    fields.field("to software", back);
    fields.field(
        "refused",
        format!("{} by the switch, {} without budget", number(moves.refused), number(moves.over_budget)),
    );
    let waits = &placement.waits;
    let times = format!("p50 {:.1} ms, p99 {:.1} ms of {}", waits.p50_ms, waits.p99_ms, number(waits.count));
    fields.field("time to switch", if waits.count == 0 { "-".into() } else { times });
    let early = format!("{} of {}", number(moves.flipped_early), number(moves.flipped));
    let tone = if moves.flipped_early == 0 { Tone::Plain } else { Tone::Bad };
    fields.field("after a short gap", Cell::new(early, tone));
    fields
}

fn side(side: &SideView) -> String {
    format!(
        "{}, {}; {} packets since the start",
        bit_rate(side.bits_per_second as f64),
        rate(side.packets_per_second as f64),
        number(side.packets)
    )
}

fn table(rules: &[PlacedRuleView]) -> Table {
    let mut table = Table::new(&["UE", "DIRECTION", "PLACE", ">RATE", ">FOR", "WHY", "SESSION", "SMF"]);
    rules.iter().for_each(|rule| table.row(row(rule)));
    table
}

fn row(rule: &PlacedRuleView) -> [Cell; 8] {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into()).into();
    [
        or_dash(Some(rule.ue.join(", ")).filter(|ue| !ue.is_empty())),
        rule.direction.as_str().into(),
        rule.place.as_str().into(),
        or_dash(rule.bits_per_second.map(|bits| bit_rate(bits as f64))),
        or_dash(rule.since.map(|since| ago(since as f64))),
        rule.why.as_str().into(),
        rule.seid.as_str().into(),
        or_dash(rule.smf.clone()),
    ]
}

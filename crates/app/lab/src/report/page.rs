//! The HTML page: one file, no script, light and dark.

use causeway_show::page;
use maud::{Markup, html};

use super::{CounterRow, Report, chart, sequence};
use crate::demo::{Check, PacketPath, StepReport};
use crate::topology::{DN, GNBS, SMF, UPF_N3, UPF_N4, UPF_N6};

/// The whole page.
pub(super) fn render(report: &Report) -> Markup {
    let body = html! {
        (header(report))
        section { h2 { "The network" } (network()) }
        section { h2 { "Timeline" } (chart::draw(report)) }
        section { h2 { "Steps" } @for step in &report.steps { (one_step(step)) } (not_reached(report)) }
        section {
            h2 { "Messages" }
            p.hint { "Repeated exchanges are drawn once with their number; hover for details." }
            (sequence::draw(&report.messages))
        }
        section { h2 { "Counters of the UPF" } (counters(&report.counters)) }
        section { h2 { "Files" } (files(report)) }
    };
    page("Causeway demo", &body)
}

fn header(report: &Report) -> Markup {
    let passed = report.steps.iter().filter(|step| step.passed).count();
    let all = report.steps.len() + report.not_reached.len();
    html! {
        header {
            h1 { "Causeway demo" }
            p.verdict.good[report.passed].bad[!report.passed] {
                @match &report.reason {
                    None => { "All " (all) " steps passed in " (seconds(report.elapsed)) }
                    Some(reason) => { (passed) " of " (all) " steps passed. " (reason) }
                }
            }
            dl {
                dt { "started" } dd { (report.started) }
                dt { "version" } dd { (report.version) }
                @for (name, value) in &report.machine { dt { (name) } dd { (value) } }
            }
        }
    }
}

fn seconds(duration: std::time::Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

fn network() -> Markup {
    let [gnb1, gnb2] = GNBS;
    let machine = |x: u32, y: u32, name: &str, address: String| {
        html! {
            rect.box x=(x) y=(y) width="150" height="46" rx="8" {}
            text.boxed x=(x + 75) y=(y + 19) { (name) }
            text.address x=(x + 75) y=(y + 36) { (address) }
        }
    };
    html! {
        svg viewBox="0 0 960 190" role="img" aria-label="Namespaces and links" {
            path.cable d="M160 62 H250 M160 72 L250 124 M400 62 L500 84 M400 134 L500 104 M650 90 H770 M575 116 V140" {}
            (machine(10, 44, "10 UEs on TUN", "IPv4, IPv6 or both".into()))
            (machine(250, 39, "gNB 1", gnb1.to_string()))
            (machine(250, 111, "gNB 2", gnb2.to_string()))
            (machine(500, 70, "UPF: causeway run", format!("N3 {UPF_N3}")))
            (machine(770, 67, "data network", DN.to_string()))
            (machine(500, 140, "SMF", SMF.to_string()))
            text.link x="450" y="58" { "N3" }
            text.link x="710" y="80" { "N6 " (UPF_N6) }
            text.link x="640" y="132" { "N4 " (UPF_N4) }
        }
    }
}

fn one_step(step: &StepReport) -> Markup {
    html! {
        details open[!step.passed] {
            summary {
                span.mark.good[step.passed].bad[!step.passed] { (if step.passed { "✔" } else { "✘" }) }
                b { (step.number) " " (step.title) }
                span.elapsed { (seconds(step.elapsed)) }
                span.result { (step.summary) }
            }
            p.hint { (step.about) }
            table {
                @for check in &step.checks {
                    tr { td.mark { (mark(check)) } td { (check.what) } td { (check.seen) } }
                }
            }
            @for path in &step.paths { (packet_path(path)) }
        }
    }
}

/// Where the packets were counted; open when some are lost.
fn packet_path(path: &PacketPath) -> Markup {
    html! {
        details open[path.last_seen.is_some()] {
            summary { "Where " (path.packets) " packets were counted" }
            @if let Some(last_seen) = &path.last_seen { p.bad { (last_seen) } }
            table.numbers {
                @for place in &path.places { tr { td { (place.place) } td { (place.packets) } } }
                @for loss in &path.losses { tr { td { "lost: " (loss.counter) } td { (loss.packets) } } }
            }
        }
    }
}

fn mark(check: &Check) -> Markup {
    match check.passed {
        Some(true) => html! { span.good { "✔" } },
        Some(false) => html! { span.bad { "✘" } },
        None => html! { "·" },
    }
}

fn not_reached(report: &Report) -> Markup {
    html! {
        @for title in &report.not_reached { p.hint { "not reached: " (title) } }
    }
}

fn counters(rows: &[CounterRow]) -> Markup {
    html! {
        table.numbers {
            tr { th { "series" } th { "before" } th { "after" } }
            @for row in rows {
                tr { td { code { (row.series) } } td { (row.before) } td { (row.after) } }
            }
        }
    }
}

fn files(report: &Report) -> Markup {
    html! {
        ul { @for (name, about) in &report.files { li { a href=(name) { (name) } " " (about) } } }
    }
}

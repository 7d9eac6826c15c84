//! Steps and user traffic over one time axis.

use std::time::Duration;

use maud::{Markup, html};

use super::{Report, Sample};

const WIDTH: f64 = 960.0;
const LEFT: f64 = 230.0;
const RIGHT: f64 = 24.0;
const ROW: f64 = 24.0;
const PLOT: f64 = 150.0;

/// Rates from here (bit/s, powers of ten) are drawn, on a logarithmic scale: pings and bulk in one picture.
const LOWEST: i32 = 4;

/// Draws the bars of the steps above the rates.
pub(super) fn draw(report: &Report) -> Markup {
    let total = report.elapsed.as_secs_f64().max(0.1);
    let x = |at: Duration| LEFT + at.as_secs_f64() / total * (WIDTH - LEFT - RIGHT);
    let plot_top = 16.0 + report.steps.len() as f64 * ROW + 16.0;
    let rates = rates(&report.samples);
    let highest = highest(&rates);
    let y = |rate: f64| {
        let share = (rate.max(1.0).log10() - f64::from(LOWEST)) / f64::from(highest - LOWEST);
        plot_top + PLOT * (1.0 - share.clamp(0.0, 1.0))
    };
    let line = |of: fn(&Rate) -> f64| {
        let points = rates.iter().map(|rate| format!("{:.1},{:.1}", x(rate.at), y(of(rate))));
        points.collect::<Vec<_>>().join(" ")
    };
    let bottom = plot_top + PLOT;
    html! {
        svg viewBox={ "0 0 " (WIDTH) " " (bottom + 30.0) } role="img" aria-label="Steps and rates over time" {
            @for second in ticks(total) {
                @let at = x(Duration::from_secs_f64(second));
                line.grid x1=(at) x2=(at) y1="8" y2=(bottom) {}
                text.tick x=(at) y=(bottom + 16.0) { (second) " s" }
            }
            @for (row, step) in report.steps.iter().enumerate() {
                @let top = 10.0 + row as f64 * ROW;
                @let end = step.start + step.elapsed;
                g class=(if step.passed { "bar good" } else { "bar bad" }) {
                    title { (step.summary) }
                    text.name x=(LEFT - 12.0) y=(top + 14.0) { (step.title) }
                    rect x=(x(step.start)) y=(top + 2.0) width=((x(end) - x(step.start)).max(3.0)) height="15" rx="4" {}
                }
            }
            @for power in LOWEST..=highest {
                @let at = y(10f64.powi(power));
                line.grid x1=(LEFT) x2=(WIDTH - RIGHT) y1=(at) y2=(at) {}
                text.name x=(LEFT - 12.0) y=(at + 4.0) { (power_name(power)) }
            }
            polyline.downlink points=(line(|rate| rate.downlink)) {}
            polyline.uplink points=(line(|rate| rate.uplink)) {}
        }
        p.legend {
            span.downlink { "downlink" } " " span.uplink { "uplink" }
            " user traffic through the tunnels, logarithmic"
        }
    }
}

/// Rates in bit/s between two samples.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Rate {
    at: Duration,
    uplink: f64,
    downlink: f64,
}

fn rates(samples: &[Sample]) -> Vec<Rate> {
    let rate = |pair: &[Sample]| {
        let [a, b] = pair else { return None };
        let seconds = b.at.saturating_sub(a.at).as_secs_f64();
        let per_second = |from: u64, to: u64| to.saturating_sub(from) as f64 * 8.0 / seconds.max(1e-3);
        Some(Rate {
            at: b.at,
            uplink: per_second(a.uplink_octets, b.uplink_octets),
            downlink: per_second(a.downlink_octets, b.downlink_octets),
        })
    };
    samples.windows(2).filter_map(rate).collect()
}

/// The power of ten that no rate exceeds.
fn highest(rates: &[Rate]) -> i32 {
    let most = rates.iter().map(|rate| rate.uplink.max(rate.downlink)).fold(1.0, f64::max);
    (most.log10().ceil() as i32).clamp(LOWEST + 2, 12)
}

/// Where the time axis has numbers: ten at the most.
fn ticks(total: f64) -> impl Iterator<Item = f64> {
    let step =
        [1.0, 2.0, 5.0, 10.0, 30.0, 60.0].into_iter().find(|step| total / step <= 10.0).unwrap_or(300.0);
    (0..).map(move |n| f64::from(n) * step).take_while(move |at| *at <= total)
}

fn power_name(power: i32) -> String {
    let (scale, unit) = match power {
        ..=5 => (3, "kbit/s"),
        6..=8 => (6, "Mbit/s"),
        _ => (9, "Gbit/s"),
    };
    format!("{} {unit}", 10f64.powi(power - scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  1000 octets up and 2000 down within a second, then nothing.
    // Output: 8 and 16 kbit/s, then zero.
    #[test]
    fn rates_are_differences_of_samples() {
        let report = super::super::tests::example();
        let rates = rates(&report.samples);
        let seen: Vec<_> = rates.iter().map(|rate| (rate.uplink, rate.downlink)).collect();
        assert_eq!(seen, [(8000.0, 16000.0), (0.0, 0.0)]);
        assert_eq!(highest(&rates), LOWEST + 2);
    }

    // Input:  durations of a demo.
    // Output: at most eleven numbers on the axis, from zero.
    #[test]
    fn the_axis_is_never_crowded() {
        for total in [0.5, 9.0, 21.3, 59.0, 400.0] {
            let ticks: Vec<_> = ticks(total).collect();
            assert!(ticks[0] == 0.0 && ticks.len() <= 11, "{total}: {ticks:?}");
        }
        assert_eq!(power_name(5), "100 kbit/s");
        assert_eq!(power_name(9), "1 Gbit/s");
    }
}

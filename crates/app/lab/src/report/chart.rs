//! Steps and user traffic over one time axis.

use std::time::Duration;

use causeway_show::svg::{Attribute, Axis, Svg};
use maud::{Markup, PreEscaped, html};

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
    let plot_top = 16.0 + report.steps.len() as f64 * ROW + 16.0;
    let bottom = plot_top + PLOT;
    let rates = rates(&report.samples);
    let to = report.elapsed.as_secs_f64().max(0.1);
    let time = Axis { from: 0.0, to, is_logarithmic: false, at: (LEFT, WIDTH - RIGHT) };
    let (from, to) = (10_f64.powi(LOWEST), 10_f64.powi(highest(&rates)));
    let upwards = Axis { from, to, is_logarithmic: true, at: (bottom, plot_top) };
    let x = |at: Duration| time.place(at.as_secs_f64());
    let mut svg = Svg::styled(WIDTH, bottom + 30.0, "Steps and rates over time");
    for second in time.ticks() {
        let at = time.place(second);
        svg.element("line", &[("class", &"grid"), ("x1", &at), ("x2", &at), ("y1", &8), ("y2", &bottom)]);
        let tick = format!("{} s", (second * 1e3).round() / 1e3);
        svg.text(&[("class", &"tick"), ("x", &at), ("y", &(bottom + 16.0))], &tick);
    }
    for (row, step) in report.steps.iter().enumerate() {
        let top = 10.0 + row as f64 * ROW;
        let (start, end) = (x(step.start), x(step.start + step.elapsed));
        let class = if step.passed { "bar good" } else { "bar bad" };
        svg.group(&[("class", &class)], &step.summary, |svg| {
            svg.text(&[("class", &"name"), ("x", &(LEFT - 12.0)), ("y", &(top + 14.0))], step.title);
            let place: [Attribute<'_>; 3] =
                [("x", &start), ("y", &(top + 2.0)), ("width", &(end - start).max(3.0))];
            svg.element("rect", &[&place[..], &[("height", &15), ("rx", &4)]].concat());
        });
    }
    for rate in upwards.ticks() {
        let at = upwards.place(rate);
        let right = WIDTH - RIGHT;
        svg.element("line", &[("class", &"grid"), ("x1", &LEFT), ("x2", &right), ("y1", &at), ("y2", &at)]);
        svg.text(&[("class", &"name"), ("x", &(LEFT - 12.0)), ("y", &(at + 4.0))], &rate_name(rate));
    }
    for (class, of) in [("downlink", Rate::downlink as fn(&Rate) -> f64), ("uplink", Rate::uplink)] {
        let points = rates.iter().map(|rate| (x(rate.at), upwards.place(of(rate))));
        svg.polyline(points, &[("class", &class)]);
    }
    html! {
        (PreEscaped(svg.finish()))
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

impl Rate {
    fn uplink(&self) -> f64 {
        self.uplink
    }

    fn downlink(&self) -> f64 {
        self.downlink
    }
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

/// A power of ten in bit/s.
fn rate_name(rate: f64) -> String {
    let (scale, unit) = match rate {
        rate if rate < 1e6 => (1e3, "kbit/s"),
        rate if rate < 1e9 => (1e6, "Mbit/s"),
        _ => (1e9, "Gbit/s"),
    };
    format!("{} {unit}", (rate / scale).round())
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

    // Input:  powers of ten.
    // Output: names in the units of rates.
    #[test]
    fn rates_have_units() {
        let names = [4, 5, 6, 8, 9, 10].map(|power| rate_name(10_f64.powi(power)));
        assert_eq!(names, ["10 kbit/s", "100 kbit/s", "1 Mbit/s", "100 Mbit/s", "1 Gbit/s", "10 Gbit/s"]);
    }
}

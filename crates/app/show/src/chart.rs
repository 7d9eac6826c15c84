//! Curves over two axes, as SVG.

use std::fmt::Write as _;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
/// Height of a line of the legend, and how many names it has.
const LINE: f64 = 18.0;
const LEGEND_COLUMNS: usize = 2;

/// Colours of curves, in turns; readable on white.
const COLOURS: [&str; 8] =
    ["#2563c9", "#c2680a", "#17804a", "#9333a8", "#c0342b", "#0e7490", "#6b7280", "#8a6d00"];

/// A curve.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Curve {
    /// What it is.
    pub name: String,
    /// Its points, by what they are over.
    pub points: Vec<(f64, f64)>,
    /// Drawn with dashes and marks at its points: figures of others, say.
    pub is_dashed: bool,
}

/// Curves over two axes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// What is along, with its unit.
    pub x: String,
    /// Powers of ten lie at equal distances along; points at or below zero are left out then.
    pub is_logarithmic: bool,
    /// What is upwards, with its unit.
    pub y: String,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// The ends of an axis, and where it lies.
struct Axis {
    from: f64,
    to: f64,
    is_logarithmic: bool,
    at: (f64, f64),
}

impl Axis {
    fn place(&self, value: f64) -> f64 {
        let scaled = |value: f64| if self.is_logarithmic { value.log10() } else { value };
        let share = (scaled(value) - scaled(self.from)) / (scaled(self.to) - scaled(self.from));
        self.at.0 + share.clamp(0.0, 1.0) * (self.at.1 - self.at.0)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.is_logarithmic {
            let (from, to) = (self.from.log10().round() as i32, self.to.log10().round() as i32);
            return (from..=to).map(|power| 10_f64.powi(power)).collect();
        }
        let step = step(self.to - self.from);
        let number = ((self.to - self.from) / step).round() as u32;
        (0..=number).map(|tick| self.from + f64::from(tick) * step).collect()
    }
}

impl Chart {
    /// The picture, for a page or a file of its own.
    pub fn svg(&self) -> String {
        let shown: Vec<Vec<(f64, f64)>> = self.curves.iter().map(|curve| self.shown(curve)).collect();
        let all = || shown.iter().flatten();
        let along = self.axis(all().map(|point| point.0), self.is_logarithmic, (LEFT, WIDTH - RIGHT));
        let upwards = self.axis(all().map(|point| point.1).chain([0.0]), false, (HEIGHT - BOTTOM, TOP));
        let height = HEIGHT + self.curves.len().div_ceil(LEGEND_COLUMNS) as f64 * LINE + 8.0;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
             font-size=\"11\" role=\"img\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"22\" font-size=\"14\">{}</text>\n",
            escaped(&self.title)
        );
        self.draw_axes(&mut out, &along, &upwards);
        for (place, (curve, points)) in self.curves.iter().zip(&shown).enumerate() {
            draw_curve(&mut out, place, curve, points, &along, &upwards);
        }
        out.push_str("</svg>\n");
        out
    }

    fn shown(&self, curve: &Curve) -> Vec<(f64, f64)> {
        let is_shown =
            |(x, y): &(f64, f64)| x.is_finite() && y.is_finite() && (*x > 0.0 || !self.is_logarithmic);
        curve.points.iter().copied().filter(is_shown).collect()
    }

    /// From and to a round number.
    fn axis(&self, values: impl Iterator<Item = f64>, is_logarithmic: bool, at: (f64, f64)) -> Axis {
        let (low, high) = values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if !low.is_finite() || (is_logarithmic && high <= 0.0) {
            return Axis { from: 0.1, to: 1.0, is_logarithmic, at };
        }
        let (from, to) = if is_logarithmic {
            let (from, to) = (low.log10().floor(), high.log10().ceil());
            (10_f64.powf(from), 10_f64.powf(to.max(from + 1.0)))
        } else {
            let high = if high > low { high } else { low + 1.0 };
            let step = step(high - low);
            ((low / step).floor() * step, (high / step).ceil() * step)
        };
        Axis { from, to, is_logarithmic, at }
    }

    fn draw_axes(&self, out: &mut String, along: &Axis, upwards: &Axis) {
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        for tick in along.ticks() {
            let x = along.place(tick);
            let _ = writeln!(
                out,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom}\" stroke=\"#dde3ea\"/>\
                 <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\">{}</text>",
                bottom + 15.0,
                label(tick)
            );
        }
        for tick in upwards.ticks() {
            let y = upwards.place(tick);
            let _ = writeln!(
                out,
                "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#dde3ea\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555\">{}</text>",
                LEFT - 6.0,
                y + 4.0,
                label(tick)
            );
        }
        let (x, y) = (f64::midpoint(LEFT, right), f64::midpoint(TOP, bottom));
        let _ = writeln!(
            out,
            "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(16 {y}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            bottom + 34.0,
            escaped(&self.x),
            escaped(&self.y)
        );
    }
}

fn draw_curve(
    out: &mut String,
    place: usize,
    curve: &Curve,
    points: &[(f64, f64)],
    along: &Axis,
    upwards: &Axis,
) {
    let colour = COLOURS[place % COLOURS.len()];
    let dashes = if curve.is_dashed { " stroke-dasharray=\"5 4\"" } else { "" };
    let at = |(x, y): &(f64, f64)| (along.place(*x), upwards.place(*y));
    let drawn: Vec<String> = points.iter().map(at).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>",
        drawn.join(" ")
    );
    if points.len() <= 12 {
        for (x, y) in points.iter().map(at) {
            let _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
        }
    }
    let column = (WIDTH - LEFT - RIGHT) / LEGEND_COLUMNS as f64;
    let (x, y) =
        (LEFT + (place % LEGEND_COLUMNS) as f64 * column, HEIGHT + (place / LEGEND_COLUMNS) as f64 * LINE);
    let _ = writeln!(
        out,
        "<line x1=\"{x}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>\
         <text x=\"{}\" y=\"{}\">{}</text>",
        x + 24.0,
        x + 30.0,
        y + 4.0,
        escaped(&curve.name)
    );
}

/// A round part of a range: some four to ten of it.
fn step(range: f64) -> f64 {
    let power = 10_f64.powf((range / 5.0).log10().floor());
    [1.0, 2.0, 5.0]
        .map(|part| part * power)
        .into_iter()
        .find(|step| range / step <= 8.0)
        .unwrap_or(10.0 * power)
}

fn label(value: f64) -> String {
    match value.abs() {
        size if size >= 1e6 => format!("{} M", value / 1e6),
        size if size >= 1e4 => format!("{} k", (value / 1e2).round() / 10.0),
        size if size < 1e-4 => format!("{value:.0e}").replace("0e0", "0"),
        _ => format!("{}", (value * 1e6).round() / 1e6),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>, is_logarithmic: bool) -> Chart {
        let curves = vec![Curve { name: "a <b>".into(), points, is_dashed: false }];
        Chart { title: "T".into(), x: "x".into(), is_logarithmic, y: "y".into(), curves }
    }

    // Input:  a curve over three powers of ten, with a point at zero.
    // Output: the point is left out; the ends of the curve lie at the ends of the axes; its name is escaped.
    #[test]
    fn a_curve_fills_its_axes() {
        let svg = chart(vec![(0.0, 9.0), (1.0, 0.0), (1000.0, 1.0)], true).svg();
        assert!(svg.contains("points=\"76.0,330.0 736.0,40.0\""), "{svg}");
        assert!(svg.contains("a &lt;b&gt;") && !svg.contains("NaN") && !svg.contains("inf"));
    }

    // Input:  no points, one point, and points that are no numbers.
    // Output: pictures all the same.
    #[test]
    fn little_can_be_drawn() {
        for points in [vec![], vec![(3.0, 0.0)], vec![(f64::NAN, 1.0), (1.0, f64::INFINITY)]] {
            for is_logarithmic in [false, true] {
                let svg = chart(points.clone(), is_logarithmic).svg();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
    }

    // Input:  ranges.
    // Output: round steps, not too many.
    #[test]
    fn steps_are_round() {
        assert_eq!([1.0, 7.0, 100.0, 350.0].map(step), [0.2, 1.0, 20.0, 50.0]);
        assert_eq!([0.0, 0.25, 12_500.0, 2e6].map(label), ["0", "0.25", "12.5 k", "2 M"]);
    }
}

//! Curves over two axes, as SVG.

use crate::svg::{Attribute, Axis, Svg};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
/// Height of a line of the legend, and how many names it has.
const LINE: f64 = 18.0;
const LEGEND_COLUMNS: usize = 2;

/// Colours of the lines behind curves, and of the numbers beside them.
const GRID: &str = "#dde3ea";
const TICK: &str = "#555";

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

impl Chart {
    /// The picture, for a page or a file of its own.
    pub fn svg(&self) -> String {
        let shown: Vec<Vec<(f64, f64)>> = self.curves.iter().map(|curve| self.shown(curve)).collect();
        let all = || shown.iter().flatten();
        let along = Axis::spanning(all().map(|point| point.0), self.is_logarithmic, (LEFT, WIDTH - RIGHT));
        let upwards = Axis::spanning(all().map(|point| point.1).chain([0.0]), false, (HEIGHT - BOTTOM, TOP));
        let height = HEIGHT + self.curves.len().div_ceil(LEGEND_COLUMNS) as f64 * LINE + 8.0;
        let mut svg = Svg::new(WIDTH, height, &[("role", &"img")]);
        svg.text(&[("x", &LEFT), ("y", &22), ("font-size", &14)], &self.title);
        self.draw_axes(&mut svg, &along, &upwards);
        for (place, (curve, points)) in self.curves.iter().zip(&shown).enumerate() {
            draw_curve(&mut svg, place, curve, points, &along, &upwards);
        }
        svg.finish()
    }

    fn shown(&self, curve: &Curve) -> Vec<(f64, f64)> {
        let is_shown =
            |(x, y): &(f64, f64)| x.is_finite() && y.is_finite() && (*x > 0.0 || !self.is_logarithmic);
        curve.points.iter().copied().filter(is_shown).collect()
    }

    fn draw_axes(&self, svg: &mut Svg, along: &Axis, upwards: &Axis) {
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        for tick in along.ticks() {
            let x = tenths(along.place(tick));
            svg.element("line", &[("x1", &x), ("x2", &x), ("y1", &TOP), ("y2", &bottom), ("stroke", &GRID)]);
            let place: [Attribute<'_>; 4] =
                [("x", &x), ("y", &(bottom + 15.0)), ("text-anchor", &"middle"), ("fill", &TICK)];
            svg.text(&place, &label(tick));
        }
        for tick in upwards.ticks() {
            let y = upwards.place(tick);
            let line = tenths(y);
            svg.element(
                "line",
                &[("x1", &LEFT), ("x2", &right), ("y1", &line), ("y2", &line), ("stroke", &GRID)],
            );
            let place: [Attribute<'_>; 4] =
                [("x", &(LEFT - 6.0)), ("y", &tenths(y + 4.0)), ("text-anchor", &"end"), ("fill", &TICK)];
            svg.text(&place, &label(tick));
        }
        let (x, y) = (f64::midpoint(LEFT, right), f64::midpoint(TOP, bottom));
        svg.text(&[("x", &x), ("y", &(bottom + 34.0)), ("text-anchor", &"middle")], &self.x);
        let turned = format!("translate(16 {y}) rotate(-90)");
        svg.text(&[("transform", &turned), ("text-anchor", &"middle")], &self.y);
    }
}

fn draw_curve(
    svg: &mut Svg,
    place: usize,
    curve: &Curve,
    points: &[(f64, f64)],
    along: &Axis,
    upwards: &Axis,
) {
    let colour = COLOURS[place % COLOURS.len()];
    let dashes = if curve.is_dashed { "5 4" } else { "none" };
    let stroke: [Attribute<'_>; 3] =
        [("stroke", &colour), ("stroke-width", &2), ("stroke-dasharray", &dashes)];
    let at = |(x, y): &(f64, f64)| (along.place(*x), upwards.place(*y));
    let unfilled: [Attribute<'_>; 1] = [("fill", &"none")];
    svg.polyline(points.iter().map(at), &[&unfilled[..], &stroke[..]].concat());
    if points.len() <= 12 {
        for (x, y) in points.iter().map(at) {
            svg.element("circle", &[("cx", &tenths(x)), ("cy", &tenths(y)), ("r", &3), ("fill", &colour)]);
        }
    }
    let column = (WIDTH - LEFT - RIGHT) / LEGEND_COLUMNS as f64;
    let (x, y) =
        (LEFT + (place % LEGEND_COLUMNS) as f64 * column, HEIGHT + (place / LEGEND_COLUMNS) as f64 * LINE);
    let sample: [Attribute<'_>; 4] = [("x1", &x), ("x2", &(x + 24.0)), ("y1", &y), ("y2", &y)];
    svg.element("line", &[&sample[..], &stroke[..]].concat());
    svg.text(&[("x", &(x + 30.0)), ("y", &(y + 4.0))], &curve.name);
}

/// Rounded to what an eye sees.
fn tenths(position: f64) -> String {
    format!("{position:.1}")
}

fn label(value: f64) -> String {
    match value.abs() {
        size if size >= 1e6 => format!("{} M", value / 1e6),
        size if size >= 1e4 => format!("{} k", (value / 1e2).round() / 10.0),
        size if size < 1e-4 => format!("{value:.0e}").replace("0e0", "0"),
        _ => format!("{}", (value * 1e6).round() / 1e6),
    }
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

    // Input:  numbers on an axis.
    // Output: short texts.
    #[test]
    fn labels_are_short() {
        assert_eq!([0.0, 0.25, 12_500.0, 2e6].map(label), ["0", "0.25", "12.5 k", "2 M"]);
    }
}

//! Curves over two axes, as SVG.

use crate::frame::{
    self, BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, draw_axes, draw_legend, draw_mark, label, tenths,
};
use crate::palette::{COLOURS, class};
use crate::svg::{Attribute, Axis, Svg};

/// Curves of at most so many points have a mark at each; others at some.
const MARKS: usize = 12;

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
        let upwards = frame::upwards(all().map(|point| point.1));
        let mut svg = frame::open(&self.title, self.curves.len());
        draw_axes(&mut svg, &upwards, &self.x, &self.y);
        draw_along(&mut svg, &along);
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
}

/// Lines and numbers of the axis along.
fn draw_along(svg: &mut Svg, along: &Axis) {
    let bottom = HEIGHT - BOTTOM;
    for tick in along.ticks() {
        let x = tenths(along.place(tick));
        svg.element("line", &[("x1", &x), ("x2", &x), ("y1", &TOP), ("y2", &bottom), ("class", &"across")]);
        let place: [Attribute<'_>; 4] =
            [("x", &x), ("y", &(bottom + 15.0)), ("text-anchor", &"middle"), ("class", &"number")];
        svg.text(&place, &label(tick));
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
    // Colours repeat behind the last one, with long dashes.
    let dashes = match (curve.is_dashed, place < COLOURS) {
        (true, _) => "5 4",
        (false, true) => "none",
        (false, false) => "12 3",
    };
    let line: [Attribute<'_>; 3] =
        [("class", &class(place)), ("stroke-width", &2), ("stroke-dasharray", &dashes)];
    let at = |(x, y): &(f64, f64)| (along.place(*x), upwards.place(*y));
    svg.polyline(points.iter().map(at), &line);
    let apart = if points.len() <= MARKS { 1 } else { points.len() / MARKS + 1 };
    // Marks of neighbours are not at the same places.
    for point in points.iter().skip(place % apart).step_by(apart).map(at) {
        draw_mark(svg, place, point);
    }
    draw_legend(svg, place, &curve.name, |svg, x, y| {
        let sample: [Attribute<'_>; 4] = [("x1", &x), ("x2", &(x + 24.0)), ("y1", &y), ("y2", &y)];
        svg.element("line", &[&sample[..], &line[..]].concat());
        draw_mark(svg, place, (x + 12.0, y));
    });
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
}

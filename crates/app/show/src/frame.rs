//! What charts of all kinds have around their values: title, upward axis, legend.

use crate::palette::{class, style};
use crate::svg::{Attribute, Axis, Svg};

pub(crate) const WIDTH: f64 = 760.0;
pub(crate) const HEIGHT: f64 = 380.0;
pub(crate) const LEFT: f64 = 76.0;
pub(crate) const RIGHT: f64 = 24.0;
pub(crate) const TOP: f64 = 40.0;
pub(crate) const BOTTOM: f64 = 50.0;
/// Height of a line of the legend, and how many names it has.
const LINE: f64 = 18.0;
const LEGEND_COLUMNS: usize = 2;

/// An empty picture with a title, and space for a legend of so many names.
pub(crate) fn open(title: &str, names: usize) -> Svg {
    let height = HEIGHT + names.div_ceil(LEGEND_COLUMNS) as f64 * LINE + 8.0;
    let mut svg = Svg::themed(
        WIDTH,
        height,
        &style(),
        &[("role", &"img"), ("aria-label", &title), ("class", &"chart")],
    );
    svg.text(&[("x", &LEFT), ("y", &22), ("font-size", &14)], title);
    svg
}

/// The upward axis from zero for these values.
pub(crate) fn upwards(values: impl Iterator<Item = f64>) -> Axis {
    Axis::spanning(values.chain([0.0]), false, (HEIGHT - BOTTOM, TOP))
}

/// Lines and numbers of the upward axis, and what both axes show.
pub(crate) fn draw_axes(svg: &mut Svg, axis: &Axis, x: &str, y: &str) {
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    for tick in axis.ticks() {
        let at = axis.place(tick);
        let line = tenths(at);
        svg.element(
            "line",
            &[("x1", &LEFT), ("x2", &right), ("y1", &line), ("y2", &line), ("class", &"across")],
        );
        let place: [Attribute<'_>; 4] =
            [("x", &(LEFT - 6.0)), ("y", &tenths(at + 4.0)), ("text-anchor", &"end"), ("class", &"number")];
        svg.text(&place, &label(tick));
    }
    let (middle, turn) = (f64::midpoint(LEFT, right), f64::midpoint(TOP, bottom));
    svg.text(&[("x", &middle), ("y", &(bottom + 34.0)), ("text-anchor", &"middle")], x);
    let turned = format!("translate(16 {turn}) rotate(-90)");
    svg.text(&[("transform", &turned), ("text-anchor", &"middle")], y);
}

/// The name of the series at this place of the legend. `sample` draws what it looks like at a position, 24 wide.
pub(crate) fn draw_legend(svg: &mut Svg, place: usize, name: &str, sample: impl FnOnce(&mut Svg, f64, f64)) {
    let column = (WIDTH - LEFT - RIGHT) / LEGEND_COLUMNS as f64;
    let (x, y) =
        (LEFT + (place % LEGEND_COLUMNS) as f64 * column, HEIGHT + (place / LEGEND_COLUMNS) as f64 * LINE);
    sample(svg, x, y);
    svg.text(&[("x", &(x + 30.0)), ("y", &(y + 4.0))], name);
}

/// Marks of points: their shape tells series apart without their colour.
pub(crate) fn draw_mark(svg: &mut Svg, place: usize, (x, y): (f64, f64)) {
    /// Each around the origin.
    const SHAPES: [&str; 5] = [
        "a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0z",
        "v-3h6v6h-6z",
        "l3.5 -6l3.5 6z",
        "l4 -4l4 4l-4 4z",
        "l7 0l-3.5 6z",
    ];
    /// From the middle to where the shape starts.
    const STARTS: [(f64, f64); 5] = [(-3.2, 0.0), (-3.0, 0.0), (-3.5, 2.5), (-4.0, 0.0), (-3.5, -2.5)];
    let shape = place % SHAPES.len();
    let (left, down) = STARTS[shape];
    let path = format!("M{:.1} {:.1}{}", x + left, y + down, SHAPES[shape]);
    svg.element("path", &[("d", &path), ("class", &class(place))]);
}

/// Rounded to what an eye sees.
pub(crate) fn tenths(position: f64) -> String {
    format!("{position:.1}")
}

/// A short number.
pub(crate) fn label(value: f64) -> String {
    match value.abs() {
        size if size >= 1e6 => format!("{} M", (value / 1e4).round() / 100.0),
        size if size >= 1e4 => format!("{} k", (value / 1e2).round() / 10.0),
        size if size < 1e-4 => format!("{value:.0e}").replace("0e0", "0"),
        size if size >= 100.0 => format!("{}", (value * 1e2).round() / 1e2),
        _ => format!("{}", (value * 1e6).round() / 1e6),
    }
}

/// A number with three significant digits.
pub(crate) fn figure(value: f64) -> String {
    let place = if value == 0.0 { 1.0 } else { 10_f64.powf(value.abs().log10().floor() - 2.0) };
    label((value / place).round() * place)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  numbers on an axis.
    // Output: short texts.
    #[test]
    fn labels_are_short() {
        assert_eq!([0.0, 0.25, 12_500.0, 2e6].map(label), ["0", "0.25", "12.5 k", "2 M"]);
        assert_eq!([0.0, 0.001_953, 32.887_672, 161_894.0].map(figure), ["0", "0.00195", "32.9", "162 k"]);
    }
}

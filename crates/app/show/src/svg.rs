//! SVG pictures: elements, and axes that place values.
//!
//! Chart libraries such as `plotters` draw neither tooltips nor classes for the styles of a page, which the stage map
//! and the page of the demo need; so all pictures are written here.

use std::fmt::{Display, Write as _};

/// An attribute of an element, and its value.
pub type Attribute<'a> = (&'a str, &'a dyn Display);

/// A picture that is being drawn: later elements cover earlier ones.
#[derive(Clone, Debug)]
pub struct Svg(String);

impl Svg {
    /// A picture of this size on white, for a page or a file of its own.
    pub fn new(width: f64, height: f64, attributes: &[Attribute<'_>]) -> Self {
        let mut svg = Self::open(
            width,
            height,
            &[("xmlns", &"http://www.w3.org/2000/svg"), ("font-family", &"sans-serif"), ("font-size", &11)],
            attributes,
        );
        svg.element("rect", &[("width", &"100%"), ("height", &"100%"), ("fill", &"white")]);
        svg
    }

    /// A picture of this size with a style, for a page or a file of its own. What is behind it has the class `ground`.
    pub fn themed(width: f64, height: f64, style: &str, attributes: &[Attribute<'_>]) -> Self {
        let mut svg = Self::open(
            width,
            height,
            &[("xmlns", &"http://www.w3.org/2000/svg"), ("font-family", &"sans-serif"), ("font-size", &11)],
            attributes,
        );
        let _ = writeln!(svg.0, "<style>{}</style>", escaped(style));
        svg.element("rect", &[("width", &"100%"), ("height", &"100%"), ("class", &"ground")]);
        svg
    }

    /// A picture of this size inside an HTML page that has the styles of its elements.
    pub fn styled(width: f64, height: f64, label: &str) -> Self {
        Self::open(width, height, &[("role", &"img"), ("aria-label", &label)], &[])
    }

    fn open(width: f64, height: f64, first: &[Attribute<'_>], more: &[Attribute<'_>]) -> Self {
        let view = format!("0 0 {width} {height}");
        let mut svg = Self(String::new());
        let own: [Attribute<'_>; 1] = [("viewBox", &view)];
        svg.start("svg", &[&own, first, more].concat());
        svg.0.push_str(">\n");
        svg
    }

    /// An element without content.
    pub fn element(&mut self, name: &str, attributes: &[Attribute<'_>]) {
        self.start(name, attributes);
        self.0.push_str("/>\n");
    }

    /// An element with a tooltip.
    pub fn titled(&mut self, name: &str, attributes: &[Attribute<'_>], title: &str) {
        self.start(name, attributes);
        let _ = writeln!(self.0, "><title>{}</title></{name}>", escaped(title));
    }

    /// A line of text.
    pub fn text(&mut self, attributes: &[Attribute<'_>], text: &str) {
        self.start("text", attributes);
        let _ = writeln!(self.0, ">{}</text>", escaped(text));
    }

    /// A line through points.
    pub fn polyline(&mut self, points: impl IntoIterator<Item = (f64, f64)>, attributes: &[Attribute<'_>]) {
        let points: Vec<String> = points.into_iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let points = points.join(" ");
        let own: [Attribute<'_>; 1] = [("points", &points)];
        self.element("polyline", &[&own, attributes].concat());
    }

    /// Elements with common attributes and a tooltip.
    pub fn group(&mut self, attributes: &[Attribute<'_>], title: &str, draw: impl FnOnce(&mut Self)) {
        self.start("g", attributes);
        let _ = writeln!(self.0, "><title>{}</title>", escaped(title));
        draw(self);
        self.0.push_str("</g>\n");
    }

    /// The complete picture.
    pub fn finish(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }

    fn start(&mut self, name: &str, attributes: &[Attribute<'_>]) {
        let _ = write!(self.0, "<{name}");
        for (name, value) in attributes {
            let _ = write!(self.0, " {name}=\"{}\"", escaped(&value.to_string()));
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// An axis: the values at its ends, and the positions of these.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Axis {
    /// The value at the start. Above zero if the axis is logarithmic.
    pub from: f64,
    /// The value at the end, above that at the start.
    pub to: f64,
    /// Powers of ten lie at equal distances.
    pub is_logarithmic: bool,
    /// The positions of start and end.
    pub at: (f64, f64),
}

impl Axis {
    /// An axis for these values, from and to a round number.
    pub fn spanning(values: impl Iterator<Item = f64>, is_logarithmic: bool, at: (f64, f64)) -> Self {
        let (low, high) = values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if !low.is_finite() || (is_logarithmic && high <= 0.0) {
            return Self { from: 0.1, to: 1.0, is_logarithmic, at };
        }
        let (from, to) = if is_logarithmic {
            let (from, to) = (low.log10().floor(), high.log10().ceil());
            (10_f64.powf(from), 10_f64.powf(to.max(from + 1.0)))
        } else {
            let high = if high > low { high } else { low + 1.0 };
            let step = step(high - low);
            ((low / step).floor() * step, (high / step).ceil() * step)
        };
        Self { from, to, is_logarithmic, at }
    }

    /// The position of a value; that of an end for values beyond it.
    pub fn place(&self, value: f64) -> f64 {
        let scaled = |value: f64| if self.is_logarithmic { value.log10() } else { value };
        let share = (scaled(value) - scaled(self.from)) / (scaled(self.to) - scaled(self.from));
        self.at.0 + share.clamp(0.0, 1.0) * (self.at.1 - self.at.0)
    }

    /// Round values on the axis: powers of ten, or four to nine values.
    pub fn ticks(&self) -> Vec<f64> {
        if self.is_logarithmic {
            let (from, to) = (self.from.log10().round() as i32, self.to.log10().round() as i32);
            return (from..=to).map(|power| 10_f64.powi(power)).collect();
        }
        let step = step(self.to - self.from);
        let number = ((self.to - self.from) / step + 1e-6).floor() as u32;
        (0..=number).map(|tick| self.from + f64::from(tick) * step).collect()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  ranges.
    // Output: round steps, not too many.
    #[test]
    fn steps_are_round() {
        assert_eq!([1.0, 7.0, 100.0, 350.0].map(step), [0.2, 1.0, 20.0, 50.0]);
    }

    // Input:  axes of durations, of which most are not round.
    // Output: at most nine values, from zero, none beyond the end.
    #[test]
    fn no_axis_is_crowded() {
        for to in [0.5, 9.0, 21.3, 59.0, 400.0] {
            let ticks = Axis { from: 0.0, to, is_logarithmic: false, at: (0.0, 1.0) }.ticks();
            assert!(
                ticks[0] == 0.0 && ticks.len() <= 9 && ticks.iter().all(|tick| *tick <= to),
                "{to}: {ticks:?}"
            );
        }
    }

    // Input:  a picture with a tooltip, and characters that XML reserves in text, tooltip and attribute.
    // Output: they are escaped.
    #[test]
    fn text_is_escaped() {
        let mut svg = Svg::styled(10.0, 20.0, "\"a\"");
        svg.titled("rect", &[("x", &1.5)], "<b>");
        svg.text(&[("y", &2)], "c & d");
        let expected = "<svg viewBox=\"0 0 10 20\" role=\"img\" \
                        aria-label=\"&quot;a&quot;\">\n<rect x=\"1.5\"><title>&lt;b&gt;</title></rect>\n\
                        <text y=\"2\">c &amp; d</text>\n</svg>\n";
        assert_eq!(svg.finish(), expected);
    }
}

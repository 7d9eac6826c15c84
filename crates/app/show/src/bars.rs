//! Grouped bars, as SVG: figures of several things by a few kinds.

use crate::frame::{self, BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, draw_axes, draw_legend, figure, tenths};
use crate::palette::{COLOURS, class};
use crate::svg::{Attribute, Svg};

/// A thing with a bar in each group.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Bar {
    /// What it is.
    pub name: String,
    /// Its figures, in the order of the groups; `None` where there is none.
    pub values: Vec<Option<f64>>,
    /// Drawn lighter and with a dashed border: figures of others, say.
    pub is_of_others: bool,
}

/// Grouped bars, each with its figure.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Bars {
    /// What they show.
    pub title: String,
    /// What the groups are.
    pub x: String,
    /// The names of the groups.
    pub groups: Vec<String>,
    /// What is upwards, with its unit.
    pub y: String,
    /// The things, in the order of the bars of a group.
    pub bars: Vec<Bar>,
}

/// The part of a group's width that is left free.
const GAP: f64 = 0.16;
/// Bars below this width have their figures upright.
const NARROW: f64 = 34.0;

impl Bars {
    /// The picture, for a page or a file of its own.
    pub fn svg(&self) -> String {
        let values = self.bars.iter().flat_map(|bar| bar.values.iter().flatten().copied());
        let mut axis = frame::upwards(values.filter(|value| value.is_finite()));
        // Figures stand above their bars.
        axis.at.1 = TOP + 34.0;
        let mut svg = frame::open(&self.title, self.bars.len());
        draw_axes(&mut svg, &axis, &self.x, &self.y);
        let group = (WIDTH - LEFT - RIGHT) / self.groups.len().max(1) as f64;
        let width = group * (1.0 - GAP) / self.bars.len().max(1) as f64;
        for (at, name) in self.groups.iter().enumerate() {
            let start = LEFT + group * at as f64;
            let middle: [Attribute<'_>; 3] = [
                ("x", &tenths(start + group / 2.0)),
                ("y", &(HEIGHT - BOTTOM + 15.0)),
                ("text-anchor", &"middle"),
            ];
            svg.text(&middle, name);
            for (place, bar) in self.bars.iter().enumerate() {
                let Some(value) = bar.values.get(at).copied().flatten().filter(|value| value.is_finite())
                else {
                    continue;
                };
                let x = start + group * GAP / 2.0 + width * place as f64;
                let top = axis.place(value);
                let title = format!("{name}: {}: {}", bar.name, figure(value));
                let height = tenths((axis.at.0 - top).max(0.0));
                let shape: [Attribute<'_>; 5] = [
                    ("x", &tenths(x)),
                    ("y", &tenths(top)),
                    ("width", &tenths(width * 0.86)),
                    ("height", &height),
                    ("class", &classes(place, bar)),
                ];
                svg.titled("rect", &shape, &title);
                draw_figure(&mut svg, (x + width * 0.43, top), width, &figure(value));
            }
        }
        for (place, bar) in self.bars.iter().enumerate() {
            draw_legend(&mut svg, place, &bar.name, |svg, x, y| {
                let sample: [Attribute<'_>; 5] = [
                    ("x", &x),
                    ("y", &(y - 5.0)),
                    ("width", &24),
                    ("height", &10),
                    ("class", &classes(place, bar)),
                ];
                svg.element("rect", &sample);
            });
        }
        svg.finish()
    }
}

/// Colours repeat behind the last one, paler and with a border.
fn classes(place: usize, bar: &Bar) -> String {
    let kind = match (bar.is_of_others, place < COLOURS) {
        (true, _) => " of-others",
        (false, true) => "",
        (false, false) => " repeated",
    };
    format!("{}{kind}", class(place))
}

/// The figure above a bar, whose top this is.
fn draw_figure(svg: &mut Svg, (x, y): (f64, f64), width: f64, text: &str) {
    if width < NARROW {
        let turned = format!("translate({:.1} {:.1}) rotate(-90)", x + 3.5, y - 4.0);
        svg.text(&[("transform", &turned), ("font-size", &10)], text);
    } else {
        let (x, y) = (tenths(x), tenths(y - 4.0));
        svg.text(&[("x", &x), ("y", &y), ("text-anchor", &"middle"), ("font-size", &10)], text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars() -> Bars {
        let bar = |name: &str, values: [Option<f64>; 2], is_of_others| Bar {
            name: name.into(),
            values: values.into(),
            is_of_others,
        };
        Bars {
            title: "T".into(),
            x: "x".into(),
            groups: vec!["first".into(), "second <2>".into()],
            y: "1/s".into(),
            bars: vec![
                bar("ours", [Some(100.0), Some(50.0)], false),
                bar("paper's", [Some(50.0), None], true),
                bar("none", [None, Some(f64::NAN)], false),
            ],
        }
    }

    // Input:  three things in two groups, with two figures of one, one of another and no number of the third.
    // Output: three bars, the second and third half as high as the first; each says what it is, and the legend has all three.
    #[test]
    fn a_bar_is_as_high_as_its_figure() {
        let svg = bars().svg();
        assert_eq!(svg.matches("<title>").count(), 3, "{svg}");
        assert_eq!(svg.matches("height=\"256.0\"").count(), 1, "{svg}");
        assert_eq!(svg.matches("height=\"128.0\"").count(), 2, "{svg}");
        assert!(svg.contains("<title>first: ours: 100</title>") && svg.contains("second &lt;2&gt;"));
        assert!(svg.contains("class=\"series-1 of-others\"") && svg.contains(">none</text>"));
        assert!(!svg.contains("NaN"));
    }

    // Input:  no groups and no bars.
    // Output: a picture all the same.
    #[test]
    fn nothing_can_be_drawn() {
        let svg = Bars::default().svg();
        assert!(svg.contains("</svg>") && !svg.contains("NaN") && !svg.contains("inf"));
    }
}

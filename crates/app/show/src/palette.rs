//! Colours of curves and bars, on white and in the dark.
//!
//! A picture names no colour, but classes of its own style, so that it follows the reader's setting both in a page and as
//! a file. Neighbours also differ in the shape of their marks, so that a print in grey can be read.

use std::fmt::Write as _;

/// How a picture is coloured.
struct Theme {
    /// Behind everything.
    ground: &'static str,
    /// Text.
    ink: &'static str,
    /// Numbers beside axes.
    soft: &'static str,
    /// Lines behind curves.
    line: &'static str,
    /// Curves and bars, in turns.
    colours: [&'static str; COLOURS],
}

/// Colours before they repeat.
pub(crate) const COLOURS: usize = 8;

const LIGHT: Theme = Theme {
    ground: "#ffffff",
    ink: "#1c2430",
    soft: "#555555",
    line: "#dde3ea",
    colours: ["#2f37f5", "#bd8b16", "#0c4319", "#da3282", "#339bde", "#640382", "#6f6403", "#290816"],
};

const DARK: Theme = Theme {
    ground: "#1a2029",
    ink: "#e4e9f0",
    soft: "#93a1b3",
    line: "#2c3642",
    colours: ["#b4d7fe", "#f58b1b", "#18c499", "#d7434b", "#5c64e0", "#b48cf2", "#fbd442", "#ffffe6"],
};

/// The class of the series at this place.
pub(crate) fn class(place: usize) -> String {
    format!("series-{}", place % COLOURS)
}

/// The style of all pictures, which concerns elements below the class `chart` only.
pub(crate) fn style() -> String {
    format!("{}@media (prefers-color-scheme: dark) {{\n{}}}\n", rules(&LIGHT), rules(&DARK))
}

fn rules(theme: &Theme) -> String {
    let Theme { ground, ink, soft, line, colours } = theme;
    let mut text = format!(
        ".chart .ground {{ fill: {ground}; }}\n.chart text {{ fill: {ink}; }}\n.chart .number {{ fill: {soft}; }}\n\
         .chart .across {{ stroke: {line}; }}\n"
    );
    for (place, colour) in colours.iter().enumerate() {
        let _ = writeln!(text, ".chart .series-{place} {{ stroke: {colour}; fill: {colour}; }}");
    }
    // The attribute makes the rule more specific than those of the series.
    text + ".chart polyline[class] { fill: none; }\n.chart .of-others { fill-opacity: 0.2; stroke-dasharray: 5 4; }\n\
           .chart .repeated { fill-opacity: 0.45; stroke-width: 2; }\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  the style of pictures.
    // Output: the rule that leaves curves unfilled is more specific than the one that fills bars and marks of a series.
    #[test]
    fn curves_are_not_filled() {
        let style = style();
        let specificity = |selector: &str| selector.matches(['.', '[']).count();
        let [curve, series] = [".chart polyline[class]", ".chart .series-0"];
        assert!(style.contains(&format!("{curve} {{ fill: none; }}")) && style.contains(series), "{style}");
        assert!(specificity(curve) >= specificity(series) && style.find(curve) > style.find(series));
    }

    /// What a reader sees of linear red, green and blue: all of it, or what is left without one kind of cones
    /// (G. M. Machado and others, 2009, severity 1.0).
    const READERS: [[[f64; 3]; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
    ];

    /// Linear red, green and blue.
    fn linear(colour: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn product(matrix: &[[f64; 3]; 3], vector: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(vector).map(|(factor, value)| factor * value).sum())
    }

    /// In Oklab, where equal distances are seen as equal; black and white are 1 apart.
    fn perceived(rgb: [f64; 3]) -> [f64; 3] {
        const CONES: [[f64; 3]; 3] = [
            [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
            [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
            [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
        ];
        const LAB: [[f64; 3]; 3] = [
            [0.210_454_255_3, 0.793_617_785, -0.004_072_046_8],
            [1.977_998_495_1, -2.428_592_205, 0.450_593_709_9],
            [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766],
        ];
        product(&LAB, product(&CONES, rgb.map(|value| value.clamp(0.0, 1.0))).map(f64::cbrt))
    }

    /// As WCAG 2.1 defines it.
    fn contrast(one: &str, other: &str) -> f64 {
        let [one, other] = [one, other].map(|colour| {
            let [red, green, blue] = linear(colour);
            0.05 + 0.2126 * red + 0.7152 * green + 0.0722 * blue
        });
        one.max(other) / one.min(other)
    }

    // Input:  all pairs of colours of both themes, as readers with three and with two kinds of cones see them.
    // Output: no two can be confused; each is readable on its ground as WCAG 2.1 asks for graphics (3:1), and text as for
    //         text (4.5:1).
    #[test]
    fn colours_differ_for_every_reader() {
        for Theme { ground, ink, soft, colours, .. } in [LIGHT, DARK] {
            for text in [ink, soft] {
                assert!(contrast(text, ground) >= 4.5, "{text} on {ground}");
            }
            for (place, one) in colours.iter().enumerate() {
                assert!(contrast(one, ground) >= 3.0, "{one} on {ground}");
                for other in &colours[..place] {
                    for reader in &READERS {
                        let [a, b] = [one, other].map(|colour| perceived(product(reader, linear(colour))));
                        let distance = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                        assert!(distance > 0.13, "{one} and {other}: {distance:.3}");
                    }
                }
            }
        }
    }
}

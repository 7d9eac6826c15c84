//! The text formats of a scrape: OpenMetrics, and that of Prometheus (0.0.4).

/// A text format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// Prometheus text, version 0.0.4: what is sent unless OpenMetrics is asked for.
    Prometheus,
    /// OpenMetrics text, version 1.0.0.
    OpenMetrics,
}

const OPEN_METRICS: &str = "application/openmetrics-text";

impl Format {
    /// The format for the `Accept` headers of a request: OpenMetrics if it is named, with no lower weight than plain
    /// text.
    pub(crate) fn accepted<'a>(headers: impl Iterator<Item = &'a str>) -> Self {
        let (mut open, mut plain) = (0.0_f32, 0.0_f32);
        for range in headers.flat_map(|header| header.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default();
            let (mut weight, mut is_known) = (1.0_f32, true);
            for (name, value) in parts.filter_map(|part| part.split_once('=')) {
                match name.trim() {
                    "q" => weight = value.trim().parse().unwrap_or(0.0),
                    "version" if kind == OPEN_METRICS => is_known = value.trim().trim_matches('"') == "1.0.0",
                    _ => {}
                }
            }
            if kind == OPEN_METRICS && is_known {
                open = weight.max(open);
            } else if kind.starts_with("text/") {
                plain = weight.max(plain);
            }
        }
        if open > 0.0 && open >= plain { Self::OpenMetrics } else { Self::Prometheus }
    }

    /// The content type of a response.
    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// OpenMetrics text in this format.
    pub(super) fn convert(self, open_metrics: String) -> String {
        match self {
            Self::Prometheus => prometheus(&open_metrics),
            Self::OpenMetrics => open_metrics,
        }
    }
}

/// The same metrics as Prometheus text. There a family is named like its samples, and some types have other names.
fn prometheus(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let mut add = |parts: &[&str]| {
        parts.iter().for_each(|part| text.push_str(part));
        text.push('\n');
    };
    let mut help = "";
    for line in open_metrics.lines() {
        if let Some(described) = line.strip_prefix("# HELP ") {
            help = described.split_once(' ').map_or("", |(_, help)| help);
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|it| it.split_once(' ')) {
            let (suffix, kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                other => ("", other),
            };
            add(&["# HELP ", name, suffix, " ", help]);
            add(&["# TYPE ", name, suffix, " ", kind]);
        } else if line != "# EOF" {
            add(&[line]);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  the Accept headers of Prometheus 2.42, of Prometheus 3, of curl and a browser, none, and contradictory ones.
    // Output: OpenMetrics for those that name it as their choice, Prometheus text for all others.
    #[test]
    fn the_scraper_chooses_the_format() {
        for (headers, format) in [
            (
                &[
                    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                   text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                ][..],
                Format::OpenMetrics,
            ),
            (
                &["application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
                   text/plain;version=0.0.4;q=0.3,*/*;q=0.2"],
                Format::OpenMetrics,
            ),
            (&["text/plain;version=0.0.4"], Format::Prometheus),
            (&["*/*"], Format::Prometheus),
            (&["text/html,application/xhtml+xml,*/*;q=0.8"], Format::Prometheus),
            (&[], Format::Prometheus),
            (&["application/openmetrics-text; q=0"], Format::Prometheus),
            (&["application/openmetrics-text; version=\"1.0.0\"; q=0.2, text/plain"], Format::Prometheus),
            (&["application/openmetrics-text; version=2.0.0"], Format::Prometheus),
            (&["text/plain; q=0.1", "application/openmetrics-text"], Format::OpenMetrics),
        ] {
            assert_eq!(Format::accepted(headers.iter().copied()), format, "{headers:?}");
        }
    }
}

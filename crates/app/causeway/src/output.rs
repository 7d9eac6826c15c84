//! What commands print: tables for people, JSON for programs.

use std::fmt::{self, Display};
use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use causeway_show::with_thousands_separators;
use serde::Serialize;

/// The form of the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Format {
    /// Tables and sentences for people
    Text,
    /// JSON for programs
    Json,
}

/// Standard output in one form. Colours are written to a terminal only, and never with `NO_COLOR` in the environment.
pub(crate) struct Output {
    pub(crate) format: Format,
    stream: AutoStream<io::StdoutLock<'static>>,
}

impl Output {
    pub(crate) fn new(format: Format) -> Self {
        Self { format, stream: AutoStream::auto(io::stdout().lock()) }
    }

    /// The output is for programs.
    pub(crate) fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Writes a value for programs.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut self.stream, value)?;
        writeln!(self.stream)
    }

    /// Writes a value for programs in one line, and sends it off.
    pub(crate) fn json_line(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.stream, value)?;
        writeln!(self.stream)?;
        self.stream.flush()
    }

    /// Writes a line.
    pub(crate) fn line(&mut self, text: impl Display) -> io::Result<()> {
        writeln!(self.stream, "{text}")
    }

    /// Writes text as it is.
    pub(crate) fn raw(&mut self, text: impl Display) -> io::Result<()> {
        write!(self.stream, "{text}")
    }

    /// Sends off what was written.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// What a text says, for its colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Tone {
    #[default]
    Plain,
    Heading,
    Good,
    Bad,
    Faint,
}

impl Tone {
    fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Heading => Style::new().bold(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Faint => Style::new().dimmed(),
        }
    }
}

/// A text with a tone. Control characters, which a peer may have sent in a name, are escaped.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    pub(crate) fn new(text: impl Display, tone: Tone) -> Self {
        Self { text: printable(&text.to_string()), tone }
    }

    pub(crate) fn bad(text: impl Display) -> Self {
        Self::new(text, Tone::Bad)
    }

    /// The state of a path.
    pub(crate) fn up(up: bool) -> Self {
        if up { Self::new("up", Tone::Good) } else { Self::bad("down") }
    }

    /// A number that should be zero.
    pub(crate) fn failures(count: u64) -> Self {
        Self::new(number(count), if count == 0 { Tone::Plain } else { Tone::Bad })
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }
}

impl Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = self.tone.style();
        write!(f, "{style}{}{style:#}", self.text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::new(text, Tone::Plain)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::new(text, Tone::Plain)
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        number(value).into()
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(|| "-".into(), Into::into)
    }
}

/// The text without control characters.
pub(crate) fn printable(text: &str) -> String {
    let escape = |c: char| {
        let (escaped, plain) =
            if c.is_control() { (Some(c.escape_default()), None) } else { (None, Some(c)) };
        escaped.into_iter().flatten().chain(plain)
    };
    text.chars().flat_map(escape).collect()
}

/// Where the text of a column stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows under headings. A table may be continued: its columns do not become narrower.
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    widths: Vec<usize>,
    rows: Vec<Vec<Cell>>,
    has_heading: bool,
    indent: usize,
}

impl Table {
    /// A table of these columns. The heading of a right-aligned column begins with `>`.
    pub(crate) fn new(columns: &[&'static str]) -> Self {
        let column = |name: &&'static str| match name.strip_prefix('>') {
            Some(name) => (name, Align::Right),
            None => (*name, Align::Left),
        };
        let columns: Vec<_> = columns.iter().map(column).collect();
        let widths = columns.iter().map(|(name, _)| name.chars().count()).collect();
        Self { columns, widths, rows: Vec::new(), has_heading: false, indent: 0 }
    }

    /// The same, with so many blanks before each line.
    pub(crate) fn indented(columns: &[&'static str], indent: usize) -> Self {
        Self { indent, ..Self::new(columns) }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        debug_assert_eq!(cells.len(), self.columns.len());
        for (width, cell) in self.widths.iter_mut().zip(&cells) {
            *width = cell.width().max(*width);
        }
        self.rows.push(cells.into());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes the rows since the last call, and before the first of them the headings.
    pub(crate) fn write(&mut self, output: &mut Output) -> io::Result<()> {
        if !self.has_heading {
            self.has_heading = true;
            let headings: Vec<_> =
                self.columns.iter().map(|(name, _)| Cell::new(name, Tone::Heading)).collect();
            self.write_row(output, &headings)?;
        }
        for row in std::mem::take(&mut self.rows) {
            self.write_row(output, &row)?;
        }
        Ok(())
    }

    fn write_row(&self, output: &mut Output, row: &[Cell]) -> io::Result<()> {
        output.raw(" ".repeat(self.indent))?;
        let last = self.columns.len().saturating_sub(1);
        for (at, ((cell, width), (_, align))) in row.iter().zip(&self.widths).zip(&self.columns).enumerate() {
            let blanks = " ".repeat(width.saturating_sub(cell.width()));
            match align {
                Align::Right => output.raw(format_args!("{blanks}{cell}"))?,
                Align::Left if at == last => output.raw(cell)?,
                Align::Left => output.raw(format_args!("{cell}{blanks}"))?,
            }
            if at < last {
                output.raw("  ")?;
            }
        }
        output.line("")
    }
}

/// Names and values under each other.
pub(crate) struct Fields(Vec<(&'static str, Cell)>);

impl Fields {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn field(&mut self, name: &'static str, value: impl Into<Cell>) {
        self.0.push((name, value.into()));
    }

    /// Adds a value that may be absent.
    pub(crate) fn field_if_any(&mut self, name: &'static str, value: Option<impl Into<Cell>>) {
        if let Some(value) = value {
            self.field(name, value);
        }
    }

    pub(crate) fn write(&self, output: &mut Output) -> io::Result<()> {
        let width = self.0.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, value) in &self.0 {
            let heading = Tone::Heading.style();
            output.line(format_args!("{heading}{name:width$}{heading:#}  {value}"))?;
        }
        Ok(())
    }
}

/// A number with thousands separators.
pub(crate) fn number(value: impl TryInto<u64>) -> String {
    with_thousands_separators(value.try_into().unwrap_or(u64::MAX))
}

/// Octets, in the unit that has at most four digits before the point.
pub(crate) fn octets(octets: u64) -> String {
    scaled(octets as f64, 1024.0, ["B", "KiB", "MiB", "GiB", "TiB"])
}

/// A rate in bit/s.
pub(crate) fn bit_rate(bits_per_second: f64) -> String {
    scaled(bits_per_second, 1000.0, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"])
}

/// A rate, of packets for example.
pub(crate) fn rate(per_second: f64) -> String {
    scaled(per_second, 1000.0, ["/s", "k/s", "M/s", "G/s", "T/s"])
}

fn scaled(value: f64, step: f64, units: [&str; 5]) -> String {
    let mut value = value.max(0.0);
    let mut unit = units[0];
    for next in &units[1..] {
        // What would be rounded up to the next unit is written in it.
        if value.round() < step {
            break;
        }
        value /= step;
        unit = next;
    }
    let digits = usize::from(value.fract() > 0.0 && value < 100.0 && (unit != "B"));
    format!("{value:.digits$} {unit}")
}

/// A span of time: its two largest units.
pub(crate) fn span(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "-".into();
    }
    if seconds < 10.0 {
        return format!("{} s", (seconds * 1e3).round() / 1e3);
    }
    let whole = seconds as u64;
    let units =
        [(whole / 86_400, "d"), (whole / 3600 % 24, "h"), (whole / 60 % 60, "min"), (whole % 60, "s")];
    let first = units.iter().position(|(count, _)| *count > 0).unwrap_or(3);
    let shown = units[first..].iter().take(2).filter(|(count, _)| *count > 0);
    shown.map(|(count, unit)| format!("{count} {unit}")).collect::<Vec<_>>().join(" ")
}

/// How long ago a time was, in seconds since the Unix epoch, according to this machine's clock.
pub(crate) fn ago(time: f64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    span((now - time).max(0.0))
}

/// A time in seconds since the Unix epoch, as RFC 3339 writes it.
pub(crate) fn timestamp(time: f64) -> String {
    let since = Duration::try_from_secs_f64(time).ok();
    let time = since.and_then(|since| UNIX_EPOCH.checked_add(since));
    time.map_or_else(|| "-".into(), |time| humantime::format_rfc3339_millis(time).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  numbers, octets, rates and spans of different magnitudes.
    // Output: few digits, with the unit that fits.
    #[test]
    fn quantities_have_few_digits() {
        assert_eq!([0_u64, 1536, (5 << 30) - 1].map(octets), ["0 B", "1.5 KiB", "5.0 GiB"]);
        assert_eq!([0.0, 999.0, 1.25e6].map(bit_rate), ["0 bit/s", "999 bit/s", "1.2 Mbit/s"]);
        assert_eq!([0.5, 12_345.0].map(rate), ["0.5 /s", "12.3 k/s"]);
        assert_eq!(
            [0.0, 0.25, 59.9, 60.0, 3725.0, 90_000.0].map(span),
            ["0 s", "0.25 s", "59 s", "1 min", "1 h 2 min", "1 d 1 h"]
        );
        assert_eq!([f64::NAN, -1.0].map(span), ["-", "-"]);
        assert_eq!(timestamp(1_800_000_000.25), "2027-01-15T08:00:00.250Z");
        assert_eq!(timestamp(-1.0), "-");
    }

    // Input:  a name with the escape sequence that clears a terminal.
    // Output: its characters.
    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(Cell::from("a\u{1b}[2Jb\n").to_string(), "a\\u{1b}[2Jb\\n");
    }
}

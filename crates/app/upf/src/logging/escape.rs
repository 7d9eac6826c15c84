//! Escapes text from peers: a log line stays one line, and contains no control characters for a terminal.

use std::fmt::{self, Write};

use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Writes text on with everything escaped that is not printed as itself: line feeds, other controls, marks that change
/// the direction
/// of what follows.
pub(super) struct Escaped<W>(pub(super) W);

impl<W: Write> Write for Escaped<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let is_plain = |octet: u8| octet.is_ascii_graphic() || octet == b' ';
        if text.bytes().all(is_plain) {
            return self.0.write_str(text);
        }
        text.chars().try_for_each(|letter| match letter {
            // Of the text that is printed, these alone would be escaped in a literal.
            '\'' | '"' | '\\' => self.0.write_char(letter),
            _ => letter.escape_debug().try_for_each(|part| self.0.write_char(part)),
        })
    }
}

/// The same for JSON, where such letters are in strings only: each becomes one or two of `\\u` with four hexadecimal digits, which a JSON
/// parser reverses.
pub(super) struct JsonEscaped<W>(pub(super) W);

impl<W: Write> Write for JsonEscaped<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // Of ASCII, JSON leaves the last one alone as it is.
        if text.bytes().all(|octet| octet < 0x7f) {
            return self.0.write_str(text);
        }
        text.chars().try_for_each(|letter| {
            if letter < '\u{7f}' || letter.escape_debug().len() == 1 {
                return self.0.write_char(letter);
            }
            letter.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(self.0, "\\u{unit:04x}"))
        })
    }
}

/// Formats events in JSON, escaped.
pub(super) struct JsonEvents<F>(pub(super) F);

impl<S, N, F> FormatEvent<S, N> for JsonEvents<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        self.0.format_event(context, Writer::new(&mut JsonEscaped(writer)), event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  text of all kinds.
    // Output: what is printed stays; the rest is escaped.
    #[test]
    fn what_is_not_printed_is_escaped() {
        for (text, expected) in [
            ("session 0x2a: `a'b\"c\\`", "session 0x2a: `a'b\"c\\`"),
            ("Zürich, 東京", "Zürich, 東京"),
            ("a\nb\r\tc\0", "a\\nb\\r\\tc\\0"),
            ("\x1b[2J\x7f\u{9b}1m", "\\u{1b}[2J\\u{7f}\\u{9b}1m"),
            ("\u{202e}txt\u{200b}\u{2028}", "\\u{202e}txt\\u{200b}\\u{2028}"),
        ] {
            let mut written = String::new();
            Escaped(&mut written).write_str(text).unwrap();
            assert_eq!(written, expected);
        }
    }

    // Input:  the same as a string in JSON, and a mark beyond 16 bits.
    // Output: what is not printed is escaped; whoever reads the JSON gets the same string.
    #[test]
    fn json_escapes_the_same() {
        for (text, expected) in [
            ("session `a'b\"c\\`", r#""session `a'b\"c\\`""#),
            ("Zürich, 東京", "\"Zürich, 東京\""),
            ("a\nb\0\x7f\u{9b}1m", r#""a\nb\u0000\u007f\u009b1m""#),
            ("\u{202e}txt\u{200b}\u{2028}\u{2066}\u{feff}", r#""\u202etxt\u200b\u2028\u2066\ufeff""#),
            ("\u{e0041}", r#""\udb40\udc41""#),
        ] {
            let mut written = String::new();
            JsonEscaped(&mut written).write_str(&serde_json::to_string(text).unwrap()).unwrap();
            assert_eq!(written, expected);
            assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
        }
    }

    // Input:  an event whose message and field hold such marks, in JSON.
    // Output: one line of JSON without them, that says the same.
    #[test]
    fn events_in_json_are_escaped() {
        #[derive(Clone, Default)]
        struct Lines(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);
        impl std::io::Write for Lines {
            fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
                self.0.lock().unwrap().extend(octets);
                Ok(octets.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let lines = Lines::default();
        let there = lines.clone();
        let layer = tracing_subscriber::fmt().with_writer(move || there.clone()).json().flatten_event(true);
        tracing::subscriber::with_default(layer.map_event_format(JsonEvents).finish(), || {
            tracing::warn!(peer = "\u{202e}b", "a\u{2066}c\n");
        });
        let line = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert!(line.is_ascii() && line.lines().count() == 1, "{line}");
        let object: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&object["message"], &object["peer"]), (&"a\u{2066}c\n".into(), &"\u{202e}b".into()));
    }
}

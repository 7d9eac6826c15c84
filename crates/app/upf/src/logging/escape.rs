//! Text that peers have chosen, made harmless: a line of the log stays one line, and a terminal obeys nobody.

use std::fmt::{self, Write};

/// Writes text on with everything escaped that is not printed as itself: line feeds, other controls, marks that change the direction
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
}

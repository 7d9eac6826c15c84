//! Protocol buffers in text form, without a schema: fields by name, in the order of the file.
//!
//! It reads the output of P4 compilers: scalars, strings with escapes, and nested messages. A value is kept as it is
//! written; the caller determines its type.

use thiserror::Error;

/// How deep messages may be nested: a P4Info has six levels.
const MAX_DEPTH: u32 = 32;

/// The fields of a message, in order; a name may occur several times.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Message {
    fields: Vec<(String, Value)>,
}

/// The value of a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// A number or a name, as written.
    Plain(String),
    /// A string, its escapes resolved.
    Bytes(Vec<u8>),
    /// `{ ... }`.
    Message(Message),
}

/// Why a text is not a message.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum TextError {
    /// Another token is present.
    #[error("line {line}: expected {expected}")]
    Expected {
        /// Counted from 1.
        line: usize,
        /// The expected token.
        expected: &'static str,
    },
    /// Messages are nested deeper than in any P4Info.
    #[error("line {line}: messages are nested too deep")]
    TooDeep {
        /// Counted from 1.
        line: usize,
    },
}

impl Message {
    /// Reads a whole file.
    ///
    /// # Errors
    /// [`TextError`] with the line.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        let mut reader = Reader { rest: text, line: 1 };
        let message = reader.message(None, 0)?;
        Ok(message)
    }

    /// All fields with their values, in the order of the file.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Every value of that field.
    pub fn all<'m>(&'m self, name: &'m str) -> impl Iterator<Item = &'m Value> {
        self.fields.iter().filter(move |(field, _)| field == name).map(|(_, value)| value)
    }

    /// Every message in that field.
    pub fn messages<'m>(&'m self, name: &'m str) -> impl Iterator<Item = &'m Self> {
        self.all(name).filter_map(|value| match value {
            Value::Message(message) => Some(message),
            Value::Plain(_) | Value::Bytes(_) => None,
        })
    }

    /// The message in that field, or an empty one: protocol buffers define a missing field so.
    pub fn message(&self, name: &str) -> Self {
        self.messages(name).next().cloned().unwrap_or_default()
    }

    /// The texts in that field, of strings or plain values.
    pub fn texts<'m>(&'m self, name: &'m str) -> impl Iterator<Item = String> {
        self.all(name).map(|value| match value {
            Value::Plain(text) => text.clone(),
            Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Value::Message(_) => String::new(),
        })
    }

    /// The first text in that field, of a string or a plain value; empty where there is none.
    pub fn text(&self, name: &str) -> String {
        self.texts(name).next().unwrap_or_default()
    }

    /// The octets in that field.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        match self.all(name).next() {
            Some(Value::Bytes(bytes)) => bytes.clone(),
            Some(Value::Plain(_) | Value::Message(_)) | None => Vec::new(),
        }
    }

    /// The number in that field; zero where there is none.
    pub fn number(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap_or(0)
    }
}

struct Reader<'t> {
    rest: &'t str,
    line: usize,
}

impl Reader<'_> {
    /// Fields up to `end`, or to the end of the text.
    fn message(&mut self, end: Option<char>, depth: u32) -> Result<Message, TextError> {
        if depth > MAX_DEPTH {
            return Err(TextError::TooDeep { line: self.line });
        }
        let mut message = Message::default();
        loop {
            self.skip();
            match (self.peek(), end) {
                (None, None) => return Ok(message),
                (Some(found), Some(end)) if found == end => {
                    self.take(1);
                    return Ok(message);
                }
                (None, Some(_)) => return Err(self.expected("the end of a message")),
                (Some(_), _) => message.fields.push(self.field(depth)?),
            }
        }
    }

    fn field(&mut self, depth: u32) -> Result<(String, Value), TextError> {
        let name = self.word("the name of a field")?;
        self.skip();
        let has_colon = self.peek() == Some(':');
        if has_colon {
            self.take(1);
            self.skip();
        }
        let value = match self.peek() {
            Some('{') => {
                self.take(1);
                Value::Message(self.message(Some('}'), depth + 1)?)
            }
            Some('"') if has_colon => Value::Bytes(self.strings()?),
            Some(_) if has_colon => Value::Plain(self.word("a value")?),
            _ => return Err(self.expected("a value or a message")),
        };
        Ok((name, value))
    }

    /// One string, or several adjacent ones, which are concatenated.
    fn strings(&mut self) -> Result<Vec<u8>, TextError> {
        let mut bytes = Vec::new();
        while self.peek() == Some('"') {
            self.take(1);
            self.string(&mut bytes)?;
            self.skip();
        }
        Ok(bytes)
    }

    fn string(&mut self, bytes: &mut Vec<u8>) -> Result<(), TextError> {
        loop {
            match self.next() {
                Some('"') => return Ok(()),
                Some('\\') => bytes.push(self.escape()?),
                Some(other) => bytes.extend(other.encode_utf8(&mut [0; 4]).bytes()),
                None => return Err(self.expected("the end of a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<u8, TextError> {
        let escaped = self.next().ok_or_else(|| self.expected("an escape"))?;
        match escaped {
            'n' => Ok(b'\n'),
            't' => Ok(b'\t'),
            'r' => Ok(b'\r'),
            '0'..='7' => {
                let mut value = escaped.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = self.peek().and_then(|digit| digit.to_digit(8)) else { break };
                    self.take(1);
                    value = value * 8 + digit;
                }
                u8::try_from(value).map_err(|_| self.expected("an escape of one octet"))
            }
            other if other.is_ascii() => u8::try_from(other).map_err(|_| self.expected("an escape")),
            _ => Err(self.expected("an escape")),
        }
    }

    fn word(&mut self, expected: &'static str) -> Result<String, TextError> {
        let is_part =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '.' | '[' | ']' | '/');
        let length = self.rest.find(|c: char| !is_part(c)).unwrap_or(self.rest.len());
        let word = self.rest.get(..length).unwrap_or_default().to_owned();
        if word.is_empty() {
            return Err(self.expected(expected));
        }
        self.take(length);
        Ok(word)
    }

    /// Skips white space, commas and comments.
    fn skip(&mut self) {
        while let Some(found) = self.peek() {
            if found == '#' {
                let length = self.rest.find('\n').unwrap_or(self.rest.len());
                self.take(length);
            } else if found.is_whitespace() || matches!(found, ',' | ';') {
                self.next();
            } else {
                break;
            }
        }
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let found = self.peek()?;
        self.take(found.len_utf8());
        self.line += usize::from(found == '\n');
        Some(found)
    }

    fn take(&mut self, length: usize) {
        self.rest = self.rest.get(length..).unwrap_or_default();
    }

    const fn expected(&self, expected: &'static str) -> TextError {
        TextError::Expected { line: self.line, expected }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a table in the output of compilers, with a comment, an escape and a message without a colon.
    // Output: its fields by name.
    #[test]
    fn a_message_is_read_by_names() {
        let text = "# proto-message\ntables {\n  preamble { id: 33554433 name: \"a\\\"b\" }\n  size: 64\n}\nvalue: \"\\005x\"\n";
        let message = Message::parse(text).unwrap();
        let table = message.message("tables");
        assert_eq!(table.message("preamble").number("id"), 33_554_433);
        assert_eq!(table.message("preamble").text("name"), "a\"b");
        assert_eq!(table.number("size"), 64);
        assert_eq!(message.bytes("value"), b"\x05x");
        assert_eq!(message.message("absent"), Message::default());
    }

    // Input:  texts that end too early, or go too deep.
    // Output: an error with the line, never a panic.
    #[test]
    fn what_is_cut_short_is_refused() {
        let text = "tables {\n preamble {\n id: 3 name: \"x\\101\"\n}\n}\n";
        for length in (0..text.len()).filter(|length| *length != 0) {
            if let Some(part) = text.get(..length) {
                assert!(Message::parse(part).is_err() || part.trim_end().ends_with('}'), "{part:?}");
            }
        }
        let missing = TextError::Expected { line: 2, expected: "a value or a message" };
        assert_eq!(Message::parse("a: 1\nb"), Err(missing));
        let deep = "a { ".repeat(100);
        assert_eq!(Message::parse(&deep), Err(TextError::TooDeep { line: 1 }));
    }
}

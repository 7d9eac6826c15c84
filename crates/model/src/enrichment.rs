//! Header fields that are added to HTTP requests.

use std::fmt;
use std::sync::Arc;

use causeway_types::Transfer;

/// An HTTP header field (RFC 9110 clause 5) of Header Enrichment: it can neither end its line nor change the
/// framing of the message.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct HttpField {
    name: Arc<str>,
    value: Arc<str>,
}

/// Fields that frame a message (RFC 9112 clause 6): a second one would allow request smuggling.
const FRAMING: [&str; 2] = ["content-length", "transfer-encoding"];

impl HttpField {
    /// Maximum number of octets of all lines that one FAR adds: an enriched request still fits into one packet.
    pub const MAX_LINES: usize = 1000;

    /// The name is a token, the value visible ASCII with inner blanks and tabs, each at most 255 octets. `None` for
    /// anything else, and for a name that frames the message.
    pub fn new(name: &[u8], value: &[u8]) -> Option<Self> {
        let (name, value) = (std::str::from_utf8(name).ok()?, std::str::from_utf8(value).ok()?);
        let frames = FRAMING.iter().any(|framing| name.eq_ignore_ascii_case(framing));
        let is_legal = is_token(name) && is_value(value) && !frames && name.len().max(value.len()) <= 255;
        is_legal.then(|| Self { name: name.into(), value: value.into() })
    }

    /// Appends the line, with its CR LF.
    pub fn write(&self, out: &mut Vec<u8>) {
        for part in [&*self.name, ": ", &*self.value, "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
    }

    /// Octets of the line, with its CR LF.
    pub fn line_len(&self) -> usize {
        self.name.len() + self.value.len() + 4
    }
}

impl fmt::Debug for HttpField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpField({}: {})", self.name, self.value)
    }
}

/// RFC 9110 clause 5.6.2.
fn is_token(name: &str) -> bool {
    let is_tchar = |octet: u8| octet.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&octet);
    !name.is_empty() && name.bytes().all(is_tchar)
}

/// RFC 9110 clause 5.5, without octets beyond ASCII.
fn is_value(value: &str) -> bool {
    let is_edge_blank = value.starts_with([' ', '\t']) || value.ends_with([' ', '\t']);
    !is_edge_blank && value.bytes().all(|octet| octet.is_ascii_graphic() || octet == b' ' || octet == b'\t')
}

impl Transfer for HttpField {
    fn put(&self, out: &mut Vec<u8>) {
        self.name.put(out);
        self.value.put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        let (name, value): (String, String) = Transfer::take(input)?;
        Self::new(name.as_bytes(), value.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  names that are not tokens or that frame messages; values that would end or break the line; legal
    // ones.
    // Output: only the last are fields, written as one line.
    #[test]
    fn a_field_cannot_break_the_header() {
        for bad in ["", "a b", "a:", "a\r\nb", "\u{e4}", "Content-Length", "transfer-ENCODING"] {
            assert_eq!(HttpField::new(bad.as_bytes(), b"1"), None, "{bad:?}");
        }
        for bad in ["1\r\nX: 2", "1\n", "\0", " 1", "1\t", "\u{e4}"] {
            assert_eq!(HttpField::new(b"X", bad.as_bytes()), None, "{bad:?}");
        }
        let mut line = Vec::new();
        let field = HttpField::new(b"X-MSISDN", b"12 34").unwrap();
        field.write(&mut line);
        assert_eq!((line.len(), line), (field.line_len(), b"X-MSISDN: 12 34\r\n".to_vec()));
        assert!(HttpField::new(b"X", b"").is_some());
    }
}

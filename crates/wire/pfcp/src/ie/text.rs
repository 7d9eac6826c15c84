//! Names: as text, or as labels of DNS (RFC 1035 clause 3.1).

use std::fmt::{self, Write};

use crate::IeError;

/// Maximum length of a label.
const LABEL_MAX: u8 = 63;

/// A fully qualified domain name, from the wire or to be sent.
#[derive(Clone, Copy)]
pub struct Fqdn<'a>(Form<'a>);

#[derive(Clone, Copy)]
enum Form<'a> {
    /// Length-prefixed labels, checked, without the trailing zero.
    Labels(&'a [u8]),
    /// Labels separated by dots.
    Dotted(&'a str),
}

impl<'a> Fqdn<'a> {
    /// A name of dot-separated labels, to be sent.
    pub const fn new(dotted: &'a str) -> Self {
        Self(Form::Dotted(dotted))
    }

    /// Decodes labels. A trailing zero, which some peers send, is accepted.
    ///
    /// # Errors
    /// No octets: invalid length. Labels that do not fill the octets: incorrect.
    pub fn from_labels(octets: &'a [u8]) -> Result<Self, IeError> {
        if octets.is_empty() {
            return Err(IeError::length());
        }
        let octets = octets.strip_suffix(&[0]).filter(|labels| is_labels(labels)).unwrap_or(octets);
        if is_labels(octets) { Ok(Self(Form::Labels(octets))) } else { Err(IeError::incorrect()) }
    }

    /// The labels in their order.
    pub fn labels(self) -> impl Iterator<Item = &'a [u8]> {
        let (wire, dotted) = match self.0 {
            Form::Labels(octets) => (octets, ""),
            Form::Dotted(name) => (&[][..], name),
        };
        let dotted = dotted.split('.').filter(|label| !label.is_empty()).map(str::as_bytes);
        Labels(wire).chain(dotted)
    }

    /// Appends length-prefixed labels, without the trailing zero. Labels above 63 octets are truncated.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        for label in self.labels() {
            let label = label.get(..usize::from(LABEL_MAX)).unwrap_or(label);
            out.push(label.len() as u8);
            out.extend_from_slice(label);
        }
    }
}

impl PartialEq for Fqdn<'_> {
    /// Without regard to ASCII case.
    fn eq(&self, other: &Self) -> bool {
        let lower = |label: &[u8]| label.to_ascii_lowercase();
        self.labels().map(lower).eq(other.labels().map(lower))
    }
}

impl Eq for Fqdn<'_> {}

impl fmt::Display for Fqdn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, label) in self.labels().enumerate() {
            if at > 0 {
                f.write_char('.')?;
            }
            write!(f, "{}", label.escape_ascii())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Fqdn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// Iterates over checked labels.
struct Labels<'a>(&'a [u8]);

impl<'a> Iterator for Labels<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first()?;
        let (label, rest) = rest.split_at_checked((*length).into())?;
        self.0 = rest;
        Some(label)
    }
}

/// The octets consist of one or more length-prefixed labels.
pub(crate) fn is_labels(mut octets: &[u8]) -> bool {
    if octets.is_empty() {
        return false;
    }
    while let Some((length, rest)) = octets.split_first() {
        if *length == 0 || *length > LABEL_MAX {
            return false;
        }
        let Some((_, rest)) = rest.split_at_checked((*length).into()) else { return false };
        octets = rest;
    }
    true
}

/// Text in quotes if it is printable, otherwise hexadecimal.
pub(crate) fn fmt_octets(octets: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match std::str::from_utf8(octets) {
        Ok(text) if !text.contains(char::is_control) => write!(f, "{text:?}"),
        _ => crate::raw::fmt_hex(octets, f),
    }
}

/// Octets whose `Debug` form is text or hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Octets<'a>(pub &'a [u8]);

impl<'a> Octets<'a> {
    /// As text, if it is UTF-8.
    pub fn as_str(&self) -> Option<&'a str> {
        std::str::from_utf8(self.0).ok()
    }
}

impl<'a> From<&'a [u8]> for Octets<'a> {
    fn from(octets: &'a [u8]) -> Self {
        Self(octets)
    }
}

impl<'a> From<&'a str> for Octets<'a> {
    fn from(text: &'a str) -> Self {
        Self(text.as_bytes())
    }
}

impl std::ops::Deref for Octets<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0
    }
}

impl fmt::Debug for Octets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_octets(self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_dots_are_the_same_name() {
        let wire = Fqdn::from_labels(b"\x03smf\x07example\x03org").unwrap();
        assert_eq!(wire, Fqdn::new("SMF.example.org"));
        assert_eq!(wire.to_string(), "smf.example.org");
        let mut out = Vec::new();
        Fqdn::new("smf.example.org").write(&mut out);
        assert_eq!(out, b"\x03smf\x07example\x03org");
    }

    #[test]
    fn a_trailing_zero_is_accepted_and_wrong_lengths_are_not() {
        assert_eq!(Fqdn::from_labels(b"\x03smf\0").unwrap(), Fqdn::new("smf"));
        for wrong in [&b""[..], b"\0", b"\x04smf", b"\x03smfx", b"\x40smf"] {
            assert!(Fqdn::from_labels(wrong).is_err(), "{wrong:?}");
        }
    }
}

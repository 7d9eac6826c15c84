//! Domain names and URLs of PFDs: literal, or regular expressions (TS 29.122 table 5.14.2.1.2-1).

use std::fmt;

use regex_lite::{Regex, RegexBuilder};
use thiserror::Error;

/// The longest text of a pattern.
const MAX_PATTERN: usize = 1024;

/// Maximum octets of one compiled expression: bounds the steps for each character of a text.
const MAX_COMPILED: usize = 8 << 10;

/// Overhead of the allocator and the list for one expression, in octets.
const OVERHEAD: usize = 64;

/// Octets of a name or URL that an expression is matched with; the rest is ignored.
const MAX_MATCHED: usize = 1024;

/// A domain name or URL, or a regular expression.
///
/// A domain name of letters, digits, hyphens and dots matches itself and all names below it; a URL without special
/// characters matches itself and all URLs that begin with it. Any other text is a case-insensitive regular
/// expression that must match a part. The syntax has neither look-around nor back-references, so matching takes
/// linear time.
#[derive(Clone)]
pub struct Pattern {
    text: String,
    expression: Option<Regex>,
}

/// Why a text is not a pattern.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PatternError {
    /// The text is empty.
    #[error("it is empty")]
    Empty,
    /// The text is longer than any name or URL that is inspected.
    #[error("it is longer than {MAX_PATTERN} octets")]
    TooLong,
    /// An invalid regular expression.
    #[error("{0}")]
    Expression(String),
}

impl Pattern {
    /// A domain name or an expression for domain names.
    ///
    /// # Errors
    /// [`PatternError`].
    pub fn domain(text: &str) -> Result<Self, PatternError> {
        Self::new(text, |c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    }

    /// A URL or an expression for URLs.
    ///
    /// # Errors
    /// [`PatternError`].
    pub fn url(text: &str) -> Result<Self, PatternError> {
        Self::new(text, |c| c.is_ascii_alphanumeric() || "-_.~:/@!&=,;%#".contains(c))
    }

    fn new(text: &str, is_literal: impl Fn(char) -> bool) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        if text.len() > MAX_PATTERN {
            return Err(PatternError::TooLong);
        }
        if text.chars().all(is_literal) {
            return Ok(Self { text: text.trim_matches('.').to_ascii_lowercase(), expression: None });
        }
        let expression = RegexBuilder::new(text).case_insensitive(true).size_limit(MAX_COMPILED).build();
        let expression = expression.map_err(|error| PatternError::Expression(error.to_string()))?;
        Ok(Self { text: text.to_owned(), expression: Some(expression) })
    }

    /// Upper estimate of its memory in octets: an expression has its program and a cache for matching, which is no
    /// larger.
    pub(super) fn octets(&self) -> usize {
        let compiled = if self.is_expression() { 2 * MAX_COMPILED } else { 0 };
        OVERHEAD + size_of::<Self>() + self.text.len() + compiled
    }

    /// It is a regular expression, which costs more than a comparison.
    pub const fn is_expression(&self) -> bool {
        self.expression.is_some()
    }

    /// A domain name, in lower case, matches.
    pub(super) fn matches_domain(&self, name: &str) -> bool {
        match &self.expression {
            Some(expression) => expression.is_match(truncated(name)),
            None => name.strip_suffix(&*self.text).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')),
        }
    }

    /// A URL matches, without regard to the case of host and path.
    pub(super) fn matches_url(&self, url: &str) -> bool {
        match &self.expression {
            Some(expression) => expression.is_match(truncated(url)),
            None => {
                let begins = |text: &str| {
                    text.get(..self.text.len()).is_some_and(|start| start.eq_ignore_ascii_case(&self.text))
                };
                begins(url) || url.split_once("://").is_some_and(|(_, rest)| begins(rest))
            }
        }
    }
}

/// The part of a text that expressions are matched with.
fn truncated(text: &str) -> &str {
    let end = (0..=MAX_MATCHED.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({self})")
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

//! P4Info: from the text form that compilers write to its encoding, and to the schema for entries.

mod encode;
mod fields;
mod schema;

use std::path::{Path, PathBuf};

use causeway_p4::text::TextError;

pub(crate) use schema::{Schema, ValueSet};

/// A P4Info that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InfoError {
    /// It is not a protocol buffer in text form.
    #[error(transparent)]
    Text(#[from] TextError),
    /// A field that a P4Info does not have.
    #[error("{message} has no field {field}")]
    UnknownField {
        /// The message, by the path to it.
        message: String,
        /// The field.
        field: String,
    },
    /// A value of a type other than the field's.
    #[error("{field}: expected {expected}, found {value}")]
    Value {
        /// The field, by the path to it.
        field: String,
        /// The given value.
        value: String,
        /// The expected type.
        expected: &'static str,
    },
    /// It is not an encoded P4Info.
    #[error("it is not an encoded P4Info: {0}")]
    Encoding(String),
    /// The program has a feature that Causeway's programs do not have.
    #[error("{0}: not supported")]
    Unsupported(String),
    /// An object without id or name, a duplicate id or name, or a number out of range.
    #[error("{0}")]
    Inconsistent(String),
    /// A file cannot be read.
    #[error("{}: {reason}", file.display())]
    File {
        /// Its name.
        file: PathBuf,
        /// Why.
        reason: String,
    },
    /// A file's content cannot be used.
    #[error("{}: {error}", file.display())]
    InFile {
        /// Its name.
        file: PathBuf,
        /// The error.
        error: Box<InfoError>,
    },
}

/// Octets of a P4Info in text form, at most.
const MAX_FILE: u64 = 1 << 26;

/// A P4Info: encoded, and its schema for entries.
#[derive(Clone, Debug)]
pub(crate) struct Info {
    /// The encoding of the complete file.
    pub(crate) encoded: Vec<u8>,
    pub(crate) schema: Schema,
}

impl Info {
    /// A P4Info in text form.
    pub(crate) fn of_text(text: &str) -> Result<Self, InfoError> {
        let encoded = encode::encode(text)?;
        Ok(Self { schema: Schema::of_encoded(&encoded)?, encoded })
    }

    /// A P4Info in text form, in a file.
    pub(crate) fn of_file(file: &Path) -> Result<Self, InfoError> {
        let refused = |reason: String| InfoError::File { file: file.to_owned(), reason };
        let octets = causeway_file::read(file, MAX_FILE).map_err(|error| refused(error.to_string()))?;
        let text = String::from_utf8(octets).map_err(|_| refused("not UTF-8 text".into()))?;
        let in_file = |error| InfoError::InFile { file: file.to_owned(), error: Box::new(error) };
        Self::of_text(&text).map_err(in_file)
    }
}

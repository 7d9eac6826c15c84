//! P4Info: from the text form that compilers write to what goes over the wire, and to what entries need of it.

mod encode;
mod fields;
mod schema;

use std::path::{Path, PathBuf};

use causeway_p4::text::TextError;

pub(crate) use schema::{Schema, ValueSet};

/// A P4Info that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InfoError {
    /// It is no protocol buffer in text form.
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
    /// A value of another type than the field's.
    #[error("{field}: {value} is no {expected}")]
    Value {
        /// The field, by the path to it.
        field: String,
        /// What stands there.
        value: String,
        /// What should.
        expected: &'static str,
    },
    /// It is no encoded P4Info.
    #[error("it is no encoded P4Info: {0}")]
    Encoding(String),
    /// The program has something that Causeway's programs do not have.
    #[error("{0}: not supported")]
    Unsupported(String),
    /// Something has no id or name, or the same as another thing, or a number out of range.
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
        /// What is wrong.
        error: Box<InfoError>,
    },
}

/// Octets of a P4Info in text form, at most.
const MAX_FILE: u64 = 1 << 26;

/// A P4Info: encoded, and what entries need of it.
#[derive(Clone, Debug)]
pub(crate) struct Info {
    /// As it goes over the wire, with all that the file has.
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

//! P4Info: from the text form that compilers write to its encoding, and to the schema for entries.

mod encode;
mod fields;
mod schema;

use std::path::{Path, PathBuf};

use causeway_file::FileError;
use causeway_p4::text::TextError;

pub(crate) use schema::{Addresses, Schema, ValueSet};

/// A P4Info that cannot be used.
#[derive(Debug, thiserror::Error)]
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
    Encoding(prost::DecodeError),
    /// The program has a feature that Causeway's programs do not have.
    #[error("{0}: not supported")]
    Unsupported(#[from] UnsupportedFeature),
    /// An object without id or name, a duplicate id or name, or a number out of range.
    #[error(transparent)]
    Inconsistent(#[from] Inconsistency),
    /// A file cannot be read.
    #[error("{}: {source}", file.display())]
    File {
        /// Its name.
        file: PathBuf,
        /// The error.
        source: FileError,
    },
    /// A file in text form is not UTF-8.
    #[error("{}: not UTF-8 text", file.display())]
    NotText {
        /// Its name.
        file: PathBuf,
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

/// A feature that Causeway's programs do not have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnsupportedFeature {
    /// Packets have headers for controllers.
    #[error("headers of packets for controllers")]
    ControllerHeaders,
    /// A value set has several keys.
    #[error("value set {0} with several keys")]
    ValueSetKeys(String),
    /// A table has an action profile.
    #[error("table {0} with an action profile")]
    ActionProfile(String),
    /// A key has another kind of match.
    #[error("table {table}: key {key} that is neither exact, LPM nor ternary")]
    MatchKind {
        /// The table.
        table: String,
        /// Its key.
        key: String,
    },
    /// The keys of a table are too wide.
    #[error("table {table} with more than {most} bits")]
    KeyBits {
        /// The table.
        table: String,
        /// The most bits of all keys together.
        most: u32,
    },
    /// A table has an LPM key beside other keys with masks.
    #[error("table {0} with a prefix beside other masks")]
    PrefixBesideMasks(String),
    /// There are too many counters, meters and registers.
    #[error("{count} counters, meters and cells of registers, more than {most}")]
    TooManyCounters {
        /// Counters, meters and cells of registers.
        count: usize,
        /// The most of all together.
        most: usize,
    },
    /// The cells of a register are neither a number of at most 32 bits, or of 64, nor a struct of two numbers of at most 32.
    #[error("register {0}, whose cells are not one or two words of at most 32 bits")]
    RegisterCells(String),
    /// A field is empty, or wider than 128 bits.
    #[error("{of}: a width of {bits} bits")]
    Width {
        /// The object with the field.
        of: String,
        /// Its width.
        bits: i32,
    },
}

/// A contradiction in a P4Info.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Inconsistency {
    /// Parts of an object, or two objects, have the same id.
    #[error("{0}: two objects with the same id")]
    SameId(String),
    /// A table refers to an action that does not exist.
    #[error("table {table}: no action {action:#x}")]
    NoAction {
        /// The table.
        table: String,
        /// P4Runtime id.
        action: u32,
    },
    /// A counter refers to a table that does not exist.
    #[error("counter {counter}: no table {table:#x}")]
    NoTable {
        /// The counter.
        counter: String,
        /// P4Runtime id.
        table: u32,
    },
    /// Counters, meters, registers and value sets share an id.
    #[error("two counters, meters, registers or value sets with the same id")]
    SharedId,
    /// An object has no id.
    #[error("an object has no id")]
    NoId,
    /// A size is negative or too large.
    #[error("{0}: a size out of range")]
    Size(String),
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
        let octets = causeway_file::read(file, MAX_FILE)
            .map_err(|source| InfoError::File { file: file.to_owned(), source })?;
        let text = String::from_utf8(octets).map_err(|_| InfoError::NotText { file: file.to_owned() })?;
        let in_file = |error| InfoError::InFile { file: file.to_owned(), error: Box::new(error) };
        Self::of_text(&text).map_err(in_file)
    }
}

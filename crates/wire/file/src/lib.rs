//! Reads files whose path an operator configured.
//!
//! A read of a FIFO would block until another process writes to it, and a device may be endless. Both are errors
//! here.
//!
//! ```
//! let octets = causeway_file::read("Cargo.toml".as_ref(), 1 << 20)?;
//! assert!(octets.starts_with(b"[package]"));
//! assert_eq!(causeway_file::read("/dev/zero".as_ref(), 1).unwrap_err().to_string(), "a device, not a file: give a regular file");
//! # Ok::<(), causeway_file::FileError>(())
//! ```

#![forbid(unsafe_code)]

use std::fs::{FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use thiserror::Error;

/// Why a file is not read.
#[derive(Debug, Error)]
pub enum FileError {
    /// The system denies the read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// It is a FIFO, a device, a directory or the like, whose content may be endless or block.
    #[error("{found}, not a file: give a regular file")]
    NoFile {
        /// The kind found.
        found: &'static str,
    },
    /// It is longer than the limit.
    #[error("larger than {most} octets")]
    TooLong {
        /// The limit, in octets.
        most: u64,
    },
}

/// The content of a regular file of at most `most` octets. Never blocks on another process.
///
/// # Errors
/// [`FileError`].
pub fn read(file: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    // Without this flag, opening a FIFO blocks.
    let opened =
        OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(file)?;
    let metadata = opened.metadata()?;
    if !metadata.is_file() {
        return Err(FileError::NoFile { found: kind(metadata.file_type()) });
    }
    if metadata.len() > most {
        return Err(FileError::TooLong { most });
    }
    let mut octets = Vec::new();
    // The file may grow meanwhile.
    opened.take(most.saturating_add(1)).read_to_end(&mut octets)?;
    if octets.len() as u64 > most {
        return Err(FileError::TooLong { most });
    }
    Ok(octets)
}

/// The kind of a file that is not regular.
fn kind(found: FileType) -> &'static str {
    match found {
        _ if found.is_dir() => "a directory",
        _ if found.is_fifo() => "a FIFO",
        _ if found.is_socket() => "a socket",
        _ if found.is_char_device() || found.is_block_device() => "a device",
        _ => "something else",
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    // Input:  a file of the maximum length, and one octet longer; a FIFO without a writer, a directory, a socket,
    // an endless device, and a missing path.
    // Output: its content; each of the others is an immediate error with its kind.
    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), b"12345").unwrap();
        assert!(Command::new("mkfifo").arg(at("fifo")).status().unwrap().success());
        let _socket = UnixListener::bind(at("socket")).unwrap();
        assert_eq!(read(&at("file"), 5).unwrap(), b"12345");
        let says = |path: &Path, most| read(path, most).unwrap_err().to_string();
        assert_eq!(says(&at("file"), 4), "larger than 4 octets");
        assert_eq!(says(&at("fifo"), 4), "a FIFO, not a file: give a regular file");
        assert_eq!(says(folder.path(), 4), "a directory, not a file: give a regular file");
        assert_eq!(says("/dev/zero".as_ref(), 4), "a device, not a file: give a regular file");
        assert!(matches!(read(&at("socket"), 4), Err(FileError::Unreadable(_))));
        assert!(says(&at("none"), 4).contains("No such file"));
    }
}

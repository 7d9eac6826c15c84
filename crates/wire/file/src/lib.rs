//! Reads the files that an operator names at the start.
//!
//! A FIFO in the place of a file would be waited for until somebody writes to it, and a device may have no end. Both are errors here.
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
    /// The system does not let it be read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// It is a FIFO, a device, a directory or the like, which may have no end or never begin.
    #[error("{found}, not a file: give a regular file")]
    NoFile {
        /// What it is.
        found: &'static str,
    },
    /// It is longer than may be.
    #[error("larger than {most} octets")]
    TooLong {
        /// The limit, in octets.
        most: u64,
    },
}

/// The content of a regular file of at most `most` octets. It never blocks for somebody else to write.
///
/// # Errors
/// [`FileError`].
pub fn read(file: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    // Without this flag a FIFO is waited for while it is opened.
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
    // It may grow meanwhile.
    opened.take(most.saturating_add(1)).read_to_end(&mut octets)?;
    if octets.len() as u64 > most {
        return Err(FileError::TooLong { most });
    }
    Ok(octets)
}

/// What there is in the place of a file.
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

    // Input:  a file of as many octets as may be, and of one more; a FIFO that nobody writes, a directory, a socket, a device without
    //         end, and nothing.
    // Output: its content; each of the others is an error at once that says what it is.
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

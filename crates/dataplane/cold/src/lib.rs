//! Cold storage: records of idle sessions in a file instead of in memory.
//!
//! A data plane gives each idle session a number, and keeps the state of the session here under that number until a
//! packet or a plan needs it. [`ColdStore`] is the contract. [`ColdFile`] is a file of slots, whose place is the number:
//! a record is found without an index, and the kernel's page cache is what is in memory of it.
//!
//! - [`ColdStore::put`] does not wait for the disk: a thread of the file's own writes the records, and each stays in
//!   memory until it is written. While the disk is full or fails, records stay in memory, and are tried again each
//!   second; [`ColdStore::has_room`] says that no more are wanted.
//! - [`ColdStore::begin_read`] does not wait for the disk either. What is in the page cache is there at once; the rest is read by another thread
//!   of the file's own, and [`ColdStore::poll_read`] returns it. [`ColdStore::read`] waits. A record that is not what was
//!   written is [`ReadError::Damaged`]: each has a checksum, in which its number takes part.
//! - Nothing outlasts the process: the file has no name in its folder, and its space is free when the process ends,
//!   however it ends.
//!
//! Why no embedded database: `docs/decisions/0013-cold-storage.md` of the repository.
//!
//! ```
//! use causeway_cold::{ColdFile, ColdStore, ReadError};
//!
//! let mut store = ColdFile::create(&std::env::temp_dir(), |notice| eprintln!("{notice}"))?;
//! store.put(7, b"the state of session 7".to_vec());
//! assert_eq!(store.read(7)?, b"the state of session 7");
//! store.flush();
//! assert_eq!(store.read(7)?, b"the state of session 7");
//! assert_eq!(store.read(8), Err(ReadError::Damaged));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod file;
mod memory;
mod slot;

use std::fmt;
use std::task::{Poll, Waker};

use causeway_dataplane::LoadTimes;
use thiserror::Error;

pub use file::{ColdFile, StoreNotice};
pub use memory::{MemoryStore, StoreFaults};
pub use slot::MAX_RECORD;

/// Records by number.
pub trait ColdStore: fmt::Debug + Send {
    /// Whether the store wants more records: few enough are waiting to be written, and the last write succeeded.
    fn has_room(&self) -> bool;

    /// Keeps a record of at most [`MAX_RECORD`] octets, in place of an earlier one with its number. It does not fail:
    /// the record stays in memory until it is written.
    fn put(&mut self, number: u32, record: Vec<u8>);

    /// The record with this number. It stays here.
    ///
    /// # Errors
    /// [`ReadError`]; a record that is not written yet is always read.
    fn read(&mut self, number: u32) -> Result<Vec<u8>, ReadError>;

    /// The same without waiting for a disk. `Pending`: the result comes from [`ColdStore::poll_read`]; another call with this number until then is
    /// `Pending`, too. The default waits.
    fn begin_read(&mut self, number: u32) -> Poll<Result<Vec<u8>, ReadError>> {
        Poll::Ready(self.read(number))
    }

    /// A read that was pending and has ended, with its number. One of a record that was put anew or forgotten meanwhile has no result.
    fn poll_read(&mut self) -> Option<(u32, Result<Vec<u8>, ReadError>)> {
        None
    }

    /// Sets the waker that is called, from any thread, when a read that was pending has ended.
    fn set_waker(&mut self, waker: Waker) {
        drop(waker);
    }

    /// The record with this number is not needed any more: it is not written, if that has not happened yet.
    fn forget(&mut self, number: u32);

    /// What has happened since the start.
    fn state(&self) -> StoreState;
}

/// Why a record was not read.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ReadError {
    /// The system could not read. A later attempt may succeed.
    #[error("the file cannot be read: {0}")]
    Failed(String),
    /// The octets are not what was written. They will not be.
    #[error("the record is damaged")]
    Damaged,
    /// The record has a version that this process does not write.
    #[error("the record has the unknown version {0}")]
    UnknownVersion(u8),
}

/// What has happened to a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StoreState {
    /// Records that are not written yet.
    pub waiting: u64,
    /// Attempts to write that failed.
    pub write_errors: u64,
    /// The times of reads that succeeded.
    pub read_times: LoadTimes,
}

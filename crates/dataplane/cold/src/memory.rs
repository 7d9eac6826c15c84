//! A store in memory, with faults: for tests of what uses a store.

use std::collections::BTreeMap;
use std::task::Poll;

use crate::{ColdStore, ReadError, StoreState};

/// Faults of a [`MemoryStore`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StoreFaults {
    /// The store wants no more records.
    pub is_full: bool,
    /// Reads fail.
    pub reads_fail: bool,
    /// Records come back with their first octet changed.
    pub damages: bool,
    /// Reads that may be pending are, until this is not set any more.
    pub reads_wait: bool,
}

/// Records in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    records: BTreeMap<u32, Vec<u8>>,
    faults: std::sync::Arc<std::sync::Mutex<StoreFaults>>,
    pending: Vec<u32>,
    state: StoreState,
}

impl MemoryStore {
    /// A store with these faults, which others may change.
    pub fn with_faults(faults: std::sync::Arc<std::sync::Mutex<StoreFaults>>) -> Self {
        Self { faults, ..Self::default() }
    }

    fn faults(&self) -> StoreFaults {
        *self.faults.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl ColdStore for MemoryStore {
    fn has_room(&self) -> bool {
        !self.faults().is_full
    }

    fn put(&mut self, number: u32, record: Vec<u8>) {
        self.records.insert(number, record);
        self.pending.retain(|pending| *pending != number);
    }

    fn begin_read(&mut self, number: u32) -> Poll<Result<Vec<u8>, ReadError>> {
        if !self.faults().reads_wait && !self.pending.contains(&number) {
            return Poll::Ready(self.read(number));
        }
        if !self.pending.contains(&number) {
            self.pending.push(number);
        }
        Poll::Pending
    }

    fn poll_read(&mut self) -> Option<(u32, Result<Vec<u8>, ReadError>)> {
        if self.faults().reads_wait {
            return None;
        }
        let number = self.pending.pop()?;
        Some((number, self.read(number)))
    }

    fn read(&mut self, number: u32) -> Result<Vec<u8>, ReadError> {
        let faults = self.faults();
        if faults.reads_fail {
            return Err(ReadError::Failed("as the test demands".into()));
        }
        let mut record = self.records.get(&number).cloned().ok_or(ReadError::Damaged)?;
        if let Some(first) = record.first_mut().filter(|_| faults.damages) {
            *first ^= 0xff;
        }
        self.state.read_times.add(std::time::Duration::from_micros(1));
        Ok(record)
    }

    fn forget(&mut self, number: u32) {
        self.records.remove(&number);
        self.pending.retain(|pending| *pending != number);
    }

    fn state(&self) -> StoreState {
        self.state
    }
}

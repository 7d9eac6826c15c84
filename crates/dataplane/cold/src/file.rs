//! A store in a file, the thread that writes it, and the one that reads what is not in the page cache.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::io::{Errno, ReadWriteFlags};

use crate::slot::{self, HEAD, MAX_RECORD, Slot, TAIL};
use crate::{ColdStore, ReadError, StoreState};

/// Records that may wait to be written: more are not wanted. They take some 10 MB.
const MOST_WAITING: usize = 1 << 16;

/// Records that the thread writes at a time.
const AT_ONCE: usize = 1024;

/// The time until a write that failed is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// What the operator should know of a store.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreNotice {
    /// A write failed, for the first time since one succeeded.
    WriteFailed(io::Error),
    /// Writes succeed again.
    WritesResumed,
}

impl fmt::Display for StoreNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WriteFailed(error) => write!(
                f,
                "cold storage cannot be written, idle sessions stay in memory until it can: {error}"
            ),
            Self::WritesResumed => f.write_str("cold storage is written again"),
        }
    }
}

/// A record that waits to be written.
#[derive(Debug)]
struct Waiting {
    /// The number of its [`ColdStore::put`]: a later one replaces it.
    put: u64,
    record: Arc<[u8]>,
}

#[derive(Debug, Default)]
struct Queue {
    records: HashMap<u32, Waiting>,
    /// The numbers and puts of them, and of some that are gone, the oldest first.
    order: VecDeque<(u32, u64)>,
    puts: u64,
    write_errors: u64,
    is_failing: bool,
    is_writing: bool,
    is_ending: bool,
}

/// A read of a record: its number, that of the request, and when that was.
#[derive(Clone, Copy, Debug)]
struct Request {
    number: u32,
    id: u64,
    began: Instant,
}

/// Reads for the thread that reads, and what it has read.
#[derive(Debug, Default)]
struct Reads {
    requests: VecDeque<Request>,
    results: VecDeque<(Request, Result<Vec<u8>, ReadError>)>,
    waker: Option<Waker>,
    is_ending: bool,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    reads: Mutex<Reads>,
    requested: Condvar,
    heads: File,
    tails: File,
}

/// A store in two files without names, in one folder.
#[derive(Debug)]
pub struct ColdFile {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// The requests of records that the other thread reads.
    pending: HashMap<u32, u64>,
    requests: u64,
    state: StoreState,
}

impl ColdFile {
    /// An empty store. `notice` is called by the thread that writes.
    ///
    /// # Errors
    /// The folder does not exist, or files cannot be created in it; or the threads cannot be started.
    pub fn create(folder: &Path, notice: fn(&StoreNotice)) -> io::Result<Self> {
        let (heads, tails) = (tempfile::tempfile_in(folder)?, tempfile::tempfile_in(folder)?);
        Self::of(heads, tails, notice)
    }

    fn of(heads: File, tails: File, notice: fn(&StoreNotice)) -> io::Result<Self> {
        let queue = Mutex::new(Queue::default());
        let (changed, requested) = (Condvar::new(), Condvar::new());
        let shared = Arc::new(Shared { queue, changed, reads: Mutex::default(), requested, heads, tails });
        let (state, pending) = (StoreState::default(), HashMap::new());
        let mut store = Self { shared, threads: Vec::new(), pending, requests: 0, state };
        let thread = |name: &str| thread::Builder::new().name(name.into());
        let (writer, reader) = (Arc::clone(&store.shared), Arc::clone(&store.shared));
        store.threads.push(thread("cold-storage").spawn(move || writer.write_all(notice))?);
        store.threads.push(thread("cold-reads").spawn(move || reader.read_all())?);
        Ok(store)
    }

    /// Waits until all records are written, or a write fails.
    pub fn flush(&self) {
        let mut queue = self.shared.lock();
        while (queue.is_writing || !queue.order.is_empty()) && !queue.is_failing {
            queue = self.shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_reads(&self) -> MutexGuard<'_, Reads> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what is asked for, until the store ends.
    fn read_all(&self) {
        let mut reads = self.lock_reads();
        while !reads.is_ending {
            let Some(request) = reads.requests.pop_front() else {
                reads = self.requested.wait(reads).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(reads);
            let result = self.read_file(request.number, read);
            reads = self.lock_reads();
            reads.results.push_back((request, result));
            let waker = reads.waker.clone();
            drop(reads);
            waker.iter().for_each(Waker::wake_by_ref);
            reads = self.lock_reads();
        }
    }

    /// The record in the files, whose octets `read` gets.
    fn read_file(
        &self,
        number: u32,
        read: impl Fn(&File, &mut [u8], u64) -> Result<(), ReadError>,
    ) -> Result<Vec<u8>, ReadError> {
        let (mut head, mut tail) = ([0; HEAD], Vec::new());
        read(&self.heads, &mut head, u64::from(number) * HEAD as u64)?;
        let (first, len) = slot::lengths(&head)?;
        if len > first {
            tail.resize(len - first, 0);
            read(&self.tails, &mut tail, u64::from(number) * TAIL as u64)?;
        }
        slot::record(number, &head, &tail)
    }

    /// Writes what waits, until the store ends.
    fn write_all(&self, notice: fn(&StoreNotice)) {
        let mut queue = self.lock();
        loop {
            if queue.is_ending {
                return;
            }
            let some = queue.take(AT_ONCE);
            if some.is_empty() {
                self.changed.notify_all();
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            queue.is_writing = true;
            drop(queue);
            let result = self.write(&some);
            queue = self.lock();
            queue.is_writing = false;
            match result {
                Ok(()) => {
                    queue.are_written(&some);
                    if std::mem::take(&mut queue.is_failing) {
                        notice(&StoreNotice::WritesResumed);
                    }
                }
                Err(error) => {
                    queue.are_not_written(&some);
                    queue.write_errors += 1;
                    if !std::mem::replace(&mut queue.is_failing, true) {
                        notice(&StoreNotice::WriteFailed(error));
                    }
                    self.changed.notify_all();
                    let again = Instant::now() + RETRY;
                    while let Some(left) = again.checked_duration_since(Instant::now())
                        && !queue.is_ending
                    {
                        let woken = self.changed.wait_timeout(queue, left);
                        queue = woken.unwrap_or_else(PoisonError::into_inner).0;
                    }
                }
            }
        }
    }

    /// Writes records, those with numbers in a row together.
    fn write(&self, some: &[(u32, u64, Arc<[u8]>)]) -> io::Result<()> {
        let mut heads: Vec<u8> = Vec::new();
        let mut first = 0_u64;
        for (number, _, record) in some {
            let Slot { head, tail } = Slot::of(*number, record);
            if !tail.is_empty() {
                self.tails.write_all_at(&tail, u64::from(*number) * TAIL as u64)?;
            }
            let at = u64::from(*number) * HEAD as u64;
            if at != first + heads.len() as u64 {
                self.heads.write_all_at(&heads, first)?;
                heads.clear();
                first = at;
            }
            heads.extend_from_slice(&head);
        }
        self.heads.write_all_at(&heads, first)
    }
}

impl Queue {
    /// Takes the oldest records out of the order, at most so many: sorted by number, each with its put.
    fn take(&mut self, most: usize) -> Vec<(u32, u64, Arc<[u8]>)> {
        let mut some = Vec::new();
        while some.len() < most
            && let Some((number, put)) = self.order.pop_front()
        {
            if let Some(waiting) = self.records.get(&number).filter(|waiting| waiting.put == put) {
                some.push((number, put, Arc::clone(&waiting.record)));
            }
        }
        some.sort_unstable_by_key(|(number, ..)| *number);
        some
    }

    /// These records are in the file, unless others have replaced them meanwhile.
    fn are_written(&mut self, some: &[(u32, u64, Arc<[u8]>)]) {
        for (number, put, _) in some {
            if self.records.get(number).is_some_and(|waiting| waiting.put == *put) {
                self.records.remove(number);
            }
        }
    }

    /// These records wait again.
    fn are_not_written(&mut self, some: &[(u32, u64, Arc<[u8]>)]) {
        some.iter().rev().for_each(|(number, put, _)| self.order.push_front((*number, *put)));
    }
}

impl ColdStore for ColdFile {
    fn has_room(&self) -> bool {
        let queue = self.shared.lock();
        queue.records.len() < MOST_WAITING && !queue.is_failing
    }

    fn put(&mut self, number: u32, record: Vec<u8>) {
        debug_assert!((1..=MAX_RECORD).contains(&record.len()), "{} octets", record.len());
        let mut queue = self.shared.lock();
        queue.puts += 1;
        let put = queue.puts;
        queue.records.insert(number, Waiting { put, record: record.into() });
        queue.order.push_back((number, put));
        drop(queue);
        self.pending.remove(&number);
        self.shared.changed.notify_all();
    }

    fn read(&mut self, number: u32) -> Result<Vec<u8>, ReadError> {
        let start = Instant::now();
        let record = match self.unwritten(number) {
            Some(record) => record,
            None => self.shared.read_file(number, read)?,
        };
        self.state.read_times.add(start.elapsed());
        Ok(record)
    }

    fn begin_read(&mut self, number: u32) -> Poll<Result<Vec<u8>, ReadError>> {
        if self.pending.contains_key(&number) {
            return Poll::Pending;
        }
        let began = Instant::now();
        let cached = self.unwritten(number).map(Ok).or_else(|| self.cached(number));
        if let Some(result) = cached {
            if result.is_ok() {
                self.state.read_times.add(began.elapsed());
            }
            return Poll::Ready(result);
        }
        self.requests += 1;
        let request = Request { number, id: self.requests, began };
        self.pending.insert(number, request.id);
        self.shared.lock_reads().requests.push_back(request);
        self.shared.requested.notify_one();
        Poll::Pending
    }

    fn poll_read(&mut self) -> Option<(u32, Result<Vec<u8>, ReadError>)> {
        while !self.pending.is_empty() {
            let (Request { number, id, began }, result) = self.shared.lock_reads().results.pop_front()?;
            if self.pending.get(&number) == Some(&id) {
                self.pending.remove(&number);
                if result.is_ok() {
                    self.state.read_times.add(began.elapsed());
                }
                return Some((number, result));
            }
        }
        None
    }

    fn set_waker(&mut self, waker: Waker) {
        self.shared.lock_reads().waker = Some(waker);
    }

    fn forget(&mut self, number: u32) {
        self.shared.lock().records.remove(&number);
        self.pending.remove(&number);
    }

    fn state(&self) -> StoreState {
        let queue = self.shared.lock();
        StoreState { waiting: queue.records.len() as u64, write_errors: queue.write_errors, ..self.state }
    }
}

impl ColdFile {
    /// A record that waits to be written.
    fn unwritten(&self, number: u32) -> Option<Vec<u8>> {
        self.shared.lock().records.get(&number).map(|waiting| waiting.record.to_vec())
    }

    /// A record in the page cache. `None`: it is not there, or this file system cannot say so.
    fn cached(&self, number: u32) -> Option<Result<Vec<u8>, ReadError>> {
        let is_missing = Cell::new(false);
        let result = self.shared.read_file(number, |file, octets, at| {
            let len = octets.len();
            let read = rustix::io::preadv2(file, &mut [IoSliceMut::new(octets)], at, ReadWriteFlags::NOWAIT);
            match read {
                Ok(read) if read == len => Ok(()),
                Ok(0) => Err(ReadError::Damaged),
                Ok(_) | Err(Errno::AGAIN | Errno::INTR | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                    is_missing.set(true);
                    Err(ReadError::Damaged)
                }
                Err(error) => Err(ReadError::Failed(error.to_string())),
            }
        });
        (!is_missing.get()).then_some(result)
    }
}

/// Reads octets of a file. Behind its end there is no record.
fn read(file: &File, octets: &mut [u8], at: u64) -> Result<(), ReadError> {
    file.read_exact_at(octets, at).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => ReadError::Damaged,
        _ => ReadError::Failed(error.to_string()),
    })
}

impl Drop for ColdFile {
    fn drop(&mut self) {
        self.shared.lock().is_ending = true;
        self.shared.changed.notify_all();
        self.shared.lock_reads().is_ending = true;
        self.shared.requested.notify_all();
        for thread in self.threads.drain(..) {
            // It fails only if the thread has panicked, which has been reported.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silent(_: &StoreNotice) {}

    fn files() -> (tempfile::TempDir, [std::path::PathBuf; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["heads", "tails"].map(|name| folder.path().join(name));
        (folder, paths)
    }

    fn open(path: &Path) -> File {
        File::options().read(true).write(true).create(true).truncate(false).open(path).unwrap()
    }

    // Input:  short and long records with numbers in a row and far apart; some are replaced, some read before they are written.
    // Output: the last record of each number, before and after it is written; nothing else has a record; nothing waits.
    #[test]
    fn records_are_read_as_they_were_put() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = ColdFile::create(folder.path(), silent).unwrap();
        let record = |number: u32, turn: u32| {
            let len = [1, 100, 250, 251, MAX_RECORD][(number + turn) as usize % 5];
            (0..len).map(|at| (at as u32 + number * 7 + turn) as u8).collect::<Vec<_>>()
        };
        let numbers: Vec<u32> = (0..3000).chain([1 << 20, 9_999_999]).collect();
        for turn in 0..2 {
            for number in &numbers {
                store.put(*number, record(*number, turn));
                assert_eq!(store.read(*number).unwrap(), record(*number, turn));
            }
        }
        store.flush();
        assert_eq!((store.state().waiting, store.state().write_errors), (0, 0));
        for number in &numbers {
            assert_eq!(store.read(*number).unwrap(), record(*number, 1), "{number}");
        }
        assert_eq!(store.read(5000), Err(ReadError::Damaged));
        assert_eq!(store.read(u32::MAX), Err(ReadError::Damaged));
        assert_eq!(store.state().read_times.count(), 3 * numbers.len() as u64);
        // No file has a name.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    /// The records of reads that were pending, when so many have ended.
    fn ended(store: &mut ColdFile, count: usize) -> Vec<(u32, Result<Vec<u8>, ReadError>)> {
        let mut ended = Vec::new();
        while ended.len() < count {
            match store.poll_read() {
                Some(read) => ended.push(read),
                None => thread::yield_now(),
            }
        }
        ended
    }

    /// Takes what the files have out of the page cache.
    fn drop_cache(store: &ColdFile) {
        for file in [&store.shared.heads, &store.shared.tails] {
            file.sync_all().unwrap();
            rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        }
    }

    // Input:  short and long records, in the page cache and not; one that is asked for twice, one that is put anew and one that is forgotten before
    //         they are read; one that is not there.
    // Output: each record once, at once or later, after which the waker is called; nothing of those that are not wanted any more.
    #[test]
    fn records_are_read_without_waiting() {
        #[derive(Default)]
        struct Called(std::sync::atomic::AtomicBool);
        impl std::task::Wake for Called {
            fn wake(self: Arc<Self>) {
                self.0.store(true, std::sync::atomic::Ordering::SeqCst);
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let mut store = ColdFile::create(folder.path(), silent).unwrap();
        let called = Arc::new(Called::default());
        store.set_waker(Waker::from(Arc::clone(&called)));
        let record = |number: u32| vec![number as u8; if number.is_multiple_of(2) { 100 } else { 600 }];
        (0..40).for_each(|number| store.put(number, record(number)));
        assert_eq!(store.begin_read(3), Poll::Ready(Ok(record(3))), "it may be unwritten");
        store.flush();
        drop_cache(&store);
        let mut later = Vec::new();
        for number in 0..40 {
            match store.begin_read(number) {
                Poll::Ready(read) => assert_eq!(read, Ok(record(number))),
                Poll::Pending => {
                    // A second one changes nothing.
                    assert!(store.begin_read(number).is_pending());
                    later.push(number);
                }
            }
        }
        let mut read = ended(&mut store, later.len());
        read.sort_by_key(|(number, _)| *number);
        assert_eq!(read, later.iter().map(|number| (*number, Ok(record(*number)))).collect::<Vec<_>>());
        // The waker is called behind the result that it tells of.
        let was_called = || called.0.load(std::sync::atomic::Ordering::SeqCst);
        while !later.is_empty() && !was_called() {
            thread::yield_now();
        }
        assert_eq!(was_called(), !later.is_empty());

        // As if none were in the page cache.
        for number in [1, 2, 3, 4] {
            store.requests += 1;
            let request = Request { number, id: store.requests, began: Instant::now() };
            store.pending.insert(number, request.id);
            store.shared.lock_reads().requests.push_back(request);
        }
        store.put(2, vec![7; 3]);
        store.forget(3);
        store.shared.requested.notify_one();
        let mut read = ended(&mut store, 2);
        read.sort_by_key(|(number, _)| *number);
        assert_eq!(read, [(1, Ok(record(1))), (4, Ok(record(4)))]);
        assert_eq!(store.poll_read(), None);
        assert_eq!(store.begin_read(2), Poll::Ready(Ok(vec![7; 3])));
        assert_eq!(store.begin_read(5000), Poll::Ready(Err(ReadError::Damaged)));
    }

    // Input:  a file that cannot be written; then it can.
    // Output: the record is read all the same, and no more are wanted; then it is written, and more are wanted.
    #[test]
    fn what_cannot_be_written_stays() {
        let (_folder, [heads, tails]) = files();
        drop(open(&heads));
        let read_only = File::open(&heads).unwrap();
        let mut store = ColdFile::of(read_only, open(&tails), silent).unwrap();
        store.put(3, vec![1, 2, 3]);
        store.flush();
        let state = store.state();
        assert!(state.waiting == 1 && state.write_errors >= 1 && !store.has_room(), "{state:?}");
        assert_eq!(store.read(3).unwrap(), [1, 2, 3]);
        store.forget(3);
        assert_eq!((store.state().waiting, store.read(3)), (0, Err(ReadError::Damaged)));
    }

    // Input:  a full disk: /dev/full in place of the file.
    // Output: the record is read from memory; attempts are counted; the store ends at once.
    #[test]
    fn a_full_disk_loses_nothing() {
        let (_folder, [_, tails]) = files();
        let full = File::options().read(true).write(true).open("/dev/full").unwrap();
        let mut store = ColdFile::of(full, open(&tails), silent).unwrap();
        store.put(3, vec![1, 2, 3]);
        store.flush();
        assert!(store.state().write_errors >= 1 && !store.has_room());
        assert_eq!(store.read(3).unwrap(), [1, 2, 3]);
    }

    // Input:  a record whose octets in the file are changed; a file that is cut off.
    // Output: no record.
    #[test]
    fn a_damaged_file_gives_no_record() {
        let (_folder, [heads, tails]) = files();
        let mut store = ColdFile::of(open(&heads), open(&tails), silent).unwrap();
        store.put(1, vec![7; 600]);
        store.flush();
        assert_eq!(store.read(1).unwrap(), [7; 600]);
        open(&tails).write_all_at(&[8], TAIL as u64 + 5).unwrap();
        assert_eq!(store.read(1), Err(ReadError::Damaged));
        open(&heads).set_len(0).unwrap();
        assert_eq!(store.read(1), Err(ReadError::Damaged));
    }
}

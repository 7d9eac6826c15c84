//! Captures the packets of a link into a pcap file, at no cost to those who send and receive them.
//!
//! The kernel copies frames into a ring of memory, which a thread of the lowest priority writes to the file. When the
//! thread gets no processor, nothing else waits for it: the file then lacks frames, whose number is known.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use causeway_ports::tpacket::{LinkMonitor, MonitoredFrame};
use pcap_file::pcap::{PcapPacket, PcapWriter};
use rustix::process::setpriority_process;

use crate::LabError;
use crate::cleanup::Cleanup;
use crate::netns::Namespace;
use crate::patience::Patience;

/// Octets of the ring of each namespace: thousands of full frames.
const RING: usize = 16 << 20;

/// How long the links are quiet before a capture ends: longer than the kernel keeps frames back.
const QUIET: Duration = Duration::from_millis(100);

/// The lowest priority of a thread: it runs when nothing else wants the processor.
const LOWEST: i32 = 19;

/// A running capture. It ends, and the file is complete, when it is dropped.
///
/// Everything in the given namespaces is captured, so each should have the one link that is wanted, seen from
/// its far end.
pub struct Capture {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// A file that can be flushed beside its writer.
#[derive(Clone)]
struct SharedFile(Arc<Mutex<BufWriter<File>>>);

impl SharedFile {
    fn lock(&self) -> MutexGuard<'_, BufWriter<File>> {
        lock(&self.0)
    }
}

impl Write for SharedFile {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        self.lock().write(octets)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.lock().flush()
    }
}

struct Shared {
    /// Gone once the file is complete.
    writer: Mutex<Option<PcapWriter<SharedFile>>>,
    /// What the writer writes to.
    file: SharedFile,
    stop: AtomicBool,
    limit: Mutex<Limit>,
    written: AtomicU64,
    lost: AtomicU64,
}

/// How much is still to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Limit {
    /// Counts the limits that were set.
    number: u64,
    /// Frames that may still be written; `None`: all.
    left: Option<u64>,
}

impl Capture {
    /// Begins to capture into the file `path`. Clean-up completes the file too.
    ///
    /// # Errors
    /// [`LabError::Io`]: the file cannot be written; [`LabError::Port`]: the kernel grants no packet ring.
    pub fn start(path: &Path, namespaces: &[&Namespace], cleanup: &Cleanup) -> Result<Self, LabError> {
        let shown = path.display().to_string();
        let file = File::create(path).map_err(LabError::io(shown.clone()))?;
        let file = SharedFile(Arc::new(Mutex::new(BufWriter::new(file))));
        let writer = PcapWriter::new(file.clone()).map_err(pcap_error).map_err(LabError::io(shown))?;
        let shared = Arc::new(Shared {
            writer: Mutex::new(Some(writer)),
            file,
            stop: AtomicBool::new(false),
            limit: Mutex::new(Limit { number: 0, left: None }),
            written: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        });
        let unfinished = shared.clone();
        cleanup.acquire(|| Ok(()), move || unfinished.finish())?;
        let mut capture = Self { shared, threads: Vec::new() };
        for namespace in namespaces {
            let monitor = namespace.enter(|| LinkMonitor::open(RING).map_err(LabError::Port))?;
            let shared = capture.shared.clone();
            let thread = thread::Builder::new().name("capture".into()).spawn(move || shared.run(monitor));
            capture.threads.push(thread.map_err(LabError::io("capture thread"))?);
        }
        Ok(capture)
    }

    /// From now on writes so many frames at most, and leaves the others out. `None` lifts the limit.
    pub fn limit(&self, frames: Option<u64>) {
        let mut limit = lock(&self.shared.limit);
        *limit = Limit { number: limit.number + 1, left: frames };
    }

    /// Frames in the file.
    pub fn written(&self) -> u64 {
        self.shared.written.load(Ordering::Relaxed)
    }

    /// Frames that the file lacks because the machine had no time to write them; those beyond a limit are not
    /// among them.
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // It has nothing to return; a panic there has been printed.
            let _ = thread.join();
        }
        self.shared.finish();
    }
}

impl Shared {
    fn run(&self, mut monitor: LinkMonitor) {
        // A machine that refuses it captures all the same, at the expense of others.
        let _ = setpriority_process(None, LOWEST);
        let mut paused = None;
        let mut lost_before = 0;
        let mut quiet = Patience::new(QUIET);
        // Ends only after a quiet moment, so that the last frames are in the file.
        loop {
            let limit = *lock(&self.limit);
            if paused.is_some_and(|number| number != limit.number) && monitor.pause(false).is_ok() {
                paused = None;
            }
            let mut read = false;
            while let Some(frame) = monitor.read() {
                read = true;
                self.write(&frame);
            }
            let lost = monitor.lost();
            let limit = *lock(&self.limit);
            if limit.left.is_none() {
                self.lost.fetch_add(lost - lost_before, Ordering::Relaxed);
            }
            lost_before = lost;
            // The kernel then copies nothing for a file that takes no more.
            if limit.left == Some(0) && paused.is_none() && monitor.pause(true).is_ok() {
                paused = Some(limit.number);
            }
            if read {
                quiet.renew();
                continue;
            }
            // Whoever looks at the file meanwhile sees what there was.
            let _ = self.file.clone().flush();
            let stopping = self.stop.load(Ordering::Relaxed);
            match if stopping { quiet.next_wait() } else { Some(QUIET) } {
                Some(wait) => monitor.wait(wait),
                None => return,
            }
        }
    }

    fn finish(&self) {
        drop(lock(&self.writer).take());
        // A full disk shows in a file that is cut short.
        let _ = self.file.clone().flush();
    }

    fn write(&self, frame: &MonitoredFrame<'_>) {
        match &mut lock(&self.limit).left {
            Some(0) => return,
            Some(left) => *left -= 1,
            None => {}
        }
        let length = u32::try_from(frame.len).unwrap_or(u32::MAX);
        let packet = PcapPacket::new(frame.time, length, frame.data);
        // A full disk shows in a file that is cut short.
        if lock(&self.writer).as_mut().is_some_and(|writer| writer.write_packet(&packet).is_ok()) {
            self.written.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pcap_error(error: pcap_file::PcapError) -> std::io::Error {
    match error {
        pcap_file::PcapError::IoError(error) => error,
        other => std::io::Error::other(other),
    }
}

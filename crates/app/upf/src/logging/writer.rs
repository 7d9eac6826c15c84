//! The writer of log lines to standard error: a bounded queue and a thread.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use tracing_subscriber::fmt::MakeWriter;

use super::limit;

/// Maximum number of queued lines.
const QUEUE: usize = 4096;

/// Maximum length of a line in octets; longer lines are cut.
const LINE: usize = 4096;

/// How often suppressed lines are checked for while no line is written.
const PERIOD: Duration = Duration::from_secs(10);

/// Lines suppressed because the queue was full, since the process started.
static LEFT_OUT: AtomicU64 = AtomicU64::new(0);

/// Lines suppressed since the process started: the queue was full, or a limit was reached.
pub(crate) fn suppressed_lines() -> u64 {
    LEFT_OUT.load(Ordering::Relaxed) + limit::suppressed_lines()
}

enum Entry {
    Line(Vec<u8>),
    /// Everything before it has been written.
    Flush(SyncSender<()>),
}

/// Queues lines, and never waits for their reader.
#[derive(Clone, Debug)]
pub(super) struct Queue(SyncSender<Entry>);

impl Queue {
    /// Starts the thread that writes to `out`.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(super) fn start(out: impl Write + Send + 'static) -> io::Result<Self> {
        let (queue, lines) = sync_channel(QUEUE);
        thread::Builder::new().name("log".into()).spawn(move || write(out, &lines))?;
        Ok(Self(queue))
    }

    fn put(&self, line: &[u8]) {
        let mut text = line.to_vec();
        if line.len() > LINE {
            text.truncate(LINE);
            text.extend_from_slice(b"... (cut)\n");
        }
        if self.0.try_send(Entry::Line(text)).is_err() {
            LEFT_OUT.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all lines so far are written, at most for this time.
    pub(super) fn flush(&self, patience: Duration) {
        let (flushed, done) = sync_channel(1);
        let until = Instant::now() + patience;
        // A full queue is tried again, since the thread drains it.
        while Instant::now() < until {
            if self.0.try_send(Entry::Flush(flushed.clone())).is_ok() {
                let _ = done.recv_timeout(until.saturating_duration_since(Instant::now()));
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn write(mut out: impl Write, lines: &Receiver<Entry>) {
    let mut reported = LEFT_OUT.load(Ordering::Relaxed);
    loop {
        match lines.recv_timeout(PERIOD) {
            // An error cannot be reported.
            Ok(Entry::Line(line)) => drop(out.write_all(&line)),
            Ok(Entry::Flush(done)) => drop(done.try_send(())),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let now = LEFT_OUT.load(Ordering::Relaxed);
        if now > reported {
            let count = now - reported;
            tracing::warn!("{count} log lines were suppressed: the log reader was too slow");
            reported = now;
        }
        limit::summarise();
    }
}

/// One line. The formatter writes each in one call.
pub(super) struct Line<'a>(&'a Queue);

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.put(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Queue {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// Writes only while it may.
    struct Gate(Receiver<()>, Sender<Vec<u8>>);

    impl Write for Gate {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            // The gate stays open.
            let _ = self.0.recv();
            self.1.send(line.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
            Ok(line.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    // Input:  a writer that is stuck, and ten thousand lines, one of them of a megabyte; then it writes again.
    // Output: no sender waits; the queued lines are written in order, the long one cut; the others are counted.
    #[test]
    fn a_stuck_log_reader_blocks_no_thread() {
        let (gate, closed) = channel::<()>();
        let (to, written) = channel();
        let queue = Queue::start(Gate(closed, to)).unwrap();
        let before = suppressed_lines();
        queue.put(&vec![b'x'; 1 << 20]);
        (1..10_000).for_each(|n: u32| queue.put(format!("{n}\n").as_bytes()));
        queue.flush(Duration::from_millis(20));
        let lost = suppressed_lines() - before;
        assert!((10_000 - QUEUE as u64 - 1..=10_000 - QUEUE as u64).contains(&lost), "{lost}");
        drop(gate);
        let first = written.recv().unwrap();
        assert!(first.len() < LINE + 16 && first.ends_with(b"(cut)\n"));
        assert_eq!(written.recv().unwrap(), b"1\n");
        queue.flush(Duration::from_secs(60));
        assert_eq!(written.try_iter().count() as u64, 10_000 - lost - 2);
    }
}

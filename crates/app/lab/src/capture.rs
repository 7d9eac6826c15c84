//! Captures the packets of a link into a pcap file.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pcap_file::pcap::{PcapPacket, PcapWriter};
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use socket2::{Domain, Protocol, Socket, Type};

use crate::LabError;
use crate::cleanup::Cleanup;
use crate::netns::Namespace;

/// ETH_P_ALL of linux/if_ether.h in network byte order, as a packet socket wants it.
const EVERY_PROTOCOL: i32 = 0x0003_u16.to_be() as i32;

const RECEIVE_BUFFER: usize = 16 << 20;

/// The longest a stop takes.
const TICK: Duration = Duration::from_millis(100);

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
    fn lock(&self) -> std::sync::MutexGuard<'_, BufWriter<File>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
    /// Frames that may still be written.
    allowance: AtomicU64,
    written: AtomicU64,
    left_out: AtomicU64,
}

impl Capture {
    /// Begins to capture into the file `path`. Clean-up completes the file too.
    ///
    /// # Errors
    /// [`LabError::Io`]: the file cannot be written, or the kernel grants no packet socket.
    pub fn start(path: &Path, namespaces: &[&Namespace], cleanup: &Cleanup) -> Result<Self, LabError> {
        let shown = path.display().to_string();
        let file = File::create(path).map_err(LabError::io(shown.clone()))?;
        let file = SharedFile(Arc::new(Mutex::new(BufWriter::new(file))));
        let writer = PcapWriter::new(file.clone()).map_err(pcap_error).map_err(LabError::io(shown))?;
        let shared = Arc::new(Shared {
            writer: Mutex::new(Some(writer)),
            file,
            stop: AtomicBool::new(false),
            allowance: AtomicU64::new(u64::MAX),
            written: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
        });
        let unfinished = shared.clone();
        cleanup.acquire(|| Ok(()), move || unfinished.finish())?;
        let mut capture = Self { shared, threads: Vec::new() };
        for namespace in namespaces {
            let socket = namespace.enter(|| packet_socket().map_err(LabError::io("packet socket")))?;
            let shared = capture.shared.clone();
            capture.threads.push(thread::spawn(move || shared.run(&socket)));
        }
        Ok(capture)
    }

    /// From now on writes so many frames at most; the others are only counted. `None` lifts the limit.
    pub fn limit(&self, frames: Option<u64>) {
        self.shared.allowance.store(frames.unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Frames in the file.
    pub fn written(&self) -> u64 {
        self.shared.written.load(Ordering::Relaxed)
    }

    /// Frames left out because of a limit.
    pub fn omitted_frames(&self) -> u64 {
        self.shared.left_out.load(Ordering::Relaxed)
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
    fn run(&self, socket: &Socket) {
        let mut buffer = vec![0; 65536];
        // Ends only after a quiet moment, so that the last frames are in the file.
        loop {
            match std::io::Read::read(&mut &*socket, &mut buffer) {
                Ok(length) => self.write(buffer.get(..length).unwrap_or_default()),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if self.stop.load(Ordering::Relaxed) {
                        return;
                    }
                    // Whoever looks at the file meanwhile sees what there was.
                    let _ = self.file.clone().flush();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The namespace's link went down or away: nothing more will come.
                Err(_) => return,
            }
        }
    }

    fn finish(&self) {
        drop(self.writer.lock().unwrap_or_else(PoisonError::into_inner).take());
        // A full disk shows in a file that is cut short.
        let _ = self.file.clone().flush();
    }

    fn write(&self, frame: &[u8]) {
        let take = |left: u64| left.checked_sub(1);
        if self.allowance.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let packet = PcapPacket::new(now, u32::try_from(frame.len()).unwrap_or(u32::MAX), frame);
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        // A full disk shows in a file that is cut short.
        if writer.as_mut().is_some_and(|writer| writer.write_packet(&packet).is_ok()) {
            self.written.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn packet_socket() -> std::io::Result<Socket> {
    let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(EVERY_PROTOCOL)))?;
    if set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER).is_err() {
        // In a user namespace the limit of the system applies; a burst may then miss frames of the capture.
        socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
    }
    socket.set_read_timeout(Some(TICK))?;
    Ok(socket)
}

fn pcap_error(error: pcap_file::PcapError) -> std::io::Error {
    match error {
        pcap_file::PcapError::IoError(error) => error,
        other => std::io::Error::other(other),
    }
}

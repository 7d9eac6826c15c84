//! Capture files: a pcapng writer for many interfaces, and a reader of pcap and pcapng.

mod read;
mod tap;

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{Block, PcapNgWriter};

use crate::PortError;

pub use read::{CaptureReader, CapturedPacket};
pub use tap::{Passage, Tap, outer_headers};

/// Exponent of the time unit: timestamps are in 10^-9 s.
const NANOSECONDS: u8 = 9;

/// Octets of a packet block without the packet: framing, fixed fields, and the flags option.
const BLOCK_OVERHEAD: u64 = 48;

/// A pcapng file of bounded size. Clones write to the same file; recording can be switched at any time.
#[derive(Clone)]
pub struct Capture(Arc<Shared>);

struct Shared {
    enabled: AtomicBool,
    missed: AtomicU64,
    file: Mutex<CaptureFile>,
}

struct CaptureFile {
    path: String,
    writer: PcapNgWriter<BufWriter<File>>,
    interfaces: u32,
    /// Octets that may still be written.
    remaining: u64,
    packet: Vec<u8>,
}

impl Capture {
    /// Creates the file, or truncates it, and starts recording. At most `limit` octets of packets are written.
    ///
    /// # Errors
    /// [`PortError::Capture`].
    pub fn create(path: &Path, limit: u64) -> Result<Self, PortError> {
        let name = path.display().to_string();
        let file = File::create(path).map_err(|error| failure(&name, error))?;
        let writer = PcapNgWriter::new(BufWriter::new(file)).map_err(|error| failure(&name, error))?;
        let file = CaptureFile { path: name, writer, interfaces: 0, remaining: limit, packet: Vec::new() };
        let (enabled, missed) = (AtomicBool::new(true), AtomicU64::new(0));
        Ok(Self(Arc::new(Shared { enabled, missed, file: Mutex::new(file) })))
    }

    /// Switches recording on or off for all interfaces.
    pub fn set_enabled(&self, enabled: bool) {
        self.0.enabled.store(enabled, Ordering::Relaxed);
    }

    /// Packets are being recorded.
    pub fn is_enabled(&self) -> bool {
        self.0.enabled.load(Ordering::Relaxed)
    }

    /// Packets not recorded because the file was full, could not be written, or the packet was malformed.
    pub fn missed(&self) -> u64 {
        self.0.missed.load(Ordering::Relaxed)
    }

    /// Adds an interface of that name to the file.
    ///
    /// # Errors
    /// [`PortError::Capture`].
    pub fn tap(&self, interface: &str) -> Result<Tap, PortError> {
        self.with_file(|file| file.add_interface(interface)).map(|index| Tap::new(self.clone(), index))
    }

    /// Passes all recorded data to the operating system. The drop of the last clone does the same.
    ///
    /// # Errors
    /// [`PortError::Capture`].
    pub fn flush(&self) -> Result<(), PortError> {
        self.with_file(|file| {
            let flushed = file.writer.get_mut().flush();
            flushed.map_err(|error| failure(&file.path, error))
        })
    }

    /// Records one IP packet given in two parts.
    fn record(&self, interface: u32, passage: Passage, header: &[u8], payload: &[u8]) {
        if !self.with_file(|file| file.record(interface, passage, header, payload)) {
            self.count_missed();
        }
    }

    fn count_missed(&self) {
        self.0.missed.fetch_add(1, Ordering::Relaxed);
    }

    fn with_file<T>(&self, work: impl FnOnce(&mut CaptureFile) -> T) -> T {
        work(&mut self.0.file.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CaptureFile {
    fn add_interface(&mut self, name: &str) -> Result<u32, PortError> {
        let mut block = InterfaceDescriptionBlock::new(DataLink::RAW, 0);
        block.options.push(InterfaceDescriptionOption::IfName(Cow::Owned(name.to_owned())));
        block.options.push(InterfaceDescriptionOption::IfTsResol(NANOSECONDS));
        self.writer.write_pcapng_block(block).map_err(|error| failure(&self.path, error))?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// `false` when the packet could not be recorded.
    fn record(&mut self, interface: u32, passage: Passage, header: &[u8], payload: &[u8]) -> bool {
        let len = header.len() + payload.len();
        let Some(remaining) = self.remaining.checked_sub(len as u64 + BLOCK_OVERHEAD) else { return false };
        self.packet.clear();
        self.packet.extend_from_slice(header);
        self.packet.extend_from_slice(payload);
        let block = Block::EnhancedPacket(EnhancedPacketBlock {
            interface_id: interface,
            timestamp: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            original_len: len as u32,
            data: Cow::Borrowed(&self.packet),
            options: vec![EnhancedPacketOption::Flags(passage.flags())],
        });
        let written = self.writer.write_block(&block).is_ok();
        // After a failed write the file ends in the middle of a block: nothing may follow it.
        self.remaining = if written { remaining } else { 0 };
        written
    }
}

fn failure(path: &str, error: impl std::error::Error) -> PortError {
    let reason = error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
    PortError::Capture { path: path.to_owned(), reason }
}

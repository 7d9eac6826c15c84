//! `causeway capture`: the packets of a session, in and out, as a pcapng file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Seek, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use pcap_file::PcapError;
use pcap_file::pcapng::blocks::interface_statistics::{InterfaceStatisticsBlock, InterfaceStatisticsOption};
use pcap_file::pcapng::{Block, PcapNgParser, PcapNgWriter};
use serde::Serialize;

use super::identifiers::{SessionName, count, session};
use crate::client::{Client, ClientError, OctetReader, Part};
use crate::exit;
use crate::management::{CommandError, ManagementArgs, ask};
use crate::output::{Output, number, printable};

/// The greatest block that the UPF sends, in octets, and more.
const BLOCK: usize = 1 << 20;

/// What the interruption by the user is called in the file.
const INTERRUPTED: &str = "the capture ends: it was interrupted";

/// The options of `causeway capture`.
#[derive(Args)]
pub(crate) struct CaptureArgs {
    /// An address of the UE, or the UPF's SEID (in decimal or, after 0x, hexadecimal)
    #[arg(value_name = "UE|SEID", value_parser = session)]
    session: SessionName,
    /// File to write, which is overwritten; - is standard output
    #[arg(short, long, value_name = "FILE")]
    write: PathBuf,
    /// End after so many packets; without it there is no such number
    #[arg(short, long, value_name = "PACKETS", value_parser = count)]
    count: Option<u64>,
    /// End after so many seconds
    #[arg(long, default_value_t = 3600, value_parser = clap::value_parser!(u16).range(1..=3600))]
    seconds: u16,
    /// Write at most so many octets of each packet
    #[arg(short, long, value_name = "OCTETS", default_value_t = 65535, value_parser = clap::value_parser!(u32).range(1..=65535))]
    snaplen: u32,

    #[command(flatten)]
    management: ManagementArgs,
}

/// What a capture has come to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct Summary {
    /// The packets in the file.
    packets: u64,
    /// The received packets that are not in the file.
    not_captured: u64,
    /// Why it ended.
    end: String,
}

pub(super) fn run(args: &CaptureArgs) -> ExitCode {
    ask(&args.management, |client, output| capture(args, client, output))
}

fn capture(args: &CaptureArgs, client: &Client, output: &mut Output) -> Result<(), CommandError> {
    let target = Target::of(&args.write);
    if target == Target::Output && io::stdout().is_terminal() {
        return Err(CommandError::Terminal);
    }
    let path = format!("/api/v1/sessions/{}/capture", args.session.seid(client)?);
    let mut bounds = vec![("seconds", args.seconds.to_string()), ("snaplen", args.snaplen.to_string())];
    bounds.extend(args.count.map(|count| ("packets", count.to_string())));
    let mut stream = client.octets(&path, &bounds)?;
    let mut file = CaptureFile::new(target.create()?);
    exit::note(format_args!("capturing into {target}; Ctrl-C ends"));
    let read = copy(&mut stream, &mut file, client);
    // What was captured before a failure is a whole file, too.
    let summary = match read {
        Ok(()) | Err(Failure::Client(_)) => file.end().map_err(Failure::from),
        Err(failure) => {
            file.cut();
            return Err(target.error(failure, client));
        }
    };
    let summary = summary.map_err(|failure| {
        file.cut();
        target.error(failure, client)
    })?;
    report(&summary, &target, output)?;
    read.map_err(|failure| target.error(failure, client))
}

/// Copies the stream into the file until one of them ends.
fn copy(stream: &mut OctetReader<'_>, file: &mut CaptureFile, client: &Client) -> Result<(), Failure> {
    loop {
        match stream.next()? {
            Part::Octets(octets) => file.add(&octets)?,
            Part::End if file.is_whole() => return Ok(()),
            Part::End => return Err(client.foreign().into()),
            Part::Interrupted => {
                file.end = Some(INTERRUPTED.into());
                return Ok(());
            }
        }
    }
}

fn report(summary: &Summary, target: &Target<'_>, output: &mut Output) -> Result<(), CommandError> {
    if output.is_json() && *target != Target::Output {
        return Ok(output.json(summary)?);
    }
    if output.is_json() {
        let line = serde_json::to_string(summary).map_err(io::Error::from)?;
        exit::note(line);
        return Ok(());
    }
    let Summary { packets, not_captured, end } = summary;
    exit::note(printable(end));
    exit::note(format_args!(
        "{} packets written to {target}, {} packets not captured",
        number(*packets),
        number(*not_captured)
    ));
    if *not_captured > 0 {
        exit::note("not captured: beyond the rate that a packet thread observes, or read too slowly for");
    }
    Ok(())
}

/// Where the packets go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target<'a> {
    Output,
    File(&'a Path),
}

impl<'a> Target<'a> {
    fn of(path: &'a Path) -> Self {
        if path == Path::new("-") { Self::Output } else { Self::File(path) }
    }

    fn create(self) -> Result<File, CommandError> {
        let file = match self {
            Self::Output => io::stdout().as_fd().try_clone_to_owned().map(File::from),
            Self::File(path) => File::create(path),
        };
        file.map_err(|source| CommandError::File { file: self.to_string(), source })
    }

    fn error(self, failure: Failure, client: &Client) -> CommandError {
        match failure {
            Failure::Client(error) => error.into(),
            Failure::Pcap(PcapError::IoError(error))
                if self == Self::Output && error.kind() == ErrorKind::BrokenPipe =>
            {
                error.into()
            }
            Failure::Pcap(PcapError::IoError(source)) => {
                CommandError::File { file: self.to_string(), source }
            }
            Failure::Pcap(_) => client.foreign().into(),
        }
    }
}

impl std::fmt::Display for Target<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Output => f.write_str("standard output"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// Why a capture failed.
enum Failure {
    /// The UPF.
    Client(ClientError),
    /// The file, or what the UPF sent.
    Pcap(PcapError),
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl From<PcapError> for Failure {
    fn from(error: PcapError) -> Self {
        Self::Pcap(error)
    }
}

/// The file that is written: the blocks of the stream, but one block of statistics for each interface at the end.
struct CaptureFile {
    file: Option<File>,
    open: Option<OpenFile>,
    /// The begin of a block.
    rest: Vec<u8>,
    /// The packets of each interface, and those of it that were missed.
    interfaces: BTreeMap<u32, (u64, u64)>,
    started: u64,
    /// Where blocks end in the file, in octets: the last one that is surely written, and those behind it; none in a pipe.
    ends: Vec<u64>,
    /// Why the capture has ended.
    end: Option<String>,
}

/// A file with a section.
struct OpenFile {
    parser: PcapNgParser,
    writer: PcapNgWriter<BufWriter<File>>,
}

impl CaptureFile {
    fn new(file: File) -> Self {
        let interfaces = BTreeMap::new();
        let (rest, started) = (Vec::new(), nanoseconds());
        Self { file: Some(file), open: None, rest, interfaces, started, ends: Vec::new(), end: None }
    }

    /// The stream ends where a block does.
    fn is_whole(&self) -> bool {
        self.rest.is_empty() && self.open.is_some()
    }

    /// Writes the blocks that are there whole.
    fn add(&mut self, octets: &[u8]) -> Result<(), PcapError> {
        self.rest.extend_from_slice(octets);
        let octets = std::mem::take(&mut self.rest);
        let mut left = octets.as_slice();
        loop {
            match self.next(left) {
                Ok(after) => left = after,
                Err(PcapError::IncompleteBuffer) if left.len() < BLOCK => break,
                Err(error) => return Err(error),
            }
        }
        self.rest = left.to_vec();
        // A reader behind a pipe sees each packet soon.
        let Some(open) = &mut self.open else { return Ok(()) };
        open.writer.get_mut().flush().map_err(PcapError::IoError)?;
        self.ends.drain(..self.ends.len().saturating_sub(1));
        Ok(())
    }

    /// Cuts the file behind the last block that was written whole: the disk is full in the middle of one.
    fn cut(&mut self) {
        let Some(open) = self.open.take() else { return };
        let (file, _) = open.writer.into_inner().into_parts();
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        if let Some(end) = self.ends.iter().rev().find(|end| **end <= length) {
            // The first error is the one that is told.
            let _ = file.set_len(*end);
        }
    }

    /// Takes over one block. Returns the octets behind it.
    fn next<'a>(&mut self, octets: &'a [u8]) -> Result<&'a [u8], PcapError> {
        let Some(open) = &mut self.open else {
            let (left, parser) = PcapNgParser::new(octets)?;
            let file = self.file.take().ok_or(PcapError::IncompleteBuffer)?;
            let section = parser.section().clone();
            let mut writer = PcapNgWriter::with_section_header(BufWriter::new(file), section)?;
            self.ends.extend(writer.get_mut().stream_position());
            self.open = Some(OpenFile { parser, writer });
            return Ok(left);
        };
        let (left, block) = open.parser.next_block(octets)?;
        match &block {
            Block::InterfaceStatistics(statistics) => {
                let (_, missed) = self.interfaces.entry(statistics.interface_id).or_default();
                for option in &statistics.options {
                    match option {
                        InterfaceStatisticsOption::IsbIfDrop(drop) => *missed = *drop,
                        InterfaceStatisticsOption::Comment(comment) => {
                            self.end = Some(comment.clone().into_owned());
                        }
                        _ => {}
                    }
                }
                return Ok(left);
            }
            Block::InterfaceDescription(_) => {
                let number = u32::try_from(self.interfaces.len()).unwrap_or(u32::MAX);
                self.interfaces.entry(number).or_default();
            }
            Block::EnhancedPacket(packet) => {
                self.interfaces.entry(packet.interface_id).or_default().0 += 1;
            }
            _ => {}
        }
        let written = open.writer.write_block(&block)?;
        self.ends.extend(self.ends.last().map(|end| end + written as u64));
        Ok(left)
    }

    /// Writes the statistics, and what remains to be written.
    fn end(&mut self) -> Result<Summary, PcapError> {
        let end = self.end.take().unwrap_or_else(|| "the capture ends: the connection broke".into());
        let counts = self.interfaces.values();
        let (packets, not_captured) = counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        if let Some(open) = &mut self.open {
            let timestamp = nanoseconds();
            for (interface, (written, missed)) in &self.interfaces {
                let options = vec![
                    InterfaceStatisticsOption::Comment(Cow::Borrowed(&end)),
                    InterfaceStatisticsOption::IsbStartTime(self.started),
                    InterfaceStatisticsOption::IsbEndTime(timestamp),
                    InterfaceStatisticsOption::IsbIfRecv(written + missed),
                    InterfaceStatisticsOption::IsbIfDrop(*missed),
                    InterfaceStatisticsOption::IsbUsrDeliv(*written),
                ];
                let block = InterfaceStatisticsBlock { interface_id: *interface, timestamp, options };
                open.writer.write_pcapng_block(block)?;
            }
            open.writer.get_mut().flush().map_err(PcapError::IoError)?;
        }
        Ok(Summary { packets, not_captured, end })
    }
}

/// The time in 10^-9 s since the Unix epoch.
fn nanoseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

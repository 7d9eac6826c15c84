//! The capture of a session: its packets with what became of them, as a pcapng file that grows.

use std::borrow::Cow;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use causeway_dataplane::{Disposition, Egress, Explanation, Ingress};
use causeway_ports::capture::Passage;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::interface_statistics::{InterfaceStatisticsBlock, InterfaceStatisticsOption};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{Block, PcapNgWriter};
use pcap_file::{DataLink, Endianness, PcapError};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio_stream::Stream;

use super::connections::StreamMark;
use super::explain::{disposition, reason, sent, shown};
use super::query::{NumberUpTo, Parameters, Parsed};
use super::refusal::Refusal;
use super::server::Shared;
use super::session_watch::{SessionWatch, Step, StreamClient, WatchEnd};
use super::trace::{MAX_SECONDS, origin};
use super::views::{MatchedRulesView, ProblemView};
use crate::worker::{MissedPackets, Observation, PacketImage, ProcessedPacket, SentPacket};

/// The greatest length of a captured packet, in octets.
const MAX_SNAPLEN: u32 = 65535;

/// The octets that are gathered into one chunk, if so many wait.
const CHUNK: usize = 64 << 10;

/// The PDRs without a match that a comment names at most.
const NAMED_PDRS: usize = 16;

/// The exponent of the time unit: timestamps are in 10^-9 s.
const NANOSECONDS: u8 = 9;

/// The interfaces of the file, in its order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Interface {
    GtpuIn,
    GtpuOut,
    NetworkIn,
    NetworkOut,
}

impl Interface {
    const ALL: [(Self, &str, &str); 4] = [
        (Self::GtpuIn, "N3 in", "GTP-U messages to the UPF, with headers of IP and UDP"),
        (Self::GtpuOut, "N3 out", "GTP-U messages from the UPF, with headers of IP and UDP"),
        (Self::NetworkIn, "N6 in", "IP packets from data networks"),
        (Self::NetworkOut, "N6 out", "IP packets to data networks"),
    ];

    /// Its link type and description for an Ethernet session.
    const fn of_ethernet(self, description: &'static str) -> (DataLink, &'static str) {
        match self {
            Self::GtpuIn | Self::GtpuOut => (DataLink::RAW, description),
            Self::NetworkIn => (DataLink::ETHERNET, "frames from Ethernet data networks"),
            Self::NetworkOut => (DataLink::ETHERNET, "frames to Ethernet data networks"),
        }
    }

    const fn of_ingress(ingress: &Ingress) -> Self {
        match ingress {
            Ingress::Gtpu { .. } => Self::GtpuIn,
            Ingress::Ip { .. } | Ingress::Ethernet { .. } => Self::NetworkIn,
        }
    }

    const fn of_egress(egress: &Egress) -> Self {
        match egress {
            Egress::Gtpu { .. } => Self::GtpuOut,
            Egress::Ip { .. } | Egress::Ethernet { .. } => Self::NetworkOut,
        }
    }

    const fn passage(self) -> Passage {
        match self {
            Self::GtpuIn | Self::NetworkIn => Passage::In,
            Self::GtpuOut | Self::NetworkOut => Passage::Out,
        }
    }

    /// The missed packets that count as those of this interface. What would have gone out for a missed packet is unknown.
    const fn missed(self, missed: &MissedPackets) -> u64 {
        match self {
            Self::GtpuIn => missed.gtpu.total(),
            Self::NetworkIn => missed.network.total(),
            Self::GtpuOut => missed.released.total(),
            Self::NetworkOut => 0,
        }
    }

    const fn index(self) -> usize {
        self as usize
    }
}

/// The bounds of a capture.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct CaptureQuery {
    /// How long it takes at most, in seconds; 3600 by default.
    #[param(value_type = Option<u16>, minimum = 1, maximum = 3600)]
    seconds: Option<Parsed<NumberUpTo<MAX_SECONDS>>>,
    /// The number of packets in the file after which it ends; without it there is no such number.
    #[param(value_type = Option<u64>, minimum = 1)]
    packets: Option<Parsed<NumberUpTo<{ u64::MAX }>>>,
    /// The octets of each packet that are in the file; 65535 by default.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 65535)]
    snaplen: Option<Parsed<NumberUpTo<{ MAX_SNAPLEN as u64 }>>>,
}

/// The bounds, all of them.
#[derive(Clone, Copy)]
struct Bounds {
    duration: Duration,
    packets: u64,
    snaplen: u32,
}

impl CaptureQuery {
    fn bounds(&self) -> Bounds {
        Bounds {
            duration: Duration::from_secs(self.seconds.as_ref().map_or(MAX_SECONDS, |seconds| seconds.0)),
            packets: self.packets.as_ref().map_or(u64::MAX, |packets| packets.0),
            snaplen: self.snaplen.as_ref().map_or(MAX_SNAPLEN, |snaplen| snaplen.0 as u32),
        }
    }
}

/// The packets of a session from now on, in and out, as a pcapng file.
///
/// Its interfaces are `N3 in`, `N3 out`, `N6 in` and `N6 out`, all with packets from the IP header on, but those of N6 with
/// Ethernet frames for an Ethernet session; GTP-U messages have headers of IP and UDP as the data plane knows them, without
/// checksum over IPv4. A comment to each packet has its rules
/// and what became of it. The file has the packets themselves: user data of the session.
///
/// A packet thread observes at most 2000 received packets in a second, and as many that leave a buffer or that a change of
/// rules sends; others are counted, and processed as ever. So are those that a slow client misses. Interface
/// statistics in the file have these counts. The connection of a client that takes nothing for 10 s is closed. The
/// keys follow the rules of the session within a second. At most 8 sessions are watched at a time.
#[utoipa::path(
    get, path = "/api/v1/sessions/{seid}/capture", tag = "Sessions",
    params(
        ("seid" = String, Path, description = "The UPF's SEID, in decimal or, after `0x`, hexadecimal", example = "0x2a"),
        CaptureQuery,
    ),
    responses(
        (status = 200, description = "The file", body = [u8], content_type = "application/x-pcapng"),
        (status = 400, description = "This is no SEID, or a parameter is unknown or malformed", body = ProblemView, content_type = "application/problem+json"),
        (status = 403, description = "Packets are not shown here, see `upf.management.capture`; or not from there", body = ProblemView, content_type = "application/problem+json"),
        (status = 404, description = "There is no such session", body = ProblemView, content_type = "application/problem+json"),
        (status = 501, description = "The packets pass on a P4 switch", body = ProblemView, content_type = "application/problem+json"),
        (status = 503, description = "Too many sessions are watched, or the daemon is busy", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn capture(
    State(management): Shared,
    Extension(mark): Extension<StreamMark>,
    Path(text): Path<String>,
    Parameters(query): Parameters<CaptureQuery>,
) -> Result<Response, Refusal> {
    let bounds = query.bounds();
    let watch =
        SessionWatch::begin(management, text.clone(), bounds.snaplen as usize, bounds.duration).await?;
    let file = CaptureFile::new(&text, bounds, watch.is_ethernet()).map_err(|_| Refusal::Unhealthy)?;
    let (client, chunks) = StreamClient::new(mark.clone());
    tokio::spawn(run(watch, file, client));
    mark.set();
    let body = Body::from_stream(ChunkStream(chunks));
    Ok(([(CONTENT_TYPE, "application/x-pcapng")], body).into_response())
}

/// Passes packets to the client until a bound is reached, the session has ended, or the client has left.
async fn run(mut watch: SessionWatch, mut file: CaptureFile, client: StreamClient<Bytes>) {
    // The head of the file.
    if client.send(file.take()).await.is_err() {
        return;
    }
    let end = loop {
        let step = tokio::select! {
            biased;
            () = client.left() => return,
            step = watch.next() => step,
        };
        let added = match step {
            Step::Ended(end) => break Some(end),
            Step::Refreshed => Ok(()),
            Step::Observation(observation) => gather(&mut watch, &mut file, observation),
        };
        // No block of a capture is refused: its interfaces are known, and memory takes all.
        if added.and_then(|()| file.tell(watch.missed())).is_err() {
            return;
        }
        if !file.is_empty() && client.send(file.take()).await.is_err() {
            return;
        }
        if file.is_full() {
            break None;
        }
    };
    // What was observed before the end, and waits, belongs to the file.
    watch.close();
    while let Some(observation) = watch.waiting()
        && !file.is_full()
    {
        if gather(&mut watch, &mut file, observation).is_err() || client.send(file.take()).await.is_err() {
            return;
        }
    }
    let missed = watch.missed();
    // Another client may watch a session now.
    drop(watch);
    if file.end(end, missed).is_ok() {
        // The client may have left.
        let _ = client.send(file.take()).await;
    }
}

/// Writes an observation, and those that wait behind it, up to a chunk.
fn gather(
    watch: &mut SessionWatch,
    file: &mut CaptureFile,
    first: Arc<Observation>,
) -> Result<(), PcapError> {
    let mut next = Some(first);
    while let Some(observation) = next {
        file.write(&observation)?;
        let is_enough = file.len() >= CHUNK || file.is_full();
        next = if is_enough { None } else { watch.waiting() };
    }
    Ok(())
}

/// The file, of which the part that is not sent yet is in memory.
struct CaptureFile {
    writer: PcapNgWriter<Vec<u8>>,
    snaplen: usize,
    /// The packets that are still written.
    left: u64,
    /// The packets of each interface.
    written: [u64; Interface::ALL.len()],
    started: u64,
    /// The missed packets that are told in the file.
    told: MissedPackets,
}

impl CaptureFile {
    /// The head of a file about the session of this name.
    fn new(session: &str, bounds: Bounds, is_ethernet: bool) -> Result<Self, PcapError> {
        let section = SectionHeaderBlock {
            // In this one the crate writes all times as the format has them: the upper half first.
            endianness: Endianness::Big,
            options: vec![
                SectionHeaderOption::Comment(Cow::Owned(format!("session {session}"))),
                SectionHeaderOption::UserApplication(Cow::Borrowed(concat!(
                    "causeway ",
                    env!("CARGO_PKG_VERSION")
                ))),
            ],
            ..SectionHeaderBlock::default()
        };
        let mut writer = PcapNgWriter::with_section_header(Vec::new(), section)?;
        for (interface, name, description) in Interface::ALL {
            let (link, description) = match is_ethernet {
                true => interface.of_ethernet(description),
                false => (DataLink::RAW, description),
            };
            let mut block = InterfaceDescriptionBlock::new(link, bounds.snaplen);
            block.options.push(InterfaceDescriptionOption::IfName(Cow::Borrowed(name)));
            block.options.push(InterfaceDescriptionOption::IfDescription(Cow::Borrowed(description)));
            block.options.push(InterfaceDescriptionOption::IfTsResol(NANOSECONDS));
            writer.write_pcapng_block(block)?;
        }
        let (snaplen, started) = (bounds.snaplen as usize, nanoseconds(SystemTime::now()));
        let written = [0; Interface::ALL.len()];
        Ok(Self { writer, snaplen, left: bounds.packets, written, started, told: MissedPackets::default() })
    }

    /// What was written since the last call.
    fn take(&mut self) -> Bytes {
        std::mem::take(self.writer.get_mut()).into()
    }

    fn len(&self) -> usize {
        self.writer.get_ref().len()
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of packets is reached.
    const fn is_full(&self) -> bool {
        self.left == 0
    }

    /// Writes the packet that came in, then those that went out.
    fn write(&mut self, observation: &Observation) -> Result<(), PcapError> {
        let processed = match observation {
            Observation::Processed(processed) => processed,
            Observation::Released { time, packet } => {
                let comment =
                    format!("from a buffer, or because of a change of rules or a timer; {}", goal(packet));
                return self.sent(*time, packet, comment);
            }
        };
        let comments = Comments::of(processed);
        let interface = Interface::of_ingress(&processed.ingress);
        if let Some(image) = &processed.image {
            self.packet(interface, processed.time, image, comments.received(processed))?;
        }
        processed.sent.iter().try_for_each(|packet| {
            let parts = comments.sent.iter().cloned().chain([goal(packet)]);
            self.sent(processed.time, packet, parts.collect::<Vec<_>>().join("; "))
        })
    }

    fn sent(&mut self, time: SystemTime, packet: &SentPacket, comment: String) -> Result<(), PcapError> {
        match &packet.image {
            Some(image) => self.packet(Interface::of_egress(&packet.egress), time, image, comment),
            None => Ok(()),
        }
    }

    fn packet(
        &mut self,
        interface: Interface,
        time: SystemTime,
        image: &PacketImage,
        comment: String,
    ) -> Result<(), PcapError> {
        if self.is_full() {
            return Ok(());
        }
        let block = EnhancedPacketBlock {
            interface_id: interface.index() as u32,
            timestamp: time.duration_since(UNIX_EPOCH).unwrap_or_default(),
            original_len: u32::try_from(image.length).unwrap_or(u32::MAX),
            data: Cow::Borrowed(image.data.get(..self.snaplen).unwrap_or(&image.data)),
            options: vec![
                EnhancedPacketOption::Flags(interface.passage().flags()),
                EnhancedPacketOption::Comment(Cow::Owned(comment)),
            ],
        };
        self.writer.write_block(&Block::EnhancedPacket(block))?;
        self.left -= 1;
        if let Some(written) = self.written.get_mut(interface.index()) {
            *written += 1;
        }
        Ok(())
    }

    /// Writes how many packets were missed, if there are more of them than last told.
    fn tell(&mut self, now: MissedPackets) -> Result<(), PcapError> {
        let before = std::mem::replace(&mut self.told, now);
        let mut changed = Interface::ALL.iter().map(|(interface, ..)| *interface);
        changed.try_for_each(|interface| match interface.missed(&now) == interface.missed(&before) {
            true => Ok(()),
            false => self.statistics(interface, None),
        })
    }

    /// Writes the statistics of all interfaces, and why the capture has ended; `None`: its number of packets is reached.
    fn end(&mut self, end: Option<WatchEnd>, missed: MissedPackets) -> Result<(), PcapError> {
        self.told = missed;
        let why = match end {
            None => "its number of packets is reached",
            Some(WatchEnd::Seconds) => "its time is over",
            Some(WatchEnd::Session) => "the session has ended",
        };
        Interface::ALL.iter().try_for_each(|(interface, ..)| self.statistics(*interface, Some(why)))
    }

    fn statistics(&mut self, interface: Interface, end: Option<&str>) -> Result<(), PcapError> {
        let written = self.written.get(interface.index()).copied().unwrap_or(0);
        let missed = interface.missed(&self.told);
        let now = nanoseconds(SystemTime::now());
        let mut options = vec![
            InterfaceStatisticsOption::IsbStartTime(self.started),
            InterfaceStatisticsOption::IsbEndTime(now),
            InterfaceStatisticsOption::IsbIfRecv(written + missed),
            InterfaceStatisticsOption::IsbIfDrop(missed),
            InterfaceStatisticsOption::IsbUsrDeliv(written),
        ];
        if let Some(end) = end {
            options.insert(
                0,
                InterfaceStatisticsOption::Comment(Cow::Owned(format!("the capture ends: {end}"))),
            );
        }
        let interface_id = interface.index() as u32;
        self.writer
            .write_pcapng_block(InterfaceStatisticsBlock { interface_id, timestamp: now, options })
            .map(drop)
    }
}

/// The time in 10^-9 s since the Unix epoch, which a word holds until the year 2554.
fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The comments on the packets of one observation.
struct Comments {
    /// The session, the key, and the rules or the PDRs that do not match.
    received: Vec<String>,
    /// The session and the rules, without what QERs and URRs say.
    sent: Vec<String>,
}

impl Comments {
    fn of(packet: &ProcessedPacket) -> Self {
        let Some(explanation) = &packet.explanation else {
            return Self { received: Vec::new(), sent: Vec::new() };
        };
        let view = shown(Explanation { sessions: Vec::new(), ..explanation.clone() });
        let firewall = view.firewall.filter(|it| it.action == "deny").map(|it| format!("firewall {it}"));
        let mut received: Vec<String> = view.key.into_iter().chain(firewall).collect();
        match view.rules {
            Some(rules) => {
                let sent = vec![
                    format!("session {}", rules.seid),
                    format!("PDR {}", rules.pdr),
                    format!("FAR {} {}", rules.far, rules.action.replace('_', " ")),
                ];
                received.extend(sent.iter().cloned());
                received.extend(verdicts(&rules));
                Self { received, sent }
            }
            None => {
                received.extend(trials(explanation));
                Self { received, sent: Vec::new() }
            }
        }
    }

    fn received(&self, packet: &ProcessedPacket) -> String {
        let what = match packet.disposition {
            Disposition::Dropped(why) => {
                let view = reason(why);
                format!("dropped, {}: {}", view.reason, view.meaning)
            }
            // A frame to a group, of which others have copies.
            Disposition::Forwarded
                if matches!(packet.ingress, Ingress::Ethernet { .. }) && packet.sent.is_empty() =>
            {
                "no copy for this session".to_owned()
            }
            what => disposition(what).to_owned(),
        };
        let parts = [format!("from {}", origin(&packet.ingress))].into_iter();
        parts.chain(self.received.iter().cloned()).chain([what]).collect::<Vec<_>>().join("; ")
    }
}

/// Where a packet was sent.
fn goal(packet: &SentPacket) -> String {
    format!("sent to {}", sent(&packet.egress, packet.octets).to)
}

/// What QERs and URRs say.
fn verdicts(rules: &MatchedRulesView) -> Vec<String> {
    let qers = rules.qers.iter().map(|qer| {
        let rate =
            qer.rate.as_deref().map_or_else(String::new, |rate| format!(" {}", rate.replace('_', " ")));
        format!("QER {} gate {}{rate}", qer.id, qer.gate)
    });
    let urrs = rules.urrs.iter().map(|urr| {
        let quota = if urr.is_exhausted { "quota exhausted" } else { "counts" };
        format!("URR {} {quota}", urr.id)
    });
    qers.chain(urrs).collect()
}

/// The sessions and PDRs that were compared with a packet without a match.
fn trials(explanation: &Explanation) -> Vec<String> {
    let mut parts = Vec::new();
    for session in &explanation.sessions {
        parts.push(format!("session {:#x}", session.session.0));
        let mismatches = session.pdrs.iter().filter_map(|(pdr, mismatch)| Some((pdr, mismatch.as_ref()?)));
        parts.extend(mismatches.map(|(pdr, mismatch)| format!("PDR {} {mismatch}", pdr.0)));
        if parts.len() > NAMED_PDRS {
            parts.truncate(NAMED_PDRS);
            parts.push("and others".into());
            break;
        }
    }
    parts
}

/// The chunks, as they are sent.
struct ChunkStream(mpsc::Receiver<Bytes>);

impl Stream for ChunkStream {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|chunk| chunk.map(Ok))
    }
}

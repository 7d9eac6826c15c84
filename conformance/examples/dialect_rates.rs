//! How many sessions a second N4 and the fast path set up when asked as each SMF asks, and what they keep of each.
//!
//! ```text
//! cargo run --release -p causeway-conformance --example dialect_rates [SESSIONS]
//! ```
//!
//! The first Session Establishment Request of each recorded session of an IPv4 UE (`cases/dialects/*/ipv4.yaml`) is sent so
//! often, each time with an F-SEID, a UE address and TEIDs of its own. In memory, without sockets, on one core, to a UPF whose N3 has
//! IPv4 alone, and to one whose N3 has both IP versions. Each row has a separate process, so that memory is measured separately.

#![forbid(unsafe_code)]

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use causeway_conformance::{Case, FastPathBackend, Input, load_all, load_fragments, run, topology};
use causeway_dataplane::Dataplane;
use causeway_fastpath::FastPath;
use causeway_n4::{Config, N4, Output};
use causeway_pfcp::{
    CreateFar, CreatePdr, FTeid, ForwardingParameters, Header, Ie, Message, MessageType, OuterHeaderCreation,
    Pdi, UeIpAddress,
};
use causeway_slowpath::Limits;
use causeway_types::{FSeid, NodeId, Span, Time, WallClock};

/// The row of the dialects that is replayed.
const BEHAVIOUR: &str = "session of an IPv4 UE";

/// The IP versions of N3.
const IPV4: &str = "IPv4";
const BOTH: &str = "both";

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

/// The UEs of the replay, outside the pools of the cases.
const FIRST_UE: Ipv4Addr = Ipv4Addr::new(10, 64, 0, 0);

/// Requests between two looks at the clock.
const CHUNK: u32 = 1000;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let sessions = arguments.next().map_or(Ok(100_000), |count| count.parse())?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cases = load_all(&folder.join("cases/dialects"))?;
    let mut cases = cases.iter().filter(|case| case.behaviour.as_deref() == Some(BEHAVIOUR));
    if let Some(name) = arguments.next() {
        let case = cases.find(|case| smf_of(case) == name).ok_or("there is no such SMF")?;
        return measure(case, folder, sessions, arguments.next().as_deref() == Some(BOTH));
    }
    say("SMF         N3      octets    k/s median    k/s slowest    B/session");
    for (case, n3) in cases.flat_map(|case| [(case, IPV4), (case, BOTH)]) {
        let arguments = [sessions.to_string(), smf_of(case), n3.to_owned()];
        let status = Command::new(std::env::current_exe()?).args(arguments).status()?;
        if !status.success() {
            return Err(format!("{}: {status}", case.path.display()).into());
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the table is what was asked for")]
fn say(line: &str) {
    println!("{line}");
}

/// The folder of a case is named after its SMF.
fn smf_of(case: &Case) -> String {
    let folder = case.path.parent().and_then(Path::file_name);
    folder.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn measure(case: &Case, folder: &Path, sessions: u32, has_v6: bool) -> Outcome<()> {
    let fragments = load_fragments(&folder.join("fragments.yaml"))?;
    let inputs = run(case, &fragments, &FastPathBackend)?.inputs;
    let requests = inputs.into_iter().filter_map(|input| match input {
        Input::Pfcp { from, octets } => Some((from, octets)),
        _ => None,
    });
    let mut world = World::new(sessions, has_v6)?;
    for (from, octets) in requests {
        if octets.get(1) != Some(&(MessageType::SessionEstablishmentRequest as u8)) {
            world.ask(from, &octets);
            continue;
        }
        let recorded = Recorded::new(octets);
        let resident = resident_memory()?;
        let mut times = Vec::new();
        for first in (0..sessions).step_by(CHUNK as usize) {
            let chunk: Vec<_> =
                (first..sessions.min(first + CHUNK)).map(|number| recorded.renewed(number)).collect();
            let (accepted, start) = (world.accepted, Instant::now());
            chunk.iter().for_each(|request| world.ask(from, request));
            times.push(start.elapsed() / chunk.len() as u32);
            if world.accepted != accepted + chunk.len() {
                return Err("a session was refused".into());
            }
        }
        let memory = resident_memory()?.saturating_sub(resident) / u64::from(sessions.max(1));
        times.sort_unstable();
        let rate = |time: Option<&Duration>| time.map_or(0.0, |time| 1e-3 / time.as_secs_f64());
        let (median, slowest) = (rate(times.get(times.len() / 2)), rate(times.last()));
        let (name, octets) = (smf_of(case), recorded.octets.len());
        let n3 = if has_v6 { BOTH } else { IPV4 };
        say(&format!("{name:10}  {n3}    {octets:6}    {median:10.1}    {slowest:11.1}    {memory:9}"));
        return Ok(());
    }
    Err(format!("{}: no session is established", case.path.display()).into())
}

/// A request, and where it has what differs from session to session.
struct Recorded {
    octets: Vec<u8>,
    /// The CP F-SEID's SEID.
    seids: Vec<usize>,
    /// IPv4 addresses of the UE.
    ues: Vec<usize>,
    /// TEIDs that the SMF chose, here and at peers.
    teids: Vec<usize>,
}

impl Recorded {
    fn new(octets: Vec<u8>) -> Self {
        let mut recorded =
            Self { octets: octets.clone(), seids: Vec::new(), ues: Vec::new(), teids: Vec::new() };
        // The header of a message about a session.
        recorded.look(&octets, 16, octets.len());
        recorded
    }

    fn look(&mut self, octets: &[u8], mut at: usize, end: usize) {
        while let Some([a, b, c, d]) = octets.get(at..end).and_then(|rest| rest.first_chunk()) {
            let value = at + 4..(at + 4 + usize::from(u16::from_be_bytes([*c, *d]))).min(end);
            let flags = octets.get(value.start).copied().unwrap_or(0);
            match u16::from_be_bytes([*a, *b]) {
                <CreatePdr<'_> as Ie<'_>>::TYPE
                | <Pdi<'_> as Ie<'_>>::TYPE
                | <CreateFar<'_> as Ie<'_>>::TYPE
                | <ForwardingParameters<'_> as Ie<'_>>::TYPE => self.look(octets, value.start, value.end),
                // GTP-U over IPv4 or IPv6.
                OuterHeaderCreation::TYPE if flags & 3 != 0 => self.teids.push(value.start + 2),
                FSeid::TYPE => self.seids.push(value.start + 1),
                UeIpAddress::TYPE if flags & 2 != 0 => self.ues.push(value.start + 1),
                FTeid::TYPE if flags & 4 == 0 => self.teids.push(value.start + 1),
                _ => {}
            }
            at = value.end;
        }
    }

    /// The request of another session.
    fn renewed(&self, number: u32) -> Vec<u8> {
        let mut octets = self.octets.clone();
        let mut put = |at: usize, value: &[u8]| {
            octets.get_mut(at..at + value.len()).into_iter().for_each(|place| place.copy_from_slice(value));
        };
        put(12, &(number & 0xff_ffff).to_be_bytes()[1..]);
        self.seids.iter().for_each(|at| put(*at, &(u64::from(number) + 1).to_be_bytes()));
        self.ues.iter().for_each(|at| put(*at, &(u32::from(FIRST_UE) + number).to_be_bytes()));
        // Tunnels that differ in the recorded request stay apart.
        let tunnels = self.teids.len().max(1) as u32;
        let mut known: Vec<&[u8]> = Vec::new();
        for at in &self.teids {
            let recorded = self.octets.get(*at..at + 4).unwrap_or_default();
            if recorded == [0; 4] {
                // There is no tunnel yet.
                continue;
            }
            let which = known.iter().position(|known| *known == recorded).unwrap_or(known.len());
            if which == known.len() {
                known.push(recorded);
            }
            put(*at, &(number * tunnels + which as u32 + 1).to_be_bytes());
        }
        octets
    }
}

/// N4 and the fast path, without sockets.
struct World {
    n4: N4,
    plane: FastPath,
    now: Time,
    accepted: usize,
}

impl World {
    fn new(sessions: u32, has_v6: bool) -> Outcome<Self> {
        let mut topology = topology();
        if !has_v6 {
            topology.gtpu.iter_mut().for_each(|end| end.addr.v6 = None);
        }
        let limits = Limits { max_sessions: sessions + 1, ..Limits::default() };
        let mut config = Config::new(NodeId::Ip(UPF.into()), UPF.into());
        config.heartbeat.interval = Span::ZERO;
        config.limits.sessions = sessions as usize + 1;
        config.answer_lifetime = Span::from_millis(5);
        let now = Time::from_secs(1_700_000_000);
        let plane = FastPath::new(topology.clone(), limits)?;
        let n4 = N4::new(
            config,
            plane.capabilities(),
            topology.endpoints(),
            WallClock::default().at(now).to_ntp(),
        );
        Ok(Self { n4, plane, now, accepted: 0 })
    }

    /// Serves a request; a microsecond passes.
    fn ask(&mut self, from: IpAddr, octets: &[u8]) {
        self.now = self.now + Span::from_micros(1);
        self.n4.datagram(self.now, SocketAddr::new(from, 8805), octets);
        self.work();
        if self.n4.next_timer().is_some_and(|due| due <= self.now) {
            self.n4.timer(self.now);
            self.work();
        }
    }

    fn work(&mut self) {
        while let Some(output) = self.n4.poll_output() {
            match output {
                Output::Apply { id, plan } => {
                    self.plane.advance(self.now);
                    let result = self.plane.apply(self.now, &plan);
                    self.n4.applied(self.now, id, result);
                }
                Output::Send { bytes, .. } => {
                    self.accepted += usize::from(is_accepted(&bytes));
                    self.n4.recycle(bytes);
                }
                Output::Applications(_) | Output::Notice(_) => {}
            }
        }
    }
}

fn is_accepted(answer: &[u8]) -> bool {
    let Ok((header, body, _)) = Header::decode(answer) else { return false };
    match Message::decode(&header, body) {
        Ok(Message::SessionEstablishmentResponse(response)) => response.cause.is_accepted(),
        _ => false,
    }
}

/// Octets of this process that are in memory.
fn resident_memory() -> Outcome<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = statm.split(' ').nth(1).ok_or("/proc/self/statm has no second number")?.parse()?;
    Ok(pages * 4096)
}

//! A generator that does not wait for the packets that it has sent, and a receiver that counts them.
//!
//! Each of its threads has a separate core and socket and a share of the rate: one thread pays for the kernel's whole path to the
//! socket or ring of the UPF, so that one alone sends hardly more than the UPF forwards.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use causeway_lab::LabError;
use causeway_packet::{Batch, Frame, Meta};
use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_ports::{Counter, Port};
use causeway_types::Teid;

use crate::BenchError;
use crate::kit::pin;
use crate::upf::{Direction, Field, GNB, SERVER, Stream, ue};

/// Packets that the generator gives its socket at once, at most.
const BURST: usize = 32;

/// The sockets of a gNB and a server.
pub(super) struct TrafficSockets {
    gnb: End,
    server: End,
}

/// The sockets of one of them.
struct End {
    /// Where the UPF sends to.
    receiver: UdpPort,
    /// One for each thread of the generator, at ports of their own.
    senders: Vec<UdpPort>,
}

/// Who runs on which core.
#[derive(Clone, Copy)]
pub(super) struct CoreAssignment<'a> {
    /// A core for each thread of the generator.
    pub(super) senders: &'a [usize],
    /// The core of the receiver.
    pub(super) far: usize,
}

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfferedLoad {
    /// Packets a second.
    pub(super) rate: f64,
    /// Packets a second of the session beside.
    pub(super) beside: f64,
    /// How long.
    pub(super) span: Duration,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outcome {
    /// Packets that the generator's kernel took.
    pub(super) sent: u64,
    /// Those of them that were the session's beside.
    pub(super) sent_beside: u64,
    /// Packets that arrived.
    pub(super) arrived: u64,
    /// Those of them that arrived while the generator sent: not out of buffers afterwards.
    pub(super) in_time: u64,
    /// Those of them that were the session's beside.
    pub(super) arrived_beside: u64,
    /// Packets that the far end's socket lost.
    pub(super) overrun: u64,
    /// How long the generator took.
    pub(super) wall: Duration,
}

impl Outcome {
    /// Packets that the UPF has let through.
    pub(super) fn passed(&self) -> f64 {
        (self.arrived + self.overrun) as f64
    }

    /// Packets that it has let through in a second while the generator sent.
    pub(super) fn rate(&self) -> f64 {
        (self.in_time + self.overrun) as f64 / self.wall.as_secs_f64()
    }
}

/// The packets of one direction: those of the load, and those of a session beside.
pub(super) struct Streams {
    pub(super) direction: Direction,
    /// One for each thread of the generator.
    loads: Vec<Stream>,
    beside: Stream,
    /// Who the session beside is, as the far end sees it.
    mark: Mark,
}

#[derive(Clone, Copy)]
enum Mark {
    Ue(Ipv4Addr),
    Teid(u32),
}

impl Streams {
    /// For so many threads. The last session is the one beside; where it sends anything, the first one alone is the load.
    pub(super) fn new(
        direction: Direction,
        size: usize,
        tunnels: &[Teid],
        beside: bool,
        threads: usize,
    ) -> Result<Self, BenchError> {
        let last = tunnels.len().saturating_sub(1);
        let load = if beside { tunnels.get(..1) } else { tunnels.get(..last) }.unwrap_or_default();
        let number = last as u32;
        let of_thread = |thread: usize| {
            let mut stream = Stream::new(direction, size, load, 1)?;
            // Two threads are not at the same session at the same time.
            stream.advance(load.len() * thread / threads.max(1));
            Ok::<_, BenchError>(stream)
        };
        Ok(Self {
            direction,
            loads: (0..threads).map(of_thread).collect::<Result<_, _>>()?,
            beside: Stream::of_one(direction, size, tunnels, last)?,
            mark: match direction {
                Direction::Uplink => Mark::Ue(ue(number)),
                Direction::Downlink => Mark::Teid(number + 1),
            },
        })
    }
}

impl TrafficSockets {
    /// Opens the sockets, for so many threads of the generator.
    pub(super) fn open(field: &Field, threads: usize, joined: bool) -> Result<Self, BenchError> {
        let end = |address: Ipv4Addr, port: u16| -> Result<End, LabError> {
            let receive = UdpOptions { offload: joined, receive_buffer: 64 << 20, ..UdpOptions::default() };
            let send = UdpOptions { receive_buffer: 0, ..receive.clone() };
            let sender = |_| UdpPort::bind("bench", (address, 0).into(), &send);
            let receiver = UdpPort::bind("bench", (address, port).into(), &receive)?;
            Ok(End { receiver, senders: (0..threads).map(sender).collect::<Result<_, _>>()? })
        };
        Ok(Self { gnb: field.gnb.enter(|| end(GNB, 2152))?, server: field.dn.enter(|| end(SERVER, 7000))? })
    }

    /// Sends what is offered and counts what arrives.
    pub(super) fn run(
        &mut self,
        streams: &mut Streams,
        offer: OfferedLoad,
        places: CoreAssignment<'_>,
    ) -> Result<Outcome, BenchError> {
        let (from, to) = match streams.direction {
            Direction::Uplink => (&mut self.gnb, &mut self.server),
            Direction::Downlink => (&mut self.server, &mut self.gnb),
        };
        let (done, mark, to) = (AtomicBool::new(false), streams.mark, &mut to.receiver);
        let before = to.counters().value(Counter::RxOverrun);
        let arrived = AtomicU64::new(0);
        let mut outcome = std::thread::scope(|scope| {
            let counting = scope.spawn(|| count(to, mark, places.far, &done, &arrived));
            let sent = send_all(from, streams, offer, places.senders);
            let in_time = arrived.load(Ordering::Relaxed);
            settle(&arrived);
            done.store(true, Ordering::Relaxed);
            let counted = counting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            let mut outcome = sent?;
            outcome.in_time = in_time;
            (outcome.arrived, outcome.arrived_beside) = counted;
            Ok::<_, BenchError>(outcome)
        })?;
        outcome.overrun = to.counters().value(Counter::RxOverrun) - before;
        Ok(outcome)
    }
}

/// Every thread of the generator sends its share; the first one sends for the session beside, too.
fn send_all(
    from: &mut End,
    streams: &mut Streams,
    offer: OfferedLoad,
    cores: &[usize],
) -> Result<Outcome, BenchError> {
    let share = OfferedLoad { rate: offer.rate / cores.len().max(1) as f64, ..offer };
    let mut beside = Some(&mut streams.beside);
    std::thread::scope(|scope| {
        let places = from.senders.iter_mut().zip(&mut streams.loads).zip(cores);
        let threads: Vec<_> = places
            .map(|((port, load), core)| {
                let beside = beside.take();
                scope.spawn(move || send(port, load, beside, share, *core))
            })
            .collect();
        let mut sum = Outcome::default();
        for thread in threads {
            let sent = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            sum.sent += sent.sent;
            sum.sent_beside += sent.sent_beside;
            sum.wall = sum.wall.max(sent.wall);
        }
        Ok(sum)
    })
}

/// Waits until nothing more arrives.
fn settle(arrived: &AtomicU64) {
    let mut last = (arrived.load(Ordering::Relaxed), Instant::now());
    while last.1.elapsed() < Duration::from_millis(100) {
        std::thread::sleep(Duration::from_millis(5));
        let now = arrived.load(Ordering::Relaxed);
        if now != last.0 {
            last = (now, Instant::now());
        }
    }
}

fn send(
    port: &mut UdpPort,
    load: &mut Stream,
    mut beside: Option<&mut Stream>,
    offer: OfferedLoad,
    core: usize,
) -> Result<Outcome, BenchError> {
    pin(core)?;
    let mut outcome = Outcome::default();
    let (start, mut due, mut due_beside) = (Instant::now(), 0, 0);
    let owed = |rate: f64, elapsed: Duration| (rate * elapsed.as_secs_f64()) as u64;
    loop {
        let elapsed = start.elapsed();
        if elapsed >= offer.span {
            break;
        }
        let now_beside = owed(offer.beside, elapsed);
        if let Some(beside) = &mut beside
            && now_beside > due_beside
        {
            // What was missed is not made up for in one burst.
            let sent = burst(port, beside, 1)?;
            outcome.sent_beside += sent;
            outcome.sent += sent;
            due_beside = now_beside;
        }
        let missing = owed(offer.rate, elapsed).saturating_sub(due).min(BURST as u64);
        if missing > 0 {
            outcome.sent += burst(port, load, missing as usize)?;
            due += missing;
        } else {
            std::hint::spin_loop();
        }
    }
    outcome.wall = start.elapsed();
    Ok(outcome)
}

fn burst(port: &mut UdpPort, stream: &mut Stream, count: usize) -> Result<u64, BenchError> {
    let frames: Vec<Frame<'_>> = (0..count).filter_map(|index| stream.frame(index)).collect();
    let sent = port.send(&frames)?;
    stream.advance(count);
    Ok(sent as u64)
}

/// Counts until it is `done`: all, and those with the mark.
fn count(
    port: &mut UdpPort,
    mark: Mark,
    core: usize,
    done: &AtomicBool,
    arrived: &AtomicU64,
) -> Result<(u64, u64), BenchError> {
    pin(core)?;
    let (mut batch, mut marked) = (Batch::new(), 0);
    while !done.load(Ordering::Relaxed) {
        if port.receive(&mut batch)? == 0 {
            let port: &dyn Port = port;
            causeway_ports::wait([port], None, Some(Duration::from_millis(5)))
                .map_err(BenchError::io("wait for packets"))?;
        }
        let is_marked = |frame: &Frame<'_>| match (mark, frame.meta) {
            (Mark::Ue(ue), Meta::Gtpu { peer, .. }) => peer.ip() == ue,
            (Mark::Teid(teid), _) => frame.data.get(4..8) == Some(&teid.to_be_bytes()),
            _ => false,
        };
        marked += batch.frames().filter(is_marked).count() as u64;
        arrived.fetch_add(batch.len() as u64, Ordering::Relaxed);
    }
    Ok((arrived.load(Ordering::Relaxed), marked))
}

//! BMv2 behind P4Runtime: simple_switch_grpc with a TAP device on each port. Everything that it is told or sent is waited for.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use causeway_p4runtime::client::{CopySession, Options, P4Runtime};
use causeway_packet::{Batch, Frame, Meta};
use causeway_ports::tap::{TapOptions, TapPort};
use causeway_ports::{Port, wait};
use causeway_switch::Count;
use causeway_switch::driver::{Link, Outcome, Reply, Request, SwitchDriver, Ticket};
use causeway_types::Time;

use crate::thrift::{Thrift, Value};

const N3: u16 = 1;
const N6: u16 = 2;
const CPU: u16 = 510;
const THRIFT: u16 = 9090;

/// Longer than anything here takes on a machine that is busy with other things.
const LONG: Duration = Duration::from_secs(60);

/// What the switch sends by ports begins so: the MAC addresses of the hops. Other frames are the kernel's own.
const HOP: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];

/// A frame of the CPU port that is a copy: its original goes its way.
fn is_copy(frame: &[u8]) -> bool {
    frame.get(15).is_some_and(|flags| flags & 1 == 1)
}

/// A switch with its program, and a driver of it.
pub(crate) struct Bmv2 {
    driver: P4Runtime,
    taps: [(u16, TapPort); 2],
    /// Requests of the owner with outcomes that were not polled yet, and the available outcomes.
    under_way: VecDeque<Ticket>,
    outcomes: Vec<(Ticket, Outcome)>,
    /// Frames that went to the controller and by the ports.
    pub(crate) packets: VecDeque<Vec<u8>>,
    pub(crate) sent: VecDeque<(u16, Vec<u8>)>,
    /// The counter of drops, and what it held last.
    drops: (u32, Vec<u32>),
    dropped: u64,
    fences: u32,
    process: Child,
}

impl Bmv2 {
    /// Starts one in this network namespace, with a program and a GTP-U address.
    pub(crate) fn start(json: &Path, p4info: &Path, local: [u8; 4]) -> Self {
        let device = |port: u16| format!("bm{port}");
        let taps = [N3, N6].map(|port| {
            let options = TapOptions { device: device(port), bridge: None, mtu: Some(2000) };
            (port, TapPort::open(&options.device, &options).unwrap())
        });
        let address = SocketAddr::from(([127, 0, 0, 1], 9559));
        let interfaces =
            [N3, N6].iter().flat_map(|port| ["-i".to_owned(), format!("{port}@{}", device(*port))]);
        let mut process = Command::new("simple_switch_grpc")
            .args(interfaces)
            .args(["--no-p4", "--device-id", "1", "--thrift-port", &THRIFT.to_string()])
            .args(["--log-console", "--log-level", "warn", "--", "--priority-queues", "8"])
            .args(["--grpc-server-addr", &address.to_string(), "--cpu-port", &CPU.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let options = Options {
            deadline: LONG,
            longest_pause: Duration::from_millis(100),
            device_config: Some(json.to_owned()),
            copies: vec![CopySession { session: 1, port: CPU.into() }],
            ..Options::new(address.to_string(), p4info)
        };
        let driver = P4Runtime::connect(options, None).unwrap();
        let mut thrift = Thrift::connect(THRIFT, || matches!(process.try_wait(), Ok(None)));
        let drops = driver.program().counters.iter().find(|counter| counter.name == "drops").unwrap();
        let drops = (drops.id, (1..drops.size as u32).collect());
        let mut bmv2 = Self {
            driver,
            taps,
            under_way: VecDeque::new(),
            outcomes: Vec::new(),
            packets: VecDeque::new(),
            sent: VecDeque::new(),
            drops,
            dropped: 0,
            fences: 0,
            process,
        };
        assert_eq!(bmv2.until(|driver| driver.poll_link(Time::default())), Link::Up { emptied: true });
        // It does not serve value sets by P4Runtime.
        let address = Value::Text(local.to_vec());
        let arguments = vec![Value::I32(0), Value::text("UpfParser.local_ipv4"), address];
        thrift.call("standard:bm_parse_vset_add", arguments);
        bmv2
    }

    /// No request of its last owner is in flight.
    pub(crate) fn settle(&mut self) {
        while self.poll().is_some() {}
        self.packets.clear();
        self.sent.clear();
        self.dropped = self.read_drops();
    }

    /// A request of our owner.
    pub(crate) fn submit(&mut self, request: Request) -> Ticket {
        let is_frame = matches!(request, Request::PacketOut(_));
        let ticket = self.driver.submit(Time::default(), request);
        self.under_way.push_back(ticket);
        if is_frame {
            let fence = self.fence();
            self.ask(Request::PacketOut(fence.clone())).unwrap();
            self.pass(&fence);
        }
        ticket
    }

    /// Requests have no outcome yet.
    pub(crate) fn is_busy(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// The outcome of the oldest request in flight: in order, so that all runs are equal.
    pub(crate) fn poll(&mut self) -> Option<(Ticket, Outcome)> {
        let ticket = self.under_way.pop_front()?;
        Some((ticket, self.outcome_of(ticket)))
    }

    /// A frame comes by a port. What it leads to has happened when this returns.
    pub(crate) fn receive(&mut self, port: u16, frame: &[u8]) {
        let fence = self.fence();
        self.put(port, frame);
        self.put(port, &fence);
        self.pass(&fence);
    }

    /// Counters by index.
    pub(crate) fn counts(&mut self, counter: u32, indices: &[u32]) -> Vec<Count> {
        match self.ask(Request::ReadIndexed { counter, indices: indices.to_vec() }) {
            Ok(Reply::Counts(counts)) => counts.into_iter().map(Option::unwrap_or_default).collect(),
            other => panic!("{other:?}"),
        }
    }

    /// Waits for something of the driver.
    fn until<T>(&mut self, mut poll: impl FnMut(&mut P4Runtime) -> Option<T>) -> T {
        let end = Instant::now() + LONG;
        loop {
            if let Some(found) = poll(&mut self.driver) {
                return found;
            }
            assert!(Instant::now() < end, "nothing comes from the switch: {:?}", self.process.try_wait());
            self.driver.wait(Duration::from_millis(20));
        }
    }

    /// A request of our own.
    fn ask(&mut self, request: Request) -> Outcome {
        let ticket = self.driver.submit(Time::default(), request);
        self.outcome_of(ticket)
    }

    /// Waits for the outcome of a request. Those of others are kept.
    fn outcome_of(&mut self, ticket: Ticket) -> Outcome {
        loop {
            if let Some(place) = self.outcomes.iter().position(|(ended, _)| *ended == ticket) {
                return self.outcomes.swap_remove(place).1;
            }
            let ended = self.until(|driver| driver.poll(Time::default()));
            self.outcomes.push(ended);
        }
    }

    fn read_drops(&mut self) -> u64 {
        let (counter, cells) = self.drops.clone();
        self.counts(counter, &cells).iter().map(|count| count.packets).sum()
    }

    fn put(&mut self, port: u16, octets: &[u8]) {
        let (_, tap) = self.taps.iter_mut().find(|(number, _)| *number == port).unwrap();
        assert_eq!(tap.send(&[Frame { meta: Meta::Ethernet, data: octets }]).unwrap(), 1);
    }

    /// A frame with ARP, which goes to the controller, each with another content.
    fn fence(&mut self) -> Vec<u8> {
        self.fences += 1;
        [&[0xff; 12][..], &[0x08, 0x06], &self.fences.to_be_bytes().repeat(7)].concat()
    }

    /// Waits for a fence, and for what came before it: by the same way, so once the fence is there, the frame before is dropped and
    /// counted, or on its way, and its copies are there.
    fn pass(&mut self, fence: &[u8]) {
        let end = Instant::now() + LONG;
        let (mut is_over, mut copies, before) = (false, 0, self.packets.len() + self.sent.len());
        while !is_over {
            let packet = self.until(|driver| driver.poll_packet(Time::default()));
            is_over = packet.get(24..) == fence.get(14..);
            if !is_over {
                copies += usize::from(is_copy(&packet));
                self.packets.push_back(packet);
            }
        }
        self.take_sent(Duration::ZERO);
        let dropped = self.read_drops();
        if std::mem::replace(&mut self.dropped, dropped) != dropped {
            return;
        }
        while self.packets.len() + self.sent.len() == before + copies {
            assert!(Instant::now() < end, "a frame neither leaves nor is it dropped");
            self.take_sent(Duration::from_millis(5));
            let packet = self.driver.poll_packet(Time::default());
            copies += usize::from(packet.as_deref().is_some_and(is_copy));
            self.packets.extend(packet);
        }
    }

    /// Takes what has left by the ports, within that time.
    fn take_sent(&mut self, longest: Duration) {
        let mut batch = Batch::new();
        let ports: Vec<&dyn Port> = self.taps.iter().map(|(_, tap)| tap as &dyn Port).collect();
        wait(ports, None, Some(longest)).unwrap();
        for (number, tap) in &mut self.taps {
            tap.receive(&mut batch).unwrap();
            let frames = batch.metas_and_data().filter_map(|(_, data)| data);
            let ours = frames.filter(|octets| octets.starts_with(&HOP));
            self.sent.extend(ours.map(|octets| (*number, octets.to_vec())));
        }
    }
}

impl Drop for Bmv2 {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}

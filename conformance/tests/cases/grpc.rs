//! The switch behind P4Runtime: the same model, in the same time, with gRPC on loopback between it and the backend.

use std::collections::VecDeque;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use causeway_conformance::{Backend, Setup, SwitchBackend, limits};
use causeway_dataplane::{PacketEngine, Topology};
use causeway_p4runtime::client::{self, P4Runtime};
use causeway_p4runtime::server::{self, ModelSwitch, PROFILES};
use causeway_switch::Count;
use causeway_switch::backend::{InProcess, UNDERLAY, WithPorts};
use causeway_switch::driver::{Link, Outcome, Program, Request, SwitchDriver, Ticket};
use causeway_types::Time;
use tempfile::NamedTempFile;
use tokio::net::TcpListener;

/// Longer than anything here takes on a machine that is busy with other things.
const LONG: Duration = Duration::from_secs(60);

/// A P4 switch, as a model behind P4Runtime.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OverGrpc(pub(crate) SwitchBackend);

impl Backend for OverGrpc {
    fn name(&self) -> &'static str {
        "switch over P4Runtime"
    }

    fn build(&self, topology: Topology, setup: &Setup) -> Box<dyn PacketEngine> {
        let local = topology.gtpu.iter().filter_map(|end| end.addr.v4).collect();
        let contract = self.0.contract_for(setup);
        let way = Way::new(contract.profile, local);
        let program = Program::from(contract);
        let engine = InProcess::with_driver(way, &program, topology, limits(setup));
        Box::new(engine.unwrap_or_else(|error| panic!("{error}")))
    }
}

/// A driver by P4Runtime that waits for its switch, so that time in between is none, as with the model itself.
pub(crate) struct Way {
    /// `None` once it is over.
    driver: Option<P4Runtime>,
    switch: ModelSwitch,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
    /// News of the link that the backend has not heard yet.
    links: VecDeque<Link>,
    under_way: usize,
    packets_in: u64,
    packets_out: u64,
    _p4info: NamedTempFile,
}

/// The P4Info of a profile, with room in the source guard and for the numbers of UEs one by one, as the model in process has it.
fn p4info(profile: &str) -> String {
    let (_, text) = PROFILES.iter().find(|(name, _)| *name == profile).unwrap();
    let mut is_guard = false;
    let line = |line: &str| {
        if line.contains("alias: ") {
            is_guard = line.contains("\"source_guard") || line.contains("\"ue_pools");
        }
        if is_guard && line.trim() == "size: 64" { "size: 65536\n".to_owned() } else { format!("{line}\n") }
    };
    text.lines().map(line).collect()
}

impl Way {
    pub(crate) fn new(profile: &str, local: Vec<Ipv4Addr>) -> Self {
        let (switch, address, thread) = serve(local, "127.0.0.1:0".parse().unwrap());
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(p4info(profile).as_bytes()).unwrap();
        let options = client::Options {
            deadline: LONG,
            longest_pause: Duration::from_millis(100),
            underlay: vec![UNDERLAY],
            ..client::Options::new(address.to_string(), file.path())
        };
        let driver = Some(P4Runtime::connect(options, None).unwrap());
        let links = VecDeque::new();
        let (under_way, packets_in, packets_out) = (0, 0, 0);
        let thread = Some(thread);
        let mut way = Self {
            driver,
            switch,
            address,
            thread,
            links,
            under_way,
            packets_in,
            packets_out,
            _p4info: file,
        };
        assert_eq!(way.until(|driver| driver.poll_link(Time::default())), Link::Up { emptied: true });
        way
    }

    /// The switch ends, and is there again without anything. The driver has heard of it then.
    pub(crate) fn restart(&mut self, now: Time, local: Vec<Ipv4Addr>) {
        self.switch.stop();
        self.thread.take().unwrap().join().unwrap();
        let down = self.until(|driver| driver.poll_link(now));
        let (switch, _, thread) = serve(local, self.address);
        switch.set_time(now);
        (self.switch, self.thread) = (switch, Some(thread));
        let up = self.until(|driver| driver.poll_link(now));
        self.links.extend([down, up]);
        (self.packets_in, self.packets_out) = (0, 0);
    }

    fn driver(&mut self) -> &mut P4Runtime {
        self.driver.as_mut().expect("it is over only when dropped")
    }

    /// Waits for something that is on its way.
    fn until<T>(&mut self, mut poll: impl FnMut(&mut P4Runtime) -> Option<T>) -> T {
        let end = Instant::now() + LONG;
        loop {
            if let Some(found) = poll(self.driver()) {
                return found;
            }
            assert!(Instant::now() < end, "nothing comes from the switch");
            self.driver().wait(Duration::from_millis(20));
        }
    }
}

/// An empty switch at an address.
fn serve(local: Vec<Ipv4Addr>, address: SocketAddr) -> (ModelSwitch, SocketAddr, JoinHandle<()>) {
    let switch = ModelSwitch::new(server::Options { local, ..server::Options::default() });
    switch.set_time(Time::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let listener = runtime.block_on(TcpListener::bind(address)).unwrap();
    let address = listener.local_addr().unwrap();
    let served = switch.clone();
    let thread = std::thread::spawn(move || runtime.block_on(served.serve(listener)).unwrap());
    (switch, address, thread)
}

impl SwitchDriver for Way {
    fn submit(&mut self, now: Time, request: Request) -> Ticket {
        self.switch.set_time(now);
        self.under_way += 1;
        let is_frame = matches!(request, Request::PacketOut(_));
        let ticket = self.driver().submit(now, request);
        if is_frame {
            // A frame has no answer: it is waited for until the switch has had it.
            self.packets_out += 1;
            let (switch, sent) = (self.switch.clone(), self.packets_out);
            self.until(|_| (switch.totals().packets_out >= sent).then_some(()));
        }
        ticket
    }

    fn poll(&mut self, now: Time) -> Option<(Ticket, Outcome)> {
        self.switch.set_time(now);
        self.under_way = self.under_way.checked_sub(1)?;
        Some(self.until(|driver| driver.poll(now)))
    }

    fn next_event(&self) -> Option<Time> {
        (self.under_way > 0).then(Time::default)
    }

    fn poll_link(&mut self, _now: Time) -> Option<Link> {
        self.links.pop_front()
    }

    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>> {
        self.switch.set_time(now);
        if self.packets_in == self.switch.totals().packets_in {
            return None;
        }
        self.packets_in += 1;
        Some(self.until(|driver| driver.poll_packet(now)))
    }
}

impl WithPorts for Way {
    fn receive(&mut self, now: Time, port: u16, frame: &[u8]) {
        self.switch.set_time(now);
        self.switch.receive(port, frame);
    }

    fn poll_sent(&mut self) -> Option<(u16, Vec<u8>)> {
        self.switch.poll_sent()
    }

    fn indexed_counts(&mut self, counter: u32, indices: &[u32]) -> Vec<Count> {
        let count = |index: &u32| self.switch.indexed_count(counter, *index).unwrap_or_default();
        indices.iter().map(count).collect()
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.driver = None;
        self.switch.stop();
        if let Some(thread) = self.thread.take() {
            // A case that failed says so itself.
            let _ended = thread.join();
        }
    }
}

//! A switch served on loopback, and a driver of it.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use causeway_p4runtime::client::{Options, P4Runtime};
use causeway_p4runtime::server::{self, ModelSwitch, PROFILES};
use causeway_switch::driver::{Link, Outcome, Reply, Request, SwitchDriver, Ticket};
use causeway_types::Time;
use tempfile::NamedTempFile;
use tokio::net::TcpListener;

/// Longer than any step takes on a busy host.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Registers whose cells are of one word, of 64 bits, and a struct.
const REGISTERS: &str = r#"
    registers { preamble { id: 369098753 name: "m.seen" alias: "seen" } size: 2500
      type_spec { bitstring { bit { bitwidth: 16 } } } }
    registers { preamble { id: 369098754 name: "m.times" alias: "times" } size: 8
      type_spec { bitstring { bit { bitwidth: 64 } } } }
    registers { preamble { id: 369098755 name: "m.pairs" alias: "pairs" } size: 8
      type_spec { struct { name: "pair_t" } } }
    type_info { structs { key: "pair_t" value {
      members { name: "first" type_spec { bitstring { bit { bitwidth: 32 } } } }
      members { name: "second" type_spec { bitstring { bit { bitwidth: 20 } } } } } } }
"#;

/// The P4Info of `hip4`, with registers.
pub(crate) fn p4info() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let hip4 = PROFILES.iter().find(|(name, _)| *name == "hip4").unwrap().1;
        format!("{hip4}{REGISTERS}")
    });
    &TEXT
}

/// A switch on loopback, served by a thread until it is stopped.
pub(crate) struct Served {
    pub(crate) switch: ModelSwitch,
    pub(crate) address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// A new switch, with the program already running or without any.
    pub(crate) fn new(options: server::Options, has_program: bool) -> Self {
        let switch = ModelSwitch::new(options);
        if has_program {
            switch.run(p4info()).unwrap();
        }
        Self::serve(switch, "127.0.0.1:0".parse().unwrap())
    }

    /// A switch at an address.
    pub(crate) fn serve(switch: ModelSwitch, address: SocketAddr) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind(address)).unwrap();
        let address = listener.local_addr().unwrap();
        let served = switch.clone();
        let thread = std::thread::spawn(move || runtime.block_on(served.serve(listener)).unwrap());
        Self { switch, address, thread: Some(thread) }
    }

    /// Its connections break, and it stops serving.
    pub(crate) fn stop(mut self) -> (ModelSwitch, SocketAddr) {
        self.end();
        (self.switch.clone(), self.address)
    }

    fn end(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.switch.stop();
            thread.join().unwrap();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.end();
    }
}

/// A P4Runtime driver whose results the test waits for.
pub(crate) struct Driver {
    pub(crate) driver: P4Runtime,
    _p4info: NamedTempFile,
}

impl Driver {
    pub(crate) fn connect(address: SocketAddr, set: impl FnOnce(&mut Options)) -> Self {
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(p4info().as_bytes()).unwrap();
        let mut options = Options::new(address.to_string(), file.path());
        options.deadline = LONG;
        options.longest_pause = Duration::from_millis(100);
        set(&mut options);
        Self { driver: P4Runtime::connect(options, None).unwrap(), _p4info: file }
    }

    /// The next change of the connection.
    pub(crate) fn link(&mut self) -> Link {
        self.until("a change of the link", |driver| driver.poll_link(Time::default()))
    }

    pub(crate) fn packet(&mut self) -> Vec<u8> {
        self.until("a packet", |driver| driver.poll_packet(Time::default()))
    }

    pub(crate) fn submit(&mut self, request: Request) -> Ticket {
        self.driver.submit(Time::default(), request)
    }

    /// The outcome of a request; outcomes of others are skipped.
    pub(crate) fn outcome(&mut self, ticket: Ticket) -> Outcome {
        self.until("an outcome", |driver| {
            driver.poll(Time::default()).filter(|(ended, _)| *ended == ticket).map(|(_, outcome)| outcome)
        })
    }

    pub(crate) fn ask(&mut self, request: Request) -> Outcome {
        let ticket = self.submit(request);
        self.outcome(ticket)
    }

    /// How many entries a table has.
    pub(crate) fn count(&mut self, table: &str) -> usize {
        let table = self.driver.program().table_named(table).unwrap().id;
        match self.ask(Request::ReadEntries { table }).unwrap() {
            Reply::Entries(entries) => entries.len(),
            other => panic!("{other:?}"),
        }
    }

    fn until<T>(&mut self, what: &str, mut poll: impl FnMut(&mut P4Runtime) -> Option<T>) -> T {
        let end = Instant::now() + LONG;
        loop {
            if let Some(found) = poll(&mut self.driver) {
                return found;
            }
            assert!(Instant::now() < end, "{what} does not come");
            // There may be other items; then this returns immediately.
            if self.driver.wait(Duration::from_millis(100)) {
                std::thread::yield_now();
            }
        }
    }
}

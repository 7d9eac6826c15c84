//! The same cases for the model in process and over gRPC.

use causeway_p4runtime::client::CopySession;
use causeway_p4runtime::server::{self, ModelSwitch};
use causeway_switch::Count;
use causeway_switch::driver::{
    Entry, EntryKey, FieldMatch, Link, Outcome, Program, Reply, Request, SwitchDriver, Update, WriteError,
};
use causeway_switch::model::upf::Upf;
use causeway_switch::model::{Config, Model, Timing};
use causeway_types::{Span, Time};

use crate::driver::world::{Driver, Served, p4info};

/// The port of the controller.
pub(crate) const CPU: u16 = 510;

/// A switch with `hip4`, empty.
pub(crate) trait Subject {
    fn ask(&mut self, request: Request) -> Outcome;

    /// Receives a frame on a port.
    fn receive(&mut self, port: u16, frame: &[u8]);

    /// The next frame that was transmitted on a port.
    fn sent(&mut self) -> Option<(u16, Vec<u8>)>;

    /// The next frame that was sent to the CPU port.
    fn packet(&mut self) -> Vec<u8>;

    fn program(&self) -> Program;

    /// Whether the error means that a table of that size is full.
    fn means_full(&self, error: &WriteError, table: &str, size: usize) -> bool {
        *error == WriteError::Full { table: table.to_owned(), size }
    }

    /// An entry by names; unnamed fields match any value, and unnamed parameters are zero.
    fn entry(
        &self,
        table: &str,
        fields: &[FieldMatch],
        priority: i32,
        action: &str,
        parameters: &[u128],
    ) -> Entry {
        let program = self.program();
        let table = program.table_named(table).unwrap().id;
        let action = program.actions.iter().find(|known| known.name == action).unwrap().id;
        let key = EntryKey { table, fields: fields.to_vec(), priority };
        Entry { key, action, parameters: parameters.to_vec() }
    }

    fn insert(&mut self, entries: &[Entry]) -> Outcome {
        self.ask(Request::Write(entries.iter().cloned().map(Update::Insert).collect()))
    }

    fn entries(&mut self, table: &str) -> Vec<Entry> {
        let table = self.program().table_named(table).unwrap().id;
        match self.ask(Request::ReadEntries { table }).unwrap() {
            Reply::Entries(entries) => entries,
            other => panic!("{other:?}"),
        }
    }

    fn counts(&mut self, keys: &[EntryKey]) -> Vec<Option<Count>> {
        match self.ask(Request::ReadDirect(keys.to_vec())).unwrap() {
            Reply::Counts(counts) => counts,
            other => panic!("{other:?}"),
        }
    }
}

/// Runs a test with each kind of driver.
pub(crate) fn each(test: impl Fn(&mut dyn Subject)) {
    test(&mut InProcess::new());
    test(&mut OverGrpc::new(true));
    // A server whose batches are not atomic, as BMv2's.
    test(&mut OverGrpc::new(false));
}

struct InProcess {
    model: Model<Upf>,
    now: Time,
}

impl InProcess {
    fn new() -> Self {
        let program = causeway_p4runtime::program(p4info()).unwrap();
        let upf = Upf::new(&program, CPU, Vec::new()).unwrap();
        let config = Config { timing: Timing::INSTANT, cpu_port: CPU, port_rate: None, queue_room: 1 << 20 };
        Self { model: Model::new(program, upf, config), now: Time::from_secs(1) }
    }
}

impl Subject for InProcess {
    fn ask(&mut self, request: Request) -> Outcome {
        self.now = self.now + Span::from_millis(1);
        let ticket = self.model.submit(self.now, request);
        let (ended, outcome) = self.model.poll(self.now).unwrap();
        assert_eq!(ended, ticket);
        outcome
    }

    fn receive(&mut self, port: u16, frame: &[u8]) {
        self.model.receive(self.now, port, frame);
    }

    fn sent(&mut self) -> Option<(u16, Vec<u8>)> {
        self.model.poll_sent().map(|(_, port, frame)| (port, frame))
    }

    fn packet(&mut self) -> Vec<u8> {
        self.model.poll_packet(self.now).unwrap()
    }

    fn program(&self) -> Program {
        self.model.state().program().clone()
    }
}

struct OverGrpc {
    driver: Driver,
    switch: ModelSwitch,
    _served: Served,
}

impl OverGrpc {
    fn new(has_atomic_batches: bool) -> Self {
        let options = server::Options { has_atomic_batches, ..server::Options::default() };
        let served = Served::new(options, false);
        let copies = vec![CopySession { session: 1, port: CPU.into() }];
        let mut driver = Driver::connect(served.address, |options| options.copies = copies);
        assert_eq!(driver.link(), Link::Up { emptied: true });
        Self { driver, switch: served.switch.clone(), _served: served }
    }
}

impl Subject for OverGrpc {
    fn ask(&mut self, request: Request) -> Outcome {
        self.driver.ask(request)
    }

    fn receive(&mut self, port: u16, frame: &[u8]) {
        self.switch.receive(port, frame);
    }

    fn sent(&mut self) -> Option<(u16, Vec<u8>)> {
        // A frame has no response; the next request follows it only on its own stream. So its transmission is waited
        // for.
        (0..10_000).find_map(|_| {
            self.switch.poll_sent().or_else(|| {
                self.driver.driver.wait(std::time::Duration::from_millis(1));
                None
            })
        })
    }

    fn packet(&mut self) -> Vec<u8> {
        self.driver.packet()
    }

    fn program(&self) -> Program {
        self.driver.driver.program().clone()
    }
}

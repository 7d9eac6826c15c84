//! A driver for a switch behind P4Runtime.
//!
//! [`P4Runtime`] has its own thread for the connection, its calls and their deadlines; its functions do not block.
//! Requests for the same table are sent one after the other, others concurrently.
//!
//! The thread stays connected: it reports [`Link::Down`] when the connection breaks, reconnects with growing pauses,
//! becomes primary again, loads the program if the switch has lost it, and reports [`Link::Up`]. The owner must then
//! read the state of the switch.

mod calls;
mod error;
mod inbox;
mod options;
mod order;
mod prepare;
mod reads;
mod session;
mod status;
mod worker;
mod write;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use causeway_switch::driver::{
    DriverError, Link, Outcome, Program, Rejected, Request, SwitchDriver, Ticket, WriteError,
};
use causeway_types::{Span, Time};
use tokio::sync::mpsc::UnboundedSender;

pub use inbox::Wake;
pub use options::{CopySession, Options};

use crate::info::{Info, InfoError, Schema};
use inbox::Inbox;
use worker::Worker;

/// Why a driver cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The P4Info cannot be used.
    #[error(transparent)]
    Info(#[from] InfoError),
    /// The address is invalid.
    #[error("{address:?} is not a host and port: {source}")]
    Address {
        /// The given address.
        address: String,
        /// The error.
        source: tonic::transport::Error,
    },
    /// This host has no resources for another thread or event queue.
    #[error("cannot start a thread for the switch: {0}")]
    Thread(std::io::Error),
}

/// The driver of a switch behind P4Runtime.
pub struct P4Runtime {
    schema: Arc<Schema>,
    inbox: Arc<Inbox>,
    requests: Option<UnboundedSender<(Ticket, Request)>>,
    tickets: u64,
    thread: Option<JoinHandle<()>>,
}

impl P4Runtime {
    /// Begins to connect. Requests fail as unavailable until [`Link::Up`]. `wake` is called from the driver's thread
    /// when there is something to poll.
    ///
    /// # Errors
    /// The files or the address cannot be used; a switch that does not respond is no error.
    pub fn connect(options: Options, wake: Option<Wake>) -> Result<Self, ConnectError> {
        let info = Info::of_file(&options.p4info)?;
        let schema = Arc::new(info.schema.clone());
        let inbox = Arc::new(Inbox::new(wake));
        let (requests, received) = tokio::sync::mpsc::unbounded_channel();
        let worker = Worker::new(options, info, Arc::clone(&inbox), received)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(ConnectError::Thread)?;
        let thread = std::thread::Builder::new().name("p4runtime".to_owned());
        let thread = thread.spawn(move || runtime.block_on(worker.run())).map_err(ConnectError::Thread)?;
        Ok(Self { schema, inbox, requests: Some(requests), tickets: 0, thread: Some(thread) })
    }

    /// The program of the P4Info.
    pub fn program(&self) -> &Program {
        &self.schema.program
    }

    /// Waits until there is something to poll; false if there is nothing after that time.
    pub fn wait(&self, longest: Duration) -> bool {
        self.inbox.wait(longest)
    }

    /// Checks for what no switch could do.
    fn check(&self, request: &Request) -> Result<(), Rejected> {
        let program = &self.schema.program;
        match request {
            Request::Write(updates) => updates.iter().enumerate().try_for_each(|(update, content)| {
                self.schema.check_update(content).map_err(|error| Rejected { update, error })
            }),
            Request::ReadIndexed { counter, indices } => {
                let by_index = program.counters.iter().filter(|known| known.table.is_none());
                let size = by_index.filter(|known| known.id == *counter).map(|known| known.size).next();
                let missing = indices.iter().position(|index| *index as usize >= size.unwrap_or(0));
                match missing.and_then(|update| Some((update, *indices.get(update)?))) {
                    None => Ok(()),
                    Some((update, index)) => {
                        let error = WriteError::UnknownCounter { counter: *counter, index };
                        Err(Rejected { update, error })
                    }
                }
            }
            Request::ReadRegister { register, indices } => {
                let known = program.registers.iter().find(|known| known.id == *register);
                let size = known.map_or(0, |known| known.size);
                match indices.iter().enumerate().find(|(_, index)| **index as usize >= size) {
                    None => Ok(()),
                    Some((update, index)) => {
                        let error = WriteError::UnknownRegister { register: *register, index: *index };
                        Err(Rejected { update, error })
                    }
                }
            }
            Request::ReadEntries { table } => match program.table(*table) {
                Some(_) => Ok(()),
                None => Err(Rejected { update: 0, error: WriteError::UnknownTable(*table) }),
            },
            Request::ReadDirect(_) | Request::PacketOut(_) => Ok(()),
        }
    }
}

impl SwitchDriver for P4Runtime {
    fn submit(&mut self, _: Time, request: Request) -> Ticket {
        let ticket = Ticket(self.tickets);
        self.tickets += 1;
        let sent = match (self.check(&request), &self.requests) {
            (Err(rejected), _) => Err(rejected.into()),
            (Ok(()), None) => Err(DriverError::Unavailable),
            (Ok(()), Some(requests)) => {
                requests.send((ticket, request)).map_err(|_| DriverError::Unavailable)
            }
        };
        if let Err(error) = sent {
            self.inbox.outcome(ticket, Err(error));
        }
        ticket
    }

    fn poll(&mut self, _: Time) -> Option<(Ticket, Outcome)> {
        self.inbox.open().outcomes.pop_front()
    }

    /// Immediately if something has arrived. Responses in flight arrive later: see [`P4Runtime::wait`].
    fn next_event(&self) -> Option<Time> {
        (!self.inbox.open().is_empty()).then(Time::default)
    }

    fn poll_packet(&mut self, _: Time) -> Option<Vec<u8>> {
        self.inbox.open().packets.pop_front()
    }

    /// Those that the owner did not poll in time: too many waited.
    fn lost_packets(&self) -> u64 {
        self.inbox.open().lost_packets
    }

    fn poll_link(&mut self, _: Time) -> Option<Link> {
        self.inbox.open().links.pop_front()
    }

    fn wait(&mut self, longest: Span) -> Option<Span> {
        let start = Instant::now();
        self.inbox.wait(longest);
        Some(start.elapsed())
    }
}

impl Drop for P4Runtime {
    /// The thread ends its wait immediately, without responses in flight.
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // Its result is not needed, even if it panicked.
            let _ended = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::client::inbox::MOST_PACKETS;

    // Input:  three frames of the CPU port more than may wait, which the owner does not poll.
    // Output: three are lost, and counted; the others are polled.
    #[test]
    fn frames_that_exceed_the_queue_are_counted() {
        let p4info = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../p4/p4info/hip4.bmv2.txtpb");
        // Nobody listens there.
        let mut driver = P4Runtime::connect(Options::new("127.0.0.1:1", p4info), None).unwrap();
        (0..MOST_PACKETS + 3).for_each(|_| driver.inbox.packet(vec![0; 60]));
        assert_eq!(driver.lost_packets(), 3);
        let polled = std::iter::from_fn(|| driver.poll_packet(Time::default())).count();
        assert_eq!((polled, driver.lost_packets()), (MOST_PACKETS, 3));
    }
}

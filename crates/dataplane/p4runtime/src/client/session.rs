//! One connection: arbitration, calls in flight, and messages of the stream.

use std::collections::HashMap;
use std::sync::Arc;

use causeway_switch::driver::{DriverError, Link, Outcome, Reply, Request, Ticket};
use foldhash::fast::RandomState;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::{JoinError, JoinSet};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Streaming};
use tracing::{info, warn};

use super::calls::Calls;
use super::error::SessionError;
use super::order::Order;
use super::prepare::prepare;
use super::worker::{End, Shared};
use crate::wire::service::p4_runtime_client::P4RuntimeClient;
use crate::wire::{
    FromSwitch, MOST_MESSAGE, MasterArbitrationUpdate, PacketOut, StreamMessageRequest,
    StreamMessageResponse, ToSwitch,
};

/// The most concurrent calls.
const MOST_CALLS: usize = 32;

/// The most frames that wait for the switch to read them.
const QUEUE: usize = 1024;

/// Whether the switch accepts writes from this controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    /// It has not reported this yet.
    Unknown,
    /// Another controller is primary, or was the last primary.
    Backup,
    /// This controller is primary, and the program is being loaded.
    Preparing,
    /// This controller is primary.
    Primary,
}

/// The results of a session's tasks.
enum Work {
    Call(Ticket, Outcome),
    /// The switch runs the program; true if it was emptied.
    Prepared(Result<bool, SessionError>),
}

pub(super) struct Session {
    shared: Arc<Shared>,
    calls: Calls,
    to_switch: mpsc::Sender<StreamMessageRequest>,
    from_switch: Streaming<StreamMessageResponse>,
    standing: Standing,
    was_up: bool,
    order: Order,
    tasks: JoinSet<Work>,
    /// Calls in flight, and whether they write.
    under_way: HashMap<Ticket, bool, RandomState>,
}

impl Session {
    /// Connects, and requests to be primary.
    pub(super) async fn open(shared: Arc<Shared>, endpoint: Endpoint) -> Result<Self, SessionError> {
        let channel = endpoint.connect().await.map_err(SessionError::Connect)?;
        let mut client: P4RuntimeClient<Channel> =
            P4RuntimeClient::new(channel).max_decoding_message_size(MOST_MESSAGE);
        let (to_switch, messages) = mpsc::channel(QUEUE);
        let hello = MasterArbitrationUpdate {
            device_id: shared.options.device_id,
            election_id: Some(shared.options.election_id.into()),
            ..MasterArbitrationUpdate::default()
        };
        let update = Some(ToSwitch::Arbitration(hello));
        // The queue has capacity: this is the first message.
        let _sent = to_switch.try_send(StreamMessageRequest { update });
        let opening = client.stream_channel(ReceiverStream::new(messages));
        let opened = tokio::time::timeout(shared.options.deadline, opening).await;
        let from_switch =
            opened.map_err(|_| SessionError::NoStream)?.map_err(SessionError::StreamRefused)?.into_inner();
        Ok(Self {
            calls: Calls::new(Arc::clone(&shared), client),
            shared,
            to_switch,
            from_switch,
            standing: Standing::Unknown,
            was_up: false,
            order: Order::default(),
            tasks: JoinSet::new(),
            under_way: HashMap::default(),
        })
    }

    /// Carries out requests until the connection breaks or the owner is dropped; returns whether the switch was up, or
    /// another controller was primary.
    pub(super) async fn serve(mut self, requests: &mut UnboundedReceiver<(Ticket, Request)>) -> (End, bool) {
        let patience = tokio::time::sleep(self.shared.options.deadline);
        tokio::pin!(patience);
        let end = loop {
            tokio::select! {
                message = self.from_switch.message() => match message {
                    Ok(Some(message)) => self.handle_message(message),
                    Ok(None) => break End::Broken(SessionError::StreamEnded(None)),
                    Err(status) => break End::Broken(SessionError::StreamEnded(Some(status))),
                },
                Some(work) = self.tasks.join_next() => {
                    if let Err(error) = self.over(work) { break End::Broken(error) }
                }
                request = requests.recv() => match request {
                    Some((ticket, request)) => self.order.add(ticket, request),
                    None => break End::Gone,
                },
                () = &mut patience, if self.standing == Standing::Unknown => {
                    break End::Broken(SessionError::NoArbitration);
                }
            }
            self.begin_calls();
        };
        self.give_up().await;
        (end, self.was_up)
    }

    fn handle_message(&mut self, message: StreamMessageResponse) {
        match message.update {
            Some(FromSwitch::Arbitration(update)) => self.arbitrate(&update),
            Some(FromSwitch::Packet(packet)) => self.shared.inbox.packet(packet.payload),
            Some(FromSwitch::Error(error)) => {
                let (code, message) = (Code::from(error.canonical_code), error.message);
                warn!(switch = self.shared.options.address, "a packet was refused: {code:?}: {message}");
            }
            Some(FromSwitch::Digest(_) | FromSwitch::IdleTimeout(_) | FromSwitch::Other(_)) | None => {}
        }
    }

    fn arbitrate(&mut self, update: &MasterArbitrationUpdate) {
        let switch = &self.shared.options.address;
        let is_primary = update.status.as_ref().is_none_or(|status| status.code == Code::Ok as i32);
        if !is_primary {
            let theirs: u128 = update.election_id.map(Into::into).unwrap_or_default();
            if self.standing != Standing::Backup {
                let ours = self.shared.options.election_id;
                warn!(
                    switch,
                    "another controller is primary: its election id is {theirs}, the local one {ours}"
                );
                self.shared.inbox.link(Link::Superseded);
            }
            self.standing = Standing::Backup;
            self.was_up = true;
        } else if matches!(self.standing, Standing::Unknown | Standing::Backup) {
            self.standing = Standing::Preparing;
            let (shared, calls) = (Arc::clone(&self.shared), self.calls.clone());
            self.tasks.spawn(async move { Work::Prepared(prepare(&shared, &calls).await) });
        }
    }

    fn over(&mut self, work: Result<Work, JoinError>) -> Result<(), SessionError> {
        match work {
            Ok(Work::Call(ticket, outcome)) => {
                self.under_way.remove(&ticket);
                self.order.finish(ticket);
                self.shared.inbox.outcome(ticket, outcome);
                Ok(())
            }
            Ok(Work::Prepared(Ok(emptied))) => {
                // Another controller may have become primary in the meantime.
                if self.standing == Standing::Preparing {
                    self.standing = Standing::Primary;
                    self.was_up = true;
                    let holds = if emptied { "it was given its program" } else { "it had its program" };
                    info!(switch = self.shared.options.address, "primary: {holds}");
                    self.shared.inbox.link(Link::Up { emptied });
                }
                Ok(())
            }
            Ok(Work::Prepared(Err(error))) if self.standing == Standing::Preparing => Err(error),
            Ok(Work::Prepared(Err(_))) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn begin_calls(&mut self) {
        if matches!(self.standing, Standing::Unknown | Standing::Preparing) {
            return;
        }
        while self.under_way.len() < MOST_CALLS {
            let Some((ticket, request)) = self.order.next() else { return };
            match request {
                Request::Write(_) | Request::PacketOut(_) if self.standing == Standing::Backup => {
                    self.at_once(ticket, Err(DriverError::Superseded));
                }
                Request::PacketOut(payload) => {
                    let packet = PacketOut { payload, ..PacketOut::default() };
                    let message = StreamMessageRequest { update: Some(ToSwitch::Packet(packet)) };
                    let sent = self.to_switch.try_send(message);
                    self.at_once(ticket, sent.map(|()| Reply::Done).map_err(|_| DriverError::Unavailable));
                }
                request => {
                    self.under_way.insert(ticket, matches!(request, Request::Write(_)));
                    let calls = self.calls.clone();
                    self.tasks.spawn(async move { Work::Call(ticket, calls.carry_out(request).await) });
                }
            }
        }
    }

    fn at_once(&mut self, ticket: Ticket, outcome: Outcome) {
        self.order.finish(ticket);
        self.shared.inbox.outcome(ticket, outcome);
    }

    /// Reports what has ended; the outcome of writes in flight is uncertain; nothing else was done.
    async fn give_up(&mut self) {
        self.tasks.abort_all();
        while let Some(work) = self.tasks.join_next().await {
            if let Ok(Work::Call(..)) = work {
                // A call has no further error.
                let _told = self.over(work);
            }
        }
        for (ticket, _) in self.order.clear() {
            let is_write = self.under_way.remove(&ticket).unwrap_or(false);
            let error = if is_write { DriverError::Uncertain } else { DriverError::Unavailable };
            self.shared.inbox.outcome(ticket, Err(error));
        }
    }
}

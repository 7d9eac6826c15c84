//! One member of the chain: its records, its streams, and its part of the protocol.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use causeway_chain::{
    Configuration, Epoch, Executed, Frame, Machine, Member, Message, Octets, Output, Replica, VERSION,
};
use serde::Serialize;
use tokio::sync::{mpsc as async_mpsc, watch};
use tracing::{info, warn};
use utoipa::ToSchema;

use super::coordinator::shown;
use super::limit::LineLimit;
use super::stream::{Destination, FrameReader, FrameSender};

/// How often a member looks at what is due.
const TICK: Duration = Duration::from_millis(100);

/// While a member is in no chain it asks to join this often.
const ASK: Duration = Duration::from_millis(200);

/// Without an acknowledgement for so long, what is not acknowledged is sent again.
const REPEAT: Duration = Duration::from_millis(300);

/// Messages of an epoch that this member does not know yet, at most. What exceeds them is sent again.
const MAX_EARLY: usize = 1 << 16;

/// What this member does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It is in no chain: the coordinator does not answer, or has not taken it yet.
    #[default]
    Outside,
    /// It receives the records.
    Joining,
    /// It has all records, and acknowledges changes.
    Standby,
    /// It handles N4 and user packets.
    Primary,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Outside => "outside",
            Self::Joining => "joining",
            Self::Standby => "standby",
            Self::Primary => "primary",
        })
    }
}

/// The state of a member, for operators.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, ToSchema)]
pub struct ChainStatus {
    /// The number of the member.
    pub member: u16,
    /// What it does.
    pub role: Role,
    /// The epoch that it follows; 0 before the first.
    pub epoch: u32,
    /// The members of the chain, the primary first.
    pub members: Vec<u16>,
    /// A member that receives the records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joining: Option<u16>,
    /// The coordinator has been heard within `upf.chain.timeout`.
    pub coordinator: bool,
    /// The other member has been heard within `upf.chain.timeout`.
    pub peer: bool,
    /// Records: sessions and associations, also the last of each place that ended, and one for the UPF.
    pub records: u64,
    /// Changes that the standby has not acknowledged.
    pub lag: u64,
    /// Records that the joining member has not acknowledged.
    pub missing: u64,
    /// Times that this process has become the primary.
    pub takeovers: u64,
    /// Records of usage since the last reports, each of up to 16 sessions.
    pub usage_records: u64,
    /// How long the last round through the usage of all sessions took, in milliseconds.
    pub usage_round: u64,
    /// The rounds that have ended.
    pub usage_rounds: u64,
}

/// The configuration of a member.
#[derive(Clone, Debug)]
pub(super) struct MemberSettings {
    pub(super) node: u16,
    pub(super) listen: SocketAddr,
    pub(super) peer: SocketAddr,
    pub(super) coordinator: SocketAddr,
    /// A hash of what members must have in common.
    pub(super) common: u64,
    /// After so long without an octet another process counts as failed.
    pub(super) silence: Duration,
}

/// A change of state that the primary has made.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Change {
    /// What has changed.
    pub(crate) key: Octets,
    /// Its state; `None`: it has ended.
    pub(crate) state: Option<Octets>,
    /// The responses that follow from the change.
    pub(crate) responses: Octets,
}

/// A record, as the new primary reads it.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) key: Octets,
    pub(crate) state: Option<Octets>,
    /// The responses of the last changes, the oldest first.
    pub(crate) responses: Vec<Octets>,
}

/// An empty list of responses.
pub(crate) fn has_no_responses(responses: &[u8]) -> bool {
    responses.iter().all(|octet| *octet == 0)
}

/// What the head executes has been executed by N4.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Recorder;

impl Machine for Recorder {
    type Key = Octets;
    type Operation = Change;
    type State = Octets;
    type Answer = Octets;

    fn execute(&mut self, _: &Octets, _: Option<&Octets>, change: &Change) -> Executed<Octets, Octets> {
        Executed { state: change.state.clone(), answer: change.responses.clone() }
    }

    /// A change without responses, as a report of the UPF makes one.
    fn is_unrepeated(&self, responses: &Octets) -> bool {
        has_no_responses(responses)
    }
}

enum Event {
    /// The stream to the other member has begun.
    PeerReached,
    FromPeer(Member, Frame),
    CoordinatorReached,
    FromCoordinator(Frame),
    Changed(Change),
    /// The primary's daemon begins, and wants to know which changes are acknowledged.
    Serving(async_mpsc::UnboundedSender<u64>),
    /// The primary's daemon has ended.
    Stopped,
}

/// A member of the chain, in threads of its own.
#[derive(Debug)]
pub struct ChainMember {
    events: Sender<Event>,
    role: watch::Receiver<Role>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    status: Mutex<ChainStatus>,
    takeover: Mutex<Option<Takeover>>,
    /// When the thread of the member looked at what is due.
    looked: Mutex<Option<Instant>>,
    /// Changes that were made, and acknowledged.
    made: AtomicU64,
    acknowledged: AtomicU64,
}

/// What a new primary begins with.
#[derive(Debug)]
struct Takeover {
    /// When this member became the primary, and the epoch that began with it.
    since: Instant,
    epoch: u32,
    records: Vec<Record>,
}

/// The primary's access to the chain.
#[derive(Debug)]
pub(crate) struct ChainHead {
    events: Sender<Event>,
    /// The number of changes of this primary that are acknowledged.
    pub(crate) acknowledged: async_mpsc::UnboundedReceiver<u64>,
    shared: Arc<Shared>,
    /// What was recorded before.
    pub(crate) records: Vec<Record>,
    /// When this member became the primary, and the epoch that began with it.
    pub(crate) since: Instant,
    pub(crate) epoch: u32,
}

/// The state of the chain, from any thread.
#[derive(Clone, Debug)]
pub(crate) struct ChainView(Arc<Shared>);

impl ChainView {
    /// The state now.
    pub(crate) fn status(&self) -> ChainStatus {
        let mut status = lock(&self.0.status).clone();
        status.lag = self.0.made.load(Relaxed).saturating_sub(self.0.acknowledged.load(Relaxed));
        status
    }
}

impl ChainHead {
    /// Records a change. Its number is one more than that of the last.
    pub(crate) fn record(&self, change: Change) {
        self.shared.made.fetch_add(1, Relaxed);
        // Without the thread nothing is acknowledged any more.
        let _ = self.events.send(Event::Changed(change));
    }

    /// The state of the chain.
    pub(crate) fn view(&self) -> ChainView {
        ChainView(Arc::clone(&self.shared))
    }
}

#[cfg(test)]
impl ChainHead {
    /// The head of a chain without a member: its changes go to the test.
    pub(crate) fn detached(records: Vec<Record>) -> (Self, impl FnMut() -> Option<Change> + use<>) {
        let (events, inbox) = mpsc::channel();
        let (_, acknowledged) = async_mpsc::unbounded_channel();
        let (shared, since) = (Arc::default(), Instant::now());
        let head = Self { events, acknowledged, shared, records, since, epoch: 1 };
        let next = move || loop {
            if let Event::Changed(change) = inbox.try_recv().ok()? {
                return Some(change);
            }
        };
        (head, next)
    }
}

impl ChainMember {
    /// Begins: listens, and connects to the others.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub(super) fn begin(settings: MemberSettings) -> io::Result<Self> {
        let listener = TcpListener::bind(settings.listen)?;
        let (events, inbox) = mpsc::channel();
        let (told, role) = watch::channel(Role::Outside);
        let shared = Arc::new(Shared::default());
        // A process that starts again knows nothing of what it knew before.
        let member = Member::new(settings.node, RandomState::new().hash_one(0) as u32);
        let hello = Frame::Hello { version: VERSION, member, settings: settings.common };
        let (peer_ip, common, silence) = (settings.peer.ip(), settings.common, settings.silence);
        let (from_peer, lines) = (events.clone(), Arc::new(LineLimit::default()));
        let of_peer = Arc::clone(&lines);
        thread::spawn(move || accept(&listener, peer_ip, (common, silence), (&from_peer, &of_peer)));
        let reached = events.clone();
        let to_peer = Destination {
            address: settings.peer,
            own: Some(settings.listen.ip()),
            key: "upf.chain.peer",
            lines: Arc::clone(&lines),
        };
        let peer = FrameSender::to(to_peer, hello.clone(), silence, move |_| {
            drop(reached.send(Event::PeerReached));
        });
        let of_coordinator = events.clone();
        let to_coordinator = Destination {
            address: settings.coordinator,
            own: None,
            key: "upf.chain.coordinator",
            lines: Arc::clone(&lines),
        };
        let coordinator = FrameSender::to(to_coordinator, hello, silence, move |stream| {
            if let Ok(stream) = stream.try_clone() {
                let _ = of_coordinator.send(Event::CoordinatorReached);
                let events = of_coordinator.clone();
                thread::spawn(move || drop(listen_to_coordinator(stream, silence, &events)));
            }
        });
        let state = State {
            replica: Replica::new(member, Recorder),
            peer,
            coordinator,
            role: told,
            shared: Arc::clone(&shared),
            unanswered: VecDeque::new(),
            given: 0,
            serving: None,
            is_running: false,
            heard_peer: None,
            heard_coordinator: None,
            asked: None,
            progressed: Instant::now(),
            begun: None,
            early: Vec::new(),
            fewest: (usize::MAX, Instant::now()),
            is_suspected: false,
            refused: None,
            lines,
            of_coordinator: settings.coordinator.ip(),
            silence,
        };
        thread::Builder::new().name("chain".into()).spawn(move || state.run(&inbox))?;
        Ok(Self { events, role, shared })
    }

    /// Waits until this member is the primary.
    pub(crate) async fn primary(&mut self) {
        while *self.role.borrow_and_update() != Role::Primary {
            if self.role.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until this member is not the primary any more.
    pub(crate) async fn replaced(&mut self) {
        while *self.role.borrow_and_update() == Role::Primary {
            if self.role.changed().await.is_err() {
                return;
            }
        }
    }

    /// What the primary begins with; `None`: it is not the primary any more.
    pub(crate) fn head(&self) -> Option<ChainHead> {
        let Takeover { since, epoch, records } = lock(&self.shared.takeover).take()?;
        let (sender, acknowledged) = async_mpsc::unbounded_channel();
        let _ = self.events.send(Event::Serving(sender));
        let (events, shared) = (self.events.clone(), Arc::clone(&self.shared));
        Some(ChainHead { events, acknowledged, shared, records, since, epoch })
    }

    /// The primary's daemon has ended: the member joins again, if it is in no chain.
    pub(crate) fn stopped(&self) {
        let _ = self.events.send(Event::Stopped);
    }

    /// For how long the thread of the member has not looked at what is due.
    pub(crate) fn unresponsive(&self) -> Duration {
        lock(&self.shared.looked).map_or(Duration::ZERO, |looked| looked.elapsed())
    }

    /// The state of the member.
    pub(crate) fn view(&self) -> ChainView {
        ChainView(Arc::clone(&self.shared))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes streams of the other member, and of no other host.
fn accept(
    listener: &TcpListener,
    peer: IpAddr,
    (common, silence): (u64, Duration),
    (events, lines): (&Sender<Event>, &Arc<LineLimit>),
) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        let Ok(from) = stream.peer_addr() else { continue };
        if from.ip().to_canonical() != peer {
            let line = format_args!("{from} is not upf.chain.peer: its connection is closed");
            lines.warn("connections of other hosts", from.ip(), &line);
            continue;
        }
        let (events, lines) = (events.clone(), Arc::clone(lines));
        thread::spawn(move || {
            if let Err(error) = listen_to_peer(stream, (common, silence), &events)
                && error.kind() == io::ErrorKind::InvalidData
            {
                lines.warn("connections that are of no use", from.ip(), &format_args!("{from}: {error}"));
            }
        });
    }
}

fn listen_to_peer(
    stream: TcpStream,
    (common, silence): (u64, Duration),
    events: &Sender<Event>,
) -> io::Result<()> {
    let mut reader = FrameReader::new(stream, silence)?;
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let from = match reader.next()? {
        Frame::Hello { version: VERSION, member, settings } if settings == common => member,
        Frame::Hello { version: VERSION, .. } => {
            return Err(invalid(
                "the other member has another configuration: compare what `causeway config check --config FILE` prints on both hosts",
            ));
        }
        _ => return Err(invalid("a member with another version of the protocol")),
    };
    loop {
        let frame = reader.next()?;
        events.send(Event::FromPeer(from, frame)).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
    }
}

fn listen_to_coordinator(stream: TcpStream, silence: Duration, events: &Sender<Event>) -> io::Result<()> {
    let end = stream.try_clone()?;
    let mut reader = FrameReader::new(stream, silence)?;
    loop {
        match reader.next() {
            Ok(frame) => {
                events
                    .send(Event::FromCoordinator(frame))
                    .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
            }
            Err(error) => {
                // The thread that writes sets up another one.
                let _ = end.shutdown(std::net::Shutdown::Both);
                return Err(error);
            }
        }
    }
}

/// A change that has not been acknowledged, or waits for an earlier one.
struct Unanswered {
    key: Octets,
    sequence: u32,
    is_answered: bool,
}

struct State {
    replica: Replica<Recorder>,
    peer: FrameSender,
    coordinator: FrameSender,
    role: watch::Sender<Role>,
    shared: Arc<Shared>,
    /// The changes of this primary, in their order.
    unanswered: VecDeque<Unanswered>,
    /// The number of its changes of which all before are acknowledged.
    given: u64,
    /// Where the acknowledged number goes.
    serving: Option<async_mpsc::UnboundedSender<u64>>,
    /// The daemon of the primary runs.
    is_running: bool,
    heard_peer: Option<Instant>,
    heard_coordinator: Option<Instant>,
    /// When it asked to join last.
    asked: Option<Instant>,
    /// When a change was acknowledged last, of those that waited.
    progressed: Instant,
    /// The epoch in which a joining member has begun.
    begun: Option<Epoch>,
    /// The fewest records that the joining member lacked, and since when.
    fewest: (usize, Instant),
    /// Messages of epochs that this member does not know yet.
    early: Vec<(Member, Message<Octets, Octets, Octets>)>,
    /// The coordinator was told that the other member does not respond.
    is_suspected: bool,
    /// The last refusal that was logged.
    refused: Option<String>,
    lines: Arc<LineLimit>,
    /// The host of the coordinator.
    of_coordinator: IpAddr,
    silence: Duration,
}

impl State {
    fn run(mut self, inbox: &Receiver<Event>) {
        let mut ticked = Instant::now();
        loop {
            match inbox.recv_timeout(TICK) {
                Ok(event) => self.handle(event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if ticked.elapsed() >= TICK {
                *lock(&self.shared.looked) = Some(Instant::now());
                self.tick();
                ticked = Instant::now();
            }
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::PeerReached => {
                self.peer.send(Frame::Configuration(self.replica.configuration().clone()));
                // What was sent before may be lost.
                let outputs = self.replica.audit();
                self.carry_out(outputs);
            }
            Event::FromPeer(from, frame) => {
                self.heard_peer = Some(Instant::now());
                self.is_suspected = false;
                self.handle_peer(from, frame);
            }
            Event::CoordinatorReached => self.ask(),
            Event::FromCoordinator(frame) => {
                self.heard_coordinator = Some(Instant::now());
                match frame {
                    Frame::Configuration(next) => self.configure(&next),
                    Frame::Refused(why) => self.refused(why),
                    _ => {}
                }
            }
            Event::Changed(change) => self.changed(&change),
            Event::Serving(sender) => {
                self.serving = Some(sender);
                self.is_running = true;
                self.given = 0;
                self.unanswered.clear();
                self.shared.made.store(0, Relaxed);
                self.shared.acknowledged.store(0, Relaxed);
            }
            Event::Stopped => {
                (self.serving, self.is_running) = (None, false);
                self.unanswered.clear();
                self.shared.made.store(0, Relaxed);
                self.shared.acknowledged.store(0, Relaxed);
                self.update_role();
            }
        }
    }

    fn handle_peer(&mut self, from: Member, frame: Frame) {
        match frame {
            // It may be this member alone that the coordinator does not reach, and that was removed for it.
            Frame::Configuration(next) if next.epoch > self.replica.configuration().epoch => {
                self.configure(&next);
            }
            // The coordinator tells one member before the other.
            Frame::Message(message) if message.epoch() > self.replica.configuration().epoch => {
                self.early.push((from, message));
                self.early.truncate(MAX_EARLY);
            }
            Frame::Message(message) => {
                let configuration = self.replica.configuration();
                let begins = matches!(message, Message::Joining { epoch } if epoch == configuration.epoch)
                    && configuration.joining == Some(from)
                    && self.begun != Some(configuration.epoch);
                if begins {
                    self.begun = Some(configuration.epoch);
                }
                let mut outputs = self.replica.receive(from, &message);
                if begins {
                    outputs.extend(self.replica.audit());
                }
                self.carry_out(outputs);
            }
            Frame::Answered { epoch, key, sequence } if epoch == self.replica.configuration().epoch => {
                self.answered(&key, sequence);
                self.tell_answered();
            }
            _ => {}
        }
    }

    fn changed(&mut self, change: &Change) {
        let sequence = self.replica.last_sequence(&change.key).map_or(0, |last| last.wrapping_add(1));
        self.unanswered.push_back(Unanswered { key: change.key.clone(), sequence, is_answered: false });
        if self.unanswered.len() == 1 {
            self.progressed = Instant::now();
        }
        // Otherwise this member has been replaced, and the daemon will end.
        if let Ok(outputs) = self.replica.request(&change.key, sequence, change) {
            self.carry_out(outputs);
        }
    }

    fn carry_out(&mut self, outputs: Vec<Output<Octets, Octets, Octets>>) {
        for output in outputs {
            match output {
                // A joining member that does not follow this epoch yet would drop it.
                Output::Send { to, .. } if self.waits_to_begin(to) => {}
                Output::Send { message, .. } => self.peer.send(Frame::Message(message)),
                Output::Ready { epoch } => self.coordinator.send(Frame::Ready(epoch)),
                Output::Answer { key, sequence, .. } if self.is_head() => self.answered(&key, sequence),
                Output::Answer { key, sequence, .. } => {
                    let epoch = self.replica.configuration().epoch;
                    self.peer.send(Frame::Answered { epoch, key, sequence });
                }
            }
        }
        self.tell_answered();
    }

    /// The joining member has not said that it follows the epoch.
    fn waits_to_begin(&self, to: Member) -> bool {
        let configuration = self.replica.configuration();
        configuration.joining == Some(to) && self.begun != Some(configuration.epoch)
    }

    /// The change, and all earlier ones of the same key, are acknowledged.
    fn answered(&mut self, key: &Octets, sequence: u32) {
        let same = |it: &&mut Unanswered| it.key == *key;
        for change in self.unanswered.iter_mut().filter(same) {
            // Sequence numbers of one key follow each other.
            if sequence.wrapping_sub(change.sequence) > u32::MAX / 2 {
                return;
            }
            change.is_answered = true;
            if change.sequence == sequence {
                return;
            }
        }
    }

    /// Tells the primary up to which change all are acknowledged.
    fn tell_answered(&mut self) {
        let before = self.given;
        // A member that has joined acknowledges what it has without a response to each request.
        let replica = &self.replica;
        let is_done = |change: &Unanswered| change.is_answered || replica.is_acknowledged(&change.key);
        while self.unanswered.front().is_some_and(is_done) {
            self.unanswered.pop_front();
            self.given += 1;
        }
        if self.given != before {
            self.progressed = Instant::now();
            self.shared.acknowledged.store(self.given, Relaxed);
            if let Some(serving) = &self.serving {
                // The daemon may be ending.
                let _ = serving.send(self.given);
            }
        }
    }

    fn configure(&mut self, next: &Configuration) {
        let before = self.replica.configuration().epoch;
        if next.epoch <= before {
            if next.epoch < before {
                let line = format_args!(
                    "epoch {} of the coordinator is older than {}: it has another file than before",
                    next.epoch.0, before.0
                );
                self.lines.warn("epochs that are over", self.of_coordinator, &line);
            }
            return self.update_role();
        }
        info!("chain: {}", shown(next));
        let outputs = self.replica.configure(next);
        // Before anything of this epoch.
        self.peer.send(Frame::Configuration(next.clone()));
        self.refused = None;
        self.fewest = (usize::MAX, Instant::now());
        self.carry_out(outputs);
        for (from, message) in std::mem::take(&mut self.early) {
            self.handle_peer(from, Frame::Message(message));
        }
        self.update_role();
    }

    fn is_head(&self) -> bool {
        self.replica.configuration().members.first() == Some(&self.replica.member())
    }

    /// The coordinator may have given the chain to the other member without this one knowing. It takes a joining member that was reported as ready, and then
    /// may remove this one, before it says either.
    fn may_be_replaced(&self) -> bool {
        let is_alone = self.replica.configuration().members.len() == 1 && !self.replica.has_reported_ready();
        !is_alone && !self.is_recent(self.heard_coordinator) && !self.is_recent(self.heard_peer)
    }

    fn update_role(&mut self) {
        let (configuration, member) = (self.replica.configuration(), self.replica.member());
        let role = match configuration.position(member) {
            Some(0) if self.may_be_replaced() => Role::Outside,
            Some(0) => Role::Primary,
            Some(_) => Role::Standby,
            None if configuration.joining == Some(member) => Role::Joining,
            None => Role::Outside,
        };
        let before = *self.role.borrow();
        // The daemon of an earlier time as the primary has to end first.
        if role == Role::Primary && before != Role::Primary && self.is_running {
            return;
        }
        if role != before {
            info!("chain: member {} is {role} in epoch {}", member.node, configuration.epoch.0);
            if role == Role::Primary {
                let (since, epoch) = (Instant::now(), configuration.epoch.0);
                let records = self.replica.records().map(|(key, state, answered)| Record {
                    key: key.clone(),
                    state: state.cloned(),
                    responses: answered.iter().map(|(_, responses)| responses.clone()).collect(),
                });
                *lock(&self.shared.takeover) = Some(Takeover { since, epoch, records: records.collect() });
                lock(&self.shared.status).takeovers += 1;
            }
        }
        self.show(role);
        if role != before {
            self.role.send_replace(role);
        }
    }

    fn show(&self, role: Role) {
        let configuration = self.replica.configuration();
        let mut status = lock(&self.shared.status);
        *status = ChainStatus {
            member: self.replica.member().node,
            role,
            epoch: configuration.epoch.0,
            members: configuration.members.iter().map(|it| it.node).collect(),
            joining: configuration.joining.map(|it| it.node),
            coordinator: self.is_recent(self.heard_coordinator),
            peer: self.is_recent(self.heard_peer),
            records: self.replica.len() as u64,
            lag: 0,
            missing: self.replica.missing().unwrap_or(0) as u64,
            takeovers: status.takeovers,
            ..ChainStatus::default()
        };
    }

    fn tick(&mut self) {
        self.update_role();
        self.lines.summarise();
        if *self.role.borrow() == Role::Outside && self.asked.is_none_or(|asked| asked.elapsed() >= ASK) {
            self.ask();
        }
        let configuration = self.replica.configuration();
        let has_other = configuration.members.len() > 1 || configuration.joining.is_some();
        if has_other && !self.is_recent(self.heard_peer) && self.is_head() && !self.is_suspected {
            // Only what was heard once can be missed; the coordinator misses the rest.
            if let Some(other) = self.other().filter(|_| self.heard_peer.is_some()) {
                self.coordinator.send(Frame::Suspect(other.node));
                self.is_suspected = true;
            }
        }
        let missing = self.replica.missing().unwrap_or(0);
        if missing < self.fewest.0 {
            self.fewest = (missing, Instant::now());
        }
        let joins = self.replica.configuration().joining.is_some();
        let is_stuck = !self.unanswered.is_empty() && self.progressed.elapsed() >= REPEAT;
        if is_stuck || joins && self.fewest.1.elapsed() >= REPEAT {
            self.progressed = Instant::now();
            self.fewest = (missing, Instant::now());
            let outputs = self.replica.audit();
            self.carry_out(outputs);
        }
    }

    fn other(&self) -> Option<Member> {
        let configuration = self.replica.configuration();
        let all = configuration.members.iter().chain(&configuration.joining);
        all.copied().find(|member| *member != self.replica.member())
    }

    /// Asks to join, unless the daemon of an earlier time still runs.
    fn ask(&mut self) {
        let (configuration, member) = (self.replica.configuration(), self.replica.member());
        let is_in = configuration.position(member).is_some() || configuration.joining == Some(member);
        if !is_in && !self.is_running {
            self.asked = Some(Instant::now());
            self.coordinator.send(Frame::Join(member));
        }
    }

    fn refused(&mut self, why: String) {
        if self.refused.as_ref() != Some(&why) {
            warn!("chain: the coordinator does not take this member: {why}");
            self.refused = Some(why);
        }
    }

    fn is_recent(&self, heard: Option<Instant>) -> bool {
        heard.is_some_and(|heard| heard.elapsed() < self.silence)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// After so long without an octet the others count as failed.
    const SILENCE: Duration = Duration::from_secs(2);

    const OTHER: Member = Member::new(2, 7);

    fn listener() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    fn until(what: &str, mut is_so: impl FnMut() -> bool) {
        let start = Instant::now();
        while !is_so() {
            assert!(start.elapsed() < Duration::from_secs(60), "{what}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// A member whose coordinator and whose other member are the test. It is the primary, and the other one joins.
    struct Lone {
        member: ChainMember,
        own: Member,
        listen: SocketAddr,
        coordinator: TcpStream,
    }

    impl Lone {
        fn new() -> Self {
            let (listen, (peer, at_peer), (coordinator, at_coordinator)) =
                (listener().1, listener(), listener());
            let settings = MemberSettings {
                node: 1,
                listen,
                peer: at_peer,
                coordinator: at_coordinator,
                common: 0,
                silence: SILENCE,
            };
            let member = ChainMember::begin(settings).unwrap();
            let (coordinator, _) = coordinator.accept().unwrap();
            drop(peer);
            let mut reader = FrameReader::new(coordinator.try_clone().unwrap(), SILENCE * 30).unwrap();
            let Frame::Hello { member: own, .. } = reader.next().unwrap() else { panic!("no hello") };
            let this = Self { member, own, listen, coordinator };
            this.tell(1, None);
            until("the primary", || this.status().role == Role::Primary);
            this.tell(2, Some(OTHER));
            until("epoch 2", || this.status().epoch == 2);
            this
        }

        fn status(&self) -> ChainStatus {
            self.member.view().status()
        }

        fn tell(&self, epoch: u32, joining: Option<Member>) {
            let frame =
                Frame::Configuration(Configuration { epoch: Epoch(epoch), members: vec![self.own], joining });
            write_frame(&self.coordinator, &frame);
        }

        /// The other member says that it follows the epoch. There are no records: it is ready at once.
        fn other_joins(&self) -> TcpStream {
            let stream = TcpStream::connect(self.listen).unwrap();
            write_frame(&stream, &Frame::Hello { version: VERSION, member: OTHER, settings: 0 });
            write_frame(&stream, &Frame::Message(Message::Joining { epoch: Epoch(2) }));
            stream
        }

        /// Neither of the others is heard any more.
        fn await_silence(&self) {
            until("silence", || {
                let status = self.status();
                !status.coordinator && !status.peer
            });
        }
    }

    fn write_frame(mut stream: &TcpStream, frame: &Frame) {
        let mut octets = Vec::new();
        frame.encode(&mut octets).unwrap();
        io::Write::write_all(&mut stream, &octets).unwrap();
    }

    // Input:  a primary alone that has reported a joining member as ready; then it hears neither of it nor of the coordinator, which may have taken the member
    //         and removed this one without saying so.
    // Output: it is not the primary any more.
    #[test]
    fn a_primary_that_may_have_been_replaced_stops() {
        let lone = Lone::new();
        let other = lone.other_joins();
        let mut reader = FrameReader::new(lone.coordinator.try_clone().unwrap(), SILENCE * 30).unwrap();
        while !matches!(reader.next().unwrap(), Frame::Ready(Epoch(2))) {}
        drop(other);
        lone.await_silence();
        assert_eq!(lone.status().role, Role::Outside);
    }

    // Input:  a primary, whom the other member tells of an older configuration, then of a later one that the coordinator has not told it of.
    // Output: the first one changes nothing; by the second one it has been removed, and it is not the primary any more.
    #[test]
    fn a_primary_that_was_removed_hears_it_from_the_other_member() {
        let lone = Lone::new();
        let other = lone.other_joins();
        let tell = |epoch| {
            let next = Configuration { epoch: Epoch(epoch), members: vec![OTHER], joining: None };
            write_frame(&other, &Frame::Configuration(next));
        };
        tell(2);
        let mut reader = FrameReader::new(lone.coordinator.try_clone().unwrap(), SILENCE * 30).unwrap();
        while !matches!(reader.next().unwrap(), Frame::Ready(Epoch(2))) {}
        assert_eq!((lone.status().role, lone.status().epoch), (Role::Primary, 2));
        tell(3);
        until("the end", || lone.status().role == Role::Outside);
        assert_eq!(lone.status().epoch, 3);
    }

    // Input:  a primary alone, whose joining member has never begun; then it hears neither of it nor of the coordinator.
    // Output: nobody else can be the primary, so it goes on.
    #[test]
    fn a_primary_that_nobody_can_replace_goes_on() {
        let lone = Lone::new();
        lone.await_silence();
        assert_eq!(lone.status().role, Role::Primary);
    }
}

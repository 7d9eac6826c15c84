//! The process that decides who is in the chain.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use causeway_chain::{Configuration, Coordinator, Epoch, Frame, Member, VERSION};
use thiserror::Error;
use tracing::info;

use super::limit::LineLimit;
use super::stream::{FrameReader, FrameSender, beat};

/// After its start the coordinator waits so many times the silence for members that it knows.
const GRACE: u32 = 4;

/// How often members are told of the configuration, and looked for.
const TICK: Duration = Duration::from_millis(100);

/// Why the coordinator ends.
#[derive(Debug, Error)]
pub enum CoordinatorError {
    /// The address cannot be used.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// The file cannot be read.
    #[error("cannot read {}: {source}; `--file` needs a file that this user may read and write", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file has other contents.
    #[error("{}: not a file of a coordinator: {what}; give another one, or remove it", file.display())]
    Contents {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The file cannot be written: without it no configuration may be sent.
    #[error("cannot write {}: {source}; `--file` needs a folder in which this user may write", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// What has happened.
enum Event {
    /// A member has said who it is.
    Greeted {
        connection: u64,
        from: IpAddr,
        member: Member,
        settings: u64,
        sender: FrameSender,
    },
    Received(u64, Frame),
    Ended(u64),
}

struct Connection {
    number: u64,
    from: IpAddr,
    member: Member,
    settings: u64,
    sender: FrameSender,
}

struct State {
    file: PathBuf,
    coordinator: Option<Coordinator>,
    /// What the members have in common.
    settings: u64,
    /// By node.
    connections: BTreeMap<u16, Connection>,
    /// Connections that were refused, and when. They end some time later: the frame that says why has to leave before.
    refused: Vec<(Instant, FrameSender)>,
    started: Instant,
    lines: Arc<LineLimit>,
    silence: Duration,
}

/// Runs a coordinator on this address, without end. The last configuration is in the file, which may not exist yet. A member that is silent for
/// `silence` counts as failed.
///
/// # Errors
/// What ends it.
pub fn coordinate(listen: SocketAddr, file: &Path, silence: Duration) -> Result<(), CoordinatorError> {
    let loaded = load(file)?;
    // What cannot be written when the first member comes is said now.
    try_to_save(file, loaded.as_ref())
        .map_err(|source| CoordinatorError::Write { file: file.to_owned(), source })?;
    let (coordinator, settings) = match loaded {
        Some((configuration, settings)) => {
            info!("epoch {} of {} continues", configuration.epoch.0, file.display());
            (Some(Coordinator::from_configuration(configuration)), settings)
        }
        None => (None, 0),
    };
    let listener = TcpListener::bind(listen).map_err(|error| CoordinatorError::Listen(listen, error))?;
    let (events, inbox) = mpsc::channel();
    let lines = Arc::new(LineLimit::default());
    let of_members = Arc::clone(&lines);
    thread::spawn(move || accept(&listener, silence, (&events, &of_members)));
    info!("coordinator on {listen}, file {}", file.display());
    let state = State {
        file: file.to_owned(),
        coordinator,
        settings,
        connections: BTreeMap::new(),
        refused: Vec::new(),
        started: Instant::now(),
        lines,
        silence,
    };
    state.run(&inbox)
}

fn accept(listener: &TcpListener, silence: Duration, (events, lines): (&Sender<Event>, &Arc<LineLimit>)) {
    for (number, stream) in (0..).zip(listener.incoming()) {
        let Ok(stream) = stream else { continue };
        let (events, lines) = (events.clone(), Arc::clone(lines));
        thread::spawn(move || {
            let from = stream.peer_addr();
            let result = receive(stream, silence, number, &events);
            // The coordinator itself may have ended.
            let _ = events.send(Event::Ended(number));
            if let (Ok(from), Err(error)) = (from, result)
                && error.kind() == io::ErrorKind::InvalidData
            {
                lines.warn("connections that are of no use", from.ip(), &format_args!("{from}: {error}"));
            }
        });
    }
}

fn receive(stream: TcpStream, silence: Duration, connection: u64, events: &Sender<Event>) -> io::Result<()> {
    let from = stream.peer_addr()?.ip();
    let sender = FrameSender::on(stream.try_clone()?, silence);
    let mut reader = FrameReader::new(stream, silence)?;
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
    match reader.next()? {
        Frame::Hello { version: VERSION, member, settings } => {
            let greeted = Event::Greeted { connection, from, member, settings, sender };
            events.send(greeted).map_err(|_| gone())?;
        }
        Frame::Hello { version, .. } => {
            sender.send(Frame::Refused(format!(
                "the coordinator has version {VERSION} of the protocol, this member {version}"
            )));
            // The frame has to leave before the stream ends.
            thread::sleep(beat(silence));
            return Err(invalid("a member with another version of the protocol"));
        }
        _ => return Err(invalid("the first frame is not that of a member")),
    }
    loop {
        match reader.next()? {
            Frame::Alive => {}
            frame => events.send(Event::Received(connection, frame)).map_err(|_| gone())?,
        }
    }
}

impl State {
    fn run(mut self, inbox: &Receiver<Event>) -> Result<(), CoordinatorError> {
        let mut told = Instant::now();
        loop {
            match inbox.recv_timeout(beat(self.silence).min(TICK)) {
                Ok(event) => self.handle(event)?,
                // The thread that accepts never ends.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if told.elapsed() >= TICK {
                self.fail_the_absent()?;
                self.refused.retain(|(since, _)| since.elapsed() < self.silence);
                self.lines.summarise();
                // A member that has missed one gets it now.
                self.tell_all();
                told = Instant::now();
            }
        }
    }

    fn handle(&mut self, event: Event) -> Result<(), CoordinatorError> {
        match event {
            Event::Greeted { connection, from, member, settings, sender } => {
                let connection = Connection { number: connection, from, member, settings, sender };
                match self.connections.get(&member.node) {
                    Some(present) if present.member != member => self.refuse_second(present.from, connection),
                    // An earlier connection of the process ends with its sender.
                    _ => {
                        self.connections.insert(member.node, connection);
                        self.tell_all();
                    }
                }
            }
            Event::Ended(number) => {
                let ended = self.connections.values().find(|it| it.number == number).map(|it| it.member);
                if let Some(member) = ended {
                    self.connections.remove(&member.node);
                    self.failed(member.node, "its connection ended")?;
                }
            }
            Event::Received(number, frame) => {
                let known = self.connections.values().find(|it| it.number == number);
                if let Some((member, settings)) = known.map(|it| (it.member, it.settings)) {
                    self.received(member, settings, frame)?;
                }
            }
        }
        Ok(())
    }

    /// Another process with the number of a member that is connected: nobody could tell what is whose. A process that has ended is not connected, at the latest
    /// after the silence.
    fn refuse_second(&mut self, present: IpAddr, second: Connection) {
        let (node, from) = (second.member.node, second.from);
        let why =
            format!("the process at {present} is member {node}: each host has another `upf.chain.member`");
        let line = format_args!("the process at {from} is not taken: {why}");
        self.lines.warn("processes with the number of another one", from, &line);
        second.sender.send(Frame::Refused(why));
        self.refused.push((Instant::now(), second.sender));
    }

    fn received(&mut self, from: Member, settings: u64, frame: Frame) -> Result<(), CoordinatorError> {
        match frame {
            Frame::Join(member) if member == from => self.join(member, settings),
            Frame::Ready(epoch) => {
                let coordinator = self.coordinator.as_mut();
                let is_new = coordinator.filter(|it| it.configuration().tail() == Some(from));
                let is_new = is_new.is_some_and(|it| it.ready(epoch));
                self.installed(is_new, "a member has received all sessions")
            }
            Frame::Suspect(node) => {
                let is_member = |it: &Coordinator| it.configuration().position(from).is_some();
                match self.coordinator.as_ref().is_some_and(is_member) && node != from.node {
                    true => self.failed(node, &format!("member {} does not reach it", from.node)),
                    false => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn join(&mut self, member: Member, settings: u64) -> Result<(), CoordinatorError> {
        let Some(coordinator) = &mut self.coordinator else {
            self.coordinator = Some(Coordinator::new(vec![member]));
            self.settings = settings;
            return self.installed(true, &format!("member {} begins the chain", member.node));
        };
        if coordinator.begin_again(member) {
            self.settings = settings;
            let what = format!(
                "the last member {} has returned without sessions: the chain begins again",
                member.node
            );
            return self.installed(true, &what);
        }
        if settings != self.settings {
            if let Some(connection) = self.connections.get(&member.node) {
                let why = "its configuration is not that of the chain: compare what `causeway config check --config FILE` prints on both hosts";
                connection.sender.send(Frame::Refused(why.to_owned()));
            }
            return Ok(());
        }
        let is_new = coordinator.join(member);
        self.installed(is_new, &format!("member {} joins", member.node))
    }

    fn failed(&mut self, node: u16, why: &str) -> Result<(), CoordinatorError> {
        let is_new = self.coordinator.as_mut().is_some_and(|it| it.failed(node));
        self.installed(is_new, &format!("member {node} has failed: {why}"))
    }

    /// Members that are not connected some time after the start have failed meanwhile.
    fn fail_the_absent(&mut self) -> Result<(), CoordinatorError> {
        if self.started.elapsed() < self.silence * GRACE {
            return Ok(());
        }
        let Some(coordinator) = &self.coordinator else { return Ok(()) };
        let Configuration { members, joining, .. } = coordinator.configuration();
        let is_absent = |member: &&Member| !self.connections.contains_key(&member.node);
        let absent: Vec<u16> = members.iter().chain(joining).filter(is_absent).map(|it| it.node).collect();
        absent.into_iter().try_for_each(|node| self.failed(node, "it is not connected"))
    }

    /// A configuration is in the file before any member knows it.
    fn installed(&mut self, is_new: bool, why: &str) -> Result<(), CoordinatorError> {
        let Some(coordinator) = self.coordinator.as_ref().filter(|_| is_new) else { return Ok(()) };
        let configuration = coordinator.configuration();
        save(&self.file, configuration, self.settings)
            .map_err(|source| CoordinatorError::Write { file: self.file.clone(), source })?;
        info!("{why}: {}", shown(configuration));
        self.tell_all();
        Ok(())
    }

    fn tell_all(&self) {
        let Some(coordinator) = &self.coordinator else { return };
        for connection in self.connections.values() {
            connection.sender.send(Frame::Configuration(coordinator.configuration().clone()));
        }
    }
}

/// A configuration for the log.
pub(super) fn shown(configuration: &Configuration) -> String {
    let names: Vec<String> = configuration.members.iter().map(|it| it.node.to_string()).collect();
    let joining = configuration.joining.map_or_else(String::new, |it| format!(", {} is joining", it.node));
    format!("epoch {}, members {}{joining}", configuration.epoch.0, names.join(" then "))
}

/// Writes what was read, or a file without contents that is removed again.
fn try_to_save(file: &Path, loaded: Option<&(Configuration, u64)>) -> io::Result<()> {
    if let Some((configuration, settings)) = loaded {
        return save(file, configuration, *settings);
    }
    let next = beside(file);
    File::create(&next)?.sync_all()?;
    fs::remove_file(&next)
}

/// The file that takes the place of this one.
fn beside(file: &Path) -> PathBuf {
    let mut next = file.as_os_str().to_owned();
    next.push(".new");
    next.into()
}

const TITLE: &str = "causeway chain 1";

/// Writes another file and puts it in the place of the old one, so that each time one of them is there as a whole.
fn save(file: &Path, configuration: &Configuration, settings: u64) -> io::Result<()> {
    let member = |member: &Member| format!("{}#{}", member.node, member.incarnation);
    let members: Vec<String> = configuration.members.iter().map(member).collect();
    let joining = configuration.joining.as_ref().map_or_else(|| "-".to_owned(), member);
    let next = beside(file);
    let mut written = File::create(&next)?;
    writeln!(written, "{TITLE}")?;
    writeln!(written, "{} {settings:016x} {} {joining}", configuration.epoch.0, members.join(","))?;
    written.sync_all()?;
    fs::rename(&next, file)?;
    match file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => File::open(folder)?.sync_all(),
        None => File::open(".")?.sync_all(),
    }
}

fn load(file: &Path) -> Result<Option<(Configuration, u64)>, CoordinatorError> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(CoordinatorError::Read { file: file.to_owned(), source }),
    };
    let contents = |what: &str| CoordinatorError::Contents { file: file.to_owned(), what: what.to_owned() };
    let line = text.strip_prefix(TITLE).ok_or_else(|| contents("its first line is another"))?;
    parse(line.trim()).map(Some).ok_or_else(|| contents("its second line is malformed"))
}

fn parse(line: &str) -> Option<(Configuration, u64)> {
    let member = |text: &str| {
        let (node, incarnation) = text.split_once('#')?;
        Some(Member::new(node.parse().ok()?, incarnation.parse().ok()?))
    };
    let mut fields = line.split(' ');
    let epoch = Epoch(fields.next()?.parse().ok()?);
    let settings = u64::from_str_radix(fields.next()?, 16).ok()?;
    let members = fields.next()?.split(',').map(member).collect::<Option<Vec<_>>>()?;
    let joining = match fields.next()? {
        "-" => None,
        text => Some(member(text)?),
    };
    fields.next().is_none().then_some((Configuration { epoch, members, joining }, settings))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a configuration that is saved, and another one over it; a file of other contents.
    // Output: the last one; an error that names the file.
    #[test]
    fn the_last_configuration_is_in_the_file() {
        let folder = std::env::temp_dir().join(format!("causeway-chain-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("chain");
        assert!(load(&file).unwrap().is_none());
        let members = vec![Member::new(1, 7), Member::new(2, 9)];
        let one = Configuration { epoch: Epoch(3), members: members.clone(), joining: None };
        let two = Configuration { epoch: Epoch(4), members, joining: Some(Member::new(3, u32::MAX)) };
        for configuration in [one, two] {
            save(&file, &configuration, 0x1f).unwrap();
            assert_eq!(load(&file).unwrap(), Some((configuration, 0x1f)));
        }
        for (text, what) in [("x", "first line"), ("causeway chain 1\n1 2", "second line")] {
            fs::write(&file, text).unwrap();
            let error = load(&file).unwrap_err().to_string();
            assert!(error.contains(what) && error.contains("chain"), "{error}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    // Input:  a file in a folder that does not exist; a new one; one of an earlier time.
    // Output: the coordinator ends at once and names the file; nothing is left of the trial; the contents stay.
    #[test]
    fn a_file_that_cannot_be_written_ends_the_coordinator_at_the_start() {
        let (told, ends) = mpsc::channel();
        thread::spawn(move || {
            let address = SocketAddr::from(([127, 0, 0, 1], 0));
            told.send(coordinate(address, Path::new("/nonexistent/chain"), Duration::from_secs(1)))
        });
        let end = ends.recv_timeout(Duration::from_secs(60)).expect("an end").unwrap_err().to_string();
        assert!(end.starts_with("cannot write /nonexistent/chain"), "{end}");
        let folder = std::env::temp_dir().join(format!("causeway-coordinator-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("chain");
        try_to_save(&file, None).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        let configuration =
            Configuration { epoch: Epoch(3), members: vec![Member::new(1, 7)], joining: None };
        save(&file, &configuration, 0x1f).unwrap();
        let loaded = load(&file).unwrap();
        try_to_save(&file, loaded.as_ref()).unwrap();
        assert_eq!(load(&file).unwrap(), Some((configuration, 0x1f)));
        fs::remove_dir_all(&folder).unwrap();
    }

    /// The other end of a connection.
    struct Process(FrameReader);

    impl Process {
        /// A process that greets the coordinator by the connection with this number.
        fn greets(state: &mut State, connection: u64, member: Member) -> Self {
            let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (accepted, from) = listener.accept().unwrap();
            let sender = FrameSender::on(accepted, state.silence);
            let greeted = Event::Greeted { connection, from: from.ip(), member, settings: 0, sender };
            state.handle(greeted).unwrap();
            Self(FrameReader::new(stream, state.silence).unwrap())
        }

        fn next(&mut self) -> Frame {
            loop {
                match self.0.next().unwrap() {
                    Frame::Alive => {}
                    frame => return frame,
                }
            }
        }
    }

    // Input:  a member that is connected; another process with its number, which asks to join; the first one ends, and the second connects again.
    // Output: the second is told of `upf.chain.member`, and the chain stays as it is; when the first one has ended, the chain begins again with it.
    #[test]
    fn a_second_process_with_the_number_of_a_member_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let mut state = State {
            file: folder.path().join("chain"),
            coordinator: None,
            settings: 0,
            connections: BTreeMap::new(),
            refused: Vec::new(),
            started: Instant::now(),
            lines: Arc::default(),
            silence: Duration::from_secs(60),
        };
        let (first, second) = (Member::new(2, 7), Member::new(2, 8));
        let members = |state: &State| state.coordinator.as_ref().unwrap().configuration().members.clone();
        let mut one = Process::greets(&mut state, 1, first);
        state.handle(Event::Received(1, Frame::Join(first))).unwrap();
        assert!(matches!(one.next(), Frame::Configuration(next) if next.members == [first]));
        let mut other = Process::greets(&mut state, 2, second);
        let Frame::Refused(why) = other.next() else { panic!("taken") };
        assert!(why.contains("127.0.0.1 is member 2") && why.contains("upf.chain.member"), "{why}");
        for event in [Event::Received(2, Frame::Join(second)), Event::Ended(2)] {
            state.handle(event).unwrap();
            assert_eq!(members(&state), [first]);
        }
        state.handle(Event::Ended(1)).unwrap();
        let _again = Process::greets(&mut state, 3, second);
        state.handle(Event::Received(3, Frame::Join(second))).unwrap();
        assert_eq!(members(&state), [second]);
    }
}

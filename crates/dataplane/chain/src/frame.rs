//! What members and a coordinator send each other, over streams.
//!
//! A frame is its length in four octets, which do not count themselves, a kind, and fields in their order; integers are in network byte order, octet
//! strings behind their length in four octets.

use std::fmt;
use std::sync::Arc;

use crate::{Configuration, Epoch, Member, Message, Update, Version};

/// Keys, states and responses as octets: what they mean is the application's.
pub type Octets = Arc<[u8]>;

/// The most octets of a frame, without its length.
pub const MAX_FRAME: usize = 16 << 20;

/// The version of the format, of frames and of what the application puts in them.
pub const VERSION: u16 = 1;

/// The most members of a configuration.
const MAX_MEMBERS: usize = 16;

/// One message on a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frame {
    /// The first frame of each stream.
    Hello {
        /// [`VERSION`].
        version: u16,
        /// The sender.
        member: Member,
        /// A hash of what members must have in common in their configuration files.
        settings: u64,
    },
    /// From one member to another.
    Message(Message<Octets, Octets, Octets>),
    /// From the tail to the head: the response to the request with this sequence number may leave.
    Answered {
        /// The epoch of the sender.
        epoch: Epoch,
        /// The session.
        key: Octets,
        /// Of the request.
        sequence: u32,
    },
    /// From the coordinator.
    Configuration(Configuration),
    /// From a member to the coordinator: it has no sessions and wants to join.
    Join(Member),
    /// From the tail to the coordinator: the joining member has all sessions.
    Ready(Epoch),
    /// From a member to the coordinator: this node does not respond to it.
    Suspect(u16),
    /// The sender is there.
    Alive,
    /// The receiver is not taken, and why.
    Refused(String),
}

/// The octets are no frame: the stream is of no use any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameError {
    /// It would be longer than [`MAX_FRAME`]; this is its length.
    TooLong(usize),
    /// Its kind is unknown.
    Kind(u8),
    /// Its fields end too early, go on behind it, or are not legal.
    Malformed,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(octets) => write!(f, "a frame of {octets} octets is longer than {MAX_FRAME}"),
            Self::Kind(kind) => write!(f, "a frame of the unknown kind {kind}"),
            Self::Malformed => f.write_str("a malformed frame"),
        }
    }
}

impl std::error::Error for FrameError {}

/// The kinds.
mod kind {
    pub(super) const HELLO: u8 = 1;
    pub(super) const UPDATE: u8 = 2;
    pub(super) const ACKNOWLEDGE: u8 = 3;
    pub(super) const JOINING: u8 = 4;
    pub(super) const ANSWERED: u8 = 5;
    pub(super) const CONFIGURATION: u8 = 6;
    pub(super) const JOIN: u8 = 7;
    pub(super) const READY: u8 = 8;
    pub(super) const SUSPECT: u8 = 9;
    pub(super) const ALIVE: u8 = 10;
    pub(super) const REFUSED: u8 = 11;
}

impl Frame {
    /// Appends the frame.
    ///
    /// # Errors
    /// [`FrameError::TooLong`]; `out` is unchanged.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), FrameError> {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        let mut writer = Writer(out);
        match self {
            Self::Hello { version, member, settings } => {
                writer.u8(kind::HELLO);
                writer.u16(*version);
                writer.member(*member);
                writer.u64(*settings);
            }
            Self::Message(Message::Update(update)) => writer.update(update),
            Self::Message(Message::Acknowledge { epoch, key, version }) => {
                writer.u8(kind::ACKNOWLEDGE);
                writer.u32(epoch.0);
                writer.octets(key);
                writer.version(*version);
            }
            Self::Message(Message::Joining { epoch }) => {
                writer.u8(kind::JOINING);
                writer.u32(epoch.0);
            }
            Self::Answered { epoch, key, sequence } => {
                writer.u8(kind::ANSWERED);
                writer.u32(epoch.0);
                writer.octets(key);
                writer.u32(*sequence);
            }
            Self::Configuration(configuration) => {
                writer.u8(kind::CONFIGURATION);
                writer.u32(configuration.epoch.0);
                writer.u8(configuration.members.len() as u8);
                configuration.members.iter().for_each(|member| writer.member(*member));
                writer.u8(configuration.joining.is_some().into());
                configuration.joining.iter().for_each(|member| writer.member(*member));
            }
            Self::Join(member) => {
                writer.u8(kind::JOIN);
                writer.member(*member);
            }
            Self::Ready(epoch) => {
                writer.u8(kind::READY);
                writer.u32(epoch.0);
            }
            Self::Suspect(node) => {
                writer.u8(kind::SUSPECT);
                writer.u16(*node);
            }
            Self::Alive => writer.u8(kind::ALIVE),
            Self::Refused(why) => {
                writer.u8(kind::REFUSED);
                writer.octets(why.as_bytes());
            }
        }
        let len = out.len() - start - 4;
        if len > MAX_FRAME {
            out.truncate(start);
            return Err(FrameError::TooLong(len));
        }
        if let Some(field) = out.get_mut(start..start + 4) {
            field.copy_from_slice(&(len as u32).to_be_bytes());
        }
        Ok(())
    }

    /// The frame at the front, and the number of its octets; `None` if more octets have to arrive.
    ///
    /// # Errors
    /// The octets are no frame.
    pub fn decode(octets: &[u8]) -> Result<Option<(Self, usize)>, FrameError> {
        let Some((len, rest)) = octets.split_first_chunk() else { return Ok(None) };
        let len = u32::from_be_bytes(*len) as usize;
        if len > MAX_FRAME {
            return Err(FrameError::TooLong(len));
        }
        let Some(body) = rest.get(..len) else { return Ok(None) };
        let mut reader = Reader(body);
        let kind = reader.u8().ok_or(FrameError::Malformed)?;
        let frame = match kind {
            kind::HELLO => reader.hello(),
            kind::UPDATE => reader.update(),
            kind::ACKNOWLEDGE => reader.acknowledge(),
            kind::JOINING => reader.epoch().map(|epoch| Self::Message(Message::Joining { epoch })),
            kind::ANSWERED => reader.answered(),
            kind::CONFIGURATION => reader.configuration(),
            kind::JOIN => reader.member().map(Self::Join),
            kind::READY => reader.epoch().map(Self::Ready),
            kind::SUSPECT => reader.u16().map(Self::Suspect),
            kind::ALIVE => Some(Self::Alive),
            kind::REFUSED => reader.text().map(Self::Refused),
            kind => return Err(FrameError::Kind(kind)),
        };
        let frame = frame.filter(|_| reader.0.is_empty()).ok_or(FrameError::Malformed)?;
        Ok(Some((frame, 4 + len)))
    }
}

struct Writer<'a>(&'a mut Vec<u8>);

impl Writer<'_> {
    fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    fn u16(&mut self, value: u16) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    fn octets(&mut self, octets: &[u8]) {
        self.u32(octets.len() as u32);
        self.0.extend_from_slice(octets);
    }

    fn member(&mut self, member: Member) {
        self.u16(member.node);
        self.u32(member.incarnation);
    }

    fn version(&mut self, version: Version) {
        self.u32(version.epoch.0);
        self.u64(version.number);
    }

    fn update(&mut self, update: &Update<Octets, Octets, Octets>) {
        self.u8(kind::UPDATE);
        self.u32(update.epoch.0);
        self.octets(&update.key);
        self.version(update.version);
        self.u8(update.state.is_some().into());
        update.state.iter().for_each(|state| self.octets(state));
        self.u8(update.answered.len() as u8);
        for (sequence, answer) in &update.answered {
            self.u32(*sequence);
            self.octets(answer);
        }
        self.u8(update.respond_to.is_some().into());
        update.respond_to.iter().for_each(|sequence| self.u32(*sequence));
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take().map(u8::from_be_bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }

    fn octets(&mut self) -> Option<Octets> {
        let len = self.u32()? as usize;
        let (octets, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(octets.into())
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.octets()?.to_vec()).ok()
    }

    fn flag(&mut self) -> Option<bool> {
        self.u8().filter(|flag| *flag < 2).map(|flag| flag == 1)
    }

    /// `None`: malformed; `Some(None)`: not there.
    fn optional<T>(&mut self, take: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.flag()? { take(self).map(Some) } else { Some(None) }
    }

    fn epoch(&mut self) -> Option<Epoch> {
        self.u32().map(Epoch)
    }

    fn member(&mut self) -> Option<Member> {
        Some(Member::new(self.u16()?, self.u32()?))
    }

    fn version(&mut self) -> Option<Version> {
        Some(Version { epoch: self.epoch()?, number: self.u64()? })
    }

    fn hello(&mut self) -> Option<Frame> {
        Some(Frame::Hello { version: self.u16()?, member: self.member()?, settings: self.u64()? })
    }

    fn update(&mut self) -> Option<Frame> {
        let (epoch, key, version) = (self.epoch()?, self.octets()?, self.version()?);
        let state = self.optional(Self::octets)?;
        let count = self.u8()?;
        let answered = (0..count).map(|_| Some((self.u32()?, self.octets()?))).collect::<Option<_>>()?;
        let respond_to = self.optional(Self::u32)?;
        Some(Frame::Message(Message::Update(Update { epoch, key, version, state, answered, respond_to })))
    }

    fn acknowledge(&mut self) -> Option<Frame> {
        let (epoch, key, version) = (self.epoch()?, self.octets()?, self.version()?);
        Some(Frame::Message(Message::Acknowledge { epoch, key, version }))
    }

    fn answered(&mut self) -> Option<Frame> {
        Some(Frame::Answered { epoch: self.epoch()?, key: self.octets()?, sequence: self.u32()? })
    }

    fn configuration(&mut self) -> Option<Frame> {
        let epoch = self.epoch()?;
        let count = usize::from(self.u8()?);
        if count > MAX_MEMBERS {
            return None;
        }
        let members = (0..count).map(|_| self.member()).collect::<Option<_>>()?;
        let joining = self.optional(Self::member)?;
        Some(Frame::Configuration(Configuration { epoch, members, joining }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frames() -> Vec<Frame> {
        let (key, epoch) = (Octets::from([1, 2].as_slice()), Epoch(7));
        let version = Version { epoch, number: 1 << 40 };
        let members = vec![Member::new(1, 5), Member::new(2, 6)];
        vec![
            Frame::Hello { version: VERSION, member: members[0], settings: u64::MAX },
            Frame::Message(Message::Update(Update {
                epoch,
                key: key.clone(),
                version,
                state: Some(key.clone()),
                answered: vec![(9, key.clone()), (10, Octets::from([].as_slice()))],
                respond_to: Some(10),
            })),
            Frame::Message(Message::Acknowledge { epoch, key: key.clone(), version }),
            Frame::Message(Message::Joining { epoch }),
            Frame::Answered { epoch, key, sequence: 10 },
            Frame::Configuration(Configuration { epoch, joining: Some(members[1]), members }),
            Frame::Join(Member::new(2, 7)),
            Frame::Ready(epoch),
            Frame::Suspect(2),
            Frame::Alive,
            Frame::Refused("upf.session differs".into()),
        ]
    }

    // Input:  a frame of each kind, cut off at each octet, and two in one stream.
    // Output: the same frames; more octets are wanted where it is cut off.
    #[test]
    fn frames_come_back() {
        for frame in frames() {
            let mut octets = Vec::new();
            frame.encode(&mut octets).unwrap();
            for len in 0..octets.len() {
                assert_eq!(Frame::decode(&octets[..len]), Ok(None), "{frame:?} cut at {len}");
            }
            let len = octets.len();
            Frame::Alive.encode(&mut octets).unwrap();
            assert_eq!(Frame::decode(&octets), Ok(Some((frame, len))));
            assert_eq!(Frame::decode(&octets[len..]), Ok(Some((Frame::Alive, 5))));
        }
    }

    // Input:  a length beyond the limit, an unknown kind, fields that end too early or go on, a flag that is none, a state that is too long.
    // Output: each is an error with its name; nothing is written of the last.
    #[test]
    fn what_is_no_frame_is_an_error() {
        assert_eq!(Frame::decode(&[0xff; 4]), Err(FrameError::TooLong(u32::MAX as usize)));
        assert_eq!(Frame::decode(&[0, 0, 0, 1, 99]), Err(FrameError::Kind(99)));
        assert_eq!(Frame::decode(&[0, 0, 0, 0]), Err(FrameError::Malformed));
        assert_eq!(Frame::decode(&[0, 0, 0, 2, kind::READY, 0]), Err(FrameError::Malformed));
        assert_eq!(Frame::decode(&[0, 0, 0, 2, kind::ALIVE, 0]), Err(FrameError::Malformed));
        let flag = [0, 0, 0, 7, kind::CONFIGURATION, 0, 0, 0, 1, 0, 2];
        assert_eq!(Frame::decode(&flag), Err(FrameError::Malformed));
        let mut out = vec![1];
        let answered = Frame::Answered { epoch: Epoch(1), key: vec![0; MAX_FRAME].into(), sequence: 1 };
        assert!(matches!(answered.encode(&mut out), Err(FrameError::TooLong(_))));
        assert_eq!(out, [1]);
    }

    proptest! {
        // Input:  any octets; those of a frame with one changed.
        // Output: a frame or an error, and no panic; a frame is written as it was read.
        #[test]
        fn any_octets_are_a_frame_or_none(octets: Vec<u8>, which in 0..11_usize, at: usize, value: u8) {
            let mut changed = Vec::new();
            frames()[which].encode(&mut changed).unwrap();
            let at = at % changed.len();
            changed[at] = value;
            for octets in [octets, changed] {
                if let Ok(Some((frame, len))) = Frame::decode(&octets) {
                    let mut again = Vec::new();
                    frame.encode(&mut again).unwrap();
                    prop_assert_eq!(&again[..], &octets[..len]);
                }
            }
        }
    }
}

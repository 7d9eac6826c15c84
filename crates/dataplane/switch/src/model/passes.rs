//! What a packet asks for besides leaving: another pass through ingress, a truncated copy, a digest. Each has a bound that
//! the program states, and a counter.

use causeway_dataplane::NamedCounter;
use thiserror::Error;

use super::QueuedPacket;
use super::register::RegisterError;

/// The most that a program asks for. [`Default`]: nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// Resubmissions of a packet: it comes back as it was received, before it is queued.
    pub resubmissions: u8,
    /// Recirculations of a packet, and the port that sends its packets back to ingress.
    pub recirculation: Option<Recirculation>,
    /// Mirrored copies that one pass makes.
    pub mirrors: u8,
    /// Octets of a mirrored copy; longer ones are truncated.
    pub mirror_octets: usize,
    /// Copies that egress makes of a packet, of that copy, and so on.
    pub egress_copies: u8,
    /// Octets of a digest. Tofino 1 allows [`DIGEST_OCTETS`].
    pub digest_octets: usize,
    /// Digests that wait for the controller; later ones are lost.
    pub digests_waiting: usize,
}

/// The largest digest of Tofino 1 in octets.
pub const DIGEST_OCTETS: usize = 48;

/// Recirculation: what leaves by a port is received on it again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recirculation {
    /// The port; its rate is that of other ports.
    pub port: u16,
    /// Recirculations of a packet.
    pub most: u8,
}

/// How a packet came to ingress.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pass {
    /// How often it was resubmitted since it was received or recirculated.
    pub resubmissions: u8,
    /// How often it was recirculated.
    pub recirculations: u8,
    /// What the pass before has said with its resubmission.
    pub data: u64,
}

/// What a program may not ask for; the packet is dropped.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Refused {
    /// An access to a register that no switch can make.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// More resubmissions than the program says it needs.
    #[error("a packet is resubmitted more than {most} times, which is what the program says it needs")]
    Resubmissions {
        /// What it says.
        most: u8,
    },
    /// More recirculations than the program says it needs.
    #[error("a packet is recirculated more than {most} times, which is what the program says it needs")]
    Recirculations {
        /// What it says.
        most: u8,
    },
    /// More mirrored copies than the program says it needs.
    #[error("a pass makes more than {most} mirrored copies, which is what the program says it needs")]
    Mirrors {
        /// What it says.
        most: u8,
    },
    /// More copies of copies at egress than the program says it needs.
    #[error(
        "egress copies a packet more than {most} times in a row, which is what the program says it needs"
    )]
    EgressCopies {
        /// What it says.
        most: u8,
    },
    /// A digest that is too large.
    #[error("a digest of {octets} octets; the program says that it needs {most}")]
    Digest {
        /// Its length.
        octets: usize,
        /// What the program says.
        most: usize,
    },
}

/// What packets have asked for so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PassCounters {
    /// Resubmissions.
    pub resubmitted: u64,
    /// Recirculations.
    pub recirculated: u64,
    /// Mirrored copies.
    pub mirrored: u64,
    /// Copies that egress has made.
    pub copied: u64,
    /// Mirrored copies that were truncated.
    pub truncated: u64,
    /// Digests.
    pub digests: u64,
    /// Digests that were lost, since too many waited.
    pub digests_lost: u64,
    /// Packets that were dropped since the program asked for more than it may.
    pub refused: u64,
}

impl PassCounters {
    /// With their names for operators.
    pub fn named(&self) -> impl Iterator<Item = NamedCounter> {
        [
            ("model_resubmissions", self.resubmitted),
            ("model_recirculations", self.recirculated),
            ("model_mirrored_copies", self.mirrored),
            ("model_egress_copies", self.copied),
            ("model_truncated_copies", self.truncated),
            ("model_digests", self.digests),
            ("model_lost_digests", self.digests_lost),
            ("model_refused_packets", self.refused),
        ]
        .into_iter()
        .map(|(name, value)| NamedCounter { name, value })
    }
}

/// A message from the packet path to the controller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Digest {
    /// P4Runtime id.
    pub id: u32,
    /// Its fields, packed.
    pub data: Vec<u8>,
}

/// What ingress does with a packet.
#[derive(Debug)]
pub struct Output<T> {
    pass: Pass,
    bounds: Bounds,
    pub(super) packets: Vec<QueuedPacket<T>>,
    pub(super) mirrors: Vec<QueuedPacket<T>>,
    pub(super) truncated: u64,
    pub(super) digests: Vec<Digest>,
    pub(super) resubmission: Option<u64>,
    pub(super) refused: Option<Refused>,
}

impl<T> Output<T> {
    pub(super) const fn new(pass: Pass, bounds: Bounds) -> Self {
        Self {
            pass,
            bounds,
            packets: Vec::new(),
            mirrors: Vec::new(),
            truncated: 0,
            digests: Vec::new(),
            resubmission: None,
            refused: None,
        }
    }

    /// How the packet came to ingress.
    pub const fn pass(&self) -> Pass {
        self.pass
    }

    /// A packet for a queue: the packet itself, or a copy of it.
    pub fn push(&mut self, packet: QueuedPacket<T>) {
        self.packets.push(packet);
    }

    /// The packet passes ingress once more, as it was received, instead of leaving: nothing that was
    /// [pushed](Self::push) leaves, mirrored copies do. The next pass sees `data`.
    pub const fn resubmit(&mut self, data: u64) {
        self.resubmission = Some(data);
    }

    /// A mirrored copy, truncated to the program's bound; `queued` puts its octets into a queue.
    pub fn mirror(&mut self, frame: &[u8], queued: impl FnOnce(Vec<u8>) -> QueuedPacket<T>) {
        if self.mirrors.len() >= usize::from(self.bounds.mirrors) {
            self.refused.get_or_insert(Refused::Mirrors { most: self.bounds.mirrors });
            return;
        }
        let copy = frame.get(..self.bounds.mirror_octets).unwrap_or(frame);
        self.truncated += u64::from(copy.len() < frame.len());
        self.mirrors.push(queued(copy.to_vec()));
    }

    /// A message to the controller.
    pub fn digest(&mut self, id: u32, data: Vec<u8>) {
        let (octets, most) = (data.len(), self.bounds.digest_octets);
        if octets > most {
            self.refused.get_or_insert(Refused::Digest { octets, most });
            return;
        }
        self.digests.push(Digest { id, data });
    }
}

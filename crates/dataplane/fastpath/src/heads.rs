//! What is read of plain packets: the first octets of all packets of a batch, and then what they say, of all at once.

use causeway_packet::gtpu::extension_type::PDU_SESSION_CONTAINER;
use causeway_ports::BATCH;
use causeway_types::Qfi;

use crate::choose::UPLINK;
use crate::filters::{Block, Comparing, Gist};
use crate::guess::Guess;
use crate::plain::{NOWHERE, Plains, flaw};

/// Octets that are looked at of a message: a GTP-U header with a PDU Session Container, an IPv4 header, and the ports.
pub(crate) const MESSAGE: usize = 40;
/// Octets that are looked at of a user packet.
pub(crate) const USER: usize = 24;

/// The GTP-U header alone.
const HEADER: u32 = 8;
/// The header with a container.
const CONTAINER: u32 = 16;

/// First octets of a G-PDU, from the lowest on: version and flags, and the type of message.
const BARE: u32 = 0xff30;
const EXTENDED: u32 = 0xff34;

const TCP: u32 = 6;
const UDP: u32 = 17;
/// 169.254.0.0, of /16, in the lowest octets.
const LINK_LOCAL: u32 = 0xfea9;

/// Half a word of each packet. The octets come from the lowest bits on.
type Halves = [u32; BATCH];

/// Words that are looked at: the GTP-U header in two words, then the IPv4 header and the ports in three.
const WORDS: usize = 5;

/// The first octets of the packets of a batch.
#[derive(Debug)]
pub(crate) struct Heads {
    words: [[u64; BATCH]; WORDS],
    /// The lower halves of the words, and the upper ones.
    low: [Halves; WORDS],
    high: [Halves; WORDS],
    /// Octets of the frames; zero for those that are not looked at.
    lens: [u32; BATCH],
    places: [u32; BATCH],
    /// ECN of the outer headers.
    ecns: [u32; BATCH],
}

impl Heads {
    /// Of no packet.
    pub(crate) const fn new() -> Self {
        Self {
            words: [[0; BATCH]; WORDS],
            low: [[0; BATCH]; WORDS],
            high: [[0; BATCH]; WORDS],
            lens: [0; BATCH],
            places: [0; BATCH],
            ecns: [0; BATCH],
        }
    }

    /// Forgets all packets.
    pub(crate) const fn clear(&mut self) {
        self.lens = [0; BATCH];
    }

    /// Takes in a message of a frame of `len` octets. `place`: that of its key, `ecn`: that of its outer header.
    #[inline(always)]
    pub(crate) fn take_message(
        &mut self,
        index: usize,
        head: &[u8; MESSAGE],
        len: usize,
        (place, ecn): (u32, u32),
    ) {
        let index = index % BATCH;
        let (&[first, second, a, b, c], _) = head.as_chunks::<8>() else { return };
        let is_extended = head[0] & 0x04 != 0;
        let [a, b, c] = if is_extended { [a, b, c] } else { [second, a, b] };
        self.words[0][index] = u64::from_le_bytes(first);
        self.words[1][index] = u64::from_le_bytes(second);
        self.ecns[index] = ecn;
        self.take_user(index, [a, b, c], len, place);
    }

    /// Takes in a packet of a frame of `len` octets.
    #[inline(always)]
    pub(crate) fn take_packet(&mut self, index: usize, head: &[u8; USER], len: usize, place: u32) {
        let (&[a, b, c], _) = head.as_chunks::<8>() else { return };
        self.take_user(index % BATCH, [a, b, c], len, place);
    }

    #[inline(always)]
    fn take_user(&mut self, index: usize, [a, b, c]: [[u8; 8]; 3], len: usize, place: u32) {
        self.words[2][index] = u64::from_le_bytes(a);
        self.words[3][index] = u64::from_le_bytes(b);
        self.words[4][index] = u64::from_le_bytes(c);
        // Batches hold frames of some thousand octets.
        self.lens[index] = len as u32;
        self.places[index] = place;
    }
}

/// Finds out what the heads of packets of one direction say.
pub(crate) struct Reading<'a, const WAY: bool> {
    pub(crate) heads: &'a mut Heads,
    pub(crate) plains: &'a mut Plains,
    pub(crate) guess: &'a Guess,
}

impl<const WAY: bool> Comparing for Reading<'_, WAY> {
    /// Plain loops over plain arrays: only so does the compiler see the vectors.
    #[inline(always)]
    fn run(self, _: impl Fn(&Block, Gist) -> u16) {
        let Self { heads: Heads { words, low, high, lens, places, ecns }, plains, guess } = self;
        for word in (if WAY == UPLINK { 0 } else { 2 })..WORDS {
            for i in 0..BATCH {
                low[word][i] = words[word][i] as u32;
                high[word][i] = (words[word][i] >> 32) as u32;
            }
        }
        for i in 0..BATCH {
            let tunnel = Tunnel { a0: low[0][i], a1: low[1][i], b1: high[1][i] };
            let user = User { a2: low[2][i], b2: high[2][i], a3: low[3][i], b3: high[3][i], a4: low[4][i] };
            let (source, target) = (user.b3.swap_bytes(), user.a4.swap_bytes());
            let ports = high[4][i].swap_bytes();
            let (local, remote, ports) = match WAY {
                UPLINK => (source, target, ports),
                _ => (target, source, ports.rotate_left(16)),
            };
            let gist = Gist::v4(remote, ports, user.protocol() as u8, user.tos());
            let (gist, start, end, is_read) = match WAY {
                UPLINK => {
                    let is_plain = tunnel.is_plain() & !ecn::changes(ecns[i], user.tos() as u32 & 0x03);
                    (tunnel.mark(gist), tunnel.start(), tunnel.end(), is_plain)
                }
                _ => (gist, 0, lens[i], true),
            };
            let fits = (start + user.len() <= end) & (end <= lens[i]);
            let is_plain = is_read & fits & user.is_plain();
            let is_quick = is_plain & (local != 0) & (local != remote);
            plains.keys[i] = if WAY == UPLINK { high[0][i].swap_bytes() } else { target };
            plains.places[i] = places[i];
            plains.is_plain[i] = u32::from(is_plain);
            plains.is_quick[i] = u32::from(is_quick);
            (plains.locals[i], plains.lens[i], plains.starts[i]) = (local, user.len(), start);
            (plains.words[i], plains.ports[i], plains.remotes[i]) = gist.with_ue(false, true).parts();
            plains.flaws[i] = user.flaws();
        }
        for i in 0..BATCH {
            let id = u64::from(plains.places[i]) << 32 | u64::from(plains.keys[i]);
            plains.ids[i] = if plains.is_quick[i] != 0 { id } else { NOWHERE };
        }
        guess.choose(plains);
    }
}

/// Congestion that an outer header has met goes on in the inner one (RFC 6040 figure 4).
pub(crate) mod ecn {
    const CAPABLE_1: u32 = 1;
    const CAPABLE_0: u32 = 2;
    const CONGESTED: u32 = 3;

    /// The inner field becomes another one, or the packet is dropped.
    #[inline(always)]
    pub(crate) const fn changes(outer: u32, inner: u32) -> bool {
        ((outer == CAPABLE_1) & (inner == CAPABLE_0)) | ((outer == CONGESTED) & (inner != CONGESTED))
    }

    /// The packet is dropped: it cannot say that it has met congestion.
    pub(crate) const fn drops(outer: u32, inner: u32) -> bool {
        outer == CONGESTED && inner == 0
    }
}

/// Parts of a GTP-U header.
#[derive(Clone, Copy)]
struct Tunnel {
    a0: u32,
    a1: u32,
    b1: u32,
}

impl Tunnel {
    #[inline(always)]
    const fn is_bare(self) -> bool {
        self.a0 & 0xffff == BARE
    }

    /// A G-PDU without extension headers, or one that says nothing but a QFI. After the sequence number, which does not count,
    /// there is the type of the extension header, its length of one word, the type of PDU (0 or 1), flags that are not set, the
    /// QFI, and that no further header follows.
    #[inline(always)]
    const fn is_plain(self) -> bool {
        let is_container = (self.a1 >> 24 == PDU_SESSION_CONTAINER as u32) & (self.b1 & 0xffc0_efff == 1);
        self.is_bare() | (self.a0 & 0xffff == EXTENDED) & is_container
    }

    #[inline(always)]
    const fn start(self) -> u32 {
        if self.is_bare() { HEADER } else { CONTAINER }
    }

    /// Where the message ends, be it in the frame or not.
    #[inline(always)]
    const fn end(self) -> u32 {
        HEADER + (self.a0.swap_bytes() & 0xffff)
    }

    /// With the QFI, if there is one.
    #[inline(always)]
    const fn mark(self, gist: Gist) -> Gist {
        let marked = gist.with_qfi(Qfi::from_low_bits((self.b1 >> 16) as u8));
        if self.is_bare() { gist } else { marked }
    }
}

/// The words of an IPv4 header.
#[derive(Clone, Copy)]
struct User {
    a2: u32,
    b2: u32,
    a3: u32,
    b3: u32,
    a4: u32,
}

impl User {
    #[inline(always)]
    const fn len(self) -> u32 {
        self.a2.swap_bytes() & 0xffff
    }

    #[inline(always)]
    const fn tos(self) -> u8 {
        (self.a2 >> 8) as u8
    }

    #[inline(always)]
    const fn protocol(self) -> u32 {
        self.a3 >> 8 & 0xff
    }

    /// TCP or UDP behind a header of five words, and no fragment: of flags and offset nothing is set but perhaps "do not
    /// fragment".
    #[inline(always)]
    const fn is_plain(self) -> bool {
        let is_whole = (self.a2 & 0xff == 0x45) & (self.b2 & 0xff3f_0000 == 0);
        is_whole & (self.len() >= USER as u32) & ((self.protocol() == UDP) | (self.protocol() == TCP))
    }

    #[inline(always)]
    const fn flaws(self) -> u32 {
        let is_of_link = (self.b3 & 0xffff == LINK_LOCAL) | (self.a4 & 0xffff == LINK_LOCAL);
        flaw::OURS as u32
            | (flaw::DAMAGED as u32 * !self.sums_up() as u32)
            | (flaw::LAST_HOP as u32 * (self.a3 & 0xff <= 1) as u32)
            | (flaw::LINK as u32 * is_of_link as u32)
    }

    /// The sum of the words of the header, carries added, is all ones. It does not matter in which order the octets of all
    /// words are.
    #[inline(always)]
    const fn sums_up(self) -> bool {
        const fn sum(word: u32) -> u32 {
            (word & 0xffff) + (word >> 16)
        }
        let all = sum(self.a2) + sum(self.b2) + sum(self.a3) + sum(self.b3) + sum(self.a4);
        // No more than ten times 2^16: one carry more is not possible but for a sum of zero.
        sum(all) == 0xffff
    }
}

/// The checksum of a header is right.
#[cfg(test)]
pub(crate) fn sums_up(header: &[u8; 20]) -> bool {
    let words: Vec<_> = header.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let &[a2, b2, a3, b3, a4] = words.as_slice() else { return false };
    User { a2, b2, a3, b3, a4 }.sums_up()
}

#[cfg(test)]
mod tests;

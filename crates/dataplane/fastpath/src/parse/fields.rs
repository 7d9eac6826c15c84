//! Fields of the first words of headers. Without branches, since many packets are parsed together.

use causeway_packet::gtpu::extension_type::PDU_SESSION_CONTAINER;
use causeway_types::Qfi;

use super::USER_HEAD_LEN;
use crate::batch::state::packet_flag;
use crate::classify::filters::PacketKey;

/// Octets of an IPv4 header without options.
const IPV4: u32 = 20;
/// The GTP-U header alone.
const HEADER: u32 = 8;
/// The header with a container.
const CONTAINER: u32 = 16;

/// The shortest extension header.
const WORD: u32 = 4;
/// Extension header types below this value do not require comprehension.
pub(super) const COMPREHENSION_REQUIRED: u32 = 0x80;

/// First octets of a G-PDU, from the lowest on: version and flags, and the type of message.
const GPDU_WITHOUT_EXTENSIONS: u32 = 0xff30;
const GPDU_WITH_EXTENSIONS: u32 = 0xff34;

/// Protocols with ports.
const TCP: u32 = 6;
const UDP: u32 = 17;
const DCCP: u32 = 33;
const SCTP: u32 = 132;
const UDP_LITE: u32 = 136;
/// 169.254.0.0, of /16, in the lowest octets.
const LINK_LOCAL: u32 = 0xfea9;

/// The third word of an IPv4 header with its TTL decremented, for a TTL above one. A valid checksum stays valid (RFC
/// 1624 equation 3): it gains what the word loses, and one more where that carries.
#[inline(always)]
pub(crate) const fn decrement_ttl(word: u32) -> u32 {
    let word = word.swap_bytes();
    let sum = (word & 0xffff) + 0x0100;
    // It was 0xfeff or more.
    let carry = (sum >= 0xffff) as u32;
    ((word & 0xffff_0000).wrapping_sub(0x0100_0000) | (sum + carry) & 0xffff).swap_bytes()
}

/// Whether an extension header that starts so is one word long and the last one.
#[inline(always)]
const fn is_last(header: u32) -> bool {
    header & 0xff00_00ff == 1
}

/// Words of a GTP-U header.
#[derive(Clone, Copy)]
pub(super) struct Tunnel {
    pub(super) a0: u32,
    pub(super) a1: u32,
    pub(super) b1: u32,
}

impl Tunnel {
    #[inline(always)]
    pub(super) const fn is_without_extensions(self) -> bool {
        self.a0 & 0xffff == GPDU_WITHOUT_EXTENSIONS
    }

    /// Whether it is a G-PDU without extension headers, or with a PDU Session Container that contains only a QFI. The
    /// sequence number is ignored; then follow the type of the extension header, its length of one word, the PDU type
    /// (0 or 1), clear flags, the QFI, and the end of the chain.
    #[inline(always)]
    pub(super) const fn is_common(self) -> bool {
        let is_container = (self.a1 >> 24 == PDU_SESSION_CONTAINER as u32) & (self.b1 & 0xffc0_efff == 1);
        self.is_without_extensions() | (self.a0 & 0xffff == GPDU_WITH_EXTENSIONS) & is_container
    }

    #[inline(always)]
    pub(super) const fn start(self) -> u32 {
        if self.is_without_extensions() { HEADER } else { CONTAINER }
    }

    /// Whether there is a PDU Session Container that contains only a QFI, whether it is the only extension header or
    /// not.
    #[inline(always)]
    const fn has_container(self) -> bool {
        let is_container = (self.a1 >> 24 == PDU_SESSION_CONTAINER as u32) & (self.b1 & 0x00c0_efff == 1);
        (self.a0 & 0xffff == GPDU_WITH_EXTENSIONS) & is_container
    }

    /// The type of the only extension header besides a container, if it is one word long; else zero. And the number of
    /// octets by which it moves the start of the packet. `rest`: the word behind the first header.
    #[inline(always)]
    pub(super) const fn extension_beside_container(self, rest: u32) -> (u32, u32) {
        let (first, second) = (self.a1 >> 24, self.b1 >> 24);
        if self.has_container() {
            let is_it = (second != 0) & (second != PDU_SESSION_CONTAINER as u32) & is_last(rest);
            if is_it { (second, WORD) } else { (0, 0) }
        } else {
            let is_it = (first != 0) & (first != PDU_SESSION_CONTAINER as u32) & is_last(self.b1);
            if (self.a0 & 0xffff == GPDU_WITH_EXTENSIONS) & is_it { (first, 0) } else { (0, 0) }
        }
    }

    /// Whether there is a QFI that this parser reads.
    #[inline(always)]
    pub(super) const fn has_qfi(self) -> bool {
        self.has_container()
    }

    /// The end of the message, inside the frame or not.
    #[inline(always)]
    pub(super) const fn end(self) -> u32 {
        HEADER + (self.a0.swap_bytes() & 0xffff)
    }

    /// With the QFI, if there is one.
    #[inline(always)]
    pub(super) const fn with_qfi(self, packet_key: PacketKey) -> PacketKey {
        let marked = packet_key.with_qfi(Qfi::from_low_bits((self.b1 >> 16) as u8));
        if self.is_without_extensions() { packet_key } else { marked }
    }
}

/// The words of an IPv4 header.
#[derive(Clone, Copy)]
pub(super) struct UserWords {
    pub(super) a2: u32,
    pub(super) b2: u32,
    pub(super) a3: u32,
    pub(super) b3: u32,
    pub(super) a4: u32,
}

impl UserWords {
    #[inline(always)]
    pub(super) const fn len(self) -> u32 {
        self.a2.swap_bytes() & 0xffff
    }

    #[inline(always)]
    pub(super) const fn tos(self) -> u8 {
        (self.a2 >> 8) as u8
    }

    #[inline(always)]
    pub(super) const fn protocol(self) -> u32 {
        self.a3 >> 8 & 0xff
    }

    /// The fragment offset, in octets.
    #[inline(always)]
    pub(super) const fn offset(self) -> u32 {
        (self.b2.swap_bytes() & 0x1fff) << 3
    }

    /// Whether ports follow the header: the protocol has them, and it is no later fragment.
    #[inline(always)]
    pub(super) const fn has_ports(self) -> bool {
        let protocol = self.protocol();
        let has_ports = (protocol == UDP) | (protocol == TCP) | (protocol == SCTP);
        (has_ports | (protocol == DCCP) | (protocol == UDP_LITE)) & (self.offset() == 0)
    }

    /// Whether the header has five words and the packet is within its frame and the maximum size.
    #[inline(always)]
    pub(super) const fn is_common(self) -> bool {
        (self.a2 & 0xff == 0x45) & self.has_all_behind(IPV4)
    }

    /// The same for a header of this many octets, whatever its first octet contains.
    #[inline(always)]
    pub(super) const fn has_all_behind(self, header_len: u32) -> bool {
        let has_all = self.len() >= header_len + (USER_HEAD_LEN as u32 - IPV4) * self.has_ports() as u32;
        let fits = self.offset() + self.len() <= u16::MAX as u32;
        has_all & fits
    }

    #[inline(always)]
    pub(super) const fn flaws(self) -> u32 {
        self.flaws_with(0)
    }

    /// The same with options, whose words have this sum.
    #[inline(always)]
    pub(super) const fn flaws_with(self, options: u32) -> u32 {
        let is_of_link = (self.b3 & 0xffff == LINK_LOCAL) | (self.a4 & 0xffff == LINK_LOCAL);
        (packet_flag::BAD_CHECKSUM as u32 * !self.has_valid_checksum_with(options) as u32)
            | (packet_flag::TTL_EXPIRES as u32 * (self.a3 & 0xff <= 1) as u32)
            | (packet_flag::LINK_SCOPED as u32 * is_of_link as u32)
    }

    /// The sum of the halves of a word.
    #[inline(always)]
    pub(super) const fn sum(word: u32) -> u32 {
        (word & 0xffff) + (word >> 16)
    }

    /// Whether the sum of the words of the header and of its options, carries added, is all ones. The octet order does
    /// not matter if it is the same for all words.
    #[inline(always)]
    pub(super) const fn has_valid_checksum_with(self, options: u32) -> bool {
        let base = Self::sum(self.a2) + Self::sum(self.b2) + Self::sum(self.a3);
        let all = base + Self::sum(self.b3) + Self::sum(self.a4) + options;
        // Less than 30 times 2^16: one carry more is not possible but for a sum of zero.
        Self::sum(all) == 0xffff
    }
}

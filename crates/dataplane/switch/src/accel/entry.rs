//! The session that becomes the software's, as the switch puts it in front of a message.

use std::net::Ipv4Addr;

/// All that the switch knows of a session that becomes the software's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its index.
    pub index: u32,
    /// Generation and SMF.
    pub state: u32,
    /// The message with which it comes is already noted as the last one of the session, and was not answered.
    pub is_noted: bool,
    /// The SMF's SEID.
    pub cp: u64,
    /// The request that established it: sequence number and eight bits of a digest.
    pub origin: u32,
    /// The last request.
    pub last: u32,
    /// The policy that established it.
    pub uplink_policy: u16,
    /// The policy of its downlink, or of the message that was to make it; 0: there was none.
    pub downlink_policy: u16,
    /// The last halves of the IDs of the uplink's FAR and of the downlink's; 0: it has none. The first halves are the policies'.
    pub fars: [u16; 2],
    /// 1: packets to the UE are forwarded; 2: they are dropped; 0: the session has no downlink.
    pub downlink_action: u8,
    /// The tunnel of the gNB, if there is one.
    pub peer: Option<(u32, Ipv4Addr)>,
}

/// What a second pass is for: the session goes with the message; it is noted.
const ADOPT: u32 = 0x0200_0000;
const NOTED: u32 = 0x0100_0000;

impl Entry {
    /// The switch has the session; otherwise it had it last.
    pub const fn is_live(&self) -> bool {
        self.state & super::LIVE != 0
    }

    /// Octets of an entry.
    pub const LEN: usize = 42;

    /// The octets in front of a message (`session_entry_h` of `p4/blocks/pfcp_headers.p4`), in network byte order.
    pub fn encode(&self) -> [u8; Self::LEN] {
        let what = ADOPT | if self.is_noted { NOTED } else { 0 };
        let (teid, peer) = self.peer.unwrap_or((0, Ipv4Addr::UNSPECIFIED));
        let words = [
            what | self.index,
            self.state,
            (self.cp >> 32) as u32,
            self.cp as u32,
            self.origin,
            self.last,
            teid,
            peer.into(),
        ];
        let halves = [self.uplink_policy, self.downlink_policy, self.fars[0], self.fars[1]];
        let octets = words.into_iter().flat_map(u32::to_be_bytes);
        let octets = octets.chain(halves.into_iter().flat_map(u16::to_be_bytes));
        let mut octets = octets.chain([self.downlink_action, self.peer.is_some().into()]);
        std::array::from_fn(|_| octets.next().unwrap_or(0))
    }

    /// The entry of these octets.
    ///
    /// ```
    /// use causeway_switch::accel::Entry;
    ///
    /// let mut octets = [0; Entry::LEN];
    /// (octets[0], octets[3]) = (2, 7);
    /// let entry = Entry::decode(&octets);
    /// assert_eq!((entry.index, entry.is_noted, entry.peer), (7, false, None));
    /// assert_eq!(entry.encode(), octets);
    /// ```
    pub fn decode(octets: &[u8; Self::LEN]) -> Self {
        let word = |at: usize| octets[at..at + 4].iter().fold(0, |word, octet| word << 8 | u32::from(*octet));
        let half = |at: usize| u16::from(octets[at]) << 8 | u16::from(octets[at + 1]);
        let what = word(0);
        let has_peer = octets[41] == 1 && octets[40] != 0;
        Self {
            index: what & 0x1_ffff,
            state: word(4),
            is_noted: what & NOTED != 0,
            cp: u64::from(word(8)) << 32 | u64::from(word(12)),
            origin: word(16),
            last: word(20),
            uplink_policy: half(32),
            downlink_policy: half(34),
            fars: [half(36), half(38)],
            downlink_action: octets[40],
            peer: Some((word(24), word(28).into())).filter(|_| has_peer),
        }
    }
}

//! What most packets need of their session: one line of 64 octets for each direction.

use zerocopy::FromZeros;

/// A program number with this bit says that the line stands for another one, whose number is its budget.
const ALIAS: u32 = 1 << 31;

/// Micro-bits in an octet: buckets count kbit/s times nanoseconds.
pub(crate) const PER_OCTET: i64 = 8_000_000;

/// What the packets of one rule have used up, and what they may.
#[derive(Clone, Copy, Default, Debug, FromZeros)]
#[repr(C)]
pub(crate) struct Account {
    /// Octets that may still pass before the slow room must see a packet. Zero: it must see each.
    pub(crate) budget: u64,
    /// What is in the bucket of the rule's own rate, in micro-bits.
    pub(crate) tokens: i64,
    /// When the bucket was last filled, and so when the last packet came; nanoseconds.
    pub(crate) updated: u64,
    /// When the last packet passed; nanoseconds.
    pub(crate) last_pass: u64,
    /// Octets of the last packet that passed.
    pub(crate) last_size: u32,
    /// Packets that passed since the grant.
    pub(crate) packets: u32,
}

/// Where packets come in: the key that proves it is theirs, the UE's addresses, and the account of the only rule or, where
/// there are more, of the rate that they share.
#[derive(Clone, Copy, Default, Debug, FromZeros)]
#[repr(C, align(64))]
pub(crate) struct FlowEntry {
    /// The TEID of an uplink line or the IPv4 address of a downlink one; zero where there is none.
    pub(crate) key: u32,
    /// Where the key is one: [`crate::key::FlowKey::scope`]. Zero in a line that is free.
    pub(crate) scope: u32,
    program: u32,
    /// Uplink: the IPv4 address of the UE, zero where it has none. Downlink: the TEID of the only rule's tunnel.
    pub(crate) ue_or_teid: u32,
    /// The upper half of the UE's IPv6 addresses; zero where it has none.
    pub(crate) prefix: u64,
    /// Of the only rule. With more: the bucket of the rate they share, and as budget the first of their lines.
    pub(crate) account: Account,
}

impl FlowEntry {
    /// A line that is taken, with nothing granted.
    pub(crate) fn new(key: u32, place: u32, program: u32) -> Self {
        Self { key, scope: place, program, ..Self::default() }
    }

    /// A line that stands for another one, with a program of its own.
    pub(crate) fn alias(key: u32, place: u32, program: u32, of: u32) -> Self {
        let account = Account { budget: of.into(), ..Account::default() };
        Self { key, scope: place, program: program | ALIAS, account, ..Self::default() }
    }

    /// Key and place as a packet has them: [`crate::batch_state::PacketState::id`].
    #[inline(always)]
    pub(crate) const fn entry_id(&self) -> u64 {
        (self.scope as u64) << 32 | self.key as u64
    }

    /// The line is in use.
    #[inline]
    pub(crate) const fn is_used(&self) -> bool {
        self.scope != 0
    }

    /// The number of its program.
    pub(crate) const fn program(&self) -> u32 {
        self.program & !ALIAS
    }

    /// Gives it another program.
    pub(crate) const fn set_program(&mut self, program: u32) {
        self.program = self.program & ALIAS | program;
    }

    /// The number of its program; of a line that stands for another one, a number that no program has.
    #[inline]
    pub(crate) const fn program_unless_alias(&self) -> u32 {
        self.program
    }

    /// The line that it stands for, if it does.
    pub(crate) const fn alias_of(&self) -> Option<u32> {
        if self.program & ALIAS == 0 { None } else { Some(self.account.budget as u32) }
    }
}

/// The account of one of several rules.
#[derive(Clone, Copy, Default, Debug, FromZeros)]
#[repr(C, align(64))]
pub(crate) struct RuleEntry {
    /// What its packets have used up.
    pub(crate) account: Account,
    /// Octets of packets that were dropped since the grant.
    pub(crate) dropped_octets: u64,
    /// Packets that were dropped since the grant.
    pub(crate) dropped_packets: u32,
    /// The TEID of the tunnel that its packets leave by.
    pub(crate) teid: u32,
}

const _: () = assert!(size_of::<FlowEntry>() == 64 && size_of::<RuleEntry>() == 64);

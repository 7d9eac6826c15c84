//! The flow entry: 64 octets of state for one direction of a session.

use zerocopy::FromZeros;

/// In a program number: the entry is an alias, and its link is the number of the entry that it stands for.
const ALIAS: u32 = 1 << 31;

/// Micro-bits per octet: buckets count kbit/s times nanoseconds.
pub(crate) const PER_OCTET: i64 = 8_000_000;

/// The account of one rule: its grants and its use.
#[derive(Clone, Copy, Default, Debug, FromZeros)]
#[repr(C)]
pub(crate) struct Account {
    /// Octets that may pass before the slow path must see a packet. Zero: it must see each packet.
    pub(crate) budget: u64,
    /// Tokens in the bucket of the rule's rate, in micro-bits.
    pub(crate) tokens: i64,
    /// When the bucket was last filled, which is when the last packet was received; in nanoseconds.
    pub(crate) updated: u64,
    /// When the last packet passed, in nanoseconds.
    pub(crate) last_pass: u64,
    /// Octets of the last packet that passed.
    pub(crate) last_size: u32,
    /// Packets that passed since the grant.
    pub(crate) packets: u32,
}

/// The flow entry: the key that a packet must have, the UE's addresses, and an account. The account is that of the only
/// rule; with several rules, it is that of their shared rate.
#[derive(Clone, Copy, Default, Debug, FromZeros)]
#[repr(C, align(64))]
pub(crate) struct FlowEntry {
    /// The TEID of an uplink entry or the IPv4 address of a downlink entry; zero for none.
    pub(crate) key: u32,
    /// The scope of the key: [`crate::table::key::FlowKey::scope`]. Zero in a free entry.
    pub(crate) scope: u32,
    program: u32,
    /// Uplink: the IPv4 address of the UE, zero for none. Downlink: the TEID of the only rule's tunnel.
    pub(crate) ue_or_teid: u32,
    /// The upper half of the UE's IPv6 addresses; zero for none.
    pub(crate) prefix: u64,
    /// The account of the only rule. With several rules, and in an alias: the bucket of their shared rate, with a link
    /// to another entry in place of the budget ([`FlowEntry::link`]).
    pub(crate) account: Account,
}

impl FlowEntry {
    /// An entry in use, with no grant.
    pub(crate) fn new(key: u32, scope: u32, program: u32) -> Self {
        Self { key, scope, program, ..Self::default() }
    }

    /// An alias of another entry, with its own program.
    pub(crate) fn alias(key: u32, scope: u32, program: u32, of: u32) -> Self {
        let mut entry = Self { key, scope, program: program | ALIAS, ..Self::default() };
        entry.set_link(of);
        entry
    }

    /// Key and scope, in the format of [`crate::batch::state::PacketState::id`].
    #[inline(always)]
    pub(crate) const fn entry_id(&self) -> u64 {
        (self.scope as u64) << 32 | self.key as u64
    }

    /// Whether the entry is in use.
    #[inline]
    pub(crate) const fn is_used(&self) -> bool {
        self.scope != 0
    }

    /// The number of its program.
    pub(crate) const fn program(&self) -> u32 {
        self.program & !ALIAS
    }

    /// Sets its program.
    pub(crate) const fn set_program(&mut self, program: u32) {
        self.program = self.program & ALIAS | program;
    }

    /// The number of its program; for an alias, a number that no program has.
    #[inline]
    pub(crate) const fn program_unless_alias(&self) -> u32 {
        self.program
    }

    /// The entry that it is an alias of, if it is one.
    pub(crate) const fn alias_of(&self) -> Option<u32> {
        if self.program & ALIAS == 0 { None } else { Some(self.link()) }
    }

    /// The rule entry of an account of several rules: accounts count from 1.
    #[inline]
    pub(crate) fn rule_entry(&self, account: u8) -> u32 {
        self.link().wrapping_add(u32::from(account)).wrapping_sub(1)
    }

    /// Sets the first of the rule entries of several rules.
    pub(crate) fn set_first_rule_entry(&mut self, first: u32) {
        self.set_link(first);
    }

    /// The entry that an entry without a budget refers to: the octets of the budget hold its number.
    #[inline]
    const fn link(&self) -> u32 {
        self.account.budget as u32
    }

    fn set_link(&mut self, entry: u32) {
        self.account.budget = entry.into();
    }
}

/// The account of one of several rules.
#[derive(Clone, Copy, Default, Debug, FromZeros)]
#[repr(C, align(64))]
pub(crate) struct RuleEntry {
    /// The account of its packets.
    pub(crate) account: Account,
    /// Octets of packets that were dropped since the grant.
    pub(crate) dropped_octets: u64,
    /// Packets that were dropped since the grant.
    pub(crate) dropped_packets: u32,
    /// The TEID of the tunnel that its packets are sent into.
    pub(crate) teid: u32,
}

const _: () = assert!(size_of::<FlowEntry>() == 64 && size_of::<RuleEntry>() == 64);

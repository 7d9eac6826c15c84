//! One lane: one alternative of a rule, as numbers to compare with those of a packet.

use causeway_types::IpNet;

/// The number of columns of 32 bits that a lane may compare: addresses, SPI and flow label.
pub(super) const COLUMNS: usize = 10;

/// Columns of the remote address, from its highest word; IPv4 has the first one only.
pub(super) const REMOTE: [usize; 4] = [0, 1, 2, 3];
/// Columns of the local address.
pub(super) const LOCAL: [usize; 4] = [4, 5, 6, 7];
/// Column of the Security Parameter Index.
pub(super) const SPI: usize = 8;
/// Column of the flow label.
pub(super) const LABEL: usize = 9;

/// The small parts of a packet in one word, compared under a mask.
pub(super) mod word {
    use causeway_types::Qfi;

    const TOS_AT: u32 = 8;
    const QFI_AT: u32 = 16;
    const HAS_QFI: u32 = 1 << 22;
    /// The ports are known.
    pub(in super::super) const HAS_PORTS: u32 = 1 << 23;
    /// The remote end is the UE.
    pub(in super::super) const REMOTE_IS_UE: u32 = 1 << 24;
    /// The local end is the UE.
    pub(in super::super) const LOCAL_IS_UE: u32 = 1 << 25;
    /// The Security Parameter Index is known.
    pub(in super::super) const HAS_SPI: u32 = 1 << 26;
    /// There is a flow label.
    pub(in super::super) const HAS_LABEL: u32 = 1 << 27;
    /// The packet is IPv6.
    pub(in super::super) const IS_V6: u32 = 1 << 28;
    /// No packet has this bit: a lane that requires it matches none.
    pub(in super::super) const NEVER: u32 = 1 << 31;

    /// Protocol and type of service.
    pub(in super::super) const fn of(protocol: u8, tos: u8) -> u32 {
        protocol as u32 | (tos as u32) << TOS_AT
    }

    /// With another type of service.
    pub(in super::super) const fn with_tos(word: u32, tos: u8) -> u32 {
        word & !(0xff << TOS_AT) | (tos as u32) << TOS_AT
    }

    /// The type of service.
    pub(in super::super) const fn tos(word: u32) -> u8 {
        (word >> TOS_AT) as u8
    }

    /// A QFI, and the bit that there is one.
    pub(in super::super) const fn qfi(qfi: Qfi) -> u32 {
        (qfi.value() as u32) << QFI_AT | HAS_QFI
    }

    /// The bits that are compared for `span` adjacent QFIs, a power of two.
    pub(in super::super) const fn qfi_mask(span: u8) -> u32 {
        ((Qfi::MAX & !(span - 1)) as u32) << QFI_AT | HAS_QFI
    }
}

/// A value, and the mask of the bits that are compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Masked {
    pub(super) value: u32,
    pub(super) mask: u32,
}

impl Masked {
    /// Any number.
    const ANY: Self = Self { value: 0, mask: 0 };

    /// Exactly this number.
    pub(super) const fn exactly(value: u32) -> Self {
        Self { value, mask: u32::MAX }
    }

    /// The first `bits` bits of a number; all of it for 32 and more.
    const fn prefix(value: u32, bits: u32) -> Self {
        let mask = !u32::MAX.unbounded_shr(bits);
        Self { value: value & mask, mask }
    }

    /// Adds a comparison of other bits.
    pub(super) const fn and(self, value: u32, mask: u32) -> Self {
        Self { value: self.value | value & mask, mask: self.mask | mask }
    }
}

/// Ports that a lane accepts: for each end the lowest one and the number of further ones, remote below local as in a
/// key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct PortRanges {
    pub(super) low: u32,
    pub(super) width: u32,
}

/// The packets whose addresses a lane can compare.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Family {
    V4,
    V6,
}

/// One alternative of a rule. A packet must match every part.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Lane {
    /// Its rule.
    pub(super) rule: u8,
    pub(super) word: Masked,
    pub(super) ports: PortRanges,
    /// `None` where no address is compared.
    pub(super) family: Option<Family>,
    pub(super) columns: [Masked; COLUMNS],
}

impl Lane {
    /// Matches every packet.
    pub(super) const fn any(rule: u8) -> Self {
        let ports = PortRanges { low: 0, width: u32::MAX };
        Self { rule, word: Masked::ANY, ports, family: None, columns: [Masked::ANY; COLUMNS] }
    }

    /// Whether every packet matches it.
    pub(super) fn is_any(&self) -> bool {
        *self == Self::any(self.rule)
    }

    /// Whether only IPv6 packets can match.
    pub(super) fn is_v6(&self) -> bool {
        self.family == Some(Family::V6)
    }

    /// Adds a prefix for the end with these columns. `None` where the other end has a prefix of another family, so that
    /// no packet matches.
    pub(super) fn with_net(mut self, columns: [usize; 4], net: IpNet) -> Option<Self> {
        let family = match net {
            IpNet::V4(_) => Family::V4,
            IpNet::V6(_) => Family::V6,
        };
        if self.family.is_some_and(|other| other != family) {
            return None;
        }
        self.family = Some(family);
        self.word = self.word.and(if family == Family::V6 { word::IS_V6 } else { 0 }, word::IS_V6);
        let (bits, len) = match net {
            IpNet::V4(net) => (u128::from(u32::from(net.addr())) << 96, u32::from(net.prefix_len())),
            IpNet::V6(net) => (u128::from(net.addr()), u32::from(net.prefix_len())),
        };
        for (at, column) in (0_u32..).zip(columns) {
            let word = (bits >> (96 - 32 * at)) as u32;
            self.columns[column] = Masked::prefix(word, len.saturating_sub(32 * at));
        }
        Some(self)
    }
}

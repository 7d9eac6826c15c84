//! What QERs and FARs write into the headers of packets.

use std::collections::BTreeMap;

use causeway_types::{Ppi, QfiSet};

/// A DSCP to be written into a Type of Service or Traffic Class, with the bits of it that count. The two
/// bits of ECN are never among them (TS 29.244 clause 8.2.12, RFC 3168).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TosMarking {
    value: u8,
    mask: u8,
}

impl TosMarking {
    /// The six bits of a DSCP.
    const DSCP: u8 = 0xfc;

    /// The bits of `value` that `mask` names, without those of ECN.
    pub const fn new(value: u8, mask: u8) -> Self {
        let mask = mask & Self::DSCP;
        Self { value: value & mask, mask }
    }

    /// The octet as it is after marking.
    pub const fn apply(self, tos: u8) -> u8 {
        tos & !self.mask | self.value
    }
}

/// How downlink packets are marked beside the PDU Session Container (DL Flow Level Marking, TS 29.244
/// clause 8.2.66).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FlowMarking {
    /// Of the user packet itself.
    pub tos: Option<TosMarking>,
    /// Service Class Indicator: octets 2 and 3 of the GTP-U extension header (TS 29.281 clause 5.2.2.3).
    pub service_class: Option<u16>,
}

/// Which Paging Policy Indicator the DSCP of a downlink packet stands for (DSCP to PPI Control Information,
/// TS 29.244 clause 5.36.2).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PagingPolicy {
    /// The QoS flows it is about; empty means all.
    pub qfis: QfiSet,
    /// By DSCP, 0 to 63.
    pub ppis: BTreeMap<u8, Ppi>,
}

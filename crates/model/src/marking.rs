//! Markings of QERs and FARs in packet headers.

use std::collections::BTreeMap;

use causeway_types::{Ppi, QfiSet, Transfer};

/// A DSCP for a Type of Service or Traffic Class, with its mask. The mask never covers the two ECN bits (TS 29.244
/// clause 8.2.12, RFC 3168).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TosMarking {
    value: u8,
    mask: u8,
}

impl TosMarking {
    /// The six bits of a DSCP.
    const DSCP: u8 = 0xfc;

    /// The bits of `value` that `mask` covers, except the ECN bits.
    pub const fn new(value: u8, mask: u8) -> Self {
        let mask = mask & Self::DSCP;
        Self { value: value & mask, mask }
    }

    /// The octet after marking.
    pub const fn apply(self, tos: u8) -> u8 {
        tos & !self.mask | self.value
    }
}

/// The marking of downlink packets beside the PDU Session Container (DL Flow Level Marking, TS 29.244 clause
/// 8.2.66).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FlowMarking {
    /// The marking of the user packet.
    pub tos: Option<TosMarking>,
    /// Service Class Indicator: octets 2 and 3 of the GTP-U extension header (TS 29.281 clause 5.2.2.3).
    pub service_class: Option<u16>,
}

/// The mapping from the DSCP of downlink packets to Paging Policy Indicators (DSCP to PPI Control Information, TS
/// 29.244 clause 5.36.2).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PagingPolicy {
    /// The QoS flows of the mapping; empty means all.
    pub qfis: QfiSet,
    /// By DSCP, 0 to 63.
    pub ppis: BTreeMap<u8, Ppi>,
}

impl Transfer for TosMarking {
    fn put(&self, out: &mut Vec<u8>) {
        (self.value, self.mask).put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        Transfer::take(input).map(|(value, mask)| Self::new(value, mask))
    }
}

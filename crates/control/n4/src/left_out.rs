//! IEs that some SMFs cannot decode, and messages without them.
//!
//! Some decoders discard a whole message if they cannot decode one of its IEs, and their SMF does not respond. As a
//! last resort, the last retransmission of a report omits these IEs. If the SMF responds to that only, they are omitted
//! from then on.

use std::ops::Range;

use causeway_pfcp::{
    AdditionalUsageReports, EthernetTrafficInformation, Ie, LoadControlInformation, MacAddressesDetected,
    MacAddressesRemoved, OverloadControlInformation, QueryUrrReference, RawIe, RawIes,
};
use causeway_types::UsageInformation;

/// IEs of session messages that a decoder of an SMF is known to reject (tests/interop/go/readers). Each is conditional
/// or optional: a message without it still serves its purpose.
const OMITTABLE: [(u16, &str); 7] = [
    of::<LoadControlInformation<'_>>(),
    of::<OverloadControlInformation<'_>>(),
    of::<UsageInformation>(),
    of::<QueryUrrReference>(),
    of::<AdditionalUsageReports>(),
    of::<MacAddressesDetected<'_>>(),
    of::<MacAddressesRemoved<'_>>(),
];

const fn of<'a, I: Ie<'a>>() -> (u16, &'static str) {
    (I::TYPE, I::NAME)
}

/// The grouped IEs that contain them: Usage Report in its three forms (TS 29.244 tables 7.5.5.2-1, 7.5.7.2-1 and
/// 7.5.8.3-1), and a group within it.
const GROUPS: [u16; 4] = [78, 79, 80, <EthernetTrafficInformation<'_> as Ie<'_>>::TYPE];

/// The length of a header with SEID, the offset of its length field, and the octets that the length does not count (TS
/// 29.244 clause 7.2.2.3).
const HEADER: usize = 16;
const LENGTH: Range<usize> = 2..4;
const UNCOUNTED: usize = 4;

/// A set of IEs that can be omitted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct LeftOut(u8);

impl LeftOut {
    /// None.
    pub(crate) const NONE: Self = Self(0);
    /// All of them.
    pub(crate) const ALL: Self = Self((1 << OMITTABLE.len()) - 1);

    /// One bit for each.
    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    /// The set of these bits; others mean nothing.
    pub(crate) const fn from_bits(bits: u8) -> Self {
        Self(bits & Self::ALL.0)
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The union of both sets.
    #[must_use]
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The types.
    pub(crate) fn types(self) -> impl Iterator<Item = u16> {
        self.entries().map(|(ie_type, _)| ie_type)
    }

    /// The names, with commas between them.
    pub(crate) fn names(self) -> String {
        self.entries().map(|(_, name)| name).collect::<Vec<_>>().join(", ")
    }

    fn entries(self) -> impl Iterator<Item = (u16, &'static str)> {
        OMITTABLE.into_iter().enumerate().filter(move |(at, _)| self.0 & 1 << at != 0).map(|(_, entry)| entry)
    }

    /// The member that an IE is; none if it is not one of them.
    fn which(self, ie: &RawIe<'_>) -> Self {
        let at = OMITTABLE.iter().position(|(ie_type, _)| *ie_type == ie.ie_type);
        Self(at.map_or(0, |at| self.0 & 1 << at))
    }

    /// Removes these IEs from a session message. Returns those that were removed.
    pub(crate) fn take_from(self, message: &mut Vec<u8>) -> Self {
        if self.is_empty() {
            return Self::NONE;
        }
        let mut left = Vec::with_capacity(message.len());
        left.extend(message.iter().take(HEADER));
        let taken = message.get(HEADER..).and_then(|ies| self.copy_others(ies, &mut left));
        let Some(taken) = taken.filter(|taken| !taken.is_empty()) else { return Self::NONE };
        let Some(counted) = left.len().checked_sub(UNCOUNTED) else { return Self::NONE };
        let (Ok(counted), Some(field)) = (u16::try_from(counted), left.get_mut(LENGTH)) else {
            return Self::NONE;
        };
        field.copy_from_slice(&counted.to_be_bytes());
        *message = left;
        taken
    }

    /// Copies all other IEs. Returns those that were omitted; `None` if the octets are not IEs.
    fn copy_others(self, ies: &[u8], left: &mut Vec<u8>) -> Option<Self> {
        let mut taken = Self::NONE;
        for ie in RawIes::new(ies) {
            let ie = ie.ok()?;
            let which = self.which(&ie);
            taken = taken.and(which);
            if !which.is_empty() {
                continue;
            }
            if !GROUPS.contains(&ie.ie_type) {
                ie.write(left);
                continue;
            }
            let mut inner = Vec::with_capacity(ie.value.len());
            taken = taken.and(self.copy_others(ie.value, &mut inner)?);
            // A group that became empty is omitted.
            if !inner.is_empty() || ie.value.is_empty() {
                RawIe::new(ie.ie_type, &inner).write(left);
            }
        }
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use causeway_pfcp::{MacList, Message, ReportType, SessionReportRequest, UrSeqn, UsageReport};
    use causeway_types::{Seid, UrrId, UsageReportTrigger};

    use super::*;

    fn report(part: Option<UsageInformation>) -> UsageReport<'static> {
        UsageReport {
            usage_information: part,
            ..UsageReport::new(UrrId(1), UrSeqn(7), UsageReportTrigger::VOLTH)
        }
    }

    fn request(reports: Vec<UsageReport<'static>>) -> Vec<u8> {
        let request = SessionReportRequest {
            usage_reports: reports.into(),
            ..SessionReportRequest::new(ReportType::USAR)
        };
        let mut bytes = Vec::new();
        Message::from(request).encode(Some(Seid(5)), 9, &mut bytes).expect("it is short");
        bytes
    }

    // Input:  a report of usage before and after a monitoring time, one of usage alone, and one without such IEs.
    // Output: without Usage Information the first equals one that never had it; the others do not change.
    #[test]
    fn what_is_left_is_a_sound_message() {
        let (before, after) = (Some(UsageInformation::BEF), Some(UsageInformation::AFT));
        let mut bytes = request(vec![report(before), report(after), report(None)]);
        let taken = LeftOut::ALL.take_from(&mut bytes);
        assert_eq!(
            (taken.types().collect::<Vec<_>>(), taken.names().as_str()),
            (vec![90], "Usage Information")
        );
        let plain = request(vec![report(None), report(None), report(None)]);
        assert_eq!(bytes, plain);
        assert!(
            LeftOut::ALL.take_from(&mut bytes).is_empty() && LeftOut::NONE.take_from(&mut bytes).is_empty()
        );
        assert_eq!(bytes, plain);
    }

    // Input:  the start of traffic of a MAC address, with its MAC address omitted.
    // Output: the enclosing group is omitted, too.
    #[test]
    fn a_group_of_which_nothing_is_left_goes() {
        let detected =
            MacAddressesDetected(MacList { macs: [[2, 0, 0, 0, 0, 1]][..].into(), c_tag: None, s_tag: None });
        let traffic = EthernetTrafficInformation {
            mac_addresses_detected: [detected].into(),
            ..EthernetTrafficInformation::default()
        };
        let ethernet = UsageReport { ethernet_traffic_information: Some(traffic), ..report(None) };
        let mut bytes = request(vec![ethernet]);
        assert_eq!(LeftOut::ALL.take_from(&mut bytes).types().collect::<Vec<_>>(), [144]);
        assert_eq!(bytes, request(vec![report(None)]));
    }

    // Input:  a message truncated within an IE, at each octet; octets that are no message.
    // Output: they do not change.
    #[test]
    fn what_is_no_message_stays() {
        let whole = request(vec![report(Some(UsageInformation::BEF))]);
        for length in 0..whole.len() {
            let mut cut = whole[..length].to_vec();
            LeftOut::ALL.take_from(&mut cut);
            assert!(cut.len() <= length);
        }
        let mut none = vec![0xff; 40];
        assert!(LeftOut::ALL.take_from(&mut none).is_empty());
        assert_eq!(none, [0xff; 40]);
    }
}

//! Counts of PFCP messages by type, direction and result.

use std::collections::BTreeMap;

/// Which messages are counted together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct MessageKind {
    /// The message, for example `session_establishment_request`.
    pub(crate) name: &'static str,
    /// `in` or `out`.
    pub(crate) direction: &'static str,
    /// `ok`, `rejected` (a response whose cause is not "request accepted") or `malformed`.
    pub(crate) result: &'static str,
}

/// How many messages there were of each kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct MessageCounts(BTreeMap<MessageKind, u64>);

impl MessageCounts {
    /// Counts a datagram that came in.
    pub(crate) fn received(&mut self, datagram: &[u8]) {
        self.count("in", datagram);
    }

    /// Counts a datagram that went out.
    pub(crate) fn sent(&mut self, datagram: &[u8]) {
        self.count("out", datagram);
    }

    /// Every kind that occurred, with its count.
    pub(super) fn iter(&self) -> impl Iterator<Item = (MessageKind, u64)> {
        self.0.iter().map(|(kind, count)| (*kind, *count))
    }

    fn count(&mut self, direction: &'static str, datagram: &[u8]) {
        let (name, result) = match (datagram.get(1).and_then(|octet| name(*octet)), body(datagram)) {
            (Some(name), Some(body)) => (name, result(name, body)),
            (Some(name), None) => (name, "malformed"),
            (None, _) => ("unknown", "malformed"),
        };
        *self.0.entry(MessageKind { name, direction, result }).or_default() += 1;
    }
}

/// The message types of TS 29.244 table 7.3-1.
fn name(message_type: u8) -> Option<&'static str> {
    Some(match message_type {
        1 => "heartbeat_request",
        2 => "heartbeat_response",
        3 => "pfd_management_request",
        4 => "pfd_management_response",
        5 => "association_setup_request",
        6 => "association_setup_response",
        7 => "association_update_request",
        8 => "association_update_response",
        9 => "association_release_request",
        10 => "association_release_response",
        11 => "version_not_supported_response",
        12 => "node_report_request",
        13 => "node_report_response",
        14 => "session_set_deletion_request",
        15 => "session_set_deletion_response",
        16 => "session_set_modification_request",
        17 => "session_set_modification_response",
        50 => "session_establishment_request",
        51 => "session_establishment_response",
        52 => "session_modification_request",
        53 => "session_modification_response",
        54 => "session_deletion_request",
        55 => "session_deletion_response",
        56 => "session_report_request",
        57 => "session_report_response",
        _ => return None,
    })
}

/// The IEs of a message, after its header (TS 29.244 clause 7.2.2).
fn body(datagram: &[u8]) -> Option<&[u8]> {
    let (flags, length) = (*datagram.first()?, datagram.get(2..4)?);
    let length = usize::from(u16::from_be_bytes(length.try_into().ok()?));
    let header = if flags & 1 == 1 { 16 } else { 8 };
    datagram.get(header..4 + length)
}

/// Only what a response says of itself is looked at; what is wrong inside is for N4 to find.
fn result(name: &str, mut ies: &[u8]) -> &'static str {
    const CAUSE: u16 = 19;
    const ACCEPTED: [u8; 2] = [1, 2];
    if !name.ends_with("_response") {
        return "ok";
    }
    while let Some(([type_high, type_low, length @ ..], rest)) = ies.split_first_chunk::<4>() {
        let length = usize::from(u16::from_be_bytes(*length));
        let Some((value, next)) = rest.split_at_checked(length) else { return "malformed" };
        if u16::from_be_bytes([*type_high, *type_low]) == CAUSE {
            let accepted = value.first().is_some_and(|cause| ACCEPTED.contains(cause));
            return if accepted { "ok" } else { "rejected" };
        }
        ies = next;
    }
    "ok"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(datagrams: &[&[u8]]) -> Vec<(&'static str, &'static str, u64)> {
        let mut counts = MessageCounts::default();
        datagrams.iter().for_each(|datagram| counts.received(datagram));
        counts.iter().map(|(kind, count)| (kind.name, kind.result, count)).collect()
    }

    // Input:  a heartbeat, an accepted and a rejected association setup response.
    // Output: each under its name, with what the cause says.
    #[test]
    fn responses_count_by_their_cause() {
        let heartbeat = [0x20, 1, 0, 12, 0, 0, 1, 0, 0, 96, 0, 4, 1, 2, 3, 4];
        let setup = |cause: u8| [0x20, 6, 0, 9, 0, 0, 2, 0, 0, 19, 0, 1, cause];
        assert_eq!(
            kinds(&[&heartbeat, &setup(1), &setup(64), &setup(64)]),
            [
                ("association_setup_response", "ok", 1),
                ("association_setup_response", "rejected", 2),
                ("heartbeat_request", "ok", 1)
            ]
        );
    }

    // Input:  every truncation of a session response, an unknown type, an IE longer than the message.
    // Output: counted, as malformed where the length says so; no panic.
    #[test]
    fn what_cannot_be_read_is_counted_as_malformed() {
        let mut response = vec![0x21, 51, 0, 17, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 3, 0];
        response.extend([0, 19, 0, 1, 1]);
        assert_eq!(kinds(&[&response]), [("session_establishment_response", "ok", 1)]);
        for len in 0..response.len() {
            let kinds = kinds(&[&response[..len]]);
            assert!(kinds[0].1 == "malformed", "{len}: {kinds:?}");
        }
        assert_eq!(kinds(&[&[0x20, 99, 0, 4, 0, 0, 0, 0]]), [("unknown", "malformed", 1)]);
        let long = [0x20, 6, 0, 9, 0, 0, 2, 0, 0, 19, 0, 9, 1];
        assert_eq!(kinds(&[&long]), [("association_setup_response", "malformed", 1)]);
    }
}

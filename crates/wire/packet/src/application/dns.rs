//! The name in a DNS query (RFC 1035 clause 4.1).

/// The longest name, with dots between its labels.
const MAX_NAME: usize = 253;

const HEADER: usize = 12;

/// QR, the flag of a response, and the OPCODE, in the third octet.
const ANSWER_OR_OPCODE: u8 = 0xf8;

/// A domain name in lower case, with dots between its labels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DnsName {
    octets: [u8; MAX_NAME],
    len: usize,
}

impl DnsName {
    /// The name.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.octets.get(..self.len).unwrap_or_default()).unwrap_or_default()
    }

    fn push(&mut self, octet: u8) -> Option<()> {
        *self.octets.get_mut(self.len)? = octet;
        self.len += 1;
        Some(())
    }
}

/// The name of the first question of a query; `None` for a response, for the root, and for anything malformed.
///
/// No name precedes the first one, so a compression pointer there is malformed, and loops are impossible.
pub fn query_name(message: &[u8]) -> Option<DnsName> {
    let (header, mut rest) = message.split_at_checked(HEADER)?;
    let &[_, _, flags, _, 0, questions, ..] = header else { return None };
    if flags & ANSWER_OR_OPCODE != 0 || questions == 0 {
        return None;
    }
    let mut name = DnsName { octets: [0; MAX_NAME], len: 0 };
    loop {
        let (len, after) = rest.split_first()?;
        if *len == 0 {
            // Type and class must follow.
            return (name.len > 0 && after.len() >= 4).then_some(name);
        }
        // The two upper bits are those of a pointer.
        let (label, after) = after.split_at_checked(usize::from(*len).min(64))?;
        if label.len() > 63 || !label.iter().all(u8::is_ascii_graphic) || label.contains(&b'.') {
            return None;
        }
        if name.len > 0 {
            name.push(b'.')?;
        }
        label.iter().try_for_each(|octet| name.push(octet.to_ascii_lowercase()))?;
        rest = after;
    }
}

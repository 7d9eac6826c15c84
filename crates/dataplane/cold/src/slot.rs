//! Records as slots of a file.
//!
//! A slot of the file of heads is 256 octets: CRC-32 of number, length and record; length; the first 250 octets of the
//! record. What is left of a longer record is in the same slot of the file of tails, of 1,024 octets. Both files are
//! sparse: what was never written takes no space.

use crate::ReadError;

/// Octets of a slot in the file of heads, and in that of tails.
pub(crate) const HEAD: usize = 256;
pub(crate) const TAIL: usize = 1024;

/// Octets before the record.
const HEADER: usize = 6;

/// Octets of the longest record.
pub const MAX_RECORD: usize = HEAD - HEADER + TAIL;

/// A record as it is written.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) head: [u8; HEAD],
    /// Empty for a record that fits the head.
    pub(crate) tail: Vec<u8>,
}

fn checksum(number: u32, len: u16, record: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.to_le_bytes());
    hasher.update(&len.to_le_bytes());
    hasher.update(record);
    hasher.finalize()
}

impl Slot {
    /// The slot of a record of at most [`MAX_RECORD`] octets.
    pub(crate) fn of(number: u32, record: &[u8]) -> Self {
        let len = record.len() as u16;
        let mut head = [0; HEAD];
        let (first, tail) = record.split_at(record.len().min(HEAD - HEADER));
        let octets = checksum(number, len, record).to_le_bytes().into_iter().chain(len.to_le_bytes());
        head.iter_mut().zip(octets.chain(first.iter().copied())).for_each(|(place, octet)| *place = octet);
        Self { head, tail: tail.to_vec() }
    }
}

/// How long a record is that begins with this head, without its tail, and with it.
pub(crate) fn lengths(head: &[u8; HEAD]) -> Result<(usize, usize), ReadError> {
    let [_, _, _, _, a, b, ..] = *head;
    let len = usize::from(u16::from_le_bytes([a, b]));
    if len > MAX_RECORD { Err(ReadError::Damaged) } else { Ok((len.min(HEAD - HEADER), len)) }
}

/// The record of a slot.
///
/// # Errors
/// [`ReadError::Damaged`] unless it was written with this number.
pub(crate) fn record(number: u32, head: &[u8; HEAD], tail: &[u8]) -> Result<Vec<u8>, ReadError> {
    let (first, len) = lengths(head)?;
    let mut record = head.get(HEADER..HEADER + first).unwrap_or_default().to_vec();
    record.extend_from_slice(tail.get(..len - first).ok_or(ReadError::Damaged)?);
    let [a, b, c, d, ..] = *head;
    // Zeros are a hole of the file, and no record.
    let is_written = len > 0 && u32::from_le_bytes([a, b, c, d]) == checksum(number, len as u16, &record);
    if is_written { Ok(record) } else { Err(ReadError::Damaged) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        // Input:  any record and number; then one bit of it is flipped; then another number is read.
        // Output: the record; then an error, twice.
        #[test]
        fn what_is_damaged_is_not_read(
            octets in prop::collection::vec(any::<u8>(), 1..=MAX_RECORD),
            number: u32,
            at in 0_usize..MAX_RECORD + HEADER,
            bit in 0_u32..8,
        ) {
            let Slot { mut head, mut tail } = Slot::of(number, &octets);
            prop_assert_eq!(record(number, &head, &tail).unwrap(), &octets[..]);
            prop_assert_eq!(record(number ^ 1, &head, &tail), Err(ReadError::Damaged));
            let at = at % (octets.len() + HEADER);
            match at.checked_sub(HEAD) {
                None => head[at] ^= 1 << bit,
                Some(at) => tail[at] ^= 1 << bit,
            }
            prop_assert_eq!(record(number, &head, &tail), Err(ReadError::Damaged));
        }
    }

    // Input:  a hole of the file; a length beyond the longest record.
    // Output: no record.
    #[test]
    fn a_hole_is_no_record() {
        assert_eq!(record(0, &[0; HEAD], &[]), Err(ReadError::Damaged));
        assert_eq!(record(0, &[0xff; HEAD], &[0xff; TAIL]), Err(ReadError::Damaged));
    }
}

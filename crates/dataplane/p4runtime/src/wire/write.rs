//! `Write`, whose size in memory is bounded: a few octets of a message can take hundreds in memory.

use prost::Message;
use prost::bytes::{Buf, BufMut};
use prost::encoding::{self, DecodeContext, WireType};

use super::{Uint128, Update};

/// The most updates of a request, and the most octets of one update.
pub(crate) const MOST_UPDATES: usize = 1 << 16;
pub(crate) const MOST_OF_UPDATE: usize = 1 << 13;

/// A batch of updates.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct WriteRequest {
    pub(crate) device_id: u64,
    pub(crate) election_id: Option<Uint128>,
    pub(crate) updates: Vec<Update>,
    pub(crate) atomicity: i32,
    pub(crate) role: String,
    /// It has more updates, or a larger one, which were skipped.
    pub(crate) is_too_large: bool,
}

impl WriteRequest {
    /// The next update exceeds the number of updates, or is too large.
    fn is_beyond(&self, update: &impl Buf) -> bool {
        let mut head = update.chunk();
        let length = encoding::decode_varint(&mut head);
        self.updates.len() >= MOST_UPDATES || length.is_ok_and(|length| length > MOST_OF_UPDATE as u64)
    }
}

impl Message for WriteRequest {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        if self.device_id != 0 {
            encoding::uint64::encode(1, &self.device_id, buf);
        }
        if let Some(election_id) = &self.election_id {
            encoding::message::encode(3, election_id, buf);
        }
        encoding::message::encode_repeated(4, &self.updates, buf);
        if self.atomicity != 0 {
            encoding::int32::encode(5, &self.atomicity, buf);
        }
        if !self.role.is_empty() {
            encoding::string::encode(6, &self.role, buf);
        }
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), prost::DecodeError> {
        match tag {
            1 => encoding::uint64::merge(wire_type, &mut self.device_id, buf, ctx),
            3 => encoding::message::merge(
                wire_type,
                self.election_id.get_or_insert_with(Uint128::default),
                buf,
                ctx,
            ),
            4 if self.is_beyond(buf) => {
                self.is_too_large = true;
                encoding::skip_field(wire_type, tag, buf, ctx)
            }
            4 => encoding::message::merge_repeated(wire_type, &mut self.updates, buf, ctx),
            5 => encoding::int32::merge(wire_type, &mut self.atomicity, buf, ctx),
            6 => encoding::string::merge(wire_type, &mut self.role, buf, ctx),
            _ => encoding::skip_field(wire_type, tag, buf, ctx),
        }
    }

    fn encoded_len(&self) -> usize {
        let mut length = encoding::message::encoded_len_repeated(4, &self.updates);
        if self.device_id != 0 {
            length += encoding::uint64::encoded_len(1, &self.device_id);
        }
        if let Some(election_id) = &self.election_id {
            length += encoding::message::encoded_len(3, election_id);
        }
        if self.atomicity != 0 {
            length += encoding::int32::encoded_len(5, &self.atomicity);
        }
        if !self.role.is_empty() {
            length += encoding::string::encoded_len(6, &self.role);
        }
        length
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Entity, TableEntry, What};

    fn update(octets: usize) -> Update {
        let entry = TableEntry { table_id: 7, metadata: vec![0; octets], ..Default::default() };
        Update { kind: 1, entity: Some(Entity { what: Some(What::Table(entry)) }) }
    }

    // Input:  a request with all its fields, encoded.
    // Output: decoding yields the same, and its length is as announced.
    #[test]
    fn a_request_comes_back() {
        let request = WriteRequest {
            device_id: 3,
            election_id: Some(Uint128 { high: 1, low: 2 }),
            updates: vec![update(0), update(100)],
            atomicity: 2,
            role: "some".to_owned(),
            is_too_large: false,
        };
        let octets = request.encode_to_vec();
        assert_eq!(octets.len(), request.encoded_len());
        assert_eq!(WriteRequest::decode(octets.as_slice()).unwrap(), request);
    }

    // Input:  more empty updates than the limit; one that is too large between others.
    // Output: at most the limit is kept, and the excess is flagged.
    #[test]
    fn what_is_too_much_is_passed_over() {
        let many = [0x22, 0x00].repeat(MOST_UPDATES + 1);
        let request = WriteRequest::decode(many.as_slice()).unwrap();
        assert_eq!((request.updates.len(), request.is_too_large), (MOST_UPDATES, true));
        let exactly = WriteRequest::decode(&many[2..]).unwrap();
        assert_eq!((exactly.updates.len(), exactly.is_too_large), (MOST_UPDATES, false));
        let updates = vec![update(1), update(MOST_OF_UPDATE), update(2)];
        let octets = WriteRequest { updates, ..Default::default() }.encode_to_vec();
        let request = WriteRequest::decode(octets.as_slice()).unwrap();
        assert_eq!((request.updates, request.is_too_large), (vec![update(1), update(2)], true));
    }
}

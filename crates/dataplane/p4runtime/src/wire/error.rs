//! Statuses: of an RPC in its trailers, and of each part of a batch.

use prost::Message;

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Status {
    #[prost(int32, tag = "1")]
    pub(crate) code: i32,
    #[prost(string, tag = "2")]
    pub(crate) message: String,
    #[prost(message, repeated, tag = "3")]
    pub(crate) details: Vec<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Any {
    #[prost(string, tag = "1")]
    pub(crate) type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) value: Vec<u8>,
}

/// `p4.v1.Error`: the result of one update or read of a batch.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct P4Error {
    #[prost(int32, tag = "1")]
    pub(crate) canonical_code: i32,
    #[prost(string, tag = "2")]
    pub(crate) message: String,
}

const P4_ERROR: &str = "type.googleapis.com/p4.v1.Error";

impl Status {
    /// The status of a batch with these results.
    pub(crate) fn of_batch(code: i32, message: &str, errors: &[P4Error]) -> Self {
        let details =
            errors.iter().map(|error| Any { type_url: P4_ERROR.to_owned(), value: error.encode_to_vec() });
        Self { code, message: message.to_owned(), details: details.collect() }
    }

    /// The result of each part of a batch; `None` if the details do not cover each of `parts`.
    pub(crate) fn parts(details: &[u8], parts: usize) -> Option<Vec<P4Error>> {
        let status = Self::decode(details).ok()?;
        let errors = status
            .details
            .iter()
            .filter(|detail| detail.type_url == P4_ERROR)
            .map(|detail| P4Error::decode(detail.value.as_slice()).ok())
            .collect::<Option<Vec<_>>>()?;
        (errors.len() == parts && parts != 0).then_some(errors)
    }
}

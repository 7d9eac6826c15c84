//! Server names and URLs in the first octets of a flow.
//!
//! Each parser takes the octets received so far and never reads beyond them.

mod dns;
mod http;
mod tls;

pub use dns::{DnsName, query_name};
pub use http::{HttpRequest, request};
pub use tls::server_name;

/// The result of a parser for the octets received so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchResult<T> {
    /// The value.
    Found(T),
    /// The value is absent, whatever follows.
    NotFound,
    /// The octets are valid so far; more are needed.
    Incomplete,
}

impl<T> SearchResult<T> {
    /// Converts the value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> SearchResult<U> {
        match self {
            Self::Found(value) => SearchResult::Found(change(value)),
            Self::NotFound => SearchResult::NotFound,
            Self::Incomplete => SearchResult::Incomplete,
        }
    }
}

//! What the first octets of a flow say of the application behind it: server names and URLs.
//!
//! Each parser takes what has come so far and never looks beyond it.

mod dns;
mod http;
mod tls;

pub use dns::{DnsName, query_name};
pub use http::{HttpRequest, request};
pub use tls::server_name;

/// What a parser found in the octets that have come so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchResult<T> {
    /// What was looked for.
    Found(T),
    /// It is not there, whatever follows.
    NotFound,
    /// So far everything fits; more octets are needed.
    Incomplete,
}

impl<T> SearchResult<T> {
    /// What was found, as something else.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> SearchResult<U> {
        match self {
            Self::Found(value) => SearchResult::Found(change(value)),
            Self::NotFound => SearchResult::NotFound,
            Self::Incomplete => SearchResult::Incomplete,
        }
    }
}

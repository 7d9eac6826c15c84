//! What requests do to sessions.

use std::fmt::Debug;
use std::hash::Hash;

/// The effect of a request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Executed<S, A> {
    /// The new state of the session; `None`: there is no such session any more.
    pub state: Option<S>,
    /// The response.
    pub answer: A,
}

/// The application: what a request does to a session.
pub trait Machine {
    /// Identifies a session: for PFCP the SMF with its F-SEID.
    type Key: Clone + Ord + Hash + Debug;
    /// A request.
    type Operation;
    /// The whole state of a session.
    type State: Clone + Ord + Hash + Debug;
    /// A response.
    type Answer: Clone + Ord + Hash + Debug;

    /// Executes a request. Only the head calls it, once for each request; it may choose identifiers, such as TEIDs, which
    /// the other members get with the state.
    fn execute(
        &mut self,
        key: &Self::Key,
        state: Option<&Self::State>,
        operation: &Self::Operation,
    ) -> Executed<Self::State, Self::Answer>;

    /// Nobody repeats the request of this response: it is forgotten before others. The default is that of requests that are all repeated.
    fn is_unrepeated(&self, answer: &Self::Answer) -> bool {
        let _ = answer;
        false
    }
}

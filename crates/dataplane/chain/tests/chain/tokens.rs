//! An application whose responses show which member executed a request, and when.

use std::collections::BTreeMap;

use causeway_chain::{Executed, Machine, Member};

/// Identifies one execution of a request, as an F-TEID does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Token {
    pub(crate) head: Member,
    pub(crate) session: u8,
    /// Of the requests of this session that the head has executed.
    pub(crate) number: u32,
}

/// What a request does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Operation {
    /// Establishes a session, or modifies it.
    Put,
    Delete,
}

/// The state of a session is the token of its last request.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Tokens {
    head: Member,
    /// By session, so that the order of requests of different sessions makes no other state.
    made: BTreeMap<u8, u32>,
}

impl Tokens {
    pub(crate) const fn new(head: Member) -> Self {
        Self { head, made: BTreeMap::new() }
    }
}

impl Machine for Tokens {
    type Key = u8;
    type Operation = Operation;
    type State = Token;
    type Answer = Token;

    fn execute(&mut self, key: &u8, _: Option<&Token>, operation: &Operation) -> Executed<Token, Token> {
        let made = self.made.entry(*key).or_default();
        *made += 1;
        let token = Token { head: self.head, session: *key, number: *made };
        Executed { state: (*operation == Operation::Put).then_some(token), answer: token }
    }
}

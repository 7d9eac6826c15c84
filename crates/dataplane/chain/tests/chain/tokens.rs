//! An application whose responses show which member executed a request, and when.

use causeway_chain::{Executed, Machine, Member};

/// Identifies one execution of a request, as an F-TEID does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Token {
    pub(crate) head: Member,
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
    made: u32,
}

impl Tokens {
    pub(crate) const fn new(head: Member) -> Self {
        Self { head, made: 0 }
    }
}

impl Machine for Tokens {
    type Key = u8;
    type Operation = Operation;
    type State = Token;
    type Answer = Token;

    fn execute(&mut self, _: &u8, _: Option<&Token>, operation: &Operation) -> Executed<Token, Token> {
        self.made += 1;
        let token = Token { head: self.head, number: self.made };
        Executed { state: (*operation == Operation::Put).then_some(token), answer: token }
    }
}

//! State that is created when it is first needed: most sessions are idle.

use causeway_types::Time;

/// State that begins at some time, and is created from that time and a rule at its first use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Lazy<T> {
    begin: Time,
    state: Option<Box<T>>,
}

impl<T> Lazy<T> {
    /// State unused since this time.
    pub(crate) const fn since(begin: Time) -> Self {
        Self { begin, state: None }
    }

    /// When it began.
    pub(crate) const fn begin(&self) -> Time {
        self.begin
    }

    /// When it began, if it has not been used since.
    pub(crate) fn begin_if_unused(&self) -> Option<Time> {
        self.state.is_none().then_some(self.begin)
    }

    /// The state, mutable; `create` returns it as it was when it began.
    pub(crate) fn get_or_create(&mut self, create: impl FnOnce(Time) -> T) -> &mut T {
        let begin = self.begin;
        self.state.get_or_insert_with(|| Box::new(create(begin)))
    }

    /// Replaces the state.
    pub(crate) fn set(&mut self, state: T) {
        self.state = Some(Box::new(state));
    }

    /// The state, if it was created.
    pub(crate) fn get(&self) -> Option<&T> {
        self.state.as_deref()
    }

    /// The state, if it was created, mutable.
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.state.as_deref_mut()
    }

    /// Reads the state without keeping what `create` returns.
    pub(crate) fn inspect<R>(&self, create: impl FnOnce(Time) -> T, inspect: impl FnOnce(&T) -> R) -> R {
        match &self.state {
            Some(state) => inspect(state),
            None => inspect(&create(self.begin)),
        }
    }
}

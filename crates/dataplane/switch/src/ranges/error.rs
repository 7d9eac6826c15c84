//! Errors of the division of the numbers, and of allocation.

use crate::SwitchPdr;

/// The minima cannot be met.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BootstrapError {
    /// A number has 1 to [`super::Ranges::MAX_BITS`] bits.
    #[error("numbers of {bits} bits: 1 to 24 are possible")]
    Bits {
        /// The requested bits.
        bits: u8,
    },
    /// The minima exceed the available numbers; number zero is not used.
    #[error(
        "the minima of the templates add up to {needed} rules, {bits} bits number {available}: lower them"
    )]
    Numbers {
        /// The sum of the minima.
        needed: u64,
        /// The available numbers.
        available: u64,
        /// Their bits.
        bits: u8,
    },
    /// Even the fewest ranges exceed the table's size. One entry is kept free, for changes.
    #[error(
        "the minima of the templates need {needed} entries of template table {table}, which holds {limit}: \
         round them up to powers of two, or make the table larger"
    )]
    Table {
        /// The table's number, as [`super::Template::table`] has it.
        table: usize,
        /// Entries needed, including the one that is kept free.
        needed: usize,
        /// Its size.
        limit: usize,
    },
    /// Two minima are for the same template.
    #[error("minimum {second} is of the same template as minimum {first}: give one")]
    Twice {
        /// The index of the first.
        first: usize,
        /// The index of the second.
        second: usize,
    },
}

/// No number for a rule of a template. Nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AllocateError {
    /// All numbers are in use, or reserved for the minima of other templates.
    #[error(
        "no number is free for the rule: {live} of {space} are in use, the rest is reserved for other templates"
    )]
    Numbers {
        /// Numbers in use.
        live: u32,
        /// All numbers.
        space: u32,
    },
    /// A number is free, but its range needs an entry for which the table has no space.
    #[error("template table {table} is full, {limit} entries")]
    Table {
        /// The table's number, as [`super::Template::table`] has it.
        table: usize,
        /// Its size.
        limit: usize,
    },
}

/// The number is not in use. Nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("number {0} is not in use")]
pub struct NotInUse(pub SwitchPdr);

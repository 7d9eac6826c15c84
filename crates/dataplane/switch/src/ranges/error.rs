//! Why a division of the numbers, or a number, cannot be had.

use crate::SwitchPdr;

/// Minima that cannot be met.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BootstrapError {
    /// A number has 1 to [`super::Ranges::MAX_BITS`] bits.
    #[error("numbers of {bits} bits: 1 to 24 are possible")]
    Bits {
        /// What was asked for.
        bits: u8,
    },
    /// The minima are more than there are numbers; number zero is not used.
    #[error(
        "the minima of the templates add up to {needed} rules, {bits} bits number {available}: lower them"
    )]
    Numbers {
        /// The sum of the minima.
        needed: u64,
        /// How many there are.
        available: u64,
        /// Of so many bits.
        bits: u8,
    },
    /// The fewest ranges are more than the table holds. One entry is kept free, for changes.
    #[error(
        "the minima of the templates need {needed} entries of template table {table}, which holds {limit}: \
         round them up to powers of two, or make the table larger"
    )]
    Table {
        /// The table's number, as [`super::Template::table`] has it.
        table: usize,
        /// Entries needed, the one that is kept free included.
        needed: usize,
        /// Its size.
        limit: usize,
    },
    /// Two minima are of the same template.
    #[error("minimum {second} is of the same template as minimum {first}: give one")]
    Twice {
        /// Where it is the first time.
        first: usize,
        /// Where it is again.
        second: usize,
    },
}

/// No number for a rule of a template. Nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AllocateError {
    /// All numbers are in use, or set aside for the minima of other templates.
    #[error(
        "no number is free for the rule: {live} of {space} are in use, the rest is reserved for other templates"
    )]
    Numbers {
        /// Numbers in use.
        live: u32,
        /// Numbers there are.
        space: u32,
    },
    /// A number is free, but its range needs an entry that the table has no room for.
    #[error("template table {table} is full, {limit} entries")]
    Table {
        /// The table's number, as [`super::Template::table`] has it.
        table: usize,
        /// Its size.
        limit: usize,
    },
}

/// A number was given back that nobody had. Nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("number {0} is not in use")]
pub struct NotInUse(pub SwitchPdr);

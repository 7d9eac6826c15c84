//! What a driver cannot do.

/// An outcome that is none.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DriverError {
    /// The switch refused the request. Nothing of it was done.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The switch cannot be reached. Nothing was done.
    #[error("the switch cannot be reached")]
    Unavailable,
    /// Another controller has the switch. Nothing was done.
    #[error("another controller has the switch")]
    Superseded,
    /// No answer came: all, a part or nothing of the request may have been done. What the switch holds must be read before it is used.
    #[error("the switch did not answer; what it holds must be read")]
    Uncertain,
}

/// Why a request cannot be carried out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("update {update}: {error}")]
pub struct Rejected {
    /// Which update of the batch, from zero.
    pub update: usize,
    /// What is wrong with it.
    pub error: WriteError,
}

/// What is wrong with an update or a reading.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WriteError {
    /// The program has no such table.
    #[error("there is no table {0:#x}")]
    UnknownTable(u32),
    /// The program has no such counter, or not this many.
    #[error("counter {counter:#x} has no index {index}")]
    UnknownCounter {
        /// Its id.
        counter: u32,
        /// The index that was asked for.
        index: u32,
    },
    /// The program has no such meter, or not this many.
    #[error("meter {meter:#x} has no index {index}")]
    UnknownMeter {
        /// Its id.
        meter: u32,
        /// The index that was asked for.
        index: u32,
    },
    /// A meter whose peak rate is below the committed one.
    #[error("the peak rate of a meter is below its committed rate")]
    MeterRates,
    /// Entries of the table cannot have that action.
    #[error("table {table} has no action {action:#x}")]
    UnknownAction {
        /// Alias of the table.
        table: String,
        /// Id of the action.
        action: u32,
    },
    /// Another number of keys than the table has, or of parameters than the action has.
    #[error("table {table}: {given} {what} where there are {expected}")]
    Arity {
        /// Alias of the table.
        table: String,
        /// `keys` or `parameters`.
        what: &'static str,
        /// What the program has.
        expected: usize,
        /// What was given.
        given: usize,
    },
    /// A key that is matched in another way, is too wide, or has bits set that do not count; a parameter that is too wide.
    #[error("table {table}: {name} does not fit its {width} bits, or is matched in another way")]
    Field {
        /// Alias of the table.
        table: String,
        /// Name of the key or parameter.
        name: String,
        /// Its width.
        width: u8,
    },
    /// Zero or below where priorities count, another where they do not.
    #[error("table {table}: priority {priority} is not legal there")]
    Priority {
        /// Alias of the table.
        table: String,
        /// What was given.
        priority: i32,
    },
    /// The entry is there.
    #[error("table {0} has that entry")]
    Exists(String),
    /// The entry is not there.
    #[error("table {0} has no such entry")]
    Missing(String),
    /// No room.
    #[error("table {table} is full, {size} entries")]
    Full {
        /// Alias of the table.
        table: String,
        /// What it holds.
        size: usize,
    },
    /// The switch refuses it for a reason of its own.
    #[error("table {table}: the switch says {status}: {message}")]
    Refused {
        /// Alias of the table, or of the counter or meter.
        table: String,
        /// The gRPC status, as a number.
        status: i32,
        /// In the words of the switch.
        message: String,
    },
    /// The table's entries are part of the program.
    #[error("the entries of table {0} cannot be changed")]
    Const(String),
}

//! Errors of a driver.

/// Why a request has no result.
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
    /// The switch sent no response: all, a part or nothing of the request may have been done. The switch state must be
    /// read before it is used.
    #[error("the switch did not respond: its state must be read")]
    Uncertain,
}

/// Why a request was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("update {update}: {error}")]
pub struct Rejected {
    /// The index of the update in the batch, from zero.
    pub update: usize,
    /// The error.
    pub error: WriteError,
}

/// An error of an update or a reading.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WriteError {
    /// The program has no such table.
    #[error("there is no table {0:#x}")]
    UnknownTable(u32),
    /// The program has no such counter, or no such index.
    #[error("counter {counter:#x} has no index {index}")]
    UnknownCounter {
        /// Its id.
        counter: u32,
        /// The requested index.
        index: u32,
    },
    /// The program has no such meter, or no such index.
    #[error("meter {meter:#x} has no index {index}")]
    UnknownMeter {
        /// Its id.
        meter: u32,
        /// The requested index.
        index: u32,
    },
    /// The program has no such register, or no such index.
    #[error("register {register:#x} has no index {index}")]
    UnknownRegister {
        /// Its id.
        register: u32,
        /// The requested index.
        index: u32,
    },
    /// A value with more bits than the words of the register's cells, or with a second word where cells have one.
    #[error("register {register}: {value:x?} does not fit its cells")]
    RegisterValue {
        /// Alias of the register.
        register: String,
        /// The given value.
        value: [u32; 2],
    },
    /// The peak rate of a meter is below the committed rate.
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
    /// The number of keys differs from that of the table, or the number of parameters from that of the action.
    #[error("table {table}: {given} {what} where there are {expected}")]
    Arity {
        /// Alias of the table.
        table: String,
        /// `keys` or `parameters`.
        what: &'static str,
        /// The number in the program.
        expected: usize,
        /// The given number.
        given: usize,
    },
    /// A key with another match kind, too wide, or with bits set outside the mask; a parameter that is too wide.
    #[error("table {table}: {name} does not fit its {width} bits, or has another match kind")]
    Field {
        /// Alias of the table.
        table: String,
        /// Name of the key or parameter.
        name: String,
        /// Its width.
        width: u8,
    },
    /// Zero or below in a table with priorities, not zero in one without.
    #[error("table {table}: priority {priority} is not legal there")]
    Priority {
        /// Alias of the table.
        table: String,
        /// The given priority.
        priority: i32,
    },
    /// The entry exists already.
    #[error("table {0} already has that entry")]
    Exists(String),
    /// The entry does not exist.
    #[error("table {0} has no such entry")]
    Missing(String),
    /// The table is full.
    #[error("table {table} is full, {size} entries")]
    Full {
        /// Alias of the table.
        table: String,
        /// The table's size.
        size: usize,
    },
    /// The switch refuses it for another reason.
    #[error("table {table}: the switch reports status {status}: {message}")]
    Refused {
        /// Alias of the table, or of the counter or meter.
        table: String,
        /// The gRPC status, as a number.
        status: i32,
        /// The message of the switch.
        message: String,
    },
    /// The table's entries are part of the program.
    #[error("the entries of table {0} cannot be changed")]
    Const(String),
}

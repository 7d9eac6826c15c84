//! N4 associations, transactions, sessions and reports as state machines without sockets or clocks.

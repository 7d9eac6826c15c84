//! P4Runtime: the driver, and the server of the model.

mod driver;
mod hostile;

//! The errors of a configuration, each with its origin.

use std::fmt;

use super::origin::Origin;
use super::problem::Problem;

/// All errors of a configuration: one line each, in the order of the file.
#[derive(Debug)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, error) in self.0.iter().enumerate() {
            if n > 0 {
                writeln!(f)?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

/// One error, for example `upf.yaml:7: upf.gtpu.serve: unknown key, did you mean `server`?`.
#[derive(Debug)]
pub struct ConfigError {
    /// The file and line, or the flag.
    pub origin: Origin,
    /// The key, for example `upf.session[1].subnet`; empty for the file as a whole.
    pub key: String,
    /// The problem.
    pub problem: Problem,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.origin)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}", self.problem)
    }
}

impl std::error::Error for ConfigError {}

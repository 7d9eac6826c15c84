//! One value of a table.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::Count;

/// One value of a table.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A whole number.
    Count(u64),
    /// A measured number, and how many digits behind the point mean something.
    Number(f64, usize),
    /// Not measured, or nothing to measure.
    Missing,
}

impl Cell {
    /// Nanoseconds with one digit behind the point.
    pub fn nanos(nanos: f64) -> Self {
        Self::Number(nanos, 1)
    }

    /// A duration in microseconds, with one digit behind the point.
    pub fn micros(duration: Duration) -> Self {
        Self::Number(duration.as_secs_f64() * 1e6, 1)
    }

    /// Millions in a second, of something that takes so many nanoseconds.
    pub fn millions_per_second(nanos: f64) -> Self {
        if nanos > 0.0 { Self::Number(1000.0 / nanos, 2) } else { Self::Missing }
    }

    /// It is a number: aligned to the right.
    pub(crate) const fn is_number(&self) -> bool {
        !matches!(self, Self::Text(_))
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Count> for Cell {
    fn from(count: Count) -> Self {
        Self::Count(count.0)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

/// As it was written.
impl From<&Value> for Cell {
    fn from(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text.clone()),
            Value::Number(number) => match (number.as_u64(), number.as_f64()) {
                (Some(count), _) => Self::Count(count),
                (None, Some(number)) => Self::Number(number, digits(number)),
                (None, None) => Self::Missing,
            },
            _ => Self::Missing,
        }
    }
}

/// Digits behind the point that the number was written with, as far as can be seen; three at most.
fn digits(number: f64) -> usize {
    let exact = |digits: &usize| {
        let scaled = number * 10_f64.powi(*digits as i32);
        (scaled - scaled.round()).abs() < 1e-6
    };
    (0..3).find(exact).unwrap_or(3)
}

/// As in a table.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Text(text) => text.clone(),
            Self::Count(value) => Count(*value).to_string(),
            Self::Number(value, digits) => format!("{value:.digits$}"),
            Self::Missing => "-".into(),
        };
        f.pad(&text)
    }
}

/// Numbers as such, what is missing as `null`.
impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Count(value) => serializer.serialize_u64(*value),
            Self::Number(value, digits) => {
                let scale = 10_f64.powi(i32::try_from(*digits).unwrap_or(0));
                serializer.serialize_f64((value * scale).round() / scale)
            }
            Self::Missing => serializer.serialize_none(),
        }
    }
}

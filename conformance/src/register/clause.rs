//! Numbers of clauses, and the clauses that a case cites.

use std::fmt;

use serde::{Deserialize, Deserializer};

/// The number of a clause, for example `5.2.1A.2`. Ordered as in the specification.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Clause(Vec<(u32, String)>);

impl Clause {
    /// Reads a number. `None` when it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let part = |part: &str| {
            let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            let (number, letter) = part.split_at(digits);
            let is_letter =
                letter.is_empty() || (letter.len() == 1 && letter.as_bytes()[0].is_ascii_uppercase());
            Some((number.parse().ok()?, is_letter.then(|| letter.to_owned())?))
        };
        text.split('.').map(part).collect::<Option<_>>().map(Self)
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (number, letter)) in self.0.iter().enumerate() {
            let dot = if at == 0 { "" } else { "." };
            write!(f, "{dot}{number}{letter}")?;
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Clause {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let expected = || serde::de::Error::custom(format!("`{text}` is no number of a clause"));
        Self::parse(&text).ok_or_else(expected)
    }
}

/// A clause of a specification.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ClauseRef {
    /// The specification, for example `TS 29.244` or `RFC 6040`.
    pub spec: String,
    /// The clause.
    pub clause: Clause,
}

impl fmt::Display for ClauseRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.spec, self.clause)
    }
}

/// The clauses that the `clause` of a case cites: `TS 29.244 5.2.1, 8.2.5 note 3, RFC 4291 2.5.6`. What stands behind
/// a number is for people. `Err` names the part that cannot be read.
pub fn cited(text: &str) -> Result<Vec<ClauseRef>, String> {
    let mut spec: Option<String> = None;
    let mut found = Vec::new();
    for part in text.split(',') {
        let mut words = part.split_whitespace().peekable();
        if let Some(kind) = words.next_if(|word| ["TS", "RFC"].contains(word)) {
            let number = words.next().ok_or_else(|| part.to_owned())?;
            spec = Some(format!("{kind} {number}"));
        }
        let clause = words.next().and_then(Clause::parse).ok_or_else(|| part.trim().to_owned())?;
        let spec = spec.clone().ok_or_else(|| part.trim().to_owned())?;
        found.push(ClauseRef { spec, clause });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  clauses with letters, of two specifications, with a note and a remark.
    // Output: each with its specification.
    #[test]
    fn what_a_case_cites() {
        let text = "TS 29.244 5.2.1A.2, 8.2.1 (cause 79), 8.2.56 note 3, RFC 4291 2.5.6";
        let found: Vec<_> = cited(text).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(found, ["TS 29.244 5.2.1A.2", "TS 29.244 8.2.1", "TS 29.244 8.2.56", "RFC 4291 2.5.6"]);
        assert_eq!(cited("5.2.1"), Err("5.2.1".to_owned()));
        assert_eq!(cited("TS 29.244 somewhere"), Err("TS 29.244 somewhere".to_owned()));
    }

    // Input:  numbers of clauses.
    // Output: the order of the specification, not of the alphabet.
    #[test]
    fn clauses_have_the_order_of_the_specification() {
        let order = ["5.2.1", "5.2.1A", "5.2.1A.2", "5.2.2", "5.10", "8.2.9", "8.2.10"];
        let clauses: Vec<_> = order.iter().filter_map(|text| Clause::parse(text)).collect();
        assert!(clauses.is_sorted());
        assert_eq!(clauses.len(), order.len());
    }
}

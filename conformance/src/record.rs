//! Comparison of the output of a case with its recording.

use std::path::PathBuf;

use crate::{Case, CaseError};

/// How a run compares with the recording.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As recorded.
    Same,
    /// Recorded anew, since `CAUSEWAY_RECORD` is set.
    Recorded,
    /// Not as recorded: the first line that differs.
    Differs {
        /// Its number, counted from 1.
        line: usize,
        /// As recorded; `None` at the end of the recording.
        recorded: Option<String>,
        /// As seen; `None` at the end of what was seen.
        seen: Option<String>,
    },
}

/// Compares a transcript with the recording beside the case, or writes it there when `CAUSEWAY_RECORD` is set.
///
/// # Errors
/// [`CaseError::File`] when there is no recording, or it cannot be written.
pub fn compare_or_record(case: &Case, transcript: &str) -> Result<Outcome, CaseError> {
    let path: PathBuf = case.path.with_extension("txt");
    let file_error = |source| CaseError::File { path: path.clone(), source };
    if std::env::var_os("CAUSEWAY_RECORD").is_some() {
        std::fs::write(&path, transcript).map_err(file_error)?;
        return Ok(Outcome::Recorded);
    }
    let recording = std::fs::read_to_string(&path).map_err(file_error)?;
    Ok(first_difference(&recording, transcript))
}

/// Compares a transcript with the recording beside the case, both as `filter` leaves them.
///
/// # Errors
/// [`CaseError::File`] when there is no recording.
pub fn compare(case: &Case, transcript: &str, filter: impl Fn(&str) -> String) -> Result<Outcome, CaseError> {
    let path: PathBuf = case.path.with_extension("txt");
    let recording = std::fs::read_to_string(&path).map_err(|source| CaseError::File { path, source })?;
    Ok(first_difference(&filter(&recording), &filter(transcript)))
}

fn first_difference(recording: &str, transcript: &str) -> Outcome {
    let (mut recorded, mut seen) = (recording.lines(), transcript.lines());
    for line in 1.. {
        match (recorded.next(), seen.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => {
                return Outcome::Differs { line, recorded: a.map(Into::into), seen: b.map(Into::into) };
            }
        }
    }
    Outcome::Same
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), Outcome::Same);
        let differs = Outcome::Differs { line: 2, recorded: Some("b".into()), seen: None };
        assert_eq!(first_difference("a\nb\n", "a\n"), differs);
    }
}

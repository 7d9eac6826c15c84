//! Finished rows of a running experiment.

use std::path::{Path, PathBuf};

use causeway_show::Table;

use crate::ExperimentError;

/// The output of finished rows.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    file: Option<PathBuf>,
}

impl Rows {
    /// Writes to `NAME.part.txt` in this folder, which is created.
    ///
    /// # Errors
    /// [`ExperimentError::Io`].
    pub fn new(folder: &Path, name: &str) -> Result<Self, ExperimentError> {
        std::fs::create_dir_all(folder).map_err(ExperimentError::io(format!("make {}", folder.display())))?;
        Ok(Self { file: Some(folder.join(format!("{name}.part.txt"))) })
    }

    /// Discards the rows.
    pub const fn discard() -> Self {
        Self { file: None }
    }

    /// Measures the rows in order; after each one, the table of the finished rows is written.
    pub(crate) fn measure<T, M>(
        &self,
        things: &[T],
        mut measure: impl FnMut(&T) -> Result<M, ExperimentError>,
        table: impl Fn(&[M]) -> Table,
    ) -> Result<Vec<M>, ExperimentError> {
        let mut measured = Vec::with_capacity(things.len());
        for thing in things {
            measured.push(measure(thing)?);
            if let Some(file) = &self.file {
                let text = table(&measured).to_string();
                std::fs::write(file, text)
                    .map_err(ExperimentError::io(format!("write {}", file.display())))?;
            }
        }
        Ok(measured)
    }

    /// Removes the file, since the complete results are written elsewhere.
    ///
    /// # Errors
    /// [`ExperimentError::Io`].
    pub fn finish(self) -> Result<(), ExperimentError> {
        match self.file.filter(|file| file.exists()) {
            Some(file) => {
                std::fs::remove_file(&file).map_err(ExperimentError::io(format!("remove {}", file.display())))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use causeway_show::{Cell, Column};

    use super::*;

    fn table(measured: &[u64]) -> Table {
        let mut table = Table::new(vec![Column::new("what"), Column::new("found")]);
        measured.iter().for_each(|found| table.row(["row".into(), Cell::Count(*found)]));
        table
    }

    // Input:  three rows, of which the third fails.
    // Output: the first two are in the file, one more after each; the file is removed once all is written.
    #[test]
    fn rows_are_there_as_soon_as_they_are_finished() {
        let folder = std::env::temp_dir().join(format!("causeway-rows-{}", std::process::id()));
        let rows = Rows::new(&folder, "some").unwrap();
        let file = folder.join("some.part.txt");
        let mut seen = Vec::new();
        let result = rows.measure(
            &[1_u64, 2, 3],
            |thing| {
                seen.push(std::fs::read_to_string(&file).map_or(0, |text| text.matches("row").count()));
                if *thing == 3 { Err(ExperimentError::Answer) } else { Ok(*thing) }
            },
            table,
        );
        assert!(result.is_err());
        assert_eq!(seen, [0, 1, 2]);
        rows.finish().unwrap();
        assert!(!file.exists());
        std::fs::remove_dir(folder).unwrap();
    }
}

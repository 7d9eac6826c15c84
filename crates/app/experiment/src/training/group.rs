//! Groups of samples, such as the session, the game or the network, which are left out of the training together.

use std::path::Path;
use std::str::FromStr;

use super::TrainingError;
use super::csv::Record;

/// Where a sample's value of a group comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GroupSource {
    /// The path of its file.
    File,
    /// The name of the n-th folder above its file; 1 is the one that holds it.
    Folder(usize),
    /// A column of its table.
    Column(String),
}

/// A group with its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Its name, for example `game`.
    pub name: String,
    /// Where its values come from.
    pub source: GroupSource,
}

impl FromStr for Group {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "give NAME=file, NAME=folder:N or NAME=column:COLUMN".to_owned();
        let (name, source) = text.split_once('=').ok_or_else(wrong)?;
        if name.is_empty() {
            return Err(wrong());
        }
        let source = match source.split_once(':') {
            None if source == "file" => GroupSource::File,
            Some(("folder", number)) => {
                let number = number.parse().ok().filter(|number| *number > 0);
                GroupSource::Folder(number.ok_or_else(wrong)?)
            }
            Some(("column", column)) if !column.is_empty() => GroupSource::Column(column.into()),
            _ => return Err(wrong()),
        };
        Ok(Self { name: name.into(), source })
    }
}

impl Group {
    /// The value for a sample of this file, and of this line if it is a table.
    pub(super) fn value(&self, file: &Path, record: Option<&Record<'_>>) -> Result<String, TrainingError> {
        match &self.source {
            GroupSource::File => Ok(file.display().to_string()),
            GroupSource::Folder(number) => {
                let folder = file.ancestors().nth(*number).and_then(Path::file_name);
                let missing = || {
                    TrainingError::Argument(format!(
                        "group {}: {} has no folder {number} above it; name the file with its folders",
                        self.name,
                        file.display()
                    ))
                };
                Ok(folder.ok_or_else(missing)?.to_string_lossy().into_owned())
            }
            GroupSource::Column(column) => match record {
                Some(record) => Ok(record.text(column)?.to_owned()),
                None => {
                    let problem = format!("group {} is a column, but captures have none", self.name);
                    Err(TrainingError::form(file, problem))
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  groups by file, folder and column; texts that are none.
    // Output: their values; an error.
    #[test]
    fn groups_come_from_files_and_folders() {
        let value = |text: &str| text.parse::<Group>().unwrap().value(Path::new("data/cable/x.csv"), None);
        assert_eq!(value("session=file").unwrap(), "data/cable/x.csv");
        assert_eq!(value("network=folder:1").unwrap(), "cable");
        assert!(value("network=folder:3").unwrap_err().is_usage());
        assert!(value("game=column:game").unwrap_err().to_string().contains("captures have none"));
        for wrong in ["session", "=file", "a=folder:0", "a=column:", "a=b", "a=folder:x"] {
            assert!(wrong.parse::<Group>().is_err(), "{wrong}");
        }
    }
}

//! The origin of each configuration value.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::document::Place;

/// The origin of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A file as a whole.
    File(PathBuf),
    /// A line of a file, from 1.
    Line(PathBuf, usize),
    /// A flag or an environment variable, for example `--pfcp-address (CAUSEWAY_PFCP_ADDRESS)`.
    Given(String),
    /// The default; the value was not given.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => write!(f, "{}", file.display()),
            Self::Line(file, line) => write!(f, "{}:{line}", file.display()),
            Self::Given(name) => f.write_str(name),
            Self::Default => f.write_str("default"),
        }
    }
}

/// The origin of every key that was given.
#[derive(Debug)]
pub(super) struct Origins {
    file: Option<PathBuf>,
    given: Vec<String>,
    of: BTreeMap<String, Origin>,
}

impl Origins {
    pub(super) fn new(file: Option<&Path>) -> Self {
        Self { file: file.map(Path::to_path_buf), given: Vec::new(), of: BTreeMap::new() }
    }

    /// A place for the values of a flag or an environment variable of this name.
    pub(super) fn given(&mut self, name: String) -> Place {
        self.given.push(name);
        Place::Given(self.given.len() - 1)
    }

    /// The origin of what is given at a place.
    pub(super) fn at(&self, place: Place) -> Origin {
        match place {
            Place::Line(line) => self.file.clone().map_or(Origin::Default, |file| Origin::Line(file, line)),
            Place::Given(n) => self.given.get(n).cloned().map_or(Origin::Default, Origin::Given),
        }
    }

    /// Records the origin of a key.
    pub(super) fn note(&mut self, key: &str, origin: Origin) {
        self.of.insert(key.to_owned(), origin);
    }

    /// The origin of a key, else that of the nearest enclosing group that was given.
    pub(super) fn of(&self, key: &str) -> Origin {
        let mut key = key;
        loop {
            if let Some(origin) = self.of.get(key) {
                return origin.clone();
            }
            match key.rfind(['.', '[']) {
                Some(end) => key = &key[..end],
                None => return Origin::Default,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_not_given_is_found_at_its_group() {
        let mut origins = Origins::new(Some(Path::new("upf.yaml")));
        origins.note("upf.session[1]", origins.at(Place::Line(9)));
        assert_eq!(origins.of("upf.session[1].gateway").to_string(), "upf.yaml:9");
        assert_eq!(origins.of("upf.session[0].gateway"), Origin::Default);
        let place = origins.given("--session".to_owned());
        origins.note("upf.session[1]", origins.at(place));
        assert_eq!(origins.of("upf.session[1].mtu").to_string(), "--session");
    }
}

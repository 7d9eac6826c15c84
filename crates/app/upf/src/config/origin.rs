//! The origin of each configuration value.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The origin of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A file as a whole.
    File(PathBuf),
    /// A line of a file, from 1.
    Line(PathBuf, usize),
    /// A flag or its environment variable, for example `--pfcp-address (CAUSEWAY_PFCP_ADDRESS)`.
    Flag(&'static str),
    /// The default; the value was not given.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => write!(f, "{}", file.display()),
            Self::Line(file, line) => write!(f, "{}:{line}", file.display()),
            Self::Flag(flag) => f.write_str(flag),
            Self::Default => f.write_str("default"),
        }
    }
}

/// The origin of every key that was given.
#[derive(Debug)]
pub(super) struct Origins {
    file: Option<PathBuf>,
    of: BTreeMap<String, Origin>,
}

impl Origins {
    pub(super) fn new(file: Option<&Path>) -> Self {
        Self { file: file.map(Path::to_path_buf), of: BTreeMap::new() }
    }

    /// A line of the file.
    pub(super) fn line(&self, line: usize) -> Origin {
        self.file.clone().map_or(Origin::Default, |file| Origin::Line(file, line))
    }

    /// Records the origin of a key.
    pub(super) fn note(&mut self, key: &str, origin: Origin) {
        self.of.insert(key.to_owned(), origin);
    }

    /// Removes a key, which a flag replaces, and all keys below it.
    pub(super) fn forget(&mut self, key: &str) {
        self.of.retain(|known, _| !known.starts_with(key));
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
        origins.note("upf.session[1]", origins.line(9));
        assert_eq!(origins.of("upf.session[1].gateway").to_string(), "upf.yaml:9");
        assert_eq!(origins.of("upf.session[0].gateway"), Origin::Default);
        origins.note("upf.session[1]", Origin::Flag("--session"));
        assert_eq!(origins.of("upf.session[1].mtu").to_string(), "--session");
        origins.forget("upf.session");
        assert_eq!(origins.of("upf.session[1].mtu"), Origin::Default);
    }
}

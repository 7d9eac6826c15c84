//! Reads groups of keys and reports every unknown key.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::document::{Entry, Node, Place, Value};
use super::error::ConfigError;
use super::kind::{Kind, Parse};
use super::origin::{Origin, Origins};
use super::problem::{Hint, Problem};

/// Keys of other UPFs, with their replacements.
const FOREIGN_KEYS: &[(&str, &str)] = &[
    ("logger.file", "Causeway logs to standard error: use the log of the service manager"),
    ("global", "set upf.max_sessions instead of global.max.ue"),
    ("upf.gtpu.server[].advertise", "the UPF announces the address to which it is bound"),
    ("upf.pfcp.server[].advertise", "the UPF announces the address to which it is bound"),
];

/// The results of reading: errors, origins of values, and known keys.
pub(super) struct Reader {
    pub(super) errors: RefCell<Vec<ConfigError>>,
    pub(super) origins: RefCell<Origins>,
    /// Every key that was read, with `[]` for list indexes; groups and lists of groups have no kind.
    pub(super) asked: RefCell<BTreeMap<String, Option<Kind>>>,
    /// Each list that is missing is read as if it had one item, so that its keys are asked for.
    describes: bool,
}

impl Reader {
    pub(super) fn new(origins: Origins) -> Self {
        let (errors, asked) = (RefCell::default(), RefCell::default());
        Self { errors, origins: RefCell::new(origins), asked, describes: false }
    }

    /// Reads nothing, and knows then which keys a file may have.
    pub(super) fn describing() -> Self {
        Self { describes: true, ..Self::new(Origins::new(None)) }
    }

    /// Reads the whole document.
    pub(super) fn root<T>(&self, node: &Node, read: impl FnOnce(&mut Section<'_>) -> T) -> T {
        self.group("", Some(node), read)
    }

    fn group<T>(&self, path: &str, node: Option<&Node>, read: impl FnOnce(&mut Section<'_>) -> T) -> T {
        let entries = match node.map(|node| &node.value) {
            None | Some(Value::Null) => &[][..],
            Some(Value::Map(entries)) => entries,
            Some(other) => {
                let problem = Problem::WrongKind { expected: "a group of keys", found: other.kind() };
                self.error(path, node.map_or(Place::Line(1), |node| node.place), problem);
                &[]
            }
        };
        let mut section = Section { reader: self, path, entries, asked: Vec::new() };
        let value = read(&mut section);
        section.report_unknown();
        value
    }

    fn error(&self, path: &str, place: Place, problem: Problem) {
        let origin = self.origins.borrow().at(place);
        self.report(origin, path, problem);
    }

    /// Records an error.
    pub(super) fn report(&self, origin: Origin, path: &str, problem: Problem) {
        self.errors.borrow_mut().push(ConfigError { origin, key: path.to_owned(), problem });
    }
}

/// A group of keys in the file; empty where the file has none.
pub(super) struct Section<'a> {
    reader: &'a Reader,
    path: &'a str,
    entries: &'a [Entry],
    asked: Vec<&'static str>,
}

impl<'a> Section<'a> {
    /// Reads a group of keys. For a missing group `read` runs with an empty one.
    pub(super) fn section<T>(&mut self, key: &'static str, read: impl FnOnce(&mut Section<'_>) -> T) -> T {
        let path = self.path_of(key);
        self.reader.group(&path, self.take(key, None).map(|entry| &entry.node), read)
    }

    /// Reads a list of groups of keys. `None` when it is missing.
    pub(super) fn list<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&mut Section<'_>) -> T,
    ) -> Option<Vec<T>> {
        let path = self.path_of(key);
        let Some(entry) = self.take(key, None) else {
            return self.reader.describes.then(|| vec![self.reader.group(&format!("{path}[]"), None, read)]);
        };
        let items = match &entry.node.value {
            Value::Null => return None,
            Value::List(items) => items,
            other => {
                let problem = Problem::WrongKind { expected: "a list of `- ` items", found: other.kind() };
                self.reader.error(&path, entry.node.place, problem);
                return None;
            }
        };
        let item = |(n, node): (usize, &Node)| {
            let path = format!("{path}[{n}]");
            self.note(&path, node.place);
            self.reader.group(&path, Some(node), &mut read)
        };
        Some(items.iter().enumerate().map(item).collect())
    }

    /// Reads one value. `None` when it is missing, or wrong and reported.
    pub(super) fn value<T>(&mut self, key: &'static str, parse: impl Parse<T>) -> Option<T> {
        let entry = self.take(key, Some(parse.kind()))?;
        let parsed = match &entry.node.value {
            Value::Text(text) => parse.parse(text),
            Value::Null => return None,
            other => Err(Problem::WrongKind { expected: "a single value", found: other.kind() }),
        };
        parsed.map_err(|problem| self.reader.error(&self.path_of(key), entry.node.place, problem)).ok()
    }

    /// Reads a required value of a group. Reports it when it is missing.
    pub(super) fn required<T>(
        &mut self,
        key: &'static str,
        what: &'static str,
        parse: impl Parse<T>,
    ) -> Option<T> {
        if !self.gives(key) {
            let path = self.path_of(key);
            let origin = self.reader.origins.borrow().of(&path);
            self.reader.report(origin, &path, Problem::Missing(what));
        }
        self.value(key, parse)
    }

    fn gives(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key && entry.node.value != Value::Null)
    }

    fn take(&mut self, key: &'static str, kind: Option<Kind>) -> Option<&'a Entry> {
        self.asked.push(key);
        let path = self.path_of(key);
        self.reader.asked.borrow_mut().insert(pattern(&path), kind);
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        self.note(&path, entry.place);
        Some(entry)
    }

    fn note(&self, path: &str, place: Place) {
        let mut origins = self.reader.origins.borrow_mut();
        let origin = origins.at(place);
        origins.note(path, origin);
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn report_unknown(&self) {
        for entry in self.entries.iter().filter(|entry| !self.asked.contains(&entry.key.as_str())) {
            let path = self.path_of(&entry.key);
            let hint = hint(&path, &entry.key, &self.asked);
            self.reader.error(&path, entry.place, Problem::UnknownKey(hint));
        }
    }
}

/// A path without list indexes: `upf.session[].subnet`.
pub(super) fn pattern(path: &str) -> String {
    let mut parts = path.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |path, part| path + "[" + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

fn hint(path: &str, key: &str, known: &[&'static str]) -> Hint {
    if let Some((_, instead)) = FOREIGN_KEYS.iter().find(|(elsewhere, _)| *elsewhere == pattern(path)) {
        return Hint::Instead(instead);
    }
    let distance = |known: &str| strsim::damerau_levenshtein(&key.to_ascii_lowercase(), known);
    let nearest = known.iter().map(|known| (distance(known), *known)).min();
    match nearest {
        Some((distance, nearest)) if distance <= 1 + nearest.len() / 4 => Hint::DidYouMean(nearest),
        _ => Hint::Known(known.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_lists_are_left_out_of_a_pattern() {
        assert_eq!(pattern("upf.session[12].subnet"), "upf.session[].subnet");
        assert_eq!(pattern("upf.gtpu.mode"), "upf.gtpu.mode");
    }

    #[test]
    fn the_nearest_key_is_offered_and_a_far_one_is_not() {
        let known = &["server", "client", "heartbeat"];
        assert_eq!(hint("upf.pfcp.serve", "serve", known), Hint::DidYouMean("server"));
        assert_eq!(hint("upf.pfcp.Server", "Server", known), Hint::DidYouMean("server"));
        assert_eq!(hint("upf.pfcp.xyz", "xyz", known), Hint::Known(known.to_vec()));
        assert!(matches!(hint("global", "global", known), Hint::Instead(_)));
    }
}

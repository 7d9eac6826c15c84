//! A YAML file as a tree whose nodes know where they are given, and values set in it.

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::problem::Problem;

/// Maximum nesting depth of lists and mappings. The deepest legal key is at 6.
const MAX_DEPTH: usize = 16;

/// A line of the file, from 1.
pub(super) type Line = usize;

/// Where a node is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// The line of the file where it begins.
    Line(Line),
    /// A flag or an environment variable: its number among the [`Origins`](super::origin::Origins).
    Given(usize),
}

/// A node and where it is given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) value: Value,
}

/// The value of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value {
    /// Nothing: a key without a value.
    Null,
    /// A scalar, as written, without its quotes.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// Keys with their places and values, in order.
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) place: Place,
    pub(super) node: Node,
}

impl Value {
    /// The kind of the value, for error messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Text(_) => "a single value",
            Self::List(_) => "a list",
            Self::Map(_) => "a group of keys",
        }
    }
}

/// Reads the one document of a file. An empty file is an empty mapping.
///
/// # Errors
/// The line and the problem: invalid YAML, a duplicate key, an anchor, an alias, a tag or a second document.
pub(super) fn parse(text: &str) -> Result<Node, (Line, Problem)> {
    let last = text.lines().count().max(1);
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event
            .map_err(|error| (error.marker().line().min(last), Problem::NotYaml(error.info().to_owned())))?;
        let line = span.start.line();
        builder.take(event, line).map_err(|problem| (line, problem))?;
    }
    Ok(builder.root.unwrap_or(Node { place: Place::Line(1), value: Value::Map(Vec::new()) }))
}

/// A step from a node to one inside it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Step {
    /// To an item of a list, from 0.
    Item(usize),
    /// To the value of a key.
    Key(String),
}

impl Node {
    /// Sets the value at a path. Groups and lists on the way to it that are missing are added; an item may be the next one of its list.
    ///
    /// # Errors
    /// What is on the way is a value, a group where the path has an item, or a list where it has a key; or the list is shorter. The
    /// tree is as it was.
    pub(super) fn set(&mut self, path: &[Step], value: Value, place: Place) -> Result<(), Problem> {
        let Some((step, rest)) = path.split_first() else {
            *self = Self { place, value };
            return Ok(());
        };
        let mut inner = self.inner(step).cloned().unwrap_or(Self { place, value: Value::Null });
        match (step, &self.value) {
            (Step::Key(_), Value::Null | Value::Map(_)) => {}
            (Step::Item(n), Value::Null) if *n == 0 => {}
            (Step::Item(n), Value::List(items)) if *n <= items.len() => {}
            (Step::Item(n), Value::Null) => return Err(Problem::NoSuchItem { item: *n, items: 0 }),
            (Step::Item(n), Value::List(items)) => {
                return Err(Problem::NoSuchItem { item: *n, items: items.len() });
            }
            (Step::Key(_), other) => {
                return Err(Problem::WrongKind { expected: "a group of keys", found: other.kind() });
            }
            (Step::Item(_), other) => {
                return Err(Problem::WrongKind { expected: "a list of `- ` items", found: other.kind() });
            }
        }
        inner.set(rest, value, place)?;
        self.put(step, inner, place);
        Ok(())
    }

    fn inner(&self, step: &Step) -> Option<&Self> {
        match (step, &self.value) {
            (Step::Key(key), Value::Map(entries)) => {
                entries.iter().find(|entry| entry.key == *key).map(|entry| &entry.node)
            }
            (Step::Item(n), Value::List(items)) => items.get(*n),
            _ => None,
        }
    }

    /// Puts a node where a step leads. The value is a group for a key and a list with that item or the one before for an item, or
    /// nothing.
    fn put(&mut self, step: &Step, inner: Self, place: Place) {
        match (step, &mut self.value) {
            (Step::Key(key), Value::Map(entries)) => match entries.iter_mut().find(|entry| entry.key == *key)
            {
                Some(entry) => entry.node = inner,
                None => entries.push(Entry { key: key.clone(), place, node: inner }),
            },
            (Step::Item(n), Value::List(items)) => match items.get_mut(*n) {
                Some(item) => *item = inner,
                None => items.push(inner),
            },
            (Step::Key(key), value) => {
                *value = Value::Map(vec![Entry { key: key.clone(), place, node: inner }]);
            }
            (Step::Item(_), value) => *value = Value::List(vec![inner]),
        }
    }

    /// The same tree, given elsewhere.
    pub(super) fn moved(self, place: Place) -> Self {
        let value = match self.value {
            Value::List(items) => Value::List(items.into_iter().map(|item| item.moved(place)).collect()),
            Value::Map(entries) => Value::Map(
                entries
                    .into_iter()
                    .map(|Entry { key, node, .. }| Entry { key, place, node: node.moved(place) })
                    .collect(),
            ),
            other => other,
        };
        Self { place, value }
    }
}

/// An incomplete list or mapping.
enum OpenNode {
    List(Place, Vec<Node>),
    Map(Place, Vec<Entry>, Option<(String, Line)>),
}

/// Builds the tree from the events of the parser.
#[derive(Default)]
struct Builder {
    open: Vec<OpenNode>,
    root: Option<Node>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, line: Line) -> Result<(), Problem> {
        match event {
            Event::Alias(_) => Err(Problem::AnchorOrTag),
            Event::Scalar(_, _, anchor, tag) if anchor != 0 || tag.is_some() => Err(Problem::AnchorOrTag),
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag)
                if anchor != 0 || tag.is_some() =>
            {
                Err(Problem::AnchorOrTag)
            }
            Event::DocumentStart(_) if self.root.is_some() => Err(Problem::SecondDocument),
            Event::Scalar(text, style, ..) => self.scalar(&text, style, line),
            Event::SequenceStart(..) => self.begin(OpenNode::List(Place::Line(line), Vec::new())),
            Event::MappingStart(..) => self.begin(OpenNode::Map(Place::Line(line), Vec::new(), None)),
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            _ => Ok(()),
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, line: Line) -> Result<(), Problem> {
        if let Some(OpenNode::Map(_, entries, key @ None)) = self.open.last_mut() {
            let line_of = |entry: &Entry| match entry.place {
                Place::Line(line) if entry.key == text => Some(line),
                _ => None,
            };
            if let Some(first) = entries.iter().find_map(line_of) {
                return Err(Problem::DuplicateKey { key: text.to_owned(), first });
            }
            *key = Some((text.to_owned(), line));
            return Ok(());
        }
        let is_null = style == ScalarStyle::Plain && matches!(text, "" | "~" | "null" | "Null" | "NULL");
        let value = if is_null { Value::Null } else { Value::Text(text.to_owned()) };
        self.put(Node { place: Place::Line(line), value })
    }

    fn begin(&mut self, open: OpenNode) -> Result<(), Problem> {
        if let Some(OpenNode::Map(_, _, None)) = self.open.last() {
            return Err(Problem::KeyIsNoText);
        }
        if self.open.len() == MAX_DEPTH {
            return Err(Problem::TooDeep { most: MAX_DEPTH });
        }
        self.open.push(open);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Problem> {
        match self.open.pop() {
            Some(OpenNode::List(place, items)) => self.put(Node { place, value: Value::List(items) }),
            Some(OpenNode::Map(place, entries, _)) => self.put(Node { place, value: Value::Map(entries) }),
            None => Ok(()),
        }
    }

    fn put(&mut self, node: Node) -> Result<(), Problem> {
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(OpenNode::List(_, items)) => items.push(node),
            Some(OpenNode::Map(_, entries, key)) => {
                let (key, line) = key.take().ok_or(Problem::KeyIsNoText)?;
                entries.push(Entry { key, place: Place::Line(line), node });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(node: &Node) -> &[Entry] {
        match &node.value {
            Value::Map(entries) => entries,
            other => panic!("{other:?}"),
        }
    }

    // Input:  a comment, a nested mapping, a list, and a key without a value.
    // Output: the tree, with the line of each node.
    #[test]
    fn nodes_know_their_lines() {
        let root = parse("# comment\na:\n  b: 1\nc:\n  - x\n  - 'null'\nd:\n").unwrap();
        let entries = map(&root);
        assert_eq!(
            entries.iter().map(|e| (e.key.as_str(), e.place)).collect::<Vec<_>>(),
            [("a", Place::Line(2)), ("c", Place::Line(4)), ("d", Place::Line(7))]
        );
        assert_eq!(
            map(&entries[0].node)[0].node,
            Node { place: Place::Line(3), value: Value::Text("1".into()) }
        );
        let Value::List(items) = &entries[1].node.value else { panic!() };
        assert_eq!(items[1], Node { place: Place::Line(6), value: Value::Text("null".into()) });
        assert_eq!(entries[2].node.value, Value::Null);
    }

    #[test]
    fn an_empty_file_is_an_empty_mapping() {
        for text in ["", "\n", "# only a comment\n"] {
            assert_eq!(map(&parse(text).unwrap()), [], "{text:?}");
        }
    }

    // Input:  invalid YAML, or YAML that a configuration does not support.
    // Output: an error at the right line; no panic, even for 100 000 nested brackets.
    #[test]
    fn what_is_not_understood_is_refused_with_its_line() {
        let deep = "[".repeat(100_000);
        for (text, line) in [
            ("a: 1\nb: [", 2),
            ("a: 1\nb: }\n", 2),
            ("a: 1\na: 2", 2),
            ("a: &x 1\n", 1),
            ("a: 1\nb: *x\n", 2),
            ("a: !!int 1\n", 1),
            ("a: 1\n---\nb: 2\n", 2),
            ("? [a]\n: 1\n", 1),
            (deep.as_str(), 1),
        ] {
            let (found, problem) = parse(text).unwrap_err();
            assert_eq!(found, line, "{problem} in {:?}", &text[..text.len().min(40)]);
        }
    }
}

//! The JSON Schema of the file and the reference of its keys, from the keys that are read and their summaries.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::decode;
use super::document::{Node, Place, Value as Given};
use super::keys::{KEYS, Key};
use super::kind::Kind;
use super::section::Reader;

/// Every key that is read with the kind of its value.
pub(super) fn described() -> BTreeMap<String, Kind> {
    let reader = Reader::describing();
    drop(reader.root(&Node { place: Place::Line(1), value: Given::Null }, decode::config));
    let asked = reader.asked.into_inner();
    asked.into_iter().filter_map(|(key, kind)| Some((key, kind?))).collect()
}

/// The JSON Schema (2020-12) of the configuration file, for editors and checks before a deployment.
///
/// It accepts every file that [`Config::load`](super::Config::load) reads, but former names of keys and quoted numbers; `causeway config
/// check` also finds contradictions between keys.
pub fn schema() -> Value {
    let kinds = described();
    let mut root = group();
    for key in KEYS {
        let kind = kinds.get(key.path).unwrap_or(&Kind::Text);
        insert(&mut root, key.path, value(key, kind));
    }
    let about = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of Causeway, a 5G User Plane Function",
    });
    if let (Value::Object(root), Value::Object(about)) = (&mut root, about) {
        root.extend(about);
    }
    root
}

fn group() -> Value {
    json!({ "type": ["object", "null"], "additionalProperties": false, "properties": {} })
}

/// Puts the schema of a value where its path leads, with the groups and lists on the way.
fn insert(group_of: &mut Value, path: &str, schema: Value) {
    let Value::Object(properties) = &mut group_of["properties"] else { return };
    let Some((name, rest)) = path.split_once('.') else {
        properties.insert(path.to_owned(), schema);
        return;
    };
    match name.strip_suffix("[]") {
        Some(list) => {
            let empty = || json!({ "type": ["array", "null"], "items": group() });
            insert(&mut properties.entry(list).or_insert_with(empty)["items"], rest, schema);
        }
        None => insert(properties.entry(name).or_insert_with(group), rest, schema),
    }
}

fn value(key: &Key, kind: &Kind) -> Value {
    let text = |pattern: &str| json!({ "type": ["string", "null"], "pattern": pattern });
    let quantity =
        |pattern: &str| json!({ "type": ["integer", "string", "null"], "minimum": 0, "pattern": pattern });
    let mut schema = match kind {
        Kind::Text => json!({ "type": ["string", "number", "boolean", "null"] }),
        Kind::Flag => json!({ "type": ["boolean", "null"] }),
        Kind::Number(range) => {
            json!({ "type": ["integer", "null"], "minimum": range.start(), "maximum": range.end() })
        }
        Kind::Words(words) => {
            let words = words.iter().map(|word| json!(word)).chain([Value::Null]);
            json!({ "enum": words.collect::<Vec<_>>() })
        }
        Kind::Time => quantity("^[0-9]+(us|ms|s|m|h)?$"),
        Kind::Octets => quantity("^[0-9]+(KiB|MiB|GiB)?$"),
        Kind::Rate => text("^[0-9]+ ?[kMGT]bps$"),
        Kind::Address => text("^([0-9.]+|[0-9A-Fa-f:.]+)$"),
        Kind::Prefix => text("^[0-9A-Fa-f:.]+/[0-9]+$"),
        Kind::Prefixes => text("^[0-9A-Fa-f:./, ]+$"),
        Kind::Mac => text("^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}$"),
    };
    schema["description"] = json!(format!("{}. Default: {}. {}", key.summary, key.default, when(key)));
    if let Some(default) = default(key, kind) {
        schema["default"] = default;
    }
    schema
}

/// The default as a value, where it is one and not words about it.
fn default(key: &Key, kind: &Kind) -> Option<Value> {
    match kind {
        Kind::Flag => key.default.parse::<bool>().ok().map(Value::from),
        Kind::Number(_) => key.default.parse::<u64>().ok().map(Value::from),
        Kind::Words(words) => words.contains(&key.default).then(|| json!(key.default)),
        _ => None,
    }
}

const fn when(key: &Key) -> &'static str {
    if key.live { "A reload changes it." } else { "It changes at the next start." }
}

/// What a value may be, in words.
fn words(kind: &Kind) -> String {
    match kind {
        Kind::Text => "text".into(),
        Kind::Flag => "`true`, `false`".into(),
        Kind::Number(range) if *range.end() == u64::MAX => format!("number from {}", range.start()),
        Kind::Number(range) => format!("{} to {}", range.start(), range.end()),
        Kind::Words(words) => {
            let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
            words.join(", ")
        }
        Kind::Time => "time".into(),
        Kind::Octets => "octets".into(),
        Kind::Rate => "bit rate".into(),
        Kind::Address => "address".into(),
        Kind::Prefix => "prefix".into(),
        Kind::Prefixes => "prefixes".into(),
        Kind::Mac => "MAC address".into(),
    }
}

/// All keys as a page in Markdown, a table for each group.
pub fn reference() -> String {
    let kinds = described();
    let mut groups: Vec<&str> = Vec::new();
    for group in KEYS.iter().map(|key| group_of(key.path)) {
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    let mut page = String::from(ABOUT);
    for group in groups {
        // Writing to a string never fails.
        let _ = write!(page, "\n## `{group}`\n\n| key | value | default | meaning |\n|---|---|---|---|\n");
        for key in KEYS.iter().filter(|key| group_of(key.path) == group) {
            let kind = kinds.get(key.path).map(words).unwrap_or_default();
            let live = if key.live { " *(reload)*" } else { "" };
            let summary = key.summary.replace('|', "\\|");
            let _ = writeln!(page, "| `{}` | {kind} | {} | {summary}{live} |", key.path, key.default);
        }
    }
    page
}

/// The first two names of a path, or the first if there are no more than two: the group under which the page lists the key.
fn group_of(path: &str) -> &str {
    let mut dots = path.match_indices('.').map(|(at, _)| at);
    let (first, second) = (dots.next().unwrap_or(path.len()), dots.next());
    path[..second.unwrap_or(first)].trim_end_matches("[]")
}

const ABOUT: &str = "\
# Configuration

Every key of the configuration file, as `causeway config keys -o markdown` prints it. `packaging/upf.yaml` is a file with all keys and
comments. `[]` stands for an item of a list. A key marked *(reload)* changes while the UPF runs (`causeway reload`); another takes effect
at the next start.

Every key may also be given outside the file, and takes precedence over it there:

- as an environment variable: `CAUSEWAY__` and its path in capitals, with two underscores between names and the number of an item from 0:
  `CAUSEWAY__UPF__SESSION__0__MTU=1300`;
- as a flag: `causeway run --set 'upf.session[0].mtu=1300'`. The value of a list or a group is YAML:
  `--set 'upf.metrics.server=[]'`.

A later item of a list needs those before it; the defaults of a list that the file does not give are not among them. The flags with names
of their own (`causeway run --help`) stand between both.

`causeway config check` prints the effective configuration or all errors, each with its line, flag or variable. `causeway config schema`
prints a JSON Schema (2020-12) for editors, which the package installs as `/usr/share/causeway/upf.schema.json`: in the first line of the
file, `# yaml-language-server: $schema=/usr/share/causeway/upf.schema.json`.

A *time* is `500ms`, `10s`, `2m` or `1h`, a number alone is seconds, and 24 hours are the most. *Octets* are `1048576`, `512KiB`, `256MiB`
or `1GiB`. A *bit rate* is `500kbps`, `20Mbps`, `1Gbps` or `2Tbps`. *Prefixes* are prefixes and addresses, comma-separated.
";

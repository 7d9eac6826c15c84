//! The documents name files, functions, types, keys and metrics that exist, and their links lead to files.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The folders whose files the documents name.
const FOLDERS: [&str; 12] = [
    ".ci",
    "bench",
    "conformance",
    "crates",
    "docs",
    "examples",
    "fuzz",
    "p4",
    "packaging",
    "scripts",
    "specs",
    "tests",
];

/// The documents about the code, whose words between backticks are names of the repository.
const ABOUT_THE_CODE: [&str; 5] = [
    "PROMISES.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/life-of-a-packet.md",
    "docs/life-of-a-request.md",
];

/// The folder of the decision records, which are about the code as well.
const DECISIONS: &str = "docs/decisions";

/// Maximum length of the architecture page, in lines.
const ARCHITECTURE_LINES: usize = 250;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All files below a folder, except build outputs.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.expect("a folder can be listed").path()) {
        if !path.is_dir() {
            found.push(path);
        } else if !path.ends_with("target") {
            files(&path, found);
        }
    }
}

/// The files of the repository, as paths from its root.
fn paths() -> Vec<String> {
    let mut found = Vec::new();
    FOLDERS.iter().for_each(|folder| files(&root().join(folder), &mut found));
    let at_root = std::fs::read_dir(root()).expect("the root can be listed");
    found.extend(at_root.map(|entry| entry.expect("a file").path()).filter(|path| path.is_file()));
    let relative = |path: &PathBuf| path.strip_prefix(root()).ok().map(|path| path.display().to_string());
    found.iter().filter_map(relative).collect()
}

/// The text of a page without its code blocks.
fn prose(page: &str) -> String {
    page.split("```").step_by(2).collect()
}

/// The words between backticks, without those that are a command or a sentence.
fn named(prose: &str) -> impl Iterator<Item = &str> {
    prose.split('`').skip(1).step_by(2).filter(|word| !word.contains(char::is_whitespace))
}

/// The targets of the links in a page.
fn links(prose: &str) -> impl Iterator<Item = &str> {
    prose.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()).filter(|to| !to.is_empty())
}

/// The identifier that a text starts with.
fn identifier(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    text.get(..end).filter(|name| !name.is_empty())
}

/// The variant or field that a line declares.
fn first_of_line(line: &str) -> Option<&str> {
    identifier(line).filter(|name| {
        name.starts_with(|c: char| c.is_ascii_uppercase()) || line[name.len()..].starts_with(": ")
    })
}

/// The names that the sources declare: items, variants and fields, and the texts in quotes, as the names of metrics are.
struct Names(BTreeSet<String>);

impl Names {
    fn of(paths: &[String]) -> Self {
        const ITEMS: [&str; 11] =
            ["fn ", "func ", "def ", "struct ", "enum ", "trait ", "type ", "const ", "mod ", "::", "\""];
        let is_source = |path: &&String| {
            ["rs", "go", "py", "p4", "toml"].iter().any(|end| path.ends_with(&format!(".{end}")))
        };
        let mut names = BTreeSet::new();
        for path in paths.iter().filter(is_source) {
            let text = read(path);
            for line in text.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
                let line = line.trim_start_matches("pub ").trim_start_matches("pub(crate) ");
                names.extend(first_of_line(line).map(str::to_owned));
                let declared = ITEMS.iter().flat_map(|it| line.split(it).skip(1));
                names.extend(declared.filter_map(identifier).map(str::to_owned));
            }
        }
        Self(names)
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

/// Whether a path of the repository ends with `wanted`, or has it as a folder. A `*` stands for any part of a name.
fn is_path(paths: &[String], wanted: &str) -> bool {
    let wanted = wanted.trim_end_matches('/');
    let (before, after) = wanted.split_once('*').unwrap_or((wanted, ""));
    paths.iter().any(|path| {
        path.match_indices(before).any(|(at, _)| {
            let begins = at == 0 || path[..at].ends_with('/');
            let rest = &path[at + before.len()..];
            begins
                && if wanted.contains('*') {
                    rest.ends_with(after)
                } else {
                    rest.is_empty() || rest.starts_with(['/', '.'])
                }
        })
    })
}

/// Whether the repository has what a document names; `None` if the word is not a name.
fn is_there(paths: &[String], names: &Names, word: &str) -> Option<bool> {
    let is_name = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    // The arguments of a call and of a type are left out.
    let word = word.split_once(['(', '<']).map_or(word, |(name, _)| name);
    Some(match word {
        // Neither names nor files of the repository.
        "unsafe" | "nightly" | "get_" => return None,
        _ if word.starts_with("target/") => return None,
        // A key of the configuration.
        _ if word.starts_with("upf.") => word.split('.').all(|key| names.has(key)),
        // A metric, whose name in the sources is that of its family.
        _ if word.starts_with("causeway_") && word.ends_with("_total") => {
            names.has(word) || names.has(word.trim_end_matches("_total"))
        }
        _ if word.contains("::") => word.split("::").all(|part| names.has(part) || is_path(paths, part)),
        _ if word.starts_with("*_") => names.0.iter().any(|name| name.ends_with(&word[1..])),
        _ if word.contains(['/', '.']) => is_path(paths, word),
        _ if word.starts_with("causeway-") => {
            names.has(word.trim_start_matches("causeway-"))
                || is_path(paths, word.trim_start_matches("causeway-"))
        }
        _ if is_name(word) && !word.is_empty() => names.has(word) || is_path(paths, word),
        _ => return None,
    })
}

/// Every page of the repository.
fn pages(paths: &[String]) -> impl Iterator<Item = &String> {
    paths.iter().filter(|path| path.ends_with(".md"))
}

// Input:  the words between backticks in the documents about the code.
// Output: each path is there, and each name is declared in a source, or is a text that is a metric's name or a key of the
//         configuration.
#[test]
fn names_in_documents_exist() {
    let paths = paths();
    let names = Names::of(&paths);
    let is_about_the_code =
        |path: &&String| ABOUT_THE_CODE.contains(&path.as_str()) || path.starts_with(DECISIONS);
    let (mut checked, mut missing) = (0, String::new());
    for page in pages(&paths).filter(is_about_the_code) {
        let text = prose(&read(page));
        for (word, there) in named(&text).filter_map(|word| Some((word, is_there(&paths, &names, word)?))) {
            checked += 1;
            if !there {
                let _ = write!(missing, "\n{page}: {word}");
            }
        }
    }
    assert!(missing.is_empty(), "these names are nowhere:{missing}");
    assert!(checked > 300, "only {checked} names were found");
}

/// The metric that a word between backticks names; `None`: it names something else, such as a crate or several metrics.
fn metric(word: &str) -> Option<&str> {
    let name = word.split_once('{').map_or(word, |(name, _)| name);
    let is_whole = name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_');
    Some(name).filter(|name| name.starts_with("causeway_") && is_whole)
}

// Input:  the names of Causeway's metrics between backticks in all pages but the changelog, which has names of families and of earlier
//         versions, too.
// Output: each is one that `docs/monitoring.md` lists, which has those of `/metrics`, or the buckets, sum or count of one.
#[test]
fn metrics_in_documents_exist() {
    let paths = paths();
    let list = read("docs/monitoring.md");
    let rows = list.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let listed: BTreeSet<&str> = rows.filter_map(|(name, _)| metric(name)).collect();
    let is_listed = |name: &str| {
        let parts = ["", "_bucket", "_sum", "_count"];
        parts.iter().any(|part| name.strip_suffix(part).is_some_and(|name| listed.contains(name)))
    };
    let (mut checked, mut missing) = (0, String::new());
    for page in pages(&paths).filter(|page| *page != "CHANGELOG.md") {
        let text = prose(&read(page));
        for name in named(&text).filter_map(metric) {
            checked += 1;
            if !is_listed(name) {
                let _ = write!(missing, "\n{page}: {name}");
            }
        }
    }
    assert!(missing.is_empty(), "these metrics do not exist:{missing}");
    assert!(checked > 100, "only {checked} names were found");
}

// Input:  the links of all pages to files of the repository.
// Output: each file or folder is there.
#[test]
fn links_lead_to_files() {
    let paths = paths();
    let (mut checked, mut missing) = (0, String::new());
    for page in pages(&paths) {
        let text = prose(&read(page));
        let folder = root().join(page).parent().expect("a folder").to_owned();
        for link in links(&text).filter(|link| !link.contains(':') && !link.contains(char::is_whitespace)) {
            checked += 1;
            if !folder.join(link).exists() {
                let _ = write!(missing, "\n{page}: {link}");
            }
        }
    }
    assert!(missing.is_empty(), "these links lead nowhere:{missing}");
    assert!(checked > 100, "only {checked} links were found");
}

// Input:  the page on the architecture.
// Output: it is short enough to be read at once.
#[test]
fn the_architecture_page_is_short() {
    let lines = read("ARCHITECTURE.md").lines().count();
    assert!(
        lines <= ARCHITECTURE_LINES,
        "ARCHITECTURE.md has {lines} lines, of at most {ARCHITECTURE_LINES}"
    );
}

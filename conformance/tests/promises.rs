//! PROMISES.md names tests, cases and folders that are there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository")
}

/// The folders that tests and cases are in.
const FOLDERS: [&str; 8] =
    ["crates", "conformance", "specs", "fuzz", "scripts", "bench", "tests", "packaging"];

/// All files below a folder, but for what was built.
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

/// What stands between backticks.
fn named(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// The names of functions in the files of Rust and Go, and the texts in quotes, as metrics' names are.
fn names(files: &[PathBuf]) -> BTreeSet<String> {
    let name =
        |rest: &str| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().map(str::to_owned);
    let mut names = BTreeSet::new();
    for (end, keyword) in [("rs", "fn "), ("go", "func ")] {
        let written = files.iter().filter(|path| path.extension().is_some_and(|it| it == end));
        for text in written.map(|path| std::fs::read_to_string(path).unwrap_or_default()) {
            names.extend([keyword, "\""].iter().flat_map(|it| text.split(it).skip(1).filter_map(name)));
        }
    }
    names
}

/// A path of the repository ends, or a folder of it is, what the page calls `wanted`; a `*` stands for any part of a name.
fn is_there(paths: &[String], wanted: &str) -> bool {
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

// Input:  everything between backticks in PROMISES.md.
// Output: each path is there, and so is a function of each name that could be a test's, or a text that is a metric's name or
//         a key of the configuration.
#[test]
fn what_promises_name_is_there() {
    let page = std::fs::read_to_string(root().join("PROMISES.md")).expect("PROMISES.md");
    let mut found = Vec::new();
    FOLDERS.iter().for_each(|folder| files(&root().join(folder), &mut found));
    let relative = |path: &PathBuf| path.strip_prefix(root()).ok().map(|path| path.display().to_string());
    let paths: Vec<String> = found.iter().filter_map(relative).collect();
    let names = names(&found);
    let is_name = |word: &str| word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let (mut checked, mut missing) = (0, Vec::new());
    for word in named(&page).filter(|word| !word.contains(' ')) {
        let there = match word {
            // A key of the configuration.
            _ if word.starts_with("upf.") => word.split('.').all(|key| names.contains(key)),
            _ if word.contains(['/', '.']) => is_there(&paths, word),
            _ if word.starts_with("*_") => names.iter().any(|name| name.ends_with(&word[1..])),
            _ if word.starts_with("Test") => names.contains(word),
            _ if is_name(word) => names.contains(word) || is_there(&paths, word),
            _ => continue,
        };
        checked += 1;
        if !there {
            missing.push(word);
        }
    }
    assert!(missing.is_empty(), "PROMISES.md names {missing:?}, which are nowhere");
    assert!(checked > 60, "only {checked} names were found");
}

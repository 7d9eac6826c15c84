//! Each row of docs/defects-of-others.md names a case or a test that is there.

use std::path::Path;

// Input:  the rows of the page.
// Output: each has three fields; the last one links to a case, or names a Rust file and a function in it.
#[test]
fn each_defect_has_its_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
    let page = std::fs::read_to_string(root.join("docs/defects-of-others.md")).expect("the page");
    let rows: Vec<_> = page.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() > 40, "the table has {} rows", rows.len());
    for row in rows {
        let fields: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [reported, what, held] = fields[..] else { panic!("not three fields: {row}") };
        assert!(!reported.is_empty() && !what.is_empty(), "an empty field: {row}");
        check(root, held);
    }
}

fn check(root: &Path, held: &str) {
    if let Some((name, path)) = held.strip_prefix('[').and_then(|link| link.split_once("](../")) {
        let path = path.trim_end_matches(')');
        assert_eq!(path, format!("conformance/cases/{name}.yaml"));
        assert!(root.join(path).is_file(), "{path} is not there");
        return;
    }
    let mut named = held.split('`').filter(|part| !part.is_empty() && *part != ", ");
    let path = named.next().unwrap_or_else(|| panic!("{held} names nothing"));
    let text = std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    for function in named {
        assert!(text.contains(&format!("fn {function}(")), "{path} has no {function}");
    }
}

// Input:  the enum of reasons for a refusal, and the rows of docs/refusals.md.
// Output: each reason has one row with four fields, and each row a reason.
#[test]
fn each_refusal_has_its_row() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
    let page = std::fs::read_to_string(root.join("docs/refusals.md")).expect("the page");
    let source =
        std::fs::read_to_string(root.join("crates/control/rules/src/rejection.rs")).expect("the enum");
    let (_, reasons) = source.split_once("pub enum Reason {").expect("the enum of reasons");
    let (reasons, _) = reasons.split_once("\n}").expect("its end");
    let is_variant =
        |line: &&str| line.starts_with("    ") && line[4..].starts_with(|c: char| c.is_ascii_uppercase());
    let name = |line: &str| line.trim().chars().take_while(char::is_ascii_alphanumeric).collect::<String>();
    let mut wanted: Vec<_> = reasons.lines().filter(is_variant).map(name).collect();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let mut there: Vec<_> = rows
        .inspect(|row| assert_eq!(row.matches(" |").count(), 4, "not four fields: {row}"))
        .filter_map(|row| row.split_once('`').map(|(name, _)| name.to_owned()))
        .collect();
    wanted.sort();
    there.sort();
    assert_eq!(there, wanted);
}

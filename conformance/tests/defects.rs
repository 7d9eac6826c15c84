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

//! The page about SMF dialects says what the cases say.

use std::path::{Path, PathBuf};

use causeway_conformance::{Case, load_all, matrix};

fn cases() -> Vec<Case> {
    load_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cases")).unwrap_or_else(|error| panic!("{error}"))
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/dialects.md")
}

// Input:  the cases below cases/dialects.
// Output: each says which row it is in and whose messages it has; docs/dialects.md lists all of them.
#[test]
fn the_dialect_matrix_is_that_of_the_cases() {
    let cases = cases();
    let in_matrix = |case: &&Case| case.path.components().any(|part| part.as_os_str() == "dialects");
    for case in cases.iter().filter(in_matrix) {
        assert!(case.behaviour.is_some() && case.source.is_some(), "{}", case.path.display());
    }
    let page_now = matrix(&cases);
    let listed = page_now.matches("[yes](").count();
    assert_eq!(listed, cases.iter().filter(in_matrix).count(), "a case is in no column");
    if std::env::var_os("CAUSEWAY_RECORD").is_some() {
        std::fs::create_dir_all(page().parent().unwrap()).unwrap();
        std::fs::write(page(), page_now).unwrap();
    } else {
        let written = std::fs::read_to_string(page()).unwrap_or_default();
        assert!(written == page_now, "docs/dialects.md is stale: record anew");
    }
}

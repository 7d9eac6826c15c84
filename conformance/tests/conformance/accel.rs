//! The page about answers of the data plane says what the cases say.

use std::path::Path;

use causeway_conformance::{ACCEL_TABLE_BEGIN, ACCEL_TABLE_END, accel_shares, load_all, load_fragments};

// Input:  the session messages of the cases below cases/dialects, to a data plane that answers those of its class.
// Output: the table of docs/accel.md.
#[test]
fn the_shares_of_smfs_are_those_of_the_cases() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cases = load_all(&folder.join("cases/dialects")).unwrap_or_else(|error| panic!("{error}"));
    let fragments = load_fragments(&folder.join("fragments.yaml")).unwrap_or_else(|error| panic!("{error}"));
    let table = accel_shares(&cases, &fragments, 3).unwrap_or_else(|error| panic!("{error}"));
    let path = folder.join("../docs/accel.md");
    let page = std::fs::read_to_string(&path).expect("docs/accel.md");
    let (head, rest) = page.split_once(ACCEL_TABLE_BEGIN).expect("where the table begins");
    let (written, tail) = rest.split_once(ACCEL_TABLE_END).expect("where it ends");
    if std::env::var_os("CAUSEWAY_RECORD").is_some() {
        let page = [head, ACCEL_TABLE_BEGIN, "\n", &table, "\n", ACCEL_TABLE_END, tail].concat();
        std::fs::write(path, page).expect("docs/accel.md");
    } else {
        assert!(written.trim() == table.trim(), "docs/accel.md is stale: record anew");
    }
}

//! The list of upg-vpp's cases names what exists here.

use std::path::Path;

// Input:  docs/conformance/upg-vpp.md.
// Output: every case and file that it names is there.
#[test]
fn what_the_list_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/conformance/upg-vpp.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| ")).skip(1);
    let mut named = 0;
    for name in rows.flat_map(|row| row.split('`').skip(1).step_by(2)) {
        let is_file = name.ends_with(".rs");
        let path = if is_file { name.to_owned() } else { format!("conformance/cases/{name}.yaml") };
        assert!(root.join(&path).exists(), "{name} does not exist");
        named += 1;
    }
    assert!(named > 40, "{named}");
}

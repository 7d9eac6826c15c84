//! The modules of the daemon are layers.

use std::fs;
use std::path::{Path, PathBuf};

/// The layers, each with its modules. A module uses those of its own layer and of earlier ones.
const LAYERS: [&[&str]; 5] =
    [&["config"], &["logging"], &["worker", "data_planes"], &["control", "management"], &["daemon"]];

fn files(under: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(under).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

// Input:  the source files of the daemon.
// Output: none of a layer names a module of a later one.
#[test]
fn a_module_uses_no_later_layer() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let layer_of = |name: &str| LAYERS.iter().position(|modules| modules.contains(&name));
    let (mut seen, mut wrong) = ([false; LAYERS.len()], Vec::new());
    for file in files(&source).iter().filter(|file| file.extension().is_some_and(|end| end == "rs")) {
        let inside = file.strip_prefix(&source).unwrap();
        let module = inside.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        let Some(layer) = layer_of(module) else { continue };
        seen[layer] = true;
        for used in fs::read_to_string(file).unwrap().split("crate::").skip(1) {
            let used = used.split(|c: char| c != '_' && !c.is_ascii_lowercase()).next().unwrap();
            if layer_of(used).is_some_and(|other| other > layer) {
                wrong.push(format!("{}: {used}", inside.display()));
            }
        }
    }
    assert_eq!((seen, wrong), ([true; LAYERS.len()], Vec::new()));
}

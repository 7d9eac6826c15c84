//! The configurations that are delivered: in packages, images and guides.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// The model file that the guide makes, and one of this repository.
const MODELS: [&str; 2] = ["/etc/causeway/classes.json", "crates/app/experiment/src/gaming/models/300.json"];

/// `config check` of a file, which must accept it.
fn accepts(file: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_causeway"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CAUSEWAY_")) {
        command.env_remove(name);
    }
    let output = command.args(["config", "check", "--config"]).arg(file).output().unwrap();
    assert!(output.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&output.stderr));
}

/// The blocks of a page that are whole configurations.
fn configurations(page: &str) -> Vec<String> {
    let blocks = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    blocks
        .filter(|block| block.lines().any(|line| line == "upf:"))
        .map(|block| format!("{block}\n"))
        .collect()
}

// Input:  the configurations of the Debian package, the container image and the Compose files, and those in the guides and of a chain.
// Output: `causeway config check` accepts each; a guide about the UPF has one.
#[test]
fn every_delivered_configuration_is_accepted() {
    let packaging = repository().join("packaging");
    for file in ["upf.yaml", "container/upf.yaml", "compose/upf.yaml"] {
        accepts(&packaging.join(file));
    }
    let mut found = 0;
    let guides = fs::read_dir(repository().join("docs/guides")).unwrap().map(|page| page.unwrap().path());
    for page in guides.chain([repository().join("docs/chain.md")]) {
        // The values of the chart are no configuration.
        if page.file_name().is_some_and(|name| name == "containers.md") {
            continue;
        }
        let blocks = configurations(&fs::read_to_string(&page).unwrap());
        assert!(!blocks.is_empty(), "{} has no configuration", page.display());
        let model = repository().join(MODELS[1]);
        for block in blocks {
            let block = block.replace(MODELS[0], &model.display().to_string());
            let stem = page.file_stem().unwrap().to_string_lossy().into_owned();
            let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("guide-{stem}.yaml"));
            fs::write(&file, block).unwrap();
            accepts(&file);
            found += 1;
        }
    }
    assert!(found >= 8, "{found}");
}

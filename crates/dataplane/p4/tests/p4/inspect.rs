//! `scripts/p4 inspect`: what is wrong in an output of the compiler for Tofino 1. The outputs are written by hand, in the
//! form of the compiler's assembly. And `scripts/p4 same`: whether two P4Infos say the same.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A program behind the preprocessor: two states of its parsers select.
const SOURCE: &str = "
    parser P(packet_in pkt, out h hdr) {
        state start { pkt.extract(hdr.a); transition select(hdr.a.kind) { 1: b; default: accept; } }
        // transition select(hdr.x) is a comment.
        state b { pkt.extract(hdr.b); transition
            select (hdr.b.kind) { 2: c; default: accept; } }
        state c { pkt.extract(hdr.c); transition accept; }
    }
";

/// An output with one register on the ingress side, which the assembler accepts but for the register.
const GOOD: &str = "\
version:
  version: 1.0.1
  run_id: \"x\"
  target: Tofino
phv ingress:
  a: H0
phv egress:
  b: H1
parser ingress:
  start: $entry
  states:
    $entry:
      match: [ half ]
      0x0001:
        0..1: a
        shift: 2
        buf_req: 2
        next: b
      0x****:
        shift: 2
        buf_req: 2
        next: end
    b:
      match: [ half ]
      0x0002:
        shift: 2
        buf_req: 2
        next: end
      0x****:
        shift: 2
        buf_req: 2
        next: end
parser egress:
  start: $entry
  states:
    $entry:
      0x**:
        0..1: b
        shift: 2
        buf_req: 2
        next: end
deparser ingress:
  dictionary: {}
deparser egress:
  dictionary: {}
stage 0 ingress:
  dependency: match
stage 0 egress:
  dependency: match
";

/// A register in a stage, as a table that executes it has it.
fn register(stage: u32, name: &str) -> String {
    format!(
        "stage {stage} ingress:\n  stateful t${name}:\n    p4: {{ name: {name}, size: 4096 }}\n    row: 1\n"
    )
}

struct World {
    folder: PathBuf,
    /// Where a stand-in for the assembler is.
    tools: PathBuf,
}

impl World {
    fn new(name: &str, assembly: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("inspect-{name}"));
        let _old = std::fs::remove_dir_all(&folder);
        let tools = folder.join("tools");
        std::fs::create_dir_all(folder.join("pipe")).unwrap();
        std::fs::create_dir_all(&tools).unwrap();
        std::fs::write(folder.join("pipe/upf.bfa"), assembly).unwrap();
        std::fs::write(folder.join("source.p4"), SOURCE).unwrap();
        Self { folder, tools }
    }

    /// With an assembler that says this and ends with that status.
    fn assembler(self, said: &str, status: i32) -> Self {
        use std::os::unix::fs::PermissionsExt as _;
        let script = format!("#!/bin/sh\necho \"{said}\" >&2\nexit {status}\n");
        let file = self.tools.join("bfas");
        std::fs::write(&file, script).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    /// Whether the output is good, and what was said.
    fn inspect(&self) -> (bool, String) {
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", self.tools.display());
        script(["inspect".into(), self.folder.clone(), self.folder.join("source.p4")], &path)
    }
}

/// Runs `scripts/p4`: whether it succeeds, and what it says.
fn script(arguments: [PathBuf; 3], path: &str) -> (bool, String) {
    let mut command = Command::new("scripts/p4");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let done = command.args(arguments).env("PATH", path).current_dir(root).output().unwrap();
    (done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned())
}

// Input:  outputs of a compiler: a good one; without the parsers' matches; with a register in two stages; with one in a
//         thirteenth stage; with an assembler that warns, and one that fails.
// Output: the first passes; each other one is refused, with the reason.
#[test]
fn an_output_that_is_not_the_program_is_refused() {
    let quiet = |name, assembly: &str| World::new(name, assembly).assembler("", 0);
    let good = format!("{GOOD}{}{}", register(1, "seen"), register(2, "others"));
    let (is_good, said) = quiet("good", &good).inspect();
    assert!(is_good, "{said}");
    let without_matches = good.replace("      match: [ half ]\n", "");
    let warning = "upf.bfa:32: warning: Can't match parser state due to previous match";
    for (world, reason) in [
        (quiet("matches", &without_matches), "its parsers select in 2 states, but match in 0"),
        (
            quiet("twice", &format!("{good}{}", register(3, "seen"))),
            "register seen is placed twice: use all of its actions in one table",
        ),
        (quiet("stages", &format!("{good}{}", register(12, "late"))), "more than the 12 stages of Tofino 1"),
        (World::new("warns", &good).assembler(warning, 0), "cannot match a state of a parser"),
        (World::new("fails", &good).assembler("error: no such thing", 1), "the assembler refuses it"),
    ] {
        let (is_good, said) = world.inspect();
        assert!(!is_good && said.contains(reason), "{said}");
    }
}

// Input:  the same parsers with their matches and without, for the assembler itself.
// Output: it accepts the first, and warns of the second in the words that the script looks for.
#[test]
fn the_assembler_warns_of_parsers_that_do_not_match() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|folder| folder.join("bfas").is_file()) {
        eprintln!("SKIPPED the_assembler_warns_of_parsers_that_do_not_match: needs bfas (not on PATH)");
        return;
    }
    let (is_good, said) = World::new("assembled", GOOD).inspect();
    assert!(is_good, "{said}");
    let lost = GOOD.replace("      match: [ half ]\n", "");
    let lost = lost.replace("0x0001", "0x**").replace("0x0002", "0x**").replace("0x****", "0x**");
    let (is_good, said) = World::new("lost", &lost).inspect();
    assert!(!is_good && said.contains("cannot match a state of a parser"), "{said}");
}

/// The messages of a text that begin at this indentation, each with all of its lines.
fn messages(text: &str, indent: &str) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let rest = line.strip_prefix(indent).unwrap_or("");
        match messages.last_mut() {
            Some(last) if rest.is_empty() || rest.starts_with([' ', '}']) => *last += &format!("{line}\n"),
            _ => messages.push(format!("{line}\n")),
        }
    }
    messages
}

// Input:  the P4Info of each profile and target, with its objects and its types the other way round; and with one size
//         changed besides.
// Output: the first says the same as the file, the second does not.
#[test]
fn the_order_of_a_p4info_does_not_matter() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("p4info");
    std::fs::create_dir_all(&folder).unwrap();
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../p4/p4info");
    let path = std::env::var("PATH").unwrap_or_default();
    for entry in std::fs::read_dir(committed).unwrap() {
        let file = entry.unwrap().path();
        let text = std::fs::read_to_string(&file).unwrap();
        let mut turned: Vec<String> = messages(&text, "");
        for message in turned.iter_mut().filter(|message| message.starts_with("type_info {")) {
            let inner =
                message.strip_prefix("type_info {\n").and_then(|rest| rest.strip_suffix("}\n")).unwrap();
            let types: String = messages(inner, "  ").into_iter().rev().collect();
            *message = format!("type_info {{\n{types}}}\n");
        }
        turned.reverse();
        let other = folder.join(file.file_name().unwrap());
        let say_the_same = |text: &str| {
            std::fs::write(&other, text).unwrap();
            script(["same".into(), file.clone(), other.clone()], &path)
        };
        let turned = turned.concat();
        assert_ne!(turned, text);
        assert_eq!(say_the_same(&turned), (true, String::new()), "{}", file.display());
        let (before, after) = turned.split_once("\n  size: ").unwrap();
        let size = after.lines().next().unwrap();
        let (is_same, said) = say_the_same(&format!("{before}\n  size: 1{after}"));
        assert!(!is_same && said.contains(&format!("size: 1{size}")), "{}: {said}", file.display());
    }
}

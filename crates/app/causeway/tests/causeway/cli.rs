//! The command line as a shell sees it: output, errors, exit codes.

use std::path::PathBuf;
use std::process::{Command, Output};

/// Runs the binary with no variable of ours in its environment.
fn causeway(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_causeway"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CAUSEWAY_")) {
        command.env_remove(name);
    }
    command.args(args).output().unwrap()
}

fn text(octets: &[u8]) -> &str {
    std::str::from_utf8(octets).unwrap()
}

/// A file for one test.
fn file(name: &str, content: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{}-{name}", std::process::id()));
    std::fs::write(&path, content).unwrap();
    path
}

#[test]
fn the_version_is_the_one_of_the_package() {
    let output = causeway(&["--version"]);
    assert_eq!(text(&output.stdout), format!("causeway {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(output.status.code(), Some(0));
}

// Input:  the help of the program and of each subcommand.
// Output: each says what it does, shows an example or the keys, and names the exit codes.
#[test]
fn every_help_text_has_examples_or_exit_codes() {
    let listed = text(&causeway(&["--help"]).stdout).to_owned();
    let commands = listed.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let commands = commands.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    // `help` has no help, and `config` has subcommands.
    let of_each =
        commands.filter(|name| !["", "help", "config"].contains(name)).map(|name| vec![name, "--help"]);
    let others = [vec!["--help"], vec!["config", "check", "--help"], vec!["config", "show", "--help"]];
    for args in of_each.chain(others) {
        let output = causeway(&args);
        let help = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0));
        assert!(help.contains("Exit codes:"), "{args:?}: {help}");
        let examples = help.lines().map(str::trim_start).filter(|line| line.starts_with("causeway "));
        for (_, at) in examples.filter_map(|example| example.split_once(" --management ")) {
            // Other hosts have no API without TLS.
            assert!(at.starts_with("https://") && at.contains(" --ca "), "{args:?}: {at}");
        }
    }
    assert!(
        text(&causeway(&["run", "--help"]).stdout).contains("causeway run --config /etc/causeway/upf.yaml")
    );
    let help = causeway(&["run", "--help"]);
    assert!(text(&help.stdout).contains("SIGHUP reloads the configuration: "), "in one line");
    for variable in ["CAUSEWAY_CONFIG", "CAUSEWAY_LOG_LEVEL", "CAUSEWAY_PFCP_ADDRESS", "CAUSEWAY_SMF_ADDRESS"]
    {
        assert!(text(&help.stdout).contains(variable), "{variable}");
    }
}

#[test]
fn a_wrong_command_line_exits_with_2() {
    for args in [&[][..], &["fly"], &["run", "--wings"], &["config", "check", "--config"]] {
        let output = causeway(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(!output.stderr.is_empty(), "{args:?}");
    }
}

// Input:  a file with one value, a variable and a flag over it.
// Output: the effective configuration on standard output, `ok` on standard error, 0; the output is a file
//         that gives the same output again.
#[test]
fn config_check_prints_the_effective_configuration() {
    let path = file("good.yaml", "upf:\n  max_sessions: 7\n  max_pdrs_per_session: 5\n");
    let output = Command::new(env!("CARGO_BIN_EXE_causeway"))
        .args([
            "config",
            "check",
            "--config",
            path.to_str().unwrap(),
            "--log-level",
            "warn",
            "--set",
            "upf.offload=false",
        ])
        .env("CAUSEWAY_MAX_SESSIONS", "8")
        .env("CAUSEWAY__UPF__SESSION__0__SUBNET", "10.60.0.0/16")
        .env("CAUSEWAY_LOG_LEVEL", "trace")
        .output()
        .unwrap();
    let effective = text(&output.stdout);
    assert_eq!((text(&output.stderr), output.status.code()), ("ok\n", Some(0)));
    for line in [
        "  level: warn",
        "  max_sessions: 8",
        "  max_pdrs_per_session: 5",
        "      port: 8805",
        "  offload: false",
        "  - subnet: 10.60.0.0/16",
    ] {
        assert!(effective.lines().any(|l| l == line), "{line} is not in\n{effective}");
    }
    let again = file("effective.yaml", effective);
    let output = causeway(&["config", "check", "--config", again.to_str().unwrap()]);
    assert_eq!(text(&output.stdout), effective);
}

// Input:  a file with a misspelt key, checked and run.
// Output: one line with file, line, key and cure; 1 from the check, 2 from the run; nothing on standard output.
#[test]
fn a_wrong_configuration_is_one_line() {
    let path = file("bad.yaml", "upf:\n  gtpu:\n    serve: []\n");
    let path = path.to_str().unwrap();
    let expected = format!("{path}:3: upf.gtpu.serve: unknown key, did you mean `server`?\n");
    for (args, code) in [(&["config", "check", "-c", path][..], 1), (&["run", "-c", path], 2)] {
        let output = causeway(args);
        assert_eq!(text(&output.stderr), expected);
        assert_eq!((text(&output.stdout), output.status.code()), ("", Some(code)), "{args:?}");
    }
}

#[test]
fn config_keys_lists_every_key_with_its_default() {
    let output = causeway(&["config", "keys"]);
    let listed = text(&output.stdout);
    assert_eq!(listed.lines().count(), causeway_upf::config::KEYS.len());
    assert!(listed.contains("upf.gtpu.server[].port"));
    assert!(listed.contains("[2152]"));
    let output = causeway(&["config", "keys", "-o", "json"]);
    let keys: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(keys.len(), causeway_upf::config::KEYS.len());
    assert_eq!(keys[0]["path"], "logger.level");
}

#[test]
fn config_schema_prints_a_json_schema() {
    let output = causeway(&["config", "schema"]);
    let schema: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let port = &schema["properties"]["upf"]["properties"]["pfcp"]["properties"]["server"]["items"]["properties"]
        ["port"];
    assert_eq!((&port["default"], &port["maximum"]), (&8805.into(), &65_535.into()));
}

// Input:  a reader that closes its end at once.
// Output: no panic.
#[test]
fn a_closed_pipe_is_no_panic() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_causeway"))
        .args(["config", "keys"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)));
}

// Input:  the completion script of each shell.
// Output: a script that knows subcommands and their options.
#[test]
fn shells_complete_the_command_line() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = causeway(&["completion", shell]);
        assert_eq!(output.status.code(), Some(0), "{shell}");
        for part in ["sessions", "user-id", "switch-model"] {
            assert!(text(&output.stdout).contains(part), "{shell}: {part}");
        }
    }
}

// Input:  the manual pages, all into a folder, one of them printed, and one that does not exist.
// Output: a page for each subcommand; the same page; an error.
#[test]
fn each_subcommand_has_a_manual_page() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("man-{}", std::process::id()));
    assert_eq!(causeway(&["man", "--out", folder.to_str().unwrap()]).status.code(), Some(0));
    for name in ["", "-run", "-config", "-config-show", "-session", "-man"] {
        let page = std::fs::read_to_string(folder.join(format!("causeway{name}.1"))).unwrap();
        assert!(
            page.contains(".SH NAME") && page.contains("Exit codes:") == (name != "-config"),
            "{name}: {page}"
        );
        let path: Vec<&str> = name.split('-').filter(|part| !part.is_empty()).collect();
        let printed = causeway(&[&["man"], &path[..]].concat());
        assert_eq!(text(&printed.stdout), page, "{name}");
    }
    let output = causeway(&["man", "fly"]);
    assert_eq!(text(&output.stderr), "there is no subcommand `fly`; see `causeway help`\n");
    assert_eq!(output.status.code(), Some(1));
}

//! Each way a configuration can be wrong, and the exact line that says so.

mod contradictions;
mod values;

use std::path::Path;

use causeway_upf::config::{Config, Overrides};

/// The errors of a file named `upf.yaml`, one a line.
fn errors(text: &str, overrides: &Overrides) -> String {
    match Config::parse(Some(Path::new("upf.yaml")), text, overrides) {
        Ok(_) => "no error".into(),
        Err(errors) => errors.to_string(),
    }
}

fn assert_error(text: &str, expected: &str) {
    assert_eq!(errors(text, &Overrides::default()), expected, "\n--- of\n{text}");
}

// Input:  keys that do not exist: misspelt, in the wrong case, of another UPF, and far from any.
// Output: file, line, key, and what would be right.
#[test]
fn unknown_keys() {
    assert_error(
        "upf:\n  gtpu:\n    serve:\n      - address: 127.0.0.7\n",
        "upf.yaml:3: upf.gtpu.serve: unknown key, did you mean `server`?",
    );
    assert_error("UPF: 1\n", "upf.yaml:1: UPF: unknown key, did you mean `upf`?");
    assert_error(
        "upf:\n  session:\n    - subnet: 10.45.0.0/16\n    - subnet: 10.46.0.0/16\n      gatway: 10.46.0.1\n",
        "upf.yaml:5: upf.session[1].gatway: unknown key, did you mean `gateway`?",
    );
    assert_error(
        "logger:\n  file:\n    path: /var/log/upf.log\n",
        "upf.yaml:2: logger.file: unknown key, Causeway logs to standard error: use the log of the service manager",
    );
    assert_error(
        "global:\n  max:\n    ue: 1024\n",
        "upf.yaml:1: global: unknown key, set upf.max_sessions instead of global.max.ue",
    );
    assert_error(
        "logger:\n  colour: red\n",
        "upf.yaml:2: logger.colour: unknown key, known here: level, format",
    );
}

// Input:  a list where a group belongs, a group where a list belongs, a value where a group belongs.
// Output: what is expected and what was found.
#[test]
fn wrong_kinds() {
    assert_error("- a\n", "upf.yaml:1: expected a group of keys, found a list");
    assert_error("upf: 1\n", "upf.yaml:1: upf: expected a group of keys, found a single value");
    assert_error(
        "upf:\n  pfcp:\n    server:\n      address: 127.0.0.7\n",
        "upf.yaml:4: upf.pfcp.server: expected a list of `- ` items, found a group of keys",
    );
    assert_error(
        "logger:\n  level:\n    - info\n",
        "upf.yaml:3: logger.level: expected a single value, found a list",
    );
}

// Input:  items without what they are about.
// Output: what to give.
#[test]
fn missing_keys() {
    assert_error(
        "upf:\n  session:\n    - dnn: internet\n",
        "upf.yaml:3: upf.session[0].subnet: missing: give the prefix of the UE addresses, for example 10.45.0.0/16",
    );
    assert_error(
        "upf:\n  gtpu:\n    server:\n      - port: 2152\n",
        "upf.yaml:4: upf.gtpu.server[0].address: missing: give the `address` of the socket, or the `dev` that has it",
    );
    assert_error(
        "upf:\n  pfcp:\n    server: []\n",
        "upf.yaml:3: upf.pfcp.server: missing: give an address at which SMFs reach the UPF",
    );
    assert_error(
        "upf:\n  gtpu:\n    mode: tpacket\n    server:\n      - address: 192.0.2.1\n",
        "upf.yaml:5: upf.gtpu.server[0].dev: missing: mode tpacket needs the interface of the address",
    );
}

// Input:  text that is not the one YAML document a configuration is.
// Output: the line and the reason.
#[test]
fn not_a_configuration_at_all() {
    assert_error("a: 1\na: 2\n", "upf.yaml:2: `a` is given twice, first in line 1: remove one");
    assert_error(
        "upf: &anchor 1\n",
        "upf.yaml:1: anchors, aliases and tags have no meaning here: write the value out",
    );
    assert_error(
        "{}\n---\n{}\n",
        "upf.yaml:2: a second document begins here: one file holds one configuration",
    );
    assert!(errors("upf: [\n", &Overrides::default()).contains(": not YAML: "));
}

// Input:  a wrong flag, and a flag that contradicts the file.
// Output: the flag is named instead of a line.
#[test]
fn wrong_flags() {
    let overrides = Overrides { log_level: Some("loud".into()), ..Overrides::default() };
    assert_eq!(
        errors("", &overrides),
        "--log-level (CAUSEWAY_LOG_LEVEL): logger.level: `loud` is not one of info, error, warn, debug, trace"
    );
    let overrides = Overrides { pfcp_address: vec!["127.0.0.7:2152".into()], ..Overrides::default() };
    assert_eq!(
        errors("upf:\n  gtpu:\n    server:\n      - address: 127.0.0.7\n", &overrides),
        "upf.yaml:4: upf.gtpu.server[0].address: 127.0.0.7:2152 is given twice, first as upf.pfcp.server[0].address"
    );
    let overrides = Overrides { smf_address: vec!["2001:db8::5".into()], ..Overrides::default() };
    assert_eq!(
        errors("", &overrides),
        "--smf-address (CAUSEWAY_SMF_ADDRESS): upf.pfcp.client.smf[0].address: 2001:db8::5 is IPv6, but no \
         upf.pfcp.server has an IPv6 address: add one"
    );
}

// Input:  three mistakes in one file.
// Output: three lines, in the order of the file.
#[test]
fn every_mistake_is_told_at_once() {
    assert_error(
        "logger:\n  level: loud\n  levle: info\nupf:\n  max_sessions: many\n",
        "upf.yaml:2: logger.level: `loud` is not one of info, error, warn, debug, trace\n\
         upf.yaml:3: logger.levle: unknown key, did you mean `level`?\n\
         upf.yaml:5: upf.max_sessions: `many` is not a whole number from 1 to 20000000",
    );
}

// Input:  a file that is not there, and one that is no text.
// Output: the file and the reason.
#[test]
fn files_that_cannot_be_read() {
    let error = Config::load(Some(Path::new("/nonexistent/upf.yaml")), &Overrides::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "/nonexistent/upf.yaml: cannot read the configuration: No such file or directory (os error 2)"
    );
    let endless = Config::load(Some(Path::new("/dev/zero")), &Overrides::default()).unwrap_err();
    assert_eq!(endless.to_string(), "/dev/zero: a device, not a file: give a regular file");
}

proptest::proptest! {
    // Input:  the sample file with octets replaced, left out and repeated at random.
    // Output: a configuration or errors, each one line with a place; never a panic.
    #[test]
    fn a_damaged_file_never_panics(
        edits in proptest::collection::vec((0_usize..3000, 0_u8..3, proptest::prelude::any::<u8>()), 0..20),
    ) {
        let mut octets = include_bytes!("../../../../../../packaging/upf.yaml").to_vec();
        for (at, what, with) in edits {
            let at = at % octets.len();
            match what {
                0 => octets[at] = with,
                1 => drop(octets.remove(at)),
                _ => octets.insert(at, octets[at]),
            }
        }
        let text = String::from_utf8_lossy(&octets);
        if let Err(errors) = Config::parse(Some(Path::new("upf.yaml")), &text, &Overrides::default()) {
            for error in &errors.0 {
                proptest::prop_assert!(error.to_string().starts_with("upf.yaml:"), "{}", error);
            }
        }
    }
}

//! The JSON Schema and the reference agree with what is read.

use std::path::Path;

use causeway_upf::config::{KEYS, reference, schema};
use jsonschema::Validator;
use serde_json::Value;

use super::values::OTHER_VALUES;
use super::{INTEROP, SAMPLE, load, uncommented, with_value};

/// Values of many kinds. None of them means the same with quotes and without in YAML.
const VALUES: &[&str] = &[
    "true",
    "false",
    "0",
    "1",
    "7",
    "80",
    "65535",
    "65536",
    "16777215",
    "99999999999",
    "-1",
    "1.5",
    "loud",
    "500ms",
    "10s",
    "2m",
    "650us",
    "64KiB",
    "256MiB",
    "20Mbps",
    "1 Gbps",
    "5000pps",
    "192.0.2.1",
    "192.0.2.1:80",
    "10.45.0.0/16",
    "02:00:5e:00:53:01",
    "info",
    "udp",
    "af_xdp",
    "on",
    "off",
    "auto",
    "any",
    "all",
];

fn validator() -> Validator {
    jsonschema::validator_for(&schema()).unwrap()
}

fn json(yaml: &str) -> Value {
    serde_yaml_ng::from_str(yaml).unwrap()
}

/// The file of a key and a value, without quotes if YAML permits that.
fn unquoted(path: &str, value: &str) -> String {
    let quoted = with_value(path, value);
    let text = quoted.replace(&format!("\"{value}\""), value);
    if serde_yaml_ng::from_str::<Value>(&text).is_ok() { text } else { quoted }
}

// Input:  the sample, as it is and with everything that is commented out; the file of the tests with third-party clients.
// Output: the schema accepts them.
#[test]
fn the_schema_accepts_the_samples() {
    let validator = validator();
    for file in [SAMPLE, INTEROP, &uncommented(SAMPLE)] {
        let errors: Vec<String> = validator
            .iter_errors(&json(file))
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert_eq!(errors, Vec::<String>::new());
    }
}

// Input:  each key with its value in the test of keys, and with values of many kinds.
// Output: what is read, the schema accepts; of numbers, flags and words it also refuses what is not read.
#[test]
fn the_schema_accepts_what_is_read() {
    let validator = validator();
    let others = OTHER_VALUES.iter().filter(|(_, value)| !value.contains(['[', ',', '\n', '#']));
    let all = KEYS.iter().flat_map(|key| VALUES.iter().map(|value| (key.path, *value)));
    let mut refused = 0;
    for (path, value) in others.copied().chain(all) {
        let text = unquoted(path, value);
        let is_wrong = load(&text).is_err_and(|errors| {
            errors
                .lines()
                .any(|line| line.contains(&format!(": `{value}` is not ")) || line.contains("is no "))
        });
        let is_valid = validator.is_valid(&json(&text));
        refused += usize::from(!is_valid);
        assert!(
            is_valid || is_wrong,
            "{text}: {:?}",
            validator.validate(&json(&text)).map_err(|e| e.to_string())
        );
    }
    assert!(refused > KEYS.len() * VALUES.len() / 4, "{refused} values were refused");
}

// Input:  keys that do not exist, values instead of groups, numbers out of range, words that are none.
// Output: the schema refuses them.
#[test]
fn the_schema_refuses_what_is_wrong() {
    let validator = validator();
    for text in [
        "{upf: {max_session: 1}}",
        "{upf: 1}",
        "{upf: {session: {subnet: 10.45.0.0/16}}}",
        "{upf: {session: [{subnet: 10.45.0.0/16, gatway: 10.45.0.1}]}}",
        "{upf: {max_sessions: 0}}",
        "{upf: {pfcp: {server: [{address: 192.0.2.1, port: 65536}]}}}",
        "{logger: {level: loud}}",
        "{upf: {offload: perhaps}}",
        "{upf: {buffering: {time: 1 day}}}",
    ] {
        assert!(!validator.is_valid(&json(text)), "{text}");
        assert!(load(text).is_err(), "{text}");
    }
}

// Input:  docs/configuration.md.
// Output: it is the reference of the keys. With CAUSEWAY_RECORD=1 it is written anew.
#[test]
fn the_reference_is_that_of_the_keys() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/configuration.md");
    if std::env::var_os("CAUSEWAY_RECORD").is_some() {
        std::fs::write(&path, reference()).unwrap();
    } else {
        assert_eq!(std::fs::read_to_string(&path).unwrap(), reference(), "CAUSEWAY_RECORD=1 writes it anew");
    }
}

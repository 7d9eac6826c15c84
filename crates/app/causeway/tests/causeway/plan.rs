//! `causeway plan` as a shell sees it.

use std::path::PathBuf;
use std::process::{Command, Output};

fn plan(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_causeway")).arg("plan").args(args).output().unwrap()
}

fn text(octets: &[u8]) -> &str {
    std::str::from_utf8(octets).unwrap()
}

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("plan-{}-{name}", std::process::id()))
}

// Input:  no options.
// Output: the largest population of the default program, the map of its twelve stages, 0.
#[test]
fn it_says_how_many_ues_fit() {
    let output = plan(&[]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(said.starts_with("hip4 on tofino1 at 1:50\nlargest: "), "{said}");
    assert!(said.contains("accounting_egress") && said.contains("of all 12 stages: "), "{said}");
}

// Input:  few UEs, and far too many, with reasons.
// Output: fit and 0; do not fit and 1, with the tables that have no place and what their stages lack.
#[test]
fn it_says_what_does_not_fit() {
    let output = plan(&["--ues", "50000"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        text(&output.stdout)
            .contains("\nfit: 50,000 UEs, 49,020 simple (2,048 of them N9) and 980 complex\n")
    );
    let output = plan(&["--ues", "400000", "--why"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains("\ndo not fit: 400,000 UEs") && said.contains("and 12 there; without a place: "),
        "{said}"
    );
    assert!(
        said.contains("is cut: ") && said.contains(" needed, ") && said.contains("(there is no such stage)")
    );
}

// Input:  sizes of two tables.
// Output: whether they fit, by the exit code too.
#[test]
fn it_answers_for_sizes() {
    let small = plan(&["--profile", "baseline", "--ues", "40000", "--sizes", "far=50000,meter_lookup=1000"]);
    assert_eq!(small.status.code(), Some(0));
    assert!(text(&small.stdout).contains("\nthese sizes fit"));
    let large = plan(&["--profile", "baseline", "--ues", "40000", "--sizes", "far=500000"]);
    assert_eq!(large.status.code(), Some(1));
    assert!(text(&large.stdout).contains("\nthese sizes do not fit: "));
}

// Input:  files for the picture and for machines.
// Output: an SVG with the table's names; JSON with the answer and every stage.
#[test]
fn it_draws_and_writes_json() {
    let (picture, data) = (file("map.svg"), file("map.json"));
    let output = plan(&[
        "--profile",
        "direct",
        "--ratio",
        "1:20",
        "--svg",
        picture.to_str().unwrap(),
        "--json",
        data.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let picture = std::fs::read_to_string(picture).unwrap();
    assert!(
        picture.starts_with("<svg ") && picture.ends_with("</svg>\n") && picture.contains("counters_egress")
    );
    let data: serde_json::Value = serde_json::from_slice(&std::fs::read(data).unwrap()).unwrap();
    assert_eq!((&data["target"], &data["fits"]), (&"tofino1".into(), &true.into()));
    assert_eq!(data["program"]["profile"], "direct");
    assert!(data["population"]["simple"].as_u64().unwrap() > 100_000);
    assert!(data["stages"].as_array().unwrap().len() <= 12);
}

// Input:  questions that make no sense.
// Output: 2, and what is possible instead.
#[test]
fn a_wrong_question_exits_with_2() {
    let cases: [(&[&str], &str); 8] = [
        (&["--ratio", "1:0"], "such as 1:50"),
        (&["--profile", "hip5"], "possible values: baseline, red, red-spt, hip4, direct"),
        (&["--partitions", "3"], "1..=2"),
        (&["--ues", "100"], "more than 2,048"),
        (&["--sizes", "far"], "such as far=4096"),
        (&["--sizes", "nothing=5"], "there is no table `nothing`; there are gtpu_control, "),
        (&["--profile", "baseline", "--filters", "shared"], "its PDR tables are not split"),
        (&["--profile", "direct", "--partitions", "2"], "need no partitions"),
    ];
    for (args, hint) in cases {
        let output = plan(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(hint), "{args:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}

// Input:  a size that a table by index cannot have, and a folder that is not there.
// Output: 1, and the table or file by name.
#[test]
fn what_cannot_be_done_is_named() {
    let output = plan(&["--profile", "direct", "--sizes", "dl_from_n6_simple_1=70000"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("table `dl_from_n6_simple_1` is not possible: addressed by 16 bits")
    );
    let output = plan(&["--svg", "/there/is/no/such/folder.svg"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("write /there/is/no/such/folder.svg: "));
}

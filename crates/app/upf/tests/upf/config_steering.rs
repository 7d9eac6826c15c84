//! Forwarding policies and tunnels over N6 that are configured wrongly, and the exact line that says so.

use std::path::Path;

use causeway_upf::config::{Config, Overrides};

fn assert_error(text: &str, expected: &str) {
    let found = match Config::parse(Some(Path::new("upf.yaml")), text, &Overrides::default()) {
        Ok(_) => "no error".into(),
        Err(errors) => errors.to_string(),
    };
    assert_eq!(found, expected, "\n--- of\n{text}");
}

// Input:  policies without a name, with one name twice, for an unknown network, and with values that are none.
// Output: the key, the value, and what would be right.
#[test]
fn policies() {
    let of = |item: &str| format!("upf:\n  forwarding_policy:\n    - {item}\n");
    assert_error(
        &of("drop: true"),
        "upf.yaml:3: upf.forwarding_policy[0].name: missing: give the Forwarding Policy Identifier that SMFs send",
    );
    assert_error(
        "upf:\n  forwarding_policy:\n    - name: a\n    - name: b\n    - name: a\n",
        "upf.yaml:5: upf.forwarding_policy[2].name: policy a is given twice, first as upf.forwarding_policy[0].name",
    );
    assert_error(
        &of("{name: a, dnn: ims}"),
        "upf.yaml:3: upf.forwarding_policy[0].dnn: no item of upf.session has the dnn ims",
    );
    assert_error(
        &of("{name: a, drop: maybe}"),
        "upf.yaml:3: upf.forwarding_policy[0].drop: `maybe` is not true or false",
    );
    assert_error(
        &of("{name: a, dscp: 64}"),
        "upf.yaml:3: upf.forwarding_policy[0].dscp: `64` is not a whole number from 0 to 63",
    );
    assert_error(
        &of("{name: a, redirect: nowhere}"),
        "upf.yaml:3: upf.forwarding_policy[0].redirect: `nowhere` is not a URL, an address, or address:port, for \
         example http://192.0.2.80/ or 192.0.2.80",
    );
}

// Input:  ends of tunnels without an address, with one of the UEs', and on a network that is not there.
// Output: the key, the value, and what would be right.
#[test]
fn tunnels_over_n6() {
    let of = |item: &str| format!("upf:\n  n6_tunnel:\n    - {item}\n");
    assert_error(
        &of("dnn: internet"),
        "upf.yaml:3: upf.n6_tunnel[0].address: missing: give the address to which the remote endpoints of the tunnels send",
    );
    assert_error(
        &of("address: 10.45.0.9"),
        "upf.yaml:3: upf.n6_tunnel[0].address: 10.45.0.9 is an address of the UE pool 10.45.0.0/16: give one outside",
    );
    assert_error(
        &of("{dnn: ims, address: 192.0.2.6}"),
        "upf.yaml:3: upf.n6_tunnel[0].dnn: no item of upf.session has the dnn ims",
    );
}

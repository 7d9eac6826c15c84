//! The tables of each profile.

use crate::driver::{Action, Counter, Key, MatchKind, Meter, Parameter, Program, Table};

const EXACT: MatchKind = MatchKind::Exact;
const TERNARY: MatchKind = MatchKind::Ternary;
const LPM: MatchKind = MatchKind::Lpm;

/// Keys of rules with filters, after those that name the session.
const FILTER: [(&str, u8, MatchKind); 6] = [
    ("remote_address", 32, TERNARY),
    ("protocol", 8, TERNARY),
    ("dscp", 6, TERNARY),
    ("source_port", 16, TERNARY),
    ("destination_port", 16, TERNARY),
    ("has_ports", 1, TERNARY),
];

const DECAPSULATE: [(&str, u8); 3] = [("mark", 1), ("dscp", 6), ("notify", 1)];
const ENCAPSULATE: [(&str, u8); 5] =
    [("tunnel", 32), ("qfi", 6), ("pdu_type", 4), ("dscp", 6), ("notify", 1)];
const DROP: [(&str, u8); 2] = [("reason", 8), ("notify", 1)];
const RULE: [(&str, u8); 2] = [("rule", 24), ("meter_index", 16)];

/// The tables of a profile, as far as packets can tell.
pub(super) fn program(profile: &str) -> Program {
    let mut builder = Builder::default();
    let is_split = matches!(profile, "red-spt" | "hip4");
    builder.forwarding_actions(profile);
    for (name, parameters) in [
        ("pass", &[][..]),
        ("count_pre", &[]),
        ("count_post", &[]),
        ("set_queue", &[("queue", 5)]),
        ("to_port", &[("port", 9), ("queue", 5)]),
        ("hop", &[("port", 9), ("source", 48), ("neighbour", 48)]),
        ("tunnel_hop", &[("port", 9), ("source", 48), ("neighbour", 48), ("address", 32)]),
    ] {
        builder.action(name, parameters);
    }
    builder.table(
        "source_guard",
        &[("teid", 24, TERNARY), ("source", 32, TERNARY), ("difference", 24, TERNARY)],
    );
    builder.table(
        "source_guard_ipv6",
        &[("teid", 24, TERNARY), ("source", 64, TERNARY), ("difference", 24, TERNARY)],
    );
    if is_split {
        builder.split();
    } else {
        builder.unsplit();
    }
    let rule = [("rule", 24, EXACT)];
    match profile {
        "baseline" => ["far", "meter_lookup"].iter().for_each(|name| builder.table(name, &rule)),
        "hip4" => ["ul_to_n6_template", "ul_to_n9_n3_template", "dl_template"]
            .iter()
            .for_each(|name| builder.table(name, &[("rule", 24, TERNARY)])),
        _ => {}
    }
    for name in ["pre_qos_a", "pre_qos_b", "post_qos_a", "post_qos_b"] {
        builder.table(name, &rule);
        let table = builder.program.tables.last().map(|table| table.id);
        builder.counter(&format!("{name}_usage"), 0, table);
    }
    builder.table("queue_assignment", &[("color", 8, EXACT), ("qfi", 6, EXACT)]);
    builder.table("tunnel_exact", &[("destination", 32, EXACT)]);
    builder.table("tunnel_lpm", &[("destination", 32, LPM)]);
    builder.table("network_exact", &[("destination", 32, EXACT)]);
    builder.table("network_lpm", &[("destination", 32, LPM)]);
    builder.table("network_lpm_ipv6", &[("destination", 128, LPM)]);
    builder.table("punt_ports", &[("reason", 8, EXACT)]);
    builder.counter("drops", 32, None);
    builder.counter("queue_packets", 32, None);
    builder.program.meters.push(Meter { id: 900, name: "rule_meters".to_owned(), size: 16 });
    builder.program
}

#[derive(Default)]
struct Builder {
    program: Program,
}

impl Builder {
    fn forwarding_actions(&mut self, profile: &str) {
        let in_the_rule = matches!(profile, "red" | "red-spt");
        let own: &[(&str, u8)] = if in_the_rule { &RULE } else { &[] };
        let tunnel: &[(&str, u8)] = if profile == "hip4" { &[] } else { &[("teid", 32)] };
        self.action("decapsulate", &[own, &DECAPSULATE].concat());
        self.action("encapsulate", &[own, tunnel, &ENCAPSULATE].concat());
        self.action("buffer", &[own.get(..1).unwrap_or_default(), &[("notify", 1)]].concat());
        self.action("drop", &[own.get(..1).unwrap_or_default(), &DROP].concat());
        match profile {
            "baseline" => {
                self.action("set_rule", &RULE[..1]);
                self.action("set_meter", &RULE[1..]);
            }
            "hip4" => {
                self.action("set_rule", &RULE);
                self.action("set_rule_and_tunnel", &[&RULE[..], &[("teid", 32)]].concat());
            }
            _ => {}
        }
    }

    fn split(&mut self) {
        let tunnel = [("teid", 24, EXACT), ("qfi", 6, EXACT)];
        let ternary = [("is_ipv4", 1, EXACT), ("teid", 24, EXACT), ("qfi", 6, TERNARY)];
        self.table("ul_to_n6_complex", &[&ternary[..], &FILTER].concat());
        self.table("ul_to_n9_n3_complex", &[&ternary[..], &FILTER].concat());
        ["ul_to_n6_simple", "ul_to_n9_n3_simple", "dl_from_n9_simple"]
            .iter()
            .for_each(|name| self.table(name, &tunnel));
        self.table("dl_from_n6_complex", &[&[("ue_address", 32, EXACT)][..], &FILTER].concat());
        self.table("dl_from_n6_simple", &[("ue_address", 32, EXACT)]);
        self.table("dl_from_n6_simple_ipv6", &[("ue_prefix", 64, EXACT)]);
    }

    fn unsplit(&mut self) {
        let keys = [
            &[("is_uplink", 1, EXACT), ("is_ipv4", 1, EXACT), ("teid", 24, TERNARY), ("qfi", 6, TERNARY)][..],
            &[("source_address", 32, TERNARY), ("destination_address", 32, TERNARY)],
            &FILTER[1..],
        ];
        self.table("complex", &keys.concat());
        self.table("ul_simple", &[("teid", 24, EXACT), ("qfi", 6, EXACT)]);
        self.table("dl_simple", &[("ue_address", 32, EXACT)]);
        self.table("dl_simple_ipv6", &[("ue_prefix", 64, EXACT)]);
    }

    fn table(&mut self, name: &str, keys: &[(&str, u8, MatchKind)]) {
        let key = |(name, width, kind): &(&str, u8, MatchKind)| Key {
            name: (*name).to_owned(),
            width: *width,
            kind: *kind,
        };
        let id = 1 + self.program.tables.len() as u32;
        let actions = self.program.actions.iter().map(|action| action.id).collect();
        let keys = keys.iter().map(key).collect();
        self.program.tables.push(Table {
            id,
            name: name.to_owned(),
            size: 100,
            keys,
            actions,
            is_const: false,
        });
    }

    fn action(&mut self, name: &str, parameters: &[(&str, u8)]) {
        let parameters = parameters
            .iter()
            .map(|(name, width)| Parameter { name: (*name).to_owned(), width: *width })
            .collect();
        let id = 100 + self.program.actions.len() as u32;
        self.program.actions.push(Action { id, name: name.to_owned(), parameters });
    }

    fn counter(&mut self, name: &str, size: usize, table: Option<u32>) {
        let id = 500 + self.program.counters.len() as u32;
        self.program.counters.push(Counter { id, name: name.to_owned(), size, table });
    }
}

//! A model with rules, written as each profile has them.

use causeway_types::{Span, Time};

use super::frames::{GNB, PEER, SERVER, UPF_N3, UPF_N9};
use super::program::program;
use super::{CPU, N3, N6, N9, SOFTWARE};
use crate::Count;
use crate::driver::{
    Entry, EntryKey, FieldMatch, Outcome, Parameter, Rates, Reply, Request, SwitchDriver, Update,
};
use crate::model::upf::{DropReason, Upf};
use crate::model::{Config, Model, Timing};

/// What a rule's FAR says.
#[derive(Clone, Copy)]
pub(super) enum Deed {
    Decapsulate { dscp: Option<u8> },
    Encapsulate { tunnel: [u8; 4], teid: u32, qfi: u8, pdu_type: u8, dscp: u8 },
    Buffer { notify: bool },
    Drop { reason: DropReason, notify: bool },
}

/// To the gNB, in a tunnel of QFI 9.
pub(super) fn to_gnb(teid: u32) -> Deed {
    Deed::Encapsulate { tunnel: GNB, teid, qfi: 9, pdu_type: 0, dscp: 0 }
}

pub(super) struct Bench {
    pub(super) model: Model<Upf>,
    pub(super) profile: &'static str,
    now: Time,
    rules: u32,
}

fn number(address: [u8; 4]) -> u128 {
    u32::from_be_bytes(address).into()
}

impl Bench {
    pub(super) fn new(profile: &'static str) -> Self {
        let program = program(profile);
        let local = vec![UPF_N3.into(), UPF_N9.into()];
        let upf = Upf::new(&program, CPU, local).unwrap();
        let config = Config { timing: Timing::INSTANT, cpu_port: CPU, port_rate: None, queue_room: 1 << 20 };
        let model = Model::new(program, upf, config);
        let mut bench = Self { model, profile, now: Time::from_secs(1000), rules: 0 };
        let pool = FieldMatch::Ternary { value: number([10, 45, 0, 0]), mask: 0xffff_0000 };
        let of_pool = FieldMatch::Ternary { value: 0x01_0000, mask: 0xff_0000 };
        let equal = FieldMatch::Ternary { value: 0, mask: 0xffff };
        bench.add("source_guard", &[of_pool, pool, equal], "pass", &[]);
        let without_ue = FieldMatch::Ternary { value: 0x03_0000, mask: 0xff_0000 };
        bench.add("source_guard", &[without_ue, FieldMatch::ANY, FieldMatch::ANY], "pass", &[]);
        let prefix = FieldMatch::Ternary { value: 0x2001_0db8_0045_0000, mask: 0xffff_ffff_ffff_0000 };
        bench.add("source_guard_ipv6", &[of_pool, prefix, equal], "pass", &[]);
        let macs = [("source", 0x0200_0000_0001), ("neighbour", 0x0200_0000_0002)];
        let hop = |port: u16| [("port", port.into()), macs[0], macs[1]];
        let tunnel_hop = |port: u16, own| [("port", port.into()), macs[0], macs[1], ("address", number(own))];
        bench.add("tunnel_exact", &[FieldMatch::Exact(number(GNB))], "tunnel_hop", &tunnel_hop(N3, UPF_N3));
        let peers = FieldMatch::Lpm { value: number(PEER) & !15, prefix: 28 };
        bench.add("tunnel_lpm", &[peers], "tunnel_hop", &tunnel_hop(N9, UPF_N9));
        let servers = FieldMatch::Lpm { value: number(SERVER) & !0xff, prefix: 24 };
        bench.add("network_lpm", &[servers], "hop", &hop(N6));
        bench.add("network_lpm_ipv6", &[FieldMatch::Lpm { value: 0, prefix: 0 }], "hop", &hop(N6));
        let software = [("port", SOFTWARE.into()), ("queue", 0)];
        bench.add("punt_ports", &[FieldMatch::Exact(2)], "to_port", &software);
        bench
    }

    /// Writes an entry; ternary ones with priority 1.
    fn add(&mut self, table: &str, fields: &[FieldMatch], action: &str, parameters: &[(&str, u128)]) {
        self.add_at(table, fields, 1, action, parameters);
    }

    fn add_at(
        &mut self,
        table: &str,
        fields: &[FieldMatch],
        priority: i32,
        action: &str,
        parameters: &[(&str, u128)],
    ) {
        let program = self.model.state().program().clone();
        let table = program.table_named(table).unwrap();
        let action = program.actions.iter().find(|known| known.name == action).unwrap();
        let value = |wanted: &Parameter| {
            parameters.iter().find(|(name, _)| *name == wanted.name).map_or(0, |found| found.1)
        };
        let priority = if table.has_priority() { priority } else { 0 };
        let key = EntryKey { table: table.id, fields: fields.to_vec(), priority };
        let entry =
            Entry { key, action: action.id, parameters: action.parameters.iter().map(value).collect() };
        self.write(Update::Insert(entry));
    }

    pub(super) fn write(&mut self, update: Update) {
        self.model.submit(self.now, Request::Write(vec![update]));
        let outcome: Option<Outcome> = self.model.poll(self.now).map(|(_, outcome)| outcome);
        assert_eq!(outcome, Some(Ok(Reply::Done)));
    }

    /// A rule for a tunnel and QFI; returns its number.
    pub(super) fn uplink(&mut self, teid: u32, qfi: u8, meter: u16, deed: Deed) -> u32 {
        let fields = [FieldMatch::Exact(teid.into()), FieldMatch::Exact(qfi.into())];
        let table = match deed {
            _ if !self.is_split() => "ul_simple",
            Deed::Encapsulate { .. } => "ul_to_n9_n3_simple",
            _ => "ul_to_n6_simple",
        };
        self.rule(table, &fields, 1, meter, deed)
    }

    /// A rule for a UE's address.
    pub(super) fn downlink(&mut self, ue: [u8; 4], deed: Deed) -> u32 {
        let table = if self.is_split() { "dl_from_n6_simple" } else { "dl_simple" };
        self.rule(table, &[FieldMatch::Exact(number(ue))], 1, 0, deed)
    }

    /// A rule for the prefix of a UE's addresses.
    pub(super) fn downlink_ipv6(&mut self, prefix: u64, deed: Deed) -> u32 {
        let table = if self.is_split() { "dl_from_n6_simple_ipv6" } else { "dl_simple_ipv6" };
        self.rule(table, &[FieldMatch::Exact(prefix.into())], 1, 0, deed)
    }

    /// A rule for packets of a tunnel to a server's port; all rules of the tunnel stand in one table.
    pub(super) fn uplink_filtered(
        &mut self,
        teid: u32,
        to: Option<[u8; 4]>,
        port: Option<u16>,
        priority: i32,
        deed: Deed,
    ) {
        let exactly = |value: u128, width: u32| FieldMatch::Ternary { value, mask: (1 << width) - 1 };
        let address = to.map_or(FieldMatch::ANY, |to| exactly(number(to), 32));
        let has_ports = if port.is_some() { exactly(1, 1) } else { FieldMatch::ANY };
        let port = port.map_or(FieldMatch::ANY, |port| exactly(port.into(), 16));
        let any = FieldMatch::ANY;
        let (yes, qfi) = (FieldMatch::Exact(1), exactly(1, 6));
        if self.is_split() {
            let teid = FieldMatch::Exact(teid.into());
            let fields = [yes, teid, qfi, address, any, any, any, port, has_ports];
            self.rule("ul_to_n9_n3_complex", &fields, priority, 0, deed);
        } else {
            let teid = exactly(teid.into(), 24);
            let fields = [yes, yes, teid, qfi, any, address, any, any, any, port, has_ports];
            self.rule("complex", &fields, priority, 0, deed);
        }
    }

    /// Writes a rule as the profile has it: in one entry, or with its forwarding data elsewhere. Rules that forward are counted.
    fn rule(&mut self, table: &str, fields: &[FieldMatch], priority: i32, meter: u16, deed: Deed) -> u32 {
        self.rules += 1;
        let rule = self.rules;
        let (action, mut parameters) = said(deed);
        let teid = if let Deed::Encapsulate { teid, .. } = deed { teid } else { 0 };
        let own = [("rule", rule.into()), ("meter_index", meter.into()), ("teid", teid.into())];
        parameters.extend(own);
        match self.profile {
            "baseline" => {
                self.add_at(table, fields, priority, "set_rule", &own);
                let key = [FieldMatch::Exact(rule.into())];
                self.add("far", &key, action, &parameters);
                self.add("meter_lookup", &key, "set_meter", &own);
            }
            "hip4" => {
                let set = if table.ends_with("n6_simple") && table.starts_with("ul") {
                    "set_rule"
                } else {
                    "set_rule_and_tunnel"
                };
                self.add_at(table, fields, priority, set, &own);
                let template = match (table.starts_with("dl"), deed) {
                    (true, _) => "dl_template",
                    (false, Deed::Encapsulate { .. }) => "ul_to_n9_n3_template",
                    (false, _) => "ul_to_n6_template",
                };
                let key = [FieldMatch::Ternary { value: rule.into(), mask: 0xff_ffff }];
                self.add(template, &key, action, &parameters);
            }
            _ => self.add_at(table, fields, priority, action, &parameters),
        }
        if matches!(deed, Deed::Decapsulate { .. } | Deed::Encapsulate { .. }) {
            let key = [FieldMatch::Exact(rule.into())];
            let partition = if rule.is_multiple_of(2) {
                ["pre_qos_a", "post_qos_b"]
            } else {
                ["pre_qos_b", "post_qos_a"]
            };
            self.add(partition[0], &key, "count_pre", &[]);
            self.add(partition[1], &key, "count_post", &[]);
        }
        rule
    }

    fn is_split(&self) -> bool {
        matches!(self.profile, "red-spt" | "hip4")
    }

    /// Sends a frame; returns what leaves, by which ports.
    pub(super) fn send(&mut self, port: u16, frame: &[u8]) -> Vec<(u16, Vec<u8>)> {
        self.now = self.now + Span::from_millis(1);
        if port == CPU {
            self.model.submit(self.now, Request::PacketOut(frame.to_vec()));
        } else {
            self.model.receive(self.now, port, frame);
        }
        while self.model.poll(self.now).is_some() {}
        let mut left: Vec<(u16, Vec<u8>)> =
            std::iter::from_fn(|| self.model.poll_sent()).map(|(_, port, frame)| (port, frame)).collect();
        left.extend(std::iter::from_fn(|| self.model.poll_packet(self.now)).map(|frame| (CPU, frame)));
        left
    }

    /// Sends a frame; returns the one that leaves, by this port.
    pub(super) fn expect(&mut self, port: u16, frame: &[u8], by: u16) -> Vec<u8> {
        let mut left = self.send(port, frame);
        assert_eq!(left.iter().map(|(port, _)| *port).collect::<Vec<_>>(), [by], "{}", self.profile);
        left.remove(0).1
    }

    /// Sends a frame that is dropped for this reason.
    pub(super) fn expect_drop(&mut self, port: u16, frame: &[u8], reason: DropReason) {
        let before = self.counted("drops", reason as u32);
        assert_eq!(self.send(port, frame), [], "{} {reason:?}", self.profile);
        assert_eq!(self.counted("drops", reason as u32), before + 1, "{} {reason:?}", self.profile);
    }

    /// Packets of a counter by index.
    pub(super) fn counted(&self, counter: &str, index: u32) -> u64 {
        let program = self.model.state().program();
        let counter = program.counters.iter().find(|known| known.name == counter).unwrap();
        self.model.state().indexed_count(counter.id, index).unwrap().packets
    }

    /// What was counted for a rule before and after QoS enforcement.
    pub(super) fn usage(&self, rule: u32) -> [Count; 2] {
        let state = self.model.state();
        let count = |table: &str| {
            let table = state.program().table_named(table).unwrap().id;
            let fields = vec![FieldMatch::Exact(rule.into())];
            state.direct_count(&EntryKey { table, fields, priority: 0 })
        };
        [["pre_qos_a", "pre_qos_b"], ["post_qos_a", "post_qos_b"]]
            .map(|tables| tables.into_iter().find_map(count).unwrap())
    }

    pub(super) fn set_meter(&mut self, index: u32, rates: Rates) {
        let meter = self.model.state().program().meters[0].id;
        self.write(Update::SetMeter { meter, index, rates: Some(rates) });
    }

    pub(super) fn set_queue(&mut self, colour: u8, qfi: u8, queue: u8) {
        let fields = [FieldMatch::Exact(colour.into()), FieldMatch::Exact(qfi.into())];
        self.add("queue_assignment", &fields, "set_queue", &[("queue", queue.into())]);
    }
}

/// An action with its parameters.
fn said(deed: Deed) -> (&'static str, Vec<(&'static str, u128)>) {
    match deed {
        Deed::Decapsulate { dscp } => {
            ("decapsulate", vec![("mark", dscp.is_some().into()), ("dscp", dscp.unwrap_or(0).into())])
        }
        Deed::Encapsulate { tunnel, qfi, pdu_type, dscp, .. } => {
            let parameters = [
                ("tunnel", number(tunnel)),
                ("qfi", qfi.into()),
                ("pdu_type", pdu_type.into()),
                ("dscp", dscp.into()),
            ];
            ("encapsulate", parameters.to_vec())
        }
        Deed::Buffer { notify } => ("buffer", vec![("notify", notify.into())]),
        Deed::Drop { reason, notify } => {
            ("drop", vec![("reason", reason as u128), ("notify", notify.into())])
        }
    }
}

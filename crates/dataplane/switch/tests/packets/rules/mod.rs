//! The same rules in each profile's tables.

mod direct;
mod filter;
mod own;

use std::net::IpAddr;

use causeway_switch::driver::{EntryKey, FieldMatch};

use crate::bench::{Bench, Named, Usage, exactly, number};
use crate::frames::GNB;
pub(crate) use direct::{Session, Simple};
pub(crate) use filter::Filter;
use filter::address;
use own::{own_downlink, own_uplink};

/// What a rule's FAR and QER ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RuleAction {
    Decapsulate { dscp: Option<u8>, notify: bool },
    Encapsulate { tunnel: IpAddr, teid: u32, kind: (u8, u8), dscp: u8, notify: bool },
    Buffer { notify: bool },
    Drop { reason: &'static str, notify: bool },
}

pub(crate) const TO_N6: RuleAction = RuleAction::Decapsulate { dscp: None, notify: false };

/// To the gNB, as QoS flow 9.
pub(crate) fn to_gnb(teid: u32) -> RuleAction {
    to_tunnel(GNB, teid, (0, 9))
}

/// Into a tunnel, with this PDU type and QFI.
pub(crate) fn to_tunnel(tunnel: [u8; 4], teid: u32, kind: (u8, u8)) -> RuleAction {
    RuleAction::Encapsulate { tunnel: tunnel.into(), teid, kind, dscp: 0, notify: false }
}

/// A rule with its counters.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) id: u32,
    counters: Counters,
}

#[derive(Clone, Debug)]
enum Counters {
    None,
    Entries(Box<[EntryKey; 2]>),
    Cells([(String, u32); 2]),
}

impl RuleAction {
    fn forwards(&self) -> bool {
        matches!(self, Self::Decapsulate { .. } | Self::Encapsulate { .. })
    }

    fn teid(&self) -> u32 {
        if let Self::Encapsulate { teid, .. } = self { *teid } else { 0 }
    }

    /// Action, and its data but for what the rule itself has.
    fn said(&self, bench: &Bench) -> (&'static str, Vec<Named<u128>>) {
        match *self {
            Self::Decapsulate { dscp, notify } => {
                let dscp = [("mark", dscp.is_some().into()), ("dscp", dscp.unwrap_or(0).into())];
                ("decapsulate", [&dscp[..], &[("notify", notify.into())]].concat())
            }
            Self::Encapsulate { tunnel, kind: (pdu_type, qfi), dscp, notify, .. } => {
                let data = [
                    ("tunnel", address(tunnel)),
                    ("qfi", qfi.into()),
                    ("pdu_type", pdu_type.into()),
                    ("dscp", dscp.into()),
                    ("notify", notify.into()),
                ];
                ("encapsulate", data.to_vec())
            }
            Self::Buffer { notify } => ("buffer", vec![("notify", notify.into())]),
            Self::Drop { reason, notify } => {
                let reasons = bench.profile.contract.drop_reasons;
                let reason = reasons.iter().find(|known| known.name == reason).unwrap().value;
                ("drop", vec![("reason", reason.into()), ("notify", notify.into())])
            }
        }
    }
}

impl Bench {
    pub(crate) fn is_split(&self) -> bool {
        !matches!(self.profile.name, "baseline" | "red")
    }

    fn is_direct(&self) -> bool {
        self.profile.name == "direct"
    }

    /// PDR: this tunnel and QFI.
    pub(crate) fn uplink(&mut self, teid: u32, qfi: u8, meter: u16, action: RuleAction) -> Rule {
        let is_n9 = matches!(action, RuleAction::Encapsulate { .. });
        let template = if is_n9 { "ul_to_n9_n3_template" } else { "ul_to_n6_template" };
        let table = match (self.is_split(), is_n9) {
            (false, _) => "ul_simple",
            (true, true) => "ul_to_n9_n3_simple",
            (true, false) if self.is_direct() => {
                return self.uplink_by_index(teid, qfi, meter, action);
            }
            (true, false) => "ul_to_n6_simple",
        };
        self.rule(table, &tunnel(teid, qfi), 1, template, meter, action)
    }

    /// PDR: another QFI of a tunnel that has a rule.
    pub(crate) fn further_flow(&mut self, teid: u32, qfi: u8, action: RuleAction) -> Rule {
        if self.is_direct() {
            return self.rule("ul_to_n6_simple", &tunnel(teid, qfi), 1, "ul_to_n6_template", 0, action);
        }
        self.uplink(teid, qfi, 0, action)
    }

    /// PDR: this tunnel and QFI of another UPF, to the access.
    pub(crate) fn downlink_from_n9(&mut self, teid: u32, qfi: u8, meter: u16, action: RuleAction) -> Rule {
        let table = if self.is_split() { "dl_from_n9_simple" } else { "ul_simple" };
        self.rule(table, &tunnel(teid, qfi), 1, "dl_template", meter, action)
    }

    /// PDR: this UE address.
    pub(crate) fn downlink(&mut self, ue: [u8; 4], meter: u16, action: RuleAction) -> Rule {
        if self.is_direct() {
            return self.downlink_by_index(u32::from_be_bytes(ue) & 0xffff, meter, action);
        }
        let table = if self.is_split() { "dl_from_n6_simple" } else { "dl_simple" };
        let keys = [("ue_address", FieldMatch::Exact(number(ue)))];
        self.rule(table, &keys, 1, "dl_template", meter, action)
    }

    /// PDR: this prefix of a UE's addresses.
    pub(crate) fn downlink_ipv6(&mut self, prefix: u64, action: RuleAction) -> Rule {
        if self.is_direct() {
            return self.downlink_by_index(prefix as u32 & 0xffff, 0, action);
        }
        let table = if self.is_split() { "dl_from_n6_simple_ipv6" } else { "dl_simple_ipv6" };
        self.rule(table, &[("ue_prefix", FieldMatch::Exact(prefix.into()))], 1, "dl_template", 0, action)
    }

    /// PDR: this tunnel and QFI, and this filter. `is_mixed`: the session has such rules to N6 and to N9.
    pub(crate) fn uplink_filtered(
        &mut self,
        (teid, qfi): (u32, u8),
        filter: Filter,
        priority: i32,
        is_mixed: bool,
        action: RuleAction,
    ) -> Rule {
        let is_n9 = matches!(action, RuleAction::Encapsulate { .. });
        let template = if is_n9 { "ul_to_n9_n3_template" } else { "ul_to_n6_template" };
        let qfi_ternary = ("qfi", exactly(qfi, 6));
        if !self.is_split() {
            let mut keys = filter.keys(true, "destination_address");
            keys.extend([("is_uplink", FieldMatch::Exact(1)), filter.family()]);
            keys.extend([("teid", exactly(teid, 24)), qfi_ternary]);
            return self.rule(&filter.table("complex"), &keys, priority, template, 0, action);
        }
        if self.is_direct() {
            self.classify(Session { is_uplink: true, number: teid & 0x3_ffff });
            if self.profile.has_own_filters {
                let keys = own_uplink(teid, qfi, filter);
                let table = if is_mixed { "ul_to_n9_n3_complex" } else { "ul_to_n6_complex" };
                return self.rule(table, &keys, priority, template, 0, action);
            }
            let class = self.class("filters_ul", filter, true, priority);
            let [teid, qfi] = tunnel(teid, qfi);
            let keys = [teid, qfi, class];
            let table = if is_mixed { "ul_to_n9_n3_rules" } else { "ul_to_n6_rules" };
            return self.rule(table, &keys, 1, template, 0, action);
        }
        let mut keys = filter.keys(true, "remote_address");
        keys.extend([filter.family(), ("teid", FieldMatch::Exact(teid.into())), qfi_ternary]);
        let table = if is_mixed { "ul_to_n9_n3_complex" } else { "ul_to_n6_complex" };
        self.rule(&filter.table(table), &keys, priority, template, 0, action)
    }

    /// PDR: this UE, by its address or the prefix of its addresses, and this filter.
    pub(crate) fn downlink_filtered(
        &mut self,
        ue: u128,
        filter: Filter,
        priority: i32,
        action: RuleAction,
    ) -> Rule {
        if !self.is_split() {
            let mut keys = filter.keys(false, "source_address");
            keys.extend([("is_uplink", FieldMatch::Exact(0)), filter.family()]);
            let prefix = FieldMatch::Ternary { value: ue << 64, mask: u128::MAX << 64 };
            keys.push(("destination_address", if filter.is_ipv6 { prefix } else { exactly(ue, 32) }));
            return self.rule(&filter.table("complex"), &keys, priority, "dl_template", 0, action);
        }
        if self.is_direct() {
            let session = Session { is_uplink: false, number: ue as u32 & 0xffff | 0x41_0000 };
            self.classify(session);
            if self.profile.has_own_filters {
                let keys = own_downlink(session.number, filter);
                return self.rule("dl_from_n6_complex", &keys, priority, "dl_template", 0, action);
            }
            let class = self.class("filters_dl", filter, false, priority);
            let [number] = session.key();
            let keys = [number, class];
            return self.rule("dl_from_n6_rules", &keys, 1, "dl_template", 0, action);
        }
        let mut keys = filter.keys(false, "remote_address");
        keys.push((if filter.is_ipv6 { "ue_prefix" } else { "ue_address" }, FieldMatch::Exact(ue)));
        self.rule(&filter.table("dl_from_n6_complex"), &keys, priority, "dl_template", 0, action)
    }

    /// What a rule has counted.
    pub(crate) fn usage(&mut self, rule: &Rule) -> Usage {
        let rule = &self.moved.get(&rule.id).unwrap_or(rule).clone();
        match &rule.counters {
            Counters::None => panic!("rule {} is not counted", rule.id),
            Counters::Entries(keys) => {
                let pre = self.direct(&keys[0]);
                Usage { pre, post: self.direct_after(&keys[1], pre) }
            }
            Counters::Cells([pre, post]) => {
                let pre = self.indexed(&pre.0, pre.1);
                Usage { pre, post: self.indexed_after(&post.0, post.1, pre) }
            }
        }
    }

    /// Adds a rule with an entry of its own, its forwarding data wherever the profile keeps them.
    pub(crate) fn rule(
        &mut self,
        table: &str,
        keys: &[Named<FieldMatch>],
        priority: i32,
        template: &str,
        meter: u16,
        action: RuleAction,
    ) -> Rule {
        self.rules += 1;
        let id = if self.is_direct() { self.rules | 0x80_0000 } else { self.rules };
        let (name, mut data) = action.said(self);
        let own: [Named<u128>; 3] =
            [("rule", id.into()), ("meter_index", meter.into()), ("teid", action.teid().into())];
        match self.profile.name {
            "baseline" => {
                self.add_at(table, keys, priority, "set_rule", &own);
                let rule = [("rule", FieldMatch::Exact(id.into()))];
                data.extend(own);
                self.add("far", &rule, name, &data);
                self.add("meter_lookup", &rule, "set_meter", &own);
            }
            "red" | "red-spt" => {
                data.extend(own);
                self.add_at(table, keys, priority, name, &data);
            }
            "direct" => {
                data.extend(own);
                self.add_at(table, keys, priority, &format!("{name}_by_rule"), &data);
            }
            _ => {
                let is_to_n6 = table.starts_with("ul_to_n6");
                let set = if is_to_n6 { "set_rule" } else { "set_rule_and_tunnel" };
                self.add_at(table, keys, priority, set, &own);
                self.add(template, &[("rule", exactly(id, 24))], name, &data);
                if meter != 0 {
                    self.add("metered_rules", &[("rule", FieldMatch::Exact(id.into()))], "ask", &own);
                }
            }
        }
        self.counted(id, action)
    }

    /// Counts the usage of a rule that forwards: rules with even numbers in the other partitions than those with odd ones.
    fn counted(&mut self, id: u32, action: RuleAction) -> Rule {
        if !action.forwards() {
            return Rule { id, counters: Counters::None };
        }
        if self.is_direct() {
            let cells = ["pre_qos", "post_qos"].map(|side| self.cell(side, id));
            return Rule { id, counters: Counters::Cells(cells) };
        }
        let [pre, post] = if id.is_multiple_of(2) { ["a", "b"] } else { ["b", "a"] };
        let keys = [("rule", FieldMatch::Exact(id.into()))];
        let pre = self.add(&format!("pre_qos_{pre}"), &keys, &format!("count_pre_{pre}"), &[]);
        let post = self.add(&format!("post_qos_{post}"), &keys, &format!("count_post_{post}"), &[]);
        Rule { id, counters: Counters::Entries(Box::new([pre, post])) }
    }
}

fn tunnel(teid: u32, qfi: u8) -> [Named<FieldMatch>; 2] {
    [("teid", FieldMatch::Exact(teid.into())), ("qfi", FieldMatch::Exact(qfi.into()))]
}

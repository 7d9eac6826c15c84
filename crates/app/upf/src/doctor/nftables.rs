//! What the rules of nftables (and of iptables over it) do to packets of UEs, read from `nft -j list ruleset`.
//!
//! A match is true, false, or unknown (`None`): nothing is known of ports, protocols and named sets.

use std::net::IpAddr;

use causeway_types::IpNet;
use serde_json::Value;

/// The most chains inside each other.
const DEPTH: usize = 16;

/// Packets that the kernel forwards between a pool and other networks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forwarded<'a> {
    pub(super) subnet: IpNet,
    /// From UEs, or to them.
    pub(super) is_uplink: bool,
    /// The device of the pool.
    pub(super) dev: &'a str,
    /// The interface on the other side, if it is known.
    pub(super) other: Option<&'a str>,
    /// The devices of all pools.
    pub(super) devices: &'a [&'a str],
}

/// A rule or a policy that drops packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct DroppingRule {
    pub(super) family: String,
    pub(super) table: String,
    pub(super) chain: String,
    /// The handle of the rule; `None`: the policy of the chain.
    pub(super) handle: Option<u64>,
    /// `drops` or `rejects`.
    pub(super) does: &'static str,
}

/// What becomes of a packet.
enum Fate {
    Accepted,
    Dropped(DroppingRule),
    /// Its source address is translated.
    Translated(String),
}

/// A table, by family and name.
type Table<'a> = (&'a str, &'a str);

/// The listed rules.
pub(super) struct Ruleset(Vec<Value>);

impl Ruleset {
    /// Reads the output of `nft -j list ruleset`.
    pub(super) fn parse(json: &[u8]) -> Option<Self> {
        let mut listed: Value = serde_json::from_slice(json).ok()?;
        match listed.get_mut("nftables")?.take() {
            Value::Array(items) => Some(Self(items)),
            _ => None,
        }
    }

    /// The first rule or policy that drops these packets.
    pub(super) fn drop_of(&self, packets: Forwarded<'_>) -> Option<DroppingRule> {
        self.base_chains("forward", packets).find_map(|chain| {
            let (table, name) = (table(chain), chain["name"].as_str()?);
            match self.walk(packets, table, (name, true), DEPTH) {
                Some(Fate::Dropped(drop)) => Some(drop),
                None if chain["policy"] == "drop" => Some(dropping(table, name, None, "drops")),
                _ => None,
            }
        })
    }

    /// The table and chain that translate the source addresses of these packets.
    pub(super) fn translation_of(&self, packets: Forwarded<'_>) -> Option<String> {
        self.base_chains("postrouting", packets).filter(|chain| chain["type"] == "nat").find_map(|chain| {
            match self.walk(packets, table(chain), (chain["name"].as_str()?, true), DEPTH)? {
                Fate::Translated(place) => Some(place),
                _ => None,
            }
        })
    }

    fn base_chains(&self, hook: &str, packets: Forwarded<'_>) -> impl Iterator<Item = &Value> {
        let own = if packets.subnet.addr().is_ipv4() { "ip" } else { "ip6" };
        let chains = self.0.iter().filter_map(|item| item.get("chain"));
        chains.filter(move |chain| {
            chain["hook"] == hook && (chain["family"] == own || chain["family"] == "inet")
        })
    }

    /// Follows packets through a chain. `is_sure`: they reach it. `None`: they come to its end, or may.
    fn walk(
        &self,
        packets: Forwarded<'_>,
        of: Table<'_>,
        (chain, is_sure): (&str, bool),
        depth: usize,
    ) -> Option<Fate> {
        let depth = depth.checked_sub(1)?;
        let rules = self.0.iter().filter_map(|item| item.get("rule"));
        for rule in rules.filter(|rule| table(rule) == of && rule["chain"] == chain) {
            let mut matched = Some(true);
            for statement in rule["expr"].as_array().into_iter().flatten() {
                if let Some(condition) = statement.get("match") {
                    matched = both(matched, packets.matches(condition));
                    if matched == Some(false) {
                        break;
                    }
                    continue;
                }
                for (verdict, is_entry) in packets.verdicts(statement) {
                    let matched = both(matched, is_entry);
                    let is_sure = is_sure && matched == Some(true);
                    if let Some((does, target)) = target(verdict) {
                        let fate = self.walk(packets, of, (target, is_sure), depth);
                        if fate.is_some() || does == "goto" && matched == Some(true) {
                            return fate;
                        }
                    } else if verdict.get("return").is_some() && matched == Some(true) {
                        return None;
                    } else if let Some(fate) = packets.fate(verdict, is_sure, of, (chain, rule)) {
                        return Some(fate);
                    }
                }
            }
        }
        None
    }
}

fn table(item: &Value) -> Table<'_> {
    (item["family"].as_str().unwrap_or_default(), item["table"].as_str().unwrap_or_default())
}

fn dropping(
    (family, table): Table<'_>,
    chain: &str,
    handle: Option<u64>,
    does: &'static str,
) -> DroppingRule {
    DroppingRule { family: family.into(), table: table.into(), chain: chain.into(), handle, does }
}

/// The chain that a verdict leads to, and how.
fn target(verdict: &Value) -> Option<(&'static str, &str)> {
    ["jump", "goto"].into_iter().find_map(|does| Some((does, verdict.get(does)?["target"].as_str()?)))
}

/// Both are true, one is false, or it is unknown.
const fn both(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(true), Some(true)) => Some(true),
        (Some(false), _) | (_, Some(false)) => Some(false),
        _ => None,
    }
}

impl Forwarded<'_> {
    /// What a verdict does, if it is one that ends the way of the packets. An accepting rule that may not match lets packets to
    /// UEs pass: they are responses, of connections that the kernel knows.
    fn fate(
        self,
        verdict: &Value,
        is_sure: bool,
        of: Table<'_>,
        (chain, rule): (&str, &Value),
    ) -> Option<Fate> {
        let has = |key: &str| verdict.get(key).is_some();
        // Rules of iptables have such targets.
        let extension = verdict.get("xt").and_then(|xt| xt["name"].as_str()).unwrap_or_default();
        let dropped = |does| Fate::Dropped(dropping(of, chain, rule["handle"].as_u64(), does));
        let (family, table) = of;
        match () {
            () if has("masquerade") || has("snat") || matches!(extension, "MASQUERADE" | "SNAT") => {
                Some(Fate::Translated(format!("table {family} {table}, chain {chain}")))
            }
            () if has("accept") && (is_sure || !self.is_uplink) => Some(Fate::Accepted),
            () if has("drop") && is_sure => Some(dropped("drops")),
            () if (has("reject") || extension == "REJECT") && is_sure => Some(dropped("rejects")),
            () => None,
        }
    }

    /// The verdicts of a statement, each with whether it is for these packets; those of a map until the first that is.
    fn verdicts(self, statement: &Value) -> Vec<(&Value, Option<bool>)> {
        let Some(map) = statement.get("vmap") else { return vec![(statement, Some(true))] };
        let mut found = Vec::new();
        for entry in map["data"]["set"].as_array().into_iter().flatten() {
            let is_entry = self.is_in(&map["key"], &entry[0]);
            if is_entry != Some(false) {
                found.push((&entry[1], is_entry));
            }
            if is_entry == Some(true) {
                break;
            }
        }
        found
    }

    fn matches(self, condition: &Value) -> Option<bool> {
        let protocol = condition["left"]["payload"]["protocol"].as_str();
        let other_version = if self.subnet.addr().is_ipv4() { "ip6" } else { "ip" };
        if protocol == Some(other_version) {
            return Some(false);
        }
        let is_in = self.is_in(&condition["left"], &condition["right"]);
        match condition["op"].as_str()? {
            "==" | "in" => is_in,
            "!=" => is_in.map(|is_in| !is_in),
            _ => None,
        }
    }

    /// Whether what an expression says of these packets is one of these values.
    fn is_in(self, expression: &Value, values: &Value) -> Option<bool> {
        let (own, other) = (Some(self.dev), self.other);
        let (from, to) = if self.is_uplink { (own, other) } else { (other, own) };
        if let Some(parts) = expression["&"].as_array() {
            // UEs have no marks.
            return is_mark(parts.first()?).then(|| values.as_u64() == Some(0));
        }
        if is_mark(expression) {
            return values.as_u64().map(|value| value == 0);
        }
        if expression["ct"]["key"] == "state" {
            let state = if self.is_uplink { "new" } else { "established" };
            return words(values).map(|words| words.contains(&state));
        }
        let version = if self.subnet.addr().is_ipv4() { ["ip", "ipv4"] } else { ["ip6", "ipv6"] };
        match (expression["meta"]["key"].as_str(), expression["payload"]["field"].as_str()) {
            (Some("iifname" | "iif"), _) => self.is_named(from, values),
            (Some("oifname" | "oif"), _) => self.is_named(to, values),
            (Some("nfproto" | "protocol"), _) => {
                words(values).map(|words| words.iter().any(|word| version.contains(word)))
            }
            (_, Some("saddr")) if self.is_uplink => self.is_covered(values),
            (_, Some("daddr")) if !self.is_uplink => self.is_covered(values),
            _ => None,
        }
    }

    fn is_named(self, interface: Option<&str>, values: &Value) -> Option<bool> {
        let names = words(values)?;
        let is = |interface: &str| {
            names.iter().any(|name| match name.strip_suffix('*') {
                Some(start) => interface.starts_with(start),
                None => interface == *name,
            })
        };
        match interface {
            Some(interface) => Some(is(interface)),
            // It is none of the pools'.
            None => names.iter().all(|name| self.devices.contains(name)).then_some(false),
        }
    }

    /// Whether addresses contain the subnet.
    fn is_covered(self, values: &Value) -> Option<bool> {
        let ranges = ranges(values)?;
        let (first, last) = (self.subnet.network(), self.subnet.broadcast());
        let mut near = ranges.iter().filter(|(start, end)| *start <= last && first <= *end).peekable();
        match near.peek() {
            None => Some(false),
            Some(_) => near.any(|(start, end)| *start <= first && last <= *end).then_some(true),
        }
    }
}

fn is_mark(expression: &Value) -> bool {
    ["meta", "ct"].iter().any(|of| expression[*of]["key"] == "mark")
}

/// The words of a value, a list or a set.
fn words(values: &Value) -> Option<Vec<&str>> {
    match values {
        Value::String(word) => (!word.starts_with('@')).then(|| vec![word.as_str()]),
        Value::Array(all) => Some(all.iter().map(words).collect::<Option<Vec<_>>>()?.concat()),
        _ => words(values.get("set")?),
    }
}

/// The addresses of a value or a set, as ranges.
fn ranges(values: &Value) -> Option<Vec<(IpAddr, IpAddr)>> {
    let ip = |value: &Value| value.as_str()?.parse::<IpAddr>().ok();
    if let Some(prefix) = values.get("prefix") {
        let net = IpNet::new(ip(&prefix["addr"])?, prefix["len"].as_u64()?.try_into().ok()?).ok()?;
        return Some(vec![(net.network(), net.broadcast())]);
    }
    if let Some(range) = values.get("range") {
        return Some(vec![(ip(&range[0])?, ip(&range[1])?)]);
    }
    match values {
        Value::String(_) => ip(values).map(|ip| vec![(ip, ip)]),
        Value::Array(all) => Some(all.iter().map(ranges).collect::<Option<Vec<_>>>()?.concat()),
        _ => ranges(values.get("set")?),
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use serde_json::json;

    use super::*;

    const DEVICES: &[&str] = &["causeway0", "ims0"];

    fn packets(is_uplink: bool) -> Forwarded<'static> {
        let other = if is_uplink { Some("eth0") } else { None };
        Forwarded {
            subnet: "10.45.0.0/16".parse().unwrap(),
            is_uplink,
            dev: "causeway0",
            other,
            devices: DEVICES,
        }
    }

    fn saddr(op: &str, values: Value) -> Value {
        json!({"match": {"op": op, "left": {"payload": {"protocol": "ip", "field": "saddr"}}, "right": values}})
    }

    fn meta(op: &str, key: &str, values: Value) -> Value {
        json!({"match": {"op": op, "left": {"meta": {"key": key}}, "right": values}})
    }

    fn net(text: &str, len: u8) -> Value {
        json!({"prefix": {"addr": text, "len": len}})
    }

    fn state(values: Value) -> Value {
        json!({"match": {"op": "in", "left": {"ct": {"key": "state"}}, "right": values}})
    }

    /// Rules of chain `base` at a hook, and of chain `more`, which is no base chain.
    fn ruleset(hook: &str, policy: &str, rules: &[Value], more: &[Value]) -> Ruleset {
        let kind = if hook == "postrouting" { "nat" } else { "filter" };
        let base = json!({"family": "ip", "table": "t", "name": "base", "type": kind, "hook": hook, "policy": policy});
        let mut items = vec![json!({"metainfo": {}}), json!({"chain": base})];
        for (chain, rules) in [("base", rules), ("more", more)] {
            items.extend((1..).zip(rules).map(|(handle, expr)| {
                json!({"rule": {"family": "ip", "table": "t", "chain": chain, "handle": handle, "expr": expr}})
            }));
        }
        Ruleset::parse(json!({"nftables": items}).to_string().as_bytes()).unwrap()
    }

    // Input:  one rule each that translates source addresses, with matches of its source, its interfaces and marks.
    // Output: it translates those of the pool unless a match excludes all of it.
    #[test]
    fn a_rule_translates_the_addresses_that_it_matches() {
        let masquerade = json!({"masquerade": null});
        let mark =
            json!({"match": {"op": "==", "left": {"&": [{"meta": {"key": "mark"}}, 0xff]}, "right": 1}});
        for (conditions, is_translated) in [
            (vec![], true),
            (vec![saddr("==", net("10.45.0.0", 16))], true),
            (vec![saddr("==", net("10.0.0.0", 8)), meta("!=", "oifname", json!("causeway0"))], true),
            (
                vec![saddr(
                    "==",
                    json!({"set": [net("172.17.0.0", 16), {"range": ["10.45.0.0", "10.46.255.255"]}]}),
                )],
                true,
            ),
            (vec![saddr("==", json!("@pools"))], true),
            (vec![saddr("!=", net("192.168.0.0", 16))], true),
            (vec![meta("==", "oifname", json!("eth*"))], true),
            (vec![saddr("==", net("172.17.0.0", 16)), meta("!=", "oifname", json!("docker0"))], false),
            (vec![saddr("!=", net("10.0.0.0", 8))], false),
            (vec![meta("==", "oifname", json!({"set": ["ims0", "causeway0"]}))], false),
            (vec![meta("==", "iifname", json!("docker0"))], false),
            (vec![mark], false),
        ] {
            for last in [
                masquerade.clone(),
                json!({"snat": {"addr": "192.0.2.9"}}),
                json!({"xt": {"type": "target", "name": "MASQUERADE"}}),
            ] {
                let expr = [conditions.clone(), vec![json!({"counter": {}}), last]].concat();
                let rules = ruleset("postrouting", "accept", &[json!(expr)], &[]);
                let uplink = Forwarded { other: None, ..packets(true) };
                let found = rules.translation_of(uplink);
                let expected = is_translated.then(|| "table ip t, chain base".to_owned());
                assert_eq!(found, expected, "{expr:?}");
            }
        }
    }

    // Input:  chains of forwarded packets: policies, unconditional verdicts at the end, accepting rules before, in chains that these
    //         lead to, and as maps.
    // Output: what drops packets from UEs, and to UEs, with its place.
    #[test]
    fn what_drops_forwarded_packets_is_found() {
        let (accept, drop) = (json!({"accept": null}), json!({"drop": null}));
        let reject = json!([{"counter": {}}, {"reject": {"type": "icmpx", "expr": "admin-prohibited"}}]);
        let known = json!([state(json!(["established", "related"])), accept.clone()]);
        let jump = json!([{"jump": {"target": "more"}}]);
        let of = |policy: &str, rules: &[Value], more: &[Value]| {
            let rules = ruleset("forward", policy, rules, more);
            [true, false].map(|is_uplink| {
                let drop = rules.drop_of(packets(is_uplink))?;
                assert_eq!((&*drop.family, &*drop.table), ("ip", "t"));
                Some((drop.chain, drop.handle, drop.does))
            })
        };
        let at = |chain: &str, handle, does| Some((chain.to_owned(), handle, does));
        assert_eq!(of("accept", &[], &[]), [None, None]);
        let policy = at("base", None, "drops");
        assert_eq!(of("drop", &[], &[]), [policy.clone(), policy.clone()]);
        let rejects = at("base", Some(2), "rejects");
        assert_eq!(of("accept", &[known.clone(), reject.clone()], &[]), [rejects, None]);
        let from = json!([meta("==", "iifname", json!("causeway0")), accept.clone()]);
        let to = json!([meta("==", "oifname", json!("causeway0")), accept.clone()]);
        assert_eq!(of("drop", &[from.clone(), known.clone()], &[]), [None, None]);
        assert_eq!(of("drop", slice::from_ref(&from), &[]), [None, policy.clone()]);
        assert_eq!(of("drop", &[to], &[]), [policy.clone(), None]);
        // Rules for others, and for some packets only, drop not all.
        let some = json!([{"match": {"op": "==", "left": {"payload": {"protocol": "tcp", "field": "dport"}}, "right": 25}}, drop.clone()]);
        let others = json!([saddr("==", net("172.17.0.0", 16)), drop.clone()]);
        assert_eq!(of("accept", &[some.clone(), others], &[]), [None, None]);
        let in_more = at("more", Some(1), "drops");
        let all = json!([drop.clone()]);
        assert_eq!(of("accept", slice::from_ref(&jump), slice::from_ref(&all)), [in_more.clone(), in_more]);
        assert_eq!(of("accept", slice::from_ref(&jump), &[json!([{"return": null}]), all]), [None, None]);
        assert_eq!(of("drop", &[jump], &[from]), [None, policy]);
        let by_state = json!([{"vmap": {"key": {"ct": {"key": "state"}}, "data": {"set": [["established", accept], ["invalid", drop]]}}}]);
        assert_eq!(of("accept", &[by_state, reject], &[]), [at("base", Some(2), "rejects"), None]);
    }

    // Input:  what is no list of rules; a chain that leads to itself.
    // Output: none; an end.
    #[test]
    fn other_texts_are_no_rules() {
        assert!(Ruleset::parse(b"").is_none() && Ruleset::parse(b"{\"nftables\": 1}").is_none());
        let again = json!([{"jump": {"target": "more"}}]);
        let rules = ruleset("forward", "accept", slice::from_ref(&again), slice::from_ref(&again));
        assert_eq!(rules.drop_of(packets(true)), None);
    }
}

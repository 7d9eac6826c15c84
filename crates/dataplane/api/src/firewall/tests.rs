use causeway_packet::{Fragment, IpProtocol, Ports};

use super::*;

/// Numbers of a generator with a fixed beginning (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % limit
    }

    fn one_of<'t>(&mut self, words: &[&'t str]) -> &'t str {
        words[self.below(words.len() as u64) as usize]
    }

    /// One end of a rule, of one IP version.
    fn end(&mut self, is_v6: bool) -> String {
        let n = self.below(256);
        let address = match (self.below(4), is_v6) {
            (0, _) => "any".to_owned(),
            (1, false) => format!("10.{}.0.0/{}", n % 4, 8 + self.below(25)),
            (_, false) => format!("10.0.{}.{}/{}", n % 4, n, 22 + self.below(11)),
            (1, true) => format!("2001:db8:{:x}::/{}", n % 4, 28 + self.below(101)),
            (_, true) => format!("2001:db8::{:x}/{}", n, 112 + self.below(17)),
        };
        let ports = ["", " 80", " 80,443", " 0-1023", " 1024-65535", " 65535", " 0"];
        address + self.one_of(&ports)
    }

    fn rule(&mut self) -> FirewallRule {
        let is_v6 = self.below(2) == 1;
        let action = self.one_of(&["permit", "deny"]);
        let side = self.one_of(&["in", "out"]);
        let protocol = self.one_of(&["ip", "tcp", "udp", "ip", "58"]);
        let text = format!("{action} {side} {protocol} from {} to {}", self.end(is_v6), self.end(is_v6));
        text.parse().unwrap()
    }

    fn ip(&mut self, is_v6: bool) -> IpAddr {
        let n = self.below(256) as u8;
        match (self.below(8), is_v6) {
            (0, false) => [n, n, n, n].into(),
            (1, false) => [10, n % 4, 0, n].into(),
            (_, false) => [10, 0, n % 4, n].into(),
            (0, true) => Ipv6Addr::from([n; 16]).into(),
            (1, true) => Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, n.into()).into(),
            (_, true) => Ipv6Addr::new(0x2001, 0xdb8, u16::from(n) % 4, 0, 0, 0, 0, n.into()).into(),
        }
    }

    fn flow(&mut self) -> Flow {
        let is_v6 = self.below(2) == 1;
        let port = |random: &mut Self| [0, 80, 443, 444, 1023, 1024, 65535][random.below(7) as usize];
        let ports = Ports { src: port(self), dst: port(self) };
        Flow {
            src: self.ip(is_v6),
            dst: self.ip(is_v6),
            protocol: IpProtocol([6, 17, 58, 255][self.below(4) as usize]),
            ports: (self.below(4) > 0).then_some(ports),
            tos: 0,
            flow_label: None,
            fragment: Fragment::Whole,
            spi: None,
        }
    }
}

fn firewall(rules: &[&str], uplink: FirewallAction, downlink: FirewallAction) -> Firewall {
    let rules = rules.iter().map(|text| text.parse().unwrap()).collect();
    Firewall::new(rules, uplink, downlink).unwrap()
}

// Input:  lists of no, one, a few and hundreds of random rules of both IP versions and directions, with either default;
//         random packets.
// Output: the compiled rules have the verdict of the rules that are tried one after the other; so has the remote address,
//         unless it leaves the verdict open.
#[test]
fn compiled_rules_decide_as_the_list() {
    let mut random = Random(22);
    for rules in [0, 1, 2, 5, 63, 64, 65, 300] {
        for (uplink, downlink) in
            [(FirewallAction::Deny, FirewallAction::Permit), (FirewallAction::Permit, FirewallAction::Deny)]
        {
            let rules = (0..rules).map(|_| random.rule()).collect();
            let firewall = Firewall::new(rules, uplink, downlink).unwrap();
            let (mut open, mut denied) = (0, 0);
            for _ in 0..4000 {
                let flow = random.flow();
                for direction in [Direction::Uplink, Direction::Downlink] {
                    let wanted = firewall.verdict(direction, &flow).action == FirewallAction::Permit;
                    denied += u32::from(!wanted);
                    let (chain, key) = (firewall.chain(direction), FirewallKey::of(direction, &flow));
                    assert_eq!(chain.permits(&key), wanted, "{direction:?} {flow:?}");
                    if let IpAddr::V4(remote) = key.remote {
                        match chain.remote_verdicts(&[remote.to_bits()]) {
                            [0] => assert!(wanted, "{direction:?} {flow:?}"),
                            [1] => assert!(!wanted, "{direction:?} {flow:?}"),
                            _ => open += 1,
                        }
                    }
                }
            }
            let is_large = firewall.rules().len() > 5;
            assert!(denied > 0 && (open > 0) == is_large || firewall.rules().len() < 6, "{open} {denied}");
        }
    }
}

// Input:  rules that overlap, in two orders.
// Output: the first that matches decides; the number of the rule is that of the list.
#[test]
fn the_first_rule_that_matches_decides() {
    let (narrow, wide) =
        ("permit in tcp from any to 192.0.2.0/24 443", "deny in ip from any to 192.0.2.0/24");
    let mut flow = Random(1).flow();
    (flow.src, flow.dst) = ([10, 45, 0, 2].into(), [192, 0, 2, 9].into());
    (flow.protocol, flow.ports) = (IpProtocol::TCP, Some(Ports { src: 1, dst: 443 }));
    let verdict = |rules: &[&str]| {
        firewall(rules, FirewallAction::Permit, FirewallAction::Permit).verdict(Direction::Uplink, &flow)
    };
    assert_eq!(verdict(&[narrow, wide]), FirewallVerdict { action: FirewallAction::Permit, rule: Some(0) });
    assert_eq!(verdict(&[wide, narrow]), FirewallVerdict { action: FirewallAction::Deny, rule: Some(0) });
    let other = "deny out ip from any to 192.0.2.0/24";
    assert_eq!(verdict(&[other]), FirewallVerdict { action: FirewallAction::Permit, rule: None });
}

// Input:  a list of addresses, with and without a rule for a port before it.
// Output: the remote address alone decides, except where the port rule applies to an address of the other action.
#[test]
fn a_list_of_addresses_needs_the_address_alone() {
    let list = ["permit in ip from any to 198.51.100.1", "permit in ip from any to 198.51.100.7"];
    let remotes = [[198, 51, 100, 1], [198, 51, 100, 2]].map(u32::from_be_bytes);
    let verdicts = |rules: &[&str]| {
        firewall(rules, FirewallAction::Deny, FirewallAction::Permit)
            .chain(Direction::Uplink)
            .remote_verdicts(&remotes)
    };
    assert_eq!(verdicts(&list), [RemoteVerdict::Permitted as u8, RemoteVerdict::Denied as u8]);
    let with_port = [&["deny in tcp from any to any 25"][..], &list].concat();
    assert_eq!(verdicts(&with_port), [RemoteVerdict::Open as u8, RemoteVerdict::Denied as u8]);
}

// Input:  a firewall that denies everything; packets to the UE's link and beyond, of both directions.
// Output: uplink packets to the link pass.
#[test]
fn the_link_of_the_ue_is_not_subject_to_it() {
    let firewall = firewall(&["deny in ip from any to any"], FirewallAction::Deny, FirewallAction::Deny);
    let mut flow = Random(1).flow();
    flow.src = "2001:db8::2".parse().unwrap();
    for (to, passes) in [("ff02::2", true), ("fe80::1", true), ("ff05::2", false), ("2001:db8::1", false)] {
        flow.dst = to.parse().unwrap();
        let key = FirewallKey::of(Direction::Uplink, &flow);
        let reason = firewall.drop_reason(Direction::Uplink, &flow);
        assert_eq!(reason, (!passes).then_some(DropReason::FirewallUplink), "{to}");
        assert_eq!(firewall.chain(Direction::Uplink).permits(&key), passes, "{to}");
        let reason = firewall.drop_reason(Direction::Downlink, &flow);
        assert_eq!(reason, Some(DropReason::FirewallDownlink), "{to}");
    }
}

// Input:  text of rules in both directions; text that is no rule.
// Output: the text again in its shortest form; an error that names the word.
#[test]
fn rules_are_read_and_shown() {
    for (text, shown) in [
        ("permit  in tcp from any to 192.0.2.7/24 80,81", "permit in 6 from any to 192.0.2.0/24 80-81"),
        ("deny out ip from 2001:db8::1 to any", "deny out ip from 2001:db8::1 to any"),
    ] {
        let rule: FirewallRule = text.parse().unwrap();
        assert_eq!(rule.to_string(), shown);
        assert_eq!(shown.parse(), Ok(rule));
    }
    for (text, error) in [
        ("", "it ends where an action is expected"),
        ("drop in ip from any to any", "the action is \"drop\"; use permit or deny"),
        ("deny", "it ends where a direction is expected"),
        (
            "deny up ip from any to any",
            "the direction is \"up\"; use in for packets of UEs, out for packets to UEs",
        ),
        (
            "deny in ip from assigned to any",
            "`assigned` is an address of one session, and the firewall is for all; use any or a prefix",
        ),
        ("deny in ip from any", "it ends where to is expected"),
    ] {
        assert_eq!(text.parse::<FirewallRule>().unwrap_err().to_string(), error, "{text}");
    }
}

// Input:  as many rules as a direction may have, and one more.
// Output: all are compiled; one more is an error with their number.
#[test]
fn the_number_of_rules_is_limited() {
    let rule = |n: usize| {
        let [.., high, low] = n.to_be_bytes();
        format!("deny in ip from any to 10.0.{high}.{low}").parse().unwrap()
    };
    let rules = |count: usize| -> Vec<FirewallRule> { (0..count).map(rule).collect() };
    let most = rules(MAX_FIREWALL_RULES);
    let firewall = Firewall::new(most, FirewallAction::Permit, FirewallAction::Permit).unwrap();
    let denied = firewall.chain(Direction::Uplink).remote_verdicts(&[0x0a00_0fff, 0x0a00_1000]);
    assert_eq!(denied, [RemoteVerdict::Denied as u8, RemoteVerdict::Permitted as u8]);
    let more = rules(MAX_FIREWALL_RULES + 1);
    assert_eq!(
        Firewall::new(more, FirewallAction::Permit, FirewallAction::Permit),
        Err(MAX_FIREWALL_RULES + 1)
    );
}

//! The keys of the firewall.

use std::fmt;
use std::sync::Arc;

use causeway_dataplane as dataplane;
use causeway_dataplane::{FirewallAction, FirewallRule, MAX_FIREWALL_RULES};
use causeway_switch::driver::Program;
use causeway_types::Direction;
use serde::{Serialize, Serializer};

use super::enums::FirewallDefault;
use super::model::Upf;
use super::problem::Problem;
use super::section::Section;
use super::values;

/// The firewall for the packets of all sessions.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Firewall {
    /// What becomes of uplink packets that match no rule.
    pub uplink: FirewallDefault,
    /// What becomes of downlink packets that match no rule.
    pub downlink: FirewallDefault,
    /// The rules, in the order in which they are tried.
    #[serde(skip_serializing_if = "FirewallRules::is_empty")]
    pub rules: FirewallRules,
    /// All of it in the form of the data planes; `None`: all packets pass.
    #[serde(skip)]
    pub(crate) compiled: Option<Arc<dataplane::Firewall>>,
}

/// The rules of the firewall.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FirewallRules(pub Vec<FirewallRule>);

impl Firewall {
    pub(super) fn read(firewall: &mut Section<'_>) -> Self {
        let uplink: FirewallDefault = firewall.value("uplink", values::word).unwrap_or_default();
        let downlink: FirewallDefault = firewall.value("downlink", values::word).unwrap_or_default();
        let rules = firewall.value("rules", FirewallRules::read).unwrap_or_default();
        let is_off = rules.is_empty() && [uplink, downlink] == [FirewallDefault::Permit; 2];
        // The number of rules was checked.
        let compile = || dataplane::Firewall::new(rules.0.clone(), uplink.action(), downlink.action()).ok();
        let compiled = if is_off { None } else { compile().map(Arc::new) };
        Self { uplink, downlink, rules, compiled }
    }
}

impl FirewallDefault {
    const fn action(self) -> FirewallAction {
        match self {
            Self::Permit => FirewallAction::Permit,
            Self::Deny => FirewallAction::Deny,
        }
    }
}

impl FirewallRules {
    /// One rule in each line; `#` begins a comment.
    fn read(text: &str) -> Result<Self, Problem> {
        let mut rules = Vec::new();
        for (line, text) in text.lines().enumerate() {
            let text = text.split('#').next().unwrap_or_default().trim();
            if !text.is_empty() {
                let rule = text.parse();
                let of_line = |error| Problem::FirewallRule { line: line + 1, text: text.to_owned(), error };
                rules.push(rule.map_err(of_line)?);
            }
        }
        for direction in [Direction::Uplink, Direction::Downlink] {
            let count = rules.iter().filter(|rule: &&FirewallRule| rule.direction == direction).count();
            if count > MAX_FIREWALL_RULES {
                return Err(Problem::FirewallRules { count });
            }
        }
        Ok(Self(rules))
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for FirewallRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|rule| writeln!(f, "{rule}"))
    }
}

impl Serialize for FirewallRules {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The problems of this section, each with its key: the rows of a switch in this process. The program of another one is known when the
/// UPF starts.
pub(super) fn check(upf: &Upf) -> Vec<(String, Problem)> {
    let program = upf.dataplane.model_program().filter(|_| upf.driven_switch().is_none());
    let Some((program, firewall)) = program.zip(upf.firewall.compiled.as_deref()) else { return Vec::new() };
    let refused = causeway_switch::backend::check_firewall(&Program::from(program), firewall).err();
    refused
        .map(|error| ("upf.firewall.rules".to_owned(), Problem::SwitchFirewall(error)))
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Config, Overrides};
    use super::*;

    fn upf(text: &str) -> Result<Upf, String> {
        Config::parse(None, text, &Overrides::default()).map(|config| config.upf).map_err(|e| e.to_string())
    }

    // Input:  a firewall of four lines, with comments and empty lines; none; one that denies by default alone.
    // Output: the rules in their order, which the file that is shown has too; nothing is compiled where all packets pass.
    #[test]
    fn rules_stand_one_in_a_line() {
        let text = "upf:\n  firewall:\n    uplink: deny\n    rules: |\n      # servers\n      permit in tcp from any to 203.0.113.0/24 443\n\n      deny out ip from 198.51.100.7 to any # a scanner\n";
        let read = upf(text).unwrap();
        let shown = "permit in 6 from any to 203.0.113.0/24 443\ndeny out ip from 198.51.100.7 to any\n";
        assert_eq!(read.firewall.rules.to_string(), shown);
        assert_eq!(read.firewall.compiled.as_ref().map(|all| all.rules().len()), Some(2));
        let again = upf(&Config { upf: read.clone(), ..Config::default() }.to_yaml()).unwrap();
        assert_eq!(again.firewall, read.firewall);
        assert_eq!(upf("upf: {firewall: {uplink: permit}}").unwrap().firewall, Firewall::default());
        assert!(upf("upf: {firewall: {downlink: deny}}").unwrap().firewall.compiled.is_some());
    }

    // Input:  a rule that is none in the second line; more rules than are possible; rules that exceed the model of a switch, and its
    //         fast path alone; as many as it has rows.
    // Output: an error that names the line, the number, or the rule and the table, and what to do.
    #[test]
    fn errors_name_the_line() {
        let wrong = "upf:\n  firewall:\n    rules: |\n      deny in ip from any to any\n      deny up ip from any to any\n";
        let error = upf(wrong).unwrap_err();
        assert!(error.contains("upf.firewall.rules") && error.contains("line 2 of the rules"), "{error}");
        assert!(error.contains("use in for packets of UEs, out for packets to UEs"), "{error}");
        let lines: String = (0..=MAX_FIREWALL_RULES).map(|_| "      deny in ip from any to any\n").collect();
        let error = upf(&format!("upf:\n  firewall:\n    rules: |\n{lines}")).unwrap_err();
        assert!(error.contains("4097 rules") && error.contains("4096"), "{error}");
        let lines: String =
            (1..=512).map(|port| format!("      deny in tcp from any to 192.0.2.9 {port}\n")).collect();
        for plane in ["switch", "hybrid"] {
            let with =
                |lines: &str| upf(&format!("upf:\n  dataplane: {plane}\n  firewall:\n    rules: |\n{lines}"));
            let error = with(&lines).unwrap_err();
            assert!(error.contains("upf.firewall.rules"), "{error}");
            assert!(error.contains("`deny in 6 from any to 192.0.2.9 512` needs row 513"), "{error}");
            assert!(error.contains("firewall_uplink, which has 1024"), "{error}");
            let fewer = lines.lines().skip(1).map(|line| format!("{line}\n")).collect::<String>();
            assert!(with(&fewer).unwrap().firewall.compiled.is_some());
        }
        assert!(upf(&format!("upf:\n  firewall:\n    rules: |\n{lines}")).is_ok());
    }
}

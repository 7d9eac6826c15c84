use causeway_p4::{Reason, profiles};

use super::super::codes::{Command, DropReason, Punt};

/// The names and numbers of an enumeration, after zero, which means none of them.
fn named<T: std::fmt::Debug>(values: impl IntoIterator<Item = (T, u8)>) -> Vec<(String, u8)> {
    let named = values.into_iter().map(|(value, number)| (snake_case(&format!("{value:?}")), number));
    std::iter::once(("none".to_owned(), 0)).chain(named).collect()
}

fn snake_case(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push('_');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

fn of(reasons: &[Reason]) -> Vec<(String, u8)> {
    reasons.iter().map(|reason| (reason.name.to_owned(), reason.value)).collect()
}

// Input:  the contract that is generated from the P4 programs.
// Output: the model's reasons, punts and commands are the same, by name and number; the reasons of VXLAN and the firewall only where
//         the program has these.
#[test]
fn codes_are_those_of_the_contract() {
    let punts = [Punt::Notify, Punt::Buffer, Punt::Signalling, Punt::Local, Punt::TtlExpired, Punt::Arp];
    let commands = [Command::Process, Command::Route, Command::Send];
    let reasons = named(DropReason::ALL.map(|reason| (reason, reason as u8)));
    for contract in profiles::ALL.into_iter().chain([&profiles::THESIS]) {
        let has_all = contract.profile == profiles::THESIS.profile;
        let known = if has_all { reasons.len() } else { DropReason::FirewallUplink as usize };
        assert_eq!(of(contract.drop_reasons), reasons[..known]);
        assert_eq!(of(contract.punt_reasons), named(punts.map(|punt| (punt, punt as u8))));
        assert_eq!(of(contract.cpu_commands), named(commands.map(|command| (command, command as u8))));
    }
}

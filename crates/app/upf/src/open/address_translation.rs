//! Source address translation of UEs by the kernel, with nftables.
//!
//! The program `nft` of the package nftables sets the rules: its language is stable, and an operator recognises them in
//! `nft list ruleset`.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::{Command, Output, Stdio};

use causeway_types::IpNet;
use thiserror::Error;
use tracing::{info, warn};

use crate::config::{Session, Upf};
use crate::error::StartError;

/// Why addresses cannot be translated.
#[derive(Debug, Error)]
pub enum NatError {
    /// `nft` cannot be run.
    #[error("cannot run nft: {0}; install the package nftables, or set `nat: false`")]
    Run(#[from] io::Error),
    /// `nft` failed.
    #[error("nft refuses the rules: {0}; it needs CAP_NET_ADMIN and a kernel with nftables")]
    Refused(String),
}

/// The tables of this UPF in nftables, which are removed when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct AddressTranslation {
    tables: Vec<Table>,
    /// The number of the next table.
    next: usize,
}

/// The table of a pool.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Table {
    family: &'static str,
    name: String,
    subnet: IpNet,
    dev: String,
}

/// Has the kernel translate the addresses of UEs of each pool with `nat`.
///
/// # Errors
/// `nft` is missing or fails; no rule is set.
pub(crate) fn address_translation(upf: &Upf) -> Result<AddressTranslation, StartError> {
    let mut translation = AddressTranslation::default();
    if upf.remote_switch().is_none() {
        let first = upf.session.iter().position(|session| session.nat).unwrap_or_default();
        let failed = |source| StartError::Nat { key: format!("upf.session[{first}].nat"), source };
        translation.follow(&upf.session).map_err(failed)?;
    }
    Ok(translation)
}

impl AddressTranslation {
    /// Has the kernel translate the addresses of those of these pools that have `nat`, and of no others.
    ///
    /// # Errors
    /// `nft` is missing or fails; nothing has changed.
    pub(crate) fn follow(&mut self, sessions: &[Session]) -> Result<(), NatError> {
        let pools: Vec<&Session> = sessions.iter().filter(|session| session.nat).collect();
        let is_of =
            |table: &Table, session: &Session| table.subnet == session.subnet && table.dev == session.dev;
        let (stay, go): (Vec<Table>, Vec<Table>) = std::mem::take(&mut self.tables)
            .into_iter()
            .partition(|table| pools.iter().any(|session| is_of(table, session)));
        let missing = pools.iter().filter(|session| !stay.iter().any(|table| is_of(table, session)));
        let new: Vec<Table> = missing.enumerate().map(|(n, session)| table(self.next + n, session)).collect();
        let removed = go.iter().map(deletion);
        let commands: String = new.iter().map(rules).chain(removed).collect();
        if !commands.is_empty()
            && let Err(error) = nft(&commands)
        {
            self.tables = stay.into_iter().chain(go).collect();
            return Err(error);
        }
        self.next += new.len();
        for Table { family, name, subnet, .. } in &new {
            info!("addresses of {subnet} are translated (nft list table {family} {name})");
        }
        self.tables = stay.into_iter().chain(new).collect();
        Ok(())
    }
}

/// The table of a pool; its name is a word of nftables: the name of the device has only characters of such words.
fn table(n: usize, session: &Session) -> Table {
    let family = if matches!(session.subnet, IpNet::V4(_)) { "ip" } else { "ip6" };
    let name = format!("causeway-{}-{n}", session.dev);
    Table { family, name, subnet: session.subnet, dev: session.dev.clone() }
}

/// The commands that make a table; one that a killed UPF left is replaced.
fn rules(table: &Table) -> String {
    let Table { family, name, dev, .. } = table;
    let mut text = String::new();
    let subnet = table.subnet.trunc();
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "table {family} {name}\n\
         delete table {family} {name}\n\
         table {family} {name} {{\n\
           chain postrouting {{\n\
             type nat hook postrouting priority srcnat; policy accept;\n\
             {family} saddr {subnet} oifname != \"{dev}\" masquerade\n\
           }}\n\
         }}\n"
    );
    text
}

/// The command that removes a table.
fn deletion(table: &Table) -> String {
    format!("delete table {} {}\n", table.family, table.name)
}

/// Runs `nft` with these commands, which take effect together or not at all.
fn nft(commands: &str) -> Result<(), NatError> {
    let mut child = Command::new("nft")
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // If it has ended early, its status says so.
        let _ = input.write_all(commands.as_bytes());
    }
    let Output { status, stderr, .. } = child.wait_with_output()?;
    if status.success() {
        Ok(())
    } else {
        Err(NatError::Refused(String::from_utf8_lossy(&stderr).trim().into()))
    }
}

impl Drop for AddressTranslation {
    fn drop(&mut self) {
        let commands: String = self.tables.iter().map(deletion).collect();
        if !commands.is_empty()
            && let Err(error) = nft(&commands)
        {
            warn!("rules for address translation stay: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a pool of IPv6 addresses on the device `ogstun`.
    // Output: a table of its own family, which is replaced as a whole; packets to other UEs keep their addresses.
    #[test]
    fn the_rules_of_a_pool() {
        let subnet = "2001:db8::1/32".parse().unwrap();
        let session = Session { subnet, dev: "ogstun".into(), ..Session::default() };
        let table = table(1, &session);
        assert_eq!((table.family, table.name.as_str()), ("ip6", "causeway-ogstun-1"));
        let rules = rules(&table);
        assert!(
            rules.starts_with("table ip6 causeway-ogstun-1\ndelete table ip6 causeway-ogstun-1\n"),
            "{rules}"
        );
        assert!(rules.contains("ip6 saddr 2001:db8::/32 oifname != \"ogstun\" masquerade"), "{rules}");
    }
}

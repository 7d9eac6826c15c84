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
#[derive(Debug)]
pub(crate) struct AddressTranslation {
    /// Each with its family.
    tables: Vec<(&'static str, String)>,
}

/// Has the kernel translate the addresses of UEs of each pool with `nat`.
///
/// # Errors
/// `nft` is missing or fails; no rule is set.
pub(crate) fn address_translation(upf: &Upf) -> Result<Option<AddressTranslation>, StartError> {
    let is_here = upf.remote_switch().is_none();
    let pools: Vec<(usize, &Session)> =
        upf.session.iter().enumerate().filter(|(_, session)| is_here && session.nat).collect();
    let Some((first, _)) = pools.first() else { return Ok(None) };
    let tables: Vec<_> = pools.iter().map(|(n, session)| table(*n, session)).collect();
    let rules: String =
        pools.iter().zip(&tables).map(|((_, session), table)| rules(session, table)).collect();
    nft(&rules).map_err(|source| StartError::Nat { key: format!("upf.session[{first}].nat"), source })?;
    for ((_, session), (family, name)) in pools.iter().zip(&tables) {
        info!("addresses of {} are translated (nft list table {family} {name})", session.subnet);
    }
    Ok(Some(AddressTranslation { tables }))
}

/// The family and name of the table of a pool, a word of nftables: the name of the device has only characters of such words.
fn table(n: usize, session: &Session) -> (&'static str, String) {
    let family = if matches!(session.subnet, IpNet::V4(_)) { "ip" } else { "ip6" };
    (family, format!("causeway-{}-{n}", session.dev))
}

/// The commands that make a table; one that a killed UPF left is replaced.
fn rules(session: &Session, (family, name): &(&'static str, String)) -> String {
    let mut text = String::new();
    let (subnet, dev) = (session.subnet.trunc(), &session.dev);
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
        let deletion = |(family, name): &(&str, String)| format!("delete table {family} {name}\n");
        let commands: String = self.tables.iter().map(deletion).collect();
        if let Err(error) = nft(&commands) {
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
        assert_eq!(table, ("ip6", "causeway-ogstun-1".into()));
        let rules = rules(&session, &table);
        assert!(
            rules.starts_with("table ip6 causeway-ogstun-1\ndelete table ip6 causeway-ogstun-1\n"),
            "{rules}"
        );
        assert!(rules.contains("ip6 saddr 2001:db8::/32 oifname != \"ogstun\" masquerade"), "{rules}");
    }
}

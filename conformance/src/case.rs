//! The format of a case.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::CaseError;
use crate::message::{IeTree, MessageSpec};
use crate::setup::Setup;

/// A conformance case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Where it was read from.
    #[serde(skip)]
    pub path: PathBuf,
    /// What it shows, as a short sentence.
    pub title: String,
    /// The clauses it is about, for example `TS 29.244 5.2.4`.
    pub clause: String,
    /// What goes in, in plain words.
    pub input: String,
    /// What comes out, in plain words.
    pub output: String,
    /// For a case of the dialect matrix: the row it is in. Its column is the folder.
    #[serde(default)]
    pub behaviour: Option<String>,
    /// The software whose messages these are: name, version and file.
    #[serde(default)]
    pub source: Option<String>,
    /// Settings that differ from the usual ones.
    #[serde(default)]
    pub setup: Setup,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

/// One step of a case.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Step {
    /// What this step is for, if that is not plain.
    #[serde(default)]
    pub note: Option<String>,
    /// An SMF sends a PFCP message.
    #[serde(default)]
    pub(crate) smf: Option<MessageSpec>,
    /// An SMF sends a datagram as it stands, a literal.
    #[serde(default)]
    pub(crate) smf_raw: Option<String>,
    /// An SMF sends the datagram of the last step with `smf` again, octet by octet.
    #[serde(default)]
    pub(crate) smf_again: bool,
    /// The address the SMF sends from, if not the usual one.
    #[serde(default)]
    pub(crate) from: Option<std::net::IpAddr>,
    /// A gNB sends a G-PDU.
    #[serde(default)]
    pub(crate) gnb: Option<crate::packet::GPduSpec>,
    /// A gNB sends a UDP payload as it stands, a literal.
    #[serde(default)]
    pub(crate) gnb_raw: Option<String>,
    /// Where the GTP-U message of this step comes from, if not from the usual gNB.
    #[serde(default)]
    pub(crate) peer: Option<std::net::IpAddr>,
    /// A data network sends a user packet.
    #[serde(default)]
    pub(crate) dn: Option<String>,
    /// The data network that sends it is an Ethernet network of this name.
    #[serde(default)]
    pub(crate) network: Option<String>,
    /// The type of service or traffic class of the gNB's outer header.
    #[serde(default)]
    pub(crate) outer_tos: u8,
    /// The TTL or hop limit of the gNB's outer header; not known unless said.
    #[serde(default)]
    pub(crate) outer_ttl: Option<u8>,
    /// So many milliseconds pass.
    #[serde(default)]
    pub(crate) wait_ms: Option<u64>,
    /// So many microseconds pass.
    #[serde(default)]
    pub(crate) wait_us: Option<u64>,
    /// After the wait the wall clock is set forward by so many seconds; back, if it is less than zero.
    #[serde(default)]
    pub(crate) wall_clock_s: Option<i32>,
    /// The packet counters are shown after the rest of the step.
    #[serde(default)]
    pub(crate) counters: bool,
    /// How often this step is done; once unless said otherwise.
    #[serde(default)]
    pub(crate) times: Option<u32>,
    /// How many lines of what is seen have this text in them: the least and the most.
    #[serde(default)]
    pub(crate) count: BTreeMap<String, (usize, usize)>,
    /// Equal lines are recorded once, with their number.
    #[serde(default)]
    pub(crate) tally: bool,
    /// Lines that must be among what the UPF sends in this step, each as a part of a line.
    #[serde(default)]
    pub(crate) expect: Vec<String>,
    /// What must not be among it.
    #[serde(default)]
    pub(crate) expect_not: Vec<String>,
}

/// Fragments of messages that cases share: lists of IEs by name.
#[derive(Debug, Deserialize)]
pub struct Fragments(BTreeMap<String, IeTree>);

impl Fragments {
    /// A copy of the fragment.
    ///
    /// # Errors
    /// [`CaseError::Unknown`] when there is none of that name.
    pub(crate) fn named(&self, name: &str) -> Result<IeTree, CaseError> {
        let unknown = || CaseError::Unknown { what: "fragment", name: name.to_owned() };
        self.0.get(name).cloned().ok_or_else(unknown)
    }
}

/// Reads the fragments of all cases.
///
/// # Errors
/// [`CaseError`] when the file cannot be read.
pub fn load_fragments(path: &Path) -> Result<Fragments, CaseError> {
    read_yaml(path)
}

/// Reads every case below a folder, ordered by path.
///
/// # Errors
/// [`CaseError`] that names the first file that is wrong.
pub fn load_all(folder: &Path) -> Result<Vec<Case>, CaseError> {
    let mut paths = Vec::new();
    collect(folder, &mut paths)?;
    paths.sort();
    paths.into_iter().map(load).collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), CaseError> {
    let file_error = |source| CaseError::File { path: folder.to_owned(), source };
    for entry in std::fs::read_dir(folder).map_err(file_error)? {
        let path = entry.map_err(file_error)?.path();
        if path.is_dir() {
            collect(&path, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            paths.push(path);
        }
    }
    Ok(())
}

fn load(path: PathBuf) -> Result<Case, CaseError> {
    let mut case: Case = read_yaml(&path)?;
    case.path = path;
    Ok(case)
}

/// Reads a YAML file.
pub(crate) fn read_yaml<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, CaseError> {
    let text =
        std::fs::read_to_string(path).map_err(|source| CaseError::File { path: path.to_owned(), source })?;
    serde_yaml_ng::from_str(&text).map_err(|source| CaseError::Yaml { path: path.to_owned(), source })
}

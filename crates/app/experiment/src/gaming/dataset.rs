//! The feature tables of the Leris Lab and captures of other traffic, where they are.

use std::path::{Path, PathBuf};

use causeway_show::Progress;
use causeway_types::Span;

use crate::ExperimentError;
use crate::cli::Common;
use crate::training::{Data, Group, Orientation, Packet, Reader, Rule, TrainingError, packets};

/// What names gaming flows in the tables, which have no labels: UDP and an end in the prefix of the platform.
pub(super) const PLATFORM: &str = "udp 13.104.0.0/16";

/// The folder with the data.
#[derive(Clone, Debug)]
pub(super) struct Dataset {
    folder: PathBuf,
}

/// A capture.
#[derive(Clone, Debug)]
pub(super) struct Capture {
    /// The name of its file.
    pub(super) name: String,
    /// Its IP packets; `None` if its link has none.
    pub(super) packets: Option<Vec<Packet>>,
}

/// The least packets of a longer flow, from and to the UE.
pub(super) const LONGER: [u64; 2] = [30, 100];

impl Dataset {
    /// The data that `--data` names, if they are there.
    pub(super) fn of(common: &Common) -> Option<Self> {
        let folder = common.data.clone()?;
        let is_there = folder.join("cloud-gaming").is_dir() && folder.join("captures").is_dir();
        is_there.then_some(Self { folder })
    }

    /// Flows of gaming sessions by session, game and network: the longer ones, or all with five packets a second in each direction.
    pub(super) fn flows(&self, is_longer: bool, progress: &mut Progress) -> Result<Data, ExperimentError> {
        let files = files(&self.folder.join("cloud-gaming/CG dataset"), |path| {
            has_extension(path, "csv") && path.parent().is_some_and(|folder| folder.ends_with("Features"))
        })?;
        let group = |text: &str| text.parse::<Group>().map_err(TrainingError::Argument);
        let groups = [group("session=file")?, group("game=folder:3")?, group("network=folder:4")?];
        self.read(&files, groups.into(), is_longer, progress)
    }

    /// Flows of augmented reality, of which none is a game.
    pub(super) fn augmented_reality(&self, progress: &mut Progress) -> Result<Data, ExperimentError> {
        let files = files(&self.folder.join("cloud-gaming/AR dataset"), |path| {
            let folder = path.parent().and_then(Path::file_name);
            has_extension(path, "csv")
                && folder.is_some_and(|name| name.to_string_lossy().starts_with("PCAP"))
        })?;
        self.read(&files, Vec::new(), false, progress)
    }

    fn read(
        &self,
        files: &[PathBuf],
        groups: Vec<Group>,
        is_longer: bool,
        progress: &mut Progress,
    ) -> Result<Data, ExperimentError> {
        let wrong = |error: &dyn std::fmt::Display| TrainingError::Argument(error.to_string());
        let rule: Rule = PLATFORM.parse().map_err(|error| wrong(&error))?;
        let reader = Reader {
            default_class: "other".into(),
            rules: vec![rule.of_class("cloud-gaming")],
            orientation: Orientation::default(),
            is_of_ues: false,
            window: Span::from_secs(1),
            least_packets: if is_longer { 0 } else { 5 },
            flow_packets: if is_longer { LONGER } else { [0, 0] },
            overhead: 14,
            groups,
        };
        Ok(reader.read(files, progress)?)
    }

    /// All captures.
    pub(super) fn captures(&self, progress: &mut Progress) -> Result<Vec<Capture>, ExperimentError> {
        let files = files(&self.folder.join("captures"), |path| {
            has_extension(path, "pcap") || has_extension(path, "pcapng")
        })?;
        let mut captures = Vec::new();
        for (place, file) in files.iter().enumerate() {
            progress.set_progress(place as u64, files.len() as u64);
            let octets = causeway_file::read(file, 1 << 30)
                .map_err(|source| TrainingError::File { file: file.clone(), source })?;
            let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let packets = match packets(file, &octets) {
                Ok(packets) => Some(packets),
                Err(TrainingError::Form { .. }) => None,
                Err(error) => return Err(error.into()),
            };
            captures.push(Capture { name, packets });
        }
        Ok(captures)
    }
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|found| found == wanted)
}

/// The files below a folder, in the order of their names.
fn files(folder: &Path, is_wanted: impl Fn(&Path) -> bool) -> Result<Vec<PathBuf>, ExperimentError> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let reading = || ExperimentError::io(format!("read {}", folder.display()));
        for entry in std::fs::read_dir(&folder).map_err(reading())? {
            let path = entry.map_err(reading())?.path();
            if path.is_dir() {
                folders.push(path);
            } else if is_wanted(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

//! All samples of a training.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use causeway_class_model::Fnv;
use causeway_show::Progress;
use causeway_traffic::classes::{Sample, Vector};
use causeway_types::Span;

use super::captures::{self, UeWindows, Windows};
use super::csv::Csv;
use super::flows::{self, FlowCounts};
use super::group::Group;
use super::rule::{Ends, Orientation, Rule};
use super::{TrainingError, vectors};

/// The longest file, in octets.
const MOST_OCTETS: u64 = 4 << 30;

/// A sample with the groups that it belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The vector and its class.
    pub sample: Sample,
    /// The value of each group.
    pub groups: Vec<String>,
}

/// What was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Inputs {
    /// Flow tables, tables of vectors, and captures.
    pub files: [u64; 3],
    /// The flows of flow tables.
    pub flows: FlowCounts,
    /// Packets of captures.
    pub packets: u64,
    /// Flows of captures, or UEs, and windows of them.
    pub windows: [u64; 2],
    /// Windows are of whole UEs.
    pub is_of_ues: bool,
    /// Samples with too few packets in a direction, of the whole flow or of the window.
    pub small: u64,
}

/// Samples with their classes and groups.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Data {
    /// The names of the classes; the first is that of flows that no rule names.
    pub classes: Vec<String>,
    /// The names of the groups.
    pub groups: Vec<String>,
    /// The samples.
    pub rows: Vec<Row>,
    /// The files.
    pub sources: Vec<String>,
    /// What was read.
    pub inputs: Inputs,
}

impl Data {
    /// The samples alone.
    pub fn samples(&self) -> Vec<Sample> {
        self.rows.iter().map(|row| row.sample).collect()
    }

    /// The number of samples of each class.
    pub fn balance(&self) -> Vec<u64> {
        let mut counts = vec![0; self.classes.len()];
        for row in &self.rows {
            counts.get_mut(usize::from(row.sample.class)).into_iter().for_each(|count| *count += 1);
        }
        counts
    }

    /// A hash of all samples in their order: the six values of a vector in 32 bits each, low octets first, and the class.
    pub fn hash(&self) -> Fnv {
        self.rows.iter().fold(Fnv::new(), |hash, row| {
            let values = row.sample.vector.values().into_iter().flat_map(u32::to_le_bytes);
            let octets: Vec<u8> = values.chain([row.sample.class]).collect();
            hash.with(&octets)
        })
    }
}

/// How files become samples.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reader {
    /// The class of flows that no rule names.
    pub default_class: String,
    /// Which flows are of which class: the first rule that matches.
    pub rules: Vec<Rule>,
    /// Which end is the UE.
    pub orientation: Orientation,
    /// Windows of captures are of all packets of a UE, and not of a flow.
    pub is_of_ues: bool,
    /// The length of windows.
    pub window: Span,
    /// The least packets of a window, in each direction.
    pub least_packets: u16,
    /// The least packets of a whole flow: from and to the UE.
    pub flow_packets: [u64; 2],
    /// Octets that the sizes of flow tables have beyond the IP packet.
    pub overhead: u16,
    /// The groups.
    pub groups: Vec<Group>,
}

impl Reader {
    /// Reads these files.
    ///
    /// # Errors
    /// [`TrainingError`] with file, line and column, or packet.
    pub fn read(&self, files: &[PathBuf], progress: &mut Progress) -> Result<Data, TrainingError> {
        let mut data = Data {
            classes: vec![self.default_class.clone()],
            groups: self.groups.iter().map(|group| group.name.clone()).collect(),
            inputs: Inputs { is_of_ues: self.is_of_ues, ..Inputs::default() },
            ..Data::default()
        };
        for rule in &self.rules {
            if !data.classes.contains(&rule.class) {
                data.classes.push(rule.class.clone());
            }
        }
        for (place, file) in files.iter().enumerate() {
            progress.stage(format!("reading {}", file.display()));
            progress.set_progress(place as u64, files.len() as u64);
            let octets = causeway_file::read(file, MOST_OCTETS)
                .map_err(|source| TrainingError::File { file: file.clone(), source })?;
            data.sources.push(file.display().to_string());
            if captures::is_capture(&octets) {
                self.read_capture(file, &octets, &mut data)?;
            } else {
                self.read_table(file, octets, &mut data)?;
            }
        }
        Ok(data)
    }

    fn read_table(&self, file: &Path, octets: Vec<u8>, data: &mut Data) -> Result<(), TrainingError> {
        let text = String::from_utf8(octets)
            .map_err(|_| TrainingError::form(file, "neither a capture nor a text"))?;
        let csv = Csv::parse(file, &text)?;
        if vectors::is_table(&csv) {
            self.read_vectors(file, &csv, data)
        } else if csv.has(&flows::COLUMNS) {
            self.read_flows(file, &csv, data)
        } else {
            let problem = format!(
                "neither a flow table ({}) nor a table of vectors ({})",
                flows::COLUMNS.join(", "),
                vectors::columns().join(", ")
            );
            Err(TrainingError::form(file, problem))
        }
    }

    fn read_vectors(&self, file: &Path, csv: &Csv<'_>, data: &mut Data) -> Result<(), TrainingError> {
        data.inputs.files[1] += 1;
        for record in csv.records() {
            let name = vectors::class(&record)?;
            if !data.classes.iter().any(|class| class == name) {
                data.classes.push(name.into());
            }
            let class = data.classes.iter().position(|class| class == name).unwrap_or(0);
            let class = u8::try_from(class).unwrap_or(u8::MAX);
            let sample = Sample { vector: vectors::vector(&record)?, class };
            let groups: Result<_, _> =
                self.groups.iter().map(|group| group.value(file, Some(&record))).collect();
            self.add(Row { sample, groups: groups? }, data);
        }
        Ok(())
    }

    fn read_flows(&self, file: &Path, csv: &Csv<'_>, data: &mut Data) -> Result<(), TrainingError> {
        if self.is_of_ues {
            return Err(TrainingError::form(file, "a flow table has no windows of whole UEs"));
        }
        data.inputs.files[0] += 1;
        let (pairs, counts) = flows::read(file, csv, &self.orientation, self.overhead.into())?;
        let all = &mut data.inputs.flows;
        all.lines += counts.lines;
        all.single += counts.single;
        all.without_gap += counts.without_gap;
        all.pairs += counts.pairs;
        let records: HashMap<usize, _> = csv.records().map(|record| (record.line, record)).collect();
        for (pair, _) in pairs {
            let packets = [pair.uplink.packets, pair.downlink.packets];
            if self.is_small(packets) {
                data.inputs.small += 1;
                continue;
            }
            let class = self.class(&pair.ends, data);
            let record = records.get(&pair.line);
            let groups: Result<_, _> = self.groups.iter().map(|group| group.value(file, record)).collect();
            let sample = Sample { vector: pair.vector(self.window), class };
            self.add(Row { sample, groups: groups? }, data);
        }
        Ok(())
    }

    fn read_capture(&self, file: &Path, octets: &[u8], data: &mut Data) -> Result<(), TrainingError> {
        data.inputs.files[2] += 1;
        let packets = captures::packets(file, octets)?;
        data.inputs.packets += packets.len() as u64;
        let groups: Result<Vec<String>, _> =
            self.groups.iter().map(|group| group.value(file, None)).collect();
        let groups = groups?;
        let all: Vec<([u64; 2], Vec<Sample>)> = if self.is_of_ues {
            let rule = |ends: &Ends| self.rules.iter().position(|rule| rule.matches(ends));
            let ues = UeWindows::of(&packets, &self.orientation, self.window, rule);
            let sample = |(vector, rule): (Vector, Option<usize>)| Sample {
                vector,
                class: Self::class_of_rule(rule.and_then(|rule| self.rules.get(rule)), data),
            };
            ues.into_iter().map(|ue| (ue.packets, ue.windows.into_iter().map(&sample).collect())).collect()
        } else {
            let flows = Windows::of(&packets, &self.orientation, self.window).into_iter();
            let samples = |flow: Windows| {
                let class = self.class(&flow.ends, data);
                (flow.packets, flow.vectors.into_iter().map(|vector| Sample { vector, class }).collect())
            };
            flows.map(samples).collect()
        };
        for (packets, samples) in all {
            data.inputs.windows[0] += 1;
            data.inputs.windows[1] += samples.len() as u64;
            if self.is_small(packets) {
                data.inputs.small += samples.len() as u64;
                continue;
            }
            samples.into_iter().for_each(|sample| self.add(Row { sample, groups: groups.clone() }, data));
        }
        Ok(())
    }

    fn is_small(&self, packets: [u64; 2]) -> bool {
        packets.iter().zip(&self.flow_packets).any(|(packets, least)| packets < least)
    }

    /// The number of the class of a flow.
    fn class(&self, ends: &Ends, data: &Data) -> u8 {
        Self::class_of_rule(self.rules.iter().find(|rule| rule.matches(ends)), data)
    }

    /// The number of a rule's class; without a rule that of the first.
    fn class_of_rule(rule: Option<&Rule>, data: &Data) -> u8 {
        let place = rule.and_then(|rule| data.classes.iter().position(|class| *class == rule.class));
        u8::try_from(place.unwrap_or(0)).unwrap_or(u8::MAX)
    }

    fn add(&self, row: Row, data: &mut Data) {
        if row.sample.vector.has_packets(self.least_packets) {
            data.rows.push(row);
        } else {
            data.inputs.small += 1;
        }
    }
}

//! The command `causeway train`.

use std::io::Write;
use std::path::{Path, PathBuf};

use causeway_class_model::{ClassSamples, ModelFile, Parameters, Score, Trained};
use causeway_show::Progress;
use causeway_traffic::classes::{Feature, Model, TableLimits, Tables, Training};
use causeway_types::Span;
use clap::Args;
use ipnet::IpNet;

use super::data::{Data, Reader};
use super::group::{Group, GroupSource};
use super::report::{Report, add_scores, balance, inputs, notes, score_table, tables, tree_lines};
use super::rule::{Orientation, Rule};
use super::score::{Confusion, validate};
use super::{TrainingError, vectors};

/// What is trained on, and how.
#[derive(Args, Clone, Debug)]
pub struct TrainArguments {
    /// Flow tables, tables of vectors (CSV) and captures (pcap, pcapng)
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// The model file to write
    #[arg(short, long, value_name = "FILE", default_value = "model.json")]
    pub out: PathBuf,
    /// Also write the report as JSON
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Also write the samples as a table of vectors, which can be trained on again
    #[arg(long, value_name = "FILE")]
    pub vectors: Option<PathBuf>,

    /// Flows of the class: protocol, prefix and ports of an end, for example 'udp 192.0.2.0/24 port 1000-2000'
    #[arg(long, value_name = "RULE", help_heading = "Classes")]
    pub positive: Vec<Rule>,
    /// The class of these flows
    #[arg(long, value_name = "NAME", default_value = "cloud-gaming", help_heading = "Classes")]
    pub class: String,
    /// Flows of classes, as a table: class, protocol, address, port, other_address, other_port; the first that matches counts
    #[arg(long, value_name = "FILE", help_heading = "Classes")]
    pub labels: Option<PathBuf>,
    /// The class of all other flows
    #[arg(long, value_name = "NAME", default_value = "other", help_heading = "Classes")]
    pub default_class: String,
    /// Where UEs are; without it, the end with the greater port is the UE
    #[arg(long, value_name = "PREFIX", value_delimiter = ',', help_heading = "Classes")]
    pub ue: Vec<IpNet>,

    /// Windows of captures are of all packets of a UE, as a UPF measures sessions, and not of a flow. The first rule that a packet of the window matches decides
    /// its class
    #[arg(long, requires = "ue", help_heading = "Samples")]
    pub whole_ues: bool,

    /// What is left out together in a validation: NAME=file, NAME=folder:N (1 holds the file) or NAME=column:COLUMN [default:
    /// session=file, if there are several files]
    #[arg(long, value_name = "GROUP", help_heading = "Validation")]
    pub group: Vec<Group>,

    /// The length of windows in milliseconds: 300, 500 or 1000 are usual; 268, 537 or 1074 for a P4 switch
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(10..=10_000), help_heading = "Samples")]
    pub window: u32,
    /// Least packets of a window in each direction; smaller ones are of the default class [default: 5 a second]
    #[arg(long, value_name = "N", help_heading = "Samples")]
    pub least_packets: Option<u16>,
    /// Leave out flows, or whole UEs, with fewer packets in all, from and to the UE
    #[arg(long, value_name = "UP,DOWN", value_delimiter = ',', num_args = 1, help_heading = "Samples")]
    pub flow_packets: Vec<u64>,
    /// Octets that sizes of flow tables have beyond the IP packet; 14 for Ethernet frames
    #[arg(long, value_name = "OCTETS", default_value_t = 14, help_heading = "Samples")]
    pub overhead: u16,

    /// The most splits on the way to a leaf
    #[arg(long, value_name = "N", default_value_t = 3, help_heading = "Tree")]
    pub depth: usize,
    /// The least samples of a leaf
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Tree")]
    pub min_leaf: usize,
    /// Classes have equal weight, however many samples each has
    #[arg(long, help_heading = "Tree")]
    pub balanced: bool,
    /// Compare only these: uplink_packets, downlink_packets, uplink_size, downlink_size, uplink_gap, downlink_gap
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = feature, help_heading = "Tree")]
    pub features: Vec<Feature>,
}

fn feature(name: &str) -> Result<Feature, String> {
    Feature::of_name(name)
        .ok_or_else(|| format!("no feature; {}", Feature::ALL.map(Feature::name).join(", ")))
}

/// Trains, writes the files, and prints the report.
///
/// # Errors
/// [`TrainingError`].
pub fn run(arguments: &TrainArguments, out: &mut dyn Write) -> Result<(), TrainingError> {
    let mut progress = Progress::new();
    let data = arguments.reader()?.read(&arguments.files, &mut progress)?;
    let report = train(arguments, &data, &mut progress)?;
    if let Some(file) = &arguments.vectors {
        vectors::write(&data, file)?;
    }
    save(&arguments.out, &report.model)?;
    if let Some(file) = &arguments.report {
        let mut json = serde_json::to_string_pretty(&report)?;
        json.push('\n');
        save(file, &json)?;
    }
    progress.clear();
    write!(out, "{report}\nwritten: {}\n", arguments.out.display()).map_err(TrainingError::Output)
}

fn save(file: &Path, text: &str) -> Result<(), TrainingError> {
    std::fs::write(file, text).map_err(|source| TrainingError::Write { file: file.into(), source })
}

impl TrainArguments {
    /// How files become samples.
    fn reader(&self) -> Result<Reader, TrainingError> {
        let flow_packets = match self.flow_packets[..] {
            [] => [0, 0],
            [up, down] => [up, down],
            _ => return Err(TrainingError::Argument("--flow-packets: give two numbers, UP,DOWN".into())),
        };
        let named = |rule: &Rule| rule.clone().of_class(&self.class);
        let mut rules: Vec<Rule> = self.positive.iter().map(named).collect();
        if let Some(file) = &self.labels {
            let octets = causeway_file::read(file, 1 << 24)
                .map_err(|source| TrainingError::File { file: file.clone(), source })?;
            let text = String::from_utf8(octets).map_err(|_| TrainingError::form(file, "not a text"))?;
            rules.extend(Rule::read_all(file, &text)?);
        }
        let mut groups = self.group.clone();
        if groups.is_empty() && self.files.len() > 1 {
            groups.push(Group { name: "session".into(), source: GroupSource::File });
        }
        Ok(Reader {
            default_class: self.default_class.clone(),
            rules,
            orientation: Orientation { ues: self.ue.clone() },
            is_of_ues: self.whole_ues,
            window: Span::from_millis(self.window.into()),
            least_packets: self.least_packets(),
            flow_packets,
            overhead: self.overhead,
            groups,
        })
    }

    /// Five packets a second, but one at least.
    fn least_packets(&self) -> u16 {
        let usual = (5 * self.window).div_ceil(1000);
        self.least_packets.unwrap_or_else(|| u16::try_from(usual).unwrap_or(u16::MAX))
    }

    fn training(&self) -> Training {
        let features = if self.features.is_empty() { Feature::ALL.to_vec() } else { self.features.clone() };
        Training { max_depth: self.depth, min_leaf: self.min_leaf, is_balanced: self.balanced, features }
    }
}

fn train(arguments: &TrainArguments, data: &Data, progress: &mut Progress) -> Result<Report, TrainingError> {
    let balanced = data.balance();
    if let Some((class, _)) = data.classes.iter().zip(&balanced).find(|(_, count)| **count == 0) {
        let problem = format!(
            "no sample is of class {class}: check --positive, --labels, --default-class and the least packets ({})",
            inputs(data)
        );
        return Err(TrainingError::Argument(problem));
    }
    if data.classes.len() < 2 {
        let problem =
            "all samples are of one class: give --positive or --labels, or a table of vectors with classes";
        return Err(TrainingError::Argument(problem.into()));
    }
    let training = arguments.training();
    progress.stage("training");
    let tree = training.train(&data.samples(), data.classes.len())?;
    let tables_of_it = Tables::new(&tree, &TableLimits::default())?;

    let mut scores = Vec::new();
    let mut table = score_table();
    let mut add = |left_out: &str, confusion: Confusion| {
        add_scores(&mut table, left_out, "tree", &data.classes, &confusion);
        add_scores(&mut table, left_out, "never", &data.classes, &confusion.never());
        scores.push(Score { validation: left_out.into(), counts: confusion.0 });
    };
    for (place, group) in data.groups.iter().enumerate() {
        progress.stage(format!("leaving one {group} out"));
        add(group, validate(data, place, &training, progress)?);
    }
    let itself = Confusion::of(&data.rows, data.classes.len(), |vector| tree.classify(vector));
    add("nothing (training data)", itself);

    let samples = data.classes.iter().zip(&balanced);
    let trained = Trained {
        sources: data.sources.clone(),
        data_hash: data.hash().to_string(),
        samples: samples
            .map(|(class, samples)| ClassSamples { class: class.clone(), samples: *samples })
            .collect(),
        parameters: Parameters {
            max_depth: u32::try_from(training.max_depth).unwrap_or(u32::MAX),
            min_leaf: u32::try_from(training.min_leaf).unwrap_or(u32::MAX),
            is_balanced: training.is_balanced,
            features: training.features.iter().map(|feature| feature.name().into()).collect(),
        },
        scores,
    };
    let least = arguments.least_packets();
    let model = Model::new(data.classes.clone(), arguments.window, least, tree)?;
    let tree = tree_lines(&model);
    let weights =
        if training.is_balanced { "classes have equal weight" } else { "samples have equal weight" };
    let conditions = vec![
        ("inputs", inputs(data)),
        ("classes", balance(data)),
        ("windows", format!("{} ms, at least {least} packets in each direction", arguments.window)),
        (
            "training",
            format!(
                "depth {}, leaves of {} samples or more, {weights}",
                training.max_depth, training.min_leaf
            ),
        ),
        ("data hash", data.hash().to_string()),
        ("tables", tables(&tables_of_it)),
    ];
    Ok(Report {
        conditions,
        scores: table,
        notes: notes(data),
        tree,
        model: ModelFile::new(model, trained)?.encode()?,
    })
}

//! A trained tree in a file, with what it was trained on.
//!
//! The file is JSON of one form only: unknown keys, other units and a wrong checksum are errors. It holds no floating-point
//! numbers; shares follow from the counts of its scores.

use std::fmt;

use causeway_types::Span;
use serde::{Deserialize, Serialize};

use super::{Feature, Node, Tree, TreeError};

/// The key `format` of a model file.
pub const FORMAT: &str = "causeway-class-model";
/// The version of the form.
pub const VERSION: u32 = 1;
/// The usual lengths of windows, in milliseconds.
pub const WINDOW_MILLIS: [u32; 3] = [300, 500, 1000];

/// The longest file, in octets.
const MOST_OCTETS: usize = 1 << 20;
/// The longest name of a class.
const MOST_NAME: usize = 64;

/// Why a file is no model.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ModelError {
    /// The file is too long.
    #[error("the model file has {0} octets: at most {MOST_OCTETS}")]
    TooLong(usize),
    /// It is no JSON, or JSON of another form.
    #[error("the model file is damaged: {0}")]
    Json(String),
    /// It is JSON of something else.
    #[error("this is no model file: its format is {0:?}, not {FORMAT:?}")]
    Foreign(String),
    /// It is of another version.
    #[error("the model file has version {0}: this program reads version {VERSION}")]
    Version(u64),
    /// Its content was changed after it was written.
    #[error("the model file is damaged: its checksum is {found}, that of its content {computed}")]
    Checksum {
        /// The one in the file.
        found: String,
        /// The one of the content.
        computed: String,
    },
    /// A number is out of its range.
    #[error("{what} is {given}: from {least} to {most}")]
    OutOfRange {
        /// The key.
        what: &'static str,
        /// Its value.
        given: u32,
        /// The least permitted value.
        least: u32,
        /// The greatest permitted value.
        most: u32,
    },
    /// Two classes have the same name, or one has none or a long one.
    #[error("class {0:?}: each needs a name of its own, of at most {MOST_NAME} octets")]
    ClassName(String),
    /// A node names a class that is not in the list.
    #[error("node {node} has class {class:?}, which is not in the list of classes")]
    UnknownClass {
        /// The node.
        node: usize,
        /// The name.
        class: String,
    },
    /// A node compares a feature that this program does not measure.
    #[error("node {node} compares {feature:?}, which is not measured")]
    UnknownFeature {
        /// The node.
        node: usize,
        /// The name.
        feature: String,
    },
    /// Features have other units than here.
    #[error("the units of the features are not those of this program")]
    Units,
    /// A score is not that of these classes.
    #[error("score {0:?} has not one row and one column for each class")]
    Score(String),
    /// Its nodes are no tree.
    #[error("the model file: {0}")]
    Tree(#[from] TreeError),
}

/// The hash FNV-1a of 64 bits: tells apart what was trained on, and finds damage; no protection against forgery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fnv(u64);

impl Fnv {
    /// Of no octets.
    pub const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// With these octets behind.
    #[must_use]
    pub fn with(self, octets: &[u8]) -> Self {
        let step = |hash: u64, octet: &u8| (hash ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3);
        Self(octets.iter().fold(self.0, step))
    }
}

impl Default for Fnv {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for Fnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fnv1a64:{:016x}", self.0)
    }
}

/// How many samples a class had.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassSamples {
    /// The class.
    pub class: String,
    /// Its samples.
    pub samples: u64,
}

/// The parameters of the training.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The most splits on the way to a leaf.
    pub max_depth: u32,
    /// The least samples of a leaf.
    pub min_leaf: u32,
    /// Whether classes counted alike.
    pub is_balanced: bool,
    /// The features that could be compared.
    pub features: Vec<String>,
}

/// The result of a validation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// What was left out of the training in turn, for example `session`.
    pub validation: String,
    /// For each class, how many of its samples were taken for each class.
    pub counts: Vec<Vec<u64>>,
}

/// What a model was trained on, and how well it did.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trained {
    /// The files.
    pub sources: Vec<String>,
    /// The hash of all samples, by [`Fnv`].
    pub data_hash: String,
    /// The samples by class.
    pub samples: Vec<ClassSamples>,
    /// How it was trained.
    pub parameters: Parameters,
    /// Scores by validation.
    pub scores: Vec<Score>,
}

/// A tree with the names of its classes and the windows that it is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Model {
    classes: Vec<String>,
    window_millis: u32,
    least_packets: u16,
    tree: Tree,
    trained: Trained,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    version: u32,
    checksum: String,
    classes: Vec<String>,
    window_ms: u32,
    least_packets: u16,
    features: Vec<FileFeature>,
    tree: Vec<FileNode>,
    trained: Trained,
}

#[derive(Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct FileFeature {
    name: String,
    unit: String,
    /// How many of its values make one unit.
    parts: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum FileNode {
    Leaf(FileLeaf),
    Split(FileSplit),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileLeaf {
    class: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileSplit {
    feature: String,
    threshold: u32,
    below: u16,
    above: u16,
}

/// What is read before all else.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    format: serde_json::Value,
    #[serde(default)]
    version: serde_json::Value,
}

fn units() -> Vec<FileFeature> {
    let unit = |feature: Feature| FileFeature {
        name: feature.name().into(),
        unit: feature.unit().into(),
        parts: feature.parts(),
    };
    Feature::ALL.map(unit).into()
}

impl Model {
    /// A model of these classes, in the order of their numbers, for windows of this length.
    ///
    /// Windows with fewer than `least_packets` in a direction are of the first class.
    ///
    /// # Errors
    /// [`ModelError`] when a length, a name or a score is not permitted, or the tree has another number of classes.
    pub fn new(
        classes: Vec<String>,
        window_millis: u32,
        least_packets: u16,
        tree: Tree,
        trained: Trained,
    ) -> Result<Self, ModelError> {
        for (place, class) in classes.iter().enumerate() {
            let is_known = classes.iter().take(place).any(|other| other == class);
            if class.is_empty() || class.len() > MOST_NAME || is_known {
                return Err(ModelError::ClassName(class.clone()));
            }
        }
        if classes.len() != tree.classes() {
            return Err(TreeError::Classes(classes.len()).into());
        }
        if !(10..=10_000).contains(&window_millis) {
            let (least, most) = (10, 10_000);
            return Err(ModelError::OutOfRange { what: "window_ms", given: window_millis, least, most });
        }
        let is_square = |score: &Score| {
            score.counts.len() == classes.len() && score.counts.iter().all(|row| row.len() == classes.len())
        };
        if let Some(score) = trained.scores.iter().find(|score| !is_square(score)) {
            return Err(ModelError::Score(score.validation.clone()));
        }
        Ok(Self { classes, window_millis, least_packets, tree, trained })
    }

    /// Reads a model file.
    ///
    /// # Errors
    /// [`ModelError`].
    pub fn decode(octets: &[u8]) -> Result<Self, ModelError> {
        if octets.len() > MOST_OCTETS {
            return Err(ModelError::TooLong(octets.len()));
        }
        let json = |error: serde_json::Error| ModelError::Json(error.to_string());
        let head: Head = serde_json::from_slice(octets).map_err(json)?;
        if head.format != FORMAT {
            let format = head.format.as_str().map_or_else(|| head.format.to_string(), Into::into);
            return Err(ModelError::Foreign(format.chars().take(MOST_NAME).collect()));
        }
        if head.version != VERSION {
            return Err(ModelError::Version(head.version.as_u64().unwrap_or(0)));
        }
        let mut file: File = serde_json::from_slice(octets).map_err(json)?;
        let found = std::mem::take(&mut file.checksum);
        let computed = checksum(&file)?;
        if found != computed {
            return Err(ModelError::Checksum { found, computed });
        }
        if file.features != units() {
            return Err(ModelError::Units);
        }
        let nodes: Result<Vec<Node>, ModelError> =
            file.tree.iter().enumerate().map(|(place, node)| node.read(place, &file.classes)).collect();
        let tree = Tree::new(nodes?, file.classes.len())?;
        Self::new(file.classes, file.window_ms, file.least_packets, tree, file.trained)
    }

    /// The model as a file.
    ///
    /// # Errors
    /// [`ModelError::Json`] when it cannot be written as JSON, which no model is known to do.
    pub fn encode(&self) -> Result<String, ModelError> {
        let mut file = File {
            format: FORMAT.into(),
            version: VERSION,
            checksum: String::new(),
            classes: self.classes.clone(),
            window_ms: self.window_millis,
            least_packets: self.least_packets,
            features: units(),
            tree: self.tree.nodes().iter().map(|node| FileNode::of(*node, &self.classes)).collect(),
            trained: self.trained.clone(),
        };
        file.checksum = checksum(&file)?;
        let mut text =
            serde_json::to_string_pretty(&file).map_err(|error| ModelError::Json(error.to_string()))?;
        text.push('\n');
        Ok(text)
    }

    /// The names of the classes, by number.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The length of windows.
    pub const fn window(&self) -> Span {
        Span::from_millis(self.window_millis as u64)
    }

    /// The least packets in each direction of a window that the tree sees.
    pub const fn least_packets(&self) -> u16 {
        self.least_packets
    }

    /// The tree.
    pub const fn tree(&self) -> &Tree {
        &self.tree
    }

    /// What it was trained on.
    pub const fn trained(&self) -> &Trained {
        &self.trained
    }
}

/// The checksum of a file without one: that of its shortest form.
fn checksum(file: &File) -> Result<String, ModelError> {
    let octets = serde_json::to_vec(file).map_err(|error| ModelError::Json(error.to_string()))?;
    Ok(Fnv::new().with(&octets).to_string())
}

impl FileNode {
    fn of(node: Node, classes: &[String]) -> Self {
        match node {
            Node::Leaf { class } => {
                Self::Leaf(FileLeaf { class: classes.get(usize::from(class)).cloned().unwrap_or_default() })
            }
            Node::Split { feature, threshold, below, above } => {
                Self::Split(FileSplit { feature: feature.name().into(), threshold, below, above })
            }
        }
    }

    fn read(&self, node: usize, classes: &[String]) -> Result<Node, ModelError> {
        match self {
            Self::Leaf(FileLeaf { class }) => {
                let place = classes.iter().position(|known| known == class);
                let place = place.and_then(|place| u8::try_from(place).ok());
                let unknown = || ModelError::UnknownClass { node, class: class.clone() };
                Ok(Node::Leaf { class: place.ok_or_else(unknown)? })
            }
            Self::Split(FileSplit { feature, threshold, below, above }) => {
                let unknown = || ModelError::UnknownFeature { node, feature: feature.clone() };
                let feature = Feature::of_name(feature).ok_or_else(unknown)?;
                Ok(Node::Split { feature, threshold: *threshold, below: *below, above: *above })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> Model {
        let nodes = vec![
            Node::Split { feature: Feature::DownlinkPackets, threshold: 317, below: 1, above: 2 },
            Node::Leaf { class: 0 },
            Node::Leaf { class: 1 },
        ];
        let trained = Trained {
            sources: vec!["flows.csv".into()],
            data_hash: Fnv::new().with(b"samples").to_string(),
            samples: vec![ClassSamples { class: "other".into(), samples: 143 }],
            parameters: Parameters {
                max_depth: 3,
                min_leaf: 5,
                is_balanced: false,
                features: vec!["downlink_packets".into()],
            },
            scores: vec![Score { validation: "session".into(), counts: vec![vec![142, 1], vec![1, 38]] }],
        };
        let classes = vec!["other".into(), "cloud-gaming".into()];
        Model::new(classes, 1000, 5, Tree::new(nodes, 2).unwrap(), trained).unwrap()
    }

    /// The file with a part replaced, and its checksum made right.
    fn changed(from: &str, to: &str) -> Result<Model, ModelError> {
        let text = model().encode().unwrap();
        assert!(text.contains(from), "{from}: {text}");
        let text = text.replace(from, to);
        match Model::decode(text.as_bytes()) {
            Err(ModelError::Checksum { found, computed }) => {
                Model::decode(text.replace(&found, &computed).as_bytes())
            }
            other => other,
        }
    }

    // Input:  a model, written and read; with other white space.
    // Output: the same model.
    #[test]
    fn a_file_is_read_as_it_was_written() {
        let text = model().encode().unwrap();
        assert_eq!(Model::decode(text.as_bytes()), Ok(model()));
        assert_eq!(Model::decode(text.replace('\n', "  \n").as_bytes()), Ok(model()));
        assert_eq!(Fnv::new().with(b"a").to_string(), "fnv1a64:af63dc4c8601ec8c");
    }

    // Input:  files of something else, cut files, and files with one changed digit.
    // Output: an error that says which of it.
    #[test]
    fn foreign_and_damaged_files_are_named() {
        let text = model().encode().unwrap();
        let error = |octets: &[u8]| Model::decode(octets).unwrap_err();
        assert!(matches!(error(b"\x89PNG"), ModelError::Json(_)));
        assert!(matches!(error(b""), ModelError::Json(_)));
        assert_eq!(error(b"{\"format\": \"onnx\"}"), ModelError::Foreign("onnx".into()));
        assert_eq!(error(b"{}"), ModelError::Foreign("null".into()));
        assert_eq!(
            error(format!("{{\"format\": \"{FORMAT}\", \"version\": 2}}").as_bytes()),
            ModelError::Version(2)
        );
        for end in 1..text.trim_end().len() {
            assert!(matches!(error(&text.as_bytes()[..end]), ModelError::Json(_)), "{end}");
        }
        assert!(matches!(error(text.replace("317", "318").as_bytes()), ModelError::Checksum { .. }));
        assert!(matches!(error(text.replace("\"window_ms\"", "\"window\"").as_bytes()), ModelError::Json(_)));
        assert_eq!(error(&vec![b' '; MOST_OCTETS + 1]), ModelError::TooLong(MOST_OCTETS + 1));
    }

    // Input:  files whose checksum is right but whose content is not.
    // Output: the error that names what is wrong.
    #[test]
    fn content_is_checked() {
        assert!(changed("317", "318").is_ok());
        let error = |from: &str, to: &str| changed(from, to).unwrap_err();
        assert!(matches!(error("\"below\": 1", "\"below\": 2"), ModelError::Tree(TreeError::Ways { .. })));
        let window = error("\"window_ms\": 1000", "\"window_ms\": 5");
        assert!(matches!(window, ModelError::OutOfRange { what: "window_ms", given: 5, .. }));
        assert_eq!(error("\"us\"", "\"ms\""), ModelError::Units);
        assert!(matches!(
            error("\"class\": \"cloud-gaming\"", "\"class\": \"vnc\""),
            ModelError::UnknownClass { node: 2, .. }
        ));
        assert!(matches!(
            error("\"feature\": \"downlink_packets\"", "\"feature\": \"ttl\""),
            ModelError::UnknownFeature { node: 0, .. }
        ));
        assert!(matches!(error("\"cloud-gaming\"", "\"other\""), ModelError::ClassName(_)));
        assert!(matches!(error("\"cloud-gaming\"", "\"\""), ModelError::ClassName(_)));
        assert!(matches!(
            error("            142,\n", "            142,\n            0,\n"),
            ModelError::Score(_)
        ));
    }
}

//! Files of application class models: a decision tree with the names of its classes, and what it was trained on.
//!
//! The file is JSON of one form only: unknown keys, other units and a wrong checksum are errors. It holds no floating-point
//! numbers; shares follow from the counts of its scores.
//!
//! ```
//! use causeway_class_model::{Fnv, ModelFile, Parameters, Trained};
//! use causeway_traffic::classes::{Feature, Model, Node, Tree};
//!
//! let tree = Tree::new(
//!     vec![
//!         Node::Split { feature: Feature::DownlinkPackets, threshold: 317, below: 1, above: 2 },
//!         Node::Leaf { class: 0 },
//!         Node::Leaf { class: 1 },
//!     ],
//!     2,
//! )?;
//! let model = Model::new(vec!["other".into(), "video".into()], 1000, 5, tree)?;
//! let trained = Trained {
//!     sources: vec!["flows.csv".into()],
//!     data_hash: Fnv::new().with(b"samples").to_string(),
//!     samples: Vec::new(),
//!     parameters: Parameters { max_depth: 1, min_leaf: 5, is_balanced: false, features: Vec::new() },
//!     scores: Vec::new(),
//! };
//! let file = ModelFile::new(model, trained)?;
//! assert_eq!(ModelFile::decode(file.encode()?.as_bytes()), Ok(file));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

use std::fmt;

use causeway_traffic::classes::{Feature, Model, ModelError, Node, Tree, TreeError};
use serde::{Deserialize, Serialize};

/// The key `format` of a model file.
pub const FORMAT: &str = "causeway-class-model";
/// The version of the form.
pub const VERSION: u32 = 1;

/// The longest file, in octets.
const MOST_OCTETS: usize = 1 << 20;
/// Octets of a foreign format that an error shows.
const SHOWN: usize = 64;

/// Why a file is no model.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ModelFileError {
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
    /// Its values are no model.
    #[error("the model file: {0}")]
    Model(#[from] ModelError),
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
    /// Whether every class had the same weight, however many samples it has.
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

/// The content of a model file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelFile {
    model: Model,
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

impl ModelFile {
    /// The file of a model with what it was trained on.
    ///
    /// # Errors
    /// [`ModelFileError::Score`] when a score is not one of the model's classes.
    pub fn new(model: Model, trained: Trained) -> Result<Self, ModelFileError> {
        let classes = model.classes().len();
        let is_square = |score: &Score| {
            score.counts.len() == classes && score.counts.iter().all(|row| row.len() == classes)
        };
        match trained.scores.iter().find(|score| !is_square(score)) {
            Some(score) => Err(ModelFileError::Score(score.validation.clone())),
            None => Ok(Self { model, trained }),
        }
    }

    /// Reads a model file.
    ///
    /// # Errors
    /// [`ModelFileError`].
    pub fn decode(octets: &[u8]) -> Result<Self, ModelFileError> {
        if octets.len() > MOST_OCTETS {
            return Err(ModelFileError::TooLong(octets.len()));
        }
        let json = |error: serde_json::Error| ModelFileError::Json(error.to_string());
        let head: Head = serde_json::from_slice(octets).map_err(json)?;
        if head.format != FORMAT {
            let format = head.format.as_str().map_or_else(|| head.format.to_string(), Into::into);
            return Err(ModelFileError::Foreign(format.chars().take(SHOWN).collect()));
        }
        if head.version != VERSION {
            return Err(ModelFileError::Version(head.version.as_u64().unwrap_or(0)));
        }
        let mut file: File = serde_json::from_slice(octets).map_err(json)?;
        let found = std::mem::take(&mut file.checksum);
        let computed = checksum(&file)?;
        if found != computed {
            return Err(ModelFileError::Checksum { found, computed });
        }
        if file.features != units() {
            return Err(ModelFileError::Units);
        }
        let nodes: Result<Vec<Node>, ModelFileError> =
            file.tree.iter().enumerate().map(|(place, node)| node.read(place, &file.classes)).collect();
        let tree = Tree::new(nodes?, file.classes.len())?;
        Self::new(Model::new(file.classes, file.window_ms, file.least_packets, tree)?, file.trained)
    }

    /// The model as a file.
    ///
    /// # Errors
    /// [`ModelFileError::Json`] when it cannot be written as JSON, which no model is known to do.
    pub fn encode(&self) -> Result<String, ModelFileError> {
        let model = &self.model;
        let mut file = File {
            format: FORMAT.into(),
            version: VERSION,
            checksum: String::new(),
            classes: model.classes().to_vec(),
            window_ms: u32::try_from(model.window().as_millis()).unwrap_or(u32::MAX),
            least_packets: model.least_packets(),
            features: units(),
            tree: model.tree().nodes().iter().map(|node| FileNode::of(*node, model.classes())).collect(),
            trained: self.trained.clone(),
        };
        file.checksum = checksum(&file)?;
        let mut text =
            serde_json::to_string_pretty(&file).map_err(|error| ModelFileError::Json(error.to_string()))?;
        text.push('\n');
        Ok(text)
    }

    /// The model.
    pub const fn model(&self) -> &Model {
        &self.model
    }

    /// The model, alone.
    pub fn into_model(self) -> Model {
        self.model
    }

    /// What it was trained on.
    pub const fn trained(&self) -> &Trained {
        &self.trained
    }
}

/// The checksum of a file without one: that of its shortest form.
fn checksum(file: &File) -> Result<String, ModelFileError> {
    let octets = serde_json::to_vec(file).map_err(|error| ModelFileError::Json(error.to_string()))?;
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

    fn read(&self, node: usize, classes: &[String]) -> Result<Node, ModelFileError> {
        match self {
            Self::Leaf(FileLeaf { class }) => {
                let place = classes.iter().position(|known| known == class);
                let place = place.and_then(|place| u8::try_from(place).ok());
                let unknown = || ModelFileError::UnknownClass { node, class: class.clone() };
                Ok(Node::Leaf { class: place.ok_or_else(unknown)? })
            }
            Self::Split(FileSplit { feature, threshold, below, above }) => {
                let unknown = || ModelFileError::UnknownFeature { node, feature: feature.clone() };
                let feature = Feature::of_name(feature).ok_or_else(unknown)?;
                Ok(Node::Split { feature, threshold: *threshold, below: *below, above: *above })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file() -> ModelFile {
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
        let model = Model::new(classes, 1000, 5, Tree::new(nodes, 2).unwrap()).unwrap();
        ModelFile::new(model, trained).unwrap()
    }

    /// The file with a part replaced, and its checksum made right.
    fn changed(from: &str, to: &str) -> Result<ModelFile, ModelFileError> {
        let text = file().encode().unwrap();
        assert!(text.contains(from), "{from}: {text}");
        let text = text.replace(from, to);
        match ModelFile::decode(text.as_bytes()) {
            Err(ModelFileError::Checksum { found, computed }) => {
                ModelFile::decode(text.replace(&found, &computed).as_bytes())
            }
            other => other,
        }
    }

    // Input:  a model, written and read; with other white space.
    // Output: the same model.
    #[test]
    fn a_file_is_read_as_it_was_written() {
        let text = file().encode().unwrap();
        assert_eq!(ModelFile::decode(text.as_bytes()), Ok(file()));
        assert_eq!(ModelFile::decode(text.replace('\n', "  \n").as_bytes()), Ok(file()));
        assert_eq!(Fnv::new().with(b"a").to_string(), "fnv1a64:af63dc4c8601ec8c");
    }

    // Input:  files of something else, cut files, and files with one changed digit.
    // Output: an error that says which of it.
    #[test]
    fn foreign_and_damaged_files_are_named() {
        let text = file().encode().unwrap();
        let error = |octets: &[u8]| ModelFile::decode(octets).unwrap_err();
        assert!(matches!(error(b"\x89PNG"), ModelFileError::Json(_)));
        assert!(matches!(error(b""), ModelFileError::Json(_)));
        assert_eq!(error(b"{\"format\": \"onnx\"}"), ModelFileError::Foreign("onnx".into()));
        assert_eq!(error(b"{}"), ModelFileError::Foreign("null".into()));
        assert_eq!(
            error(format!("{{\"format\": \"{FORMAT}\", \"version\": 2}}").as_bytes()),
            ModelFileError::Version(2)
        );
        for end in 1..text.trim_end().len() {
            assert!(matches!(error(&text.as_bytes()[..end]), ModelFileError::Json(_)), "{end}");
        }
        assert!(matches!(error(text.replace("317", "318").as_bytes()), ModelFileError::Checksum { .. }));
        assert!(matches!(
            error(text.replace("\"window_ms\"", "\"window\"").as_bytes()),
            ModelFileError::Json(_)
        ));
        assert_eq!(error(&vec![b' '; MOST_OCTETS + 1]), ModelFileError::TooLong(MOST_OCTETS + 1));
    }

    // Input:  files whose checksum is right but whose content is not.
    // Output: the error that names what is wrong.
    #[test]
    fn content_is_checked() {
        assert!(changed("317", "318").is_ok());
        let error = |from: &str, to: &str| changed(from, to).unwrap_err();
        assert!(matches!(
            error("\"below\": 1", "\"below\": 2"),
            ModelFileError::Tree(TreeError::Ways { .. })
        ));
        let window = error("\"window_ms\": 1000", "\"window_ms\": 5");
        assert_eq!(window, ModelFileError::Model(ModelError::Window(5)));
        assert_eq!(error("\"us\"", "\"ms\""), ModelFileError::Units);
        assert!(matches!(
            error("\"class\": \"cloud-gaming\"", "\"class\": \"vnc\""),
            ModelFileError::UnknownClass { node: 2, .. }
        ));
        assert!(matches!(
            error("\"feature\": \"downlink_packets\"", "\"feature\": \"ttl\""),
            ModelFileError::UnknownFeature { node: 0, .. }
        ));
        assert!(matches!(
            error("\"cloud-gaming\"", "\"other\""),
            ModelFileError::Model(ModelError::ClassName(_))
        ));
        assert!(matches!(error("\"cloud-gaming\"", "\"\""), ModelFileError::Model(ModelError::ClassName(_))));
        assert!(matches!(
            error("            142,\n", "            142,\n            0,\n"),
            ModelFileError::Score(_)
        ));
    }

    proptest! {
        // Input:  any octets; a model file with any octet changed.
        // Output: no panic; whatever is accepted is written as it was read.
        #[test]
        fn no_file_panics(
            octets in prop::collection::vec(any::<u8>(), 0..200),
            place in any::<prop::sample::Index>(),
            octet: u8,
        ) {
            prop_assert!(ModelFile::decode(&octets).is_err());
            let mut text = file().encode().unwrap().into_bytes();
            *place.get_mut(&mut text) = octet;
            if let Ok(file) = ModelFile::decode(&text) {
                prop_assert_eq!(ModelFile::decode(file.encode().unwrap().as_bytes()), Ok(file));
            }
        }
    }
}

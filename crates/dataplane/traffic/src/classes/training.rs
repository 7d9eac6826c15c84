//! Training of decision trees.

use super::tree::{MAX_CLASSES, MAX_DEPTH};
use super::{Feature, Node, Tree, TreeError, Vector};

/// A vector whose class is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Sample {
    /// The features.
    pub vector: Vector,
    /// Number of the class.
    pub class: u8,
}

/// Why no tree can be trained.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TrainError {
    /// There is nothing to learn from.
    #[error("there are no samples")]
    NoSamples,
    /// There is nothing to compare.
    #[error("there are no features")]
    NoFeatures,
    /// A sample has a class that is not there.
    #[error("a sample has class {class}: below {classes}")]
    NoSuchClass {
        /// Its class.
        class: u8,
        /// The number of classes.
        classes: usize,
    },
    /// A number is out of its range.
    #[error("{what} is {given}: from {least} to {most}")]
    OutOfRange {
        /// The number.
        what: &'static str,
        /// Its value.
        given: usize,
        /// The least permitted value.
        least: usize,
        /// The greatest permitted value.
        most: usize,
    },
    /// The tree breaks a rule of trees.
    #[error("the trained tree: {0}")]
    Tree(#[from] TreeError),
}

/// How a tree is trained: the split with the least Gini impurity at each node.
///
/// Of equally good splits the one of the first feature is taken, and of its thresholds the least. The order of samples has no
/// effect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Training {
    /// The most splits on the way to a leaf; 1 to [`MAX_DEPTH`].
    pub max_depth: usize,
    /// The least samples of a leaf; 1 or more.
    pub min_leaf: usize,
    /// Whether classes have equal weight, however many samples each has. Otherwise samples have equal weight.
    pub is_balanced: bool,
    /// The features that may be compared.
    pub features: Vec<Feature>,
}

impl Default for Training {
    fn default() -> Self {
        Self { max_depth: 3, min_leaf: 1, is_balanced: false, features: Feature::ALL.to_vec() }
    }
}

/// Weights by class.
type Weights = [f64; MAX_CLASSES];

/// The best split of some samples.
#[derive(Clone, Copy, Debug)]
struct Split {
    feature: Feature,
    threshold: u32,
    purity: f64,
}

/// By how much a split must be better, as a part: less is rounding.
const LEAST_GAIN: f64 = 1e-9;

impl Training {
    /// Trains a tree on these samples of so many classes.
    ///
    /// The time is that of sorting the samples once for each feature and depth.
    ///
    /// # Errors
    /// [`TrainError`].
    pub fn train(&self, samples: &[Sample], classes: usize) -> Result<Tree, TrainError> {
        self.check()?;
        if samples.is_empty() {
            return Err(TrainError::NoSamples);
        }
        if classes == 0 || classes > MAX_CLASSES {
            return Err(TreeError::Classes(classes).into());
        }
        if let Some(wrong) = samples.iter().find(|sample| usize::from(sample.class) >= classes) {
            return Err(TrainError::NoSuchClass { class: wrong.class, classes });
        }
        let mut counts = [0_usize; MAX_CLASSES];
        samples.iter().for_each(|sample| add(&mut counts, sample.class));
        let present = counts.iter().filter(|count| **count > 0).count();
        let weights = counts.map(|count| match count {
            0 => 0.0,
            count if self.is_balanced => samples.len() as f64 / (present as f64 * count as f64),
            _ => 1.0,
        });
        let mut growth = Growth { training: self, weights, nodes: Vec::new() };
        let mut samples = samples.to_vec();
        growth.grow(&mut samples, 0);
        Ok(Tree::new(growth.nodes, classes)?)
    }

    fn check(&self) -> Result<(), TrainError> {
        let wrong = |what, given, least, most| Err(TrainError::OutOfRange { what, given, least, most });
        if self.features.is_empty() {
            return Err(TrainError::NoFeatures);
        }
        if self.max_depth == 0 || self.max_depth > MAX_DEPTH {
            return wrong("max_depth", self.max_depth, 1, MAX_DEPTH);
        }
        if self.min_leaf == 0 {
            return wrong("min_leaf", 0, 1, usize::MAX);
        }
        Ok(())
    }
}

fn add(counts: &mut [usize; MAX_CLASSES], class: u8) {
    if let Some(count) = counts.get_mut(usize::from(class)) {
        *count += 1;
    }
}

/// A tree that grows.
struct Growth<'a> {
    training: &'a Training,
    weights: Weights,
    nodes: Vec<Node>,
}

impl Growth<'_> {
    /// Adds the tree of these samples; gives its root.
    fn grow(&mut self, samples: &mut [Sample], depth: usize) -> u16 {
        let place = u16::try_from(self.nodes.len()).unwrap_or(u16::MAX);
        let mut counts = [0; MAX_CLASSES];
        samples.iter().for_each(|sample| add(&mut counts, sample.class));
        let leaf = Node::Leaf { class: self.heaviest(&counts) };
        self.nodes.push(leaf);
        let split = if depth < self.training.max_depth { self.split(samples, &counts) } else { None };
        let Some(Split { feature, threshold, .. }) = split else { return place };
        samples.sort_unstable_by_key(|sample| sample.vector.get(feature) > threshold);
        let middle = samples.partition_point(|sample| sample.vector.get(feature) <= threshold);
        let (left, right) = samples.split_at_mut(middle);
        let below = self.grow(left, depth + 1);
        let above = self.grow(right, depth + 1);
        let node = |place: u16| self.nodes.get(usize::from(place)).copied();
        let whole = match (node(below), node(above)) {
            // A split between equal leaves says nothing.
            (Some(Node::Leaf { class }), Some(Node::Leaf { class: other })) if class == other => {
                self.nodes.truncate(usize::from(place) + 1);
                Node::Leaf { class }
            }
            _ => Node::Split { feature, threshold, below, above },
        };
        if let Some(node) = self.nodes.get_mut(usize::from(place)) {
            *node = whole;
        }
        place
    }

    /// The class with the greatest weight; of equal ones the first.
    fn heaviest(&self, counts: &[usize; MAX_CLASSES]) -> u8 {
        let mut best = (0_u8, f64::NEG_INFINITY);
        for (class, (count, weight)) in (0_u8..).zip(counts.iter().zip(&self.weights)) {
            let weight = *count as f64 * weight;
            if weight > best.1 * (1.0 + LEAST_GAIN) || best.1 == f64::NEG_INFINITY {
                best = (class, weight);
            }
        }
        best.0
    }

    /// The sum of squared weights over the weight: the greater, the purer.
    fn purity(&self, counts: &[usize; MAX_CLASSES]) -> f64 {
        let weights = counts.iter().zip(&self.weights).map(|(count, weight)| *count as f64 * weight);
        let (sum, squares) =
            weights.fold((0.0, 0.0), |(sum, squares), weight| (sum + weight, squares + weight * weight));
        if sum > 0.0 { squares / sum } else { 0.0 }
    }

    fn split(&self, samples: &mut [Sample], counts: &[usize; MAX_CLASSES]) -> Option<Split> {
        let whole = self.purity(counts);
        let mut best: Option<Split> = None;
        for feature in Feature::ALL.into_iter().filter(|feature| self.training.features.contains(feature)) {
            samples.sort_unstable_by_key(|sample| sample.vector.get(feature));
            let mut below = [0; MAX_CLASSES];
            for (place, pair) in samples.windows(2).enumerate() {
                let [one, two] = pair else { continue };
                add(&mut below, one.class);
                let (value, next) = (one.vector.get(feature), two.vector.get(feature));
                let size = place + 1;
                let is_small = size.min(samples.len() - size) < self.training.min_leaf;
                if value == next || is_small {
                    continue;
                }
                let mut above = *counts;
                above.iter_mut().zip(&below).for_each(|(above, below)| *above -= below);
                let purity = self.purity(&below) + self.purity(&above);
                if purity > best.map_or(whole, |best| best.purity) * (1.0 + LEAST_GAIN) {
                    let threshold = value + (next - value) / 2;
                    best = Some(Split { feature, threshold, purity });
                }
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(packets: u32, size: u32, class: u8) -> Sample {
        Sample { vector: Vector::new([0, packets, 0, size, 0, 0]), class }
    }

    // Input:  many packets mean class 1, but for large sizes, which mean class 2.
    // Output: two splits, halfway between the values, and every sample's class.
    #[test]
    fn a_tree_learns_what_separates() {
        let mut samples = Vec::new();
        for place in 0..20 {
            samples.push(sample(place, 50 * place, 0));
            samples.push(sample(100 + place, 100 + place, 1));
            samples.push(sample(100 + place, 5000 + place, 2));
        }
        let tree = Training::default().train(&samples, 3).unwrap();
        assert!(samples.iter().all(|sample| tree.classify(&sample.vector) == sample.class), "{tree:?}");
        assert_eq!((tree.depth(), tree.leaves()), (2, 3));
        assert_eq!(tree.thresholds(Feature::DownlinkPackets), [59]);
    }

    // Input:  a class with two samples among 98 of another, which it touches; equal weights of samples, then of classes.
    // Output: only the second sees the small class.
    #[test]
    fn classes_can_count_alike() {
        let mut samples: Vec<Sample> = (0..98).map(|place| sample(place, 0, 0)).collect();
        samples.extend([sample(95, 0, 1), sample(97, 0, 1)]);
        let training = Training { max_depth: 1, ..Training::default() };
        let last = Vector::new([0, 97, 0, 0, 0, 0]);
        assert_eq!(training.train(&samples, 2).unwrap().classify(&last), 0);
        let training = Training { is_balanced: true, ..training };
        assert_eq!(training.train(&samples, 2).unwrap().classify(&last), 1);
    }

    // Input:  numbers that permit no tree, and samples of one class.
    // Output: the error that names each; a single leaf.
    #[test]
    fn training_is_checked() {
        let samples = [sample(1, 1, 1); 20];
        let error = |training: Training, classes| training.train(&samples, classes).unwrap_err();
        let usual = Training::default;
        assert_eq!(error(Training { features: Vec::new(), ..usual() }, 2), TrainError::NoFeatures);
        let wrong = Training { max_depth: 13, ..usual() };
        assert!(matches!(error(wrong, 2), TrainError::OutOfRange { what: "max_depth", given: 13, .. }));
        let wrong = Training { min_leaf: 0, ..usual() };
        assert!(matches!(error(wrong, 2), TrainError::OutOfRange { what: "min_leaf", given: 0, .. }));
        assert_eq!(error(usual(), 1), TrainError::NoSuchClass { class: 1, classes: 1 });
        assert_eq!(error(usual(), 17), TreeError::Classes(17).into());
        assert_eq!(usual().train(&[], 2), Err(TrainError::NoSamples));
        assert_eq!(usual().train(&samples, 2).unwrap().nodes(), [Node::Leaf { class: 1 }]);
    }
}

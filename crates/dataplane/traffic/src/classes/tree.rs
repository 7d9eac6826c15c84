//! Decision trees over vectors of integers.

use super::{Feature, Vector};

/// The most classes.
pub const MAX_CLASSES: usize = 16;
/// The most splits on the way to a leaf.
pub const MAX_DEPTH: usize = 12;
/// The most nodes.
pub const MAX_NODES: usize = 8191;

/// A node of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// The class of all vectors that come here.
    Leaf {
        /// Number of the class.
        class: u8,
    },
    /// Two ways on.
    Split {
        /// What is compared.
        feature: Feature,
        /// The greatest value that goes `below`.
        threshold: u32,
        /// The node of values up to the threshold; a greater number than this node's.
        below: u16,
        /// The node of greater values; a greater number than this node's.
        above: u16,
    },
}

/// Why nodes are no tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TreeError {
    /// There is no node.
    #[error("the tree has no nodes")]
    Empty,
    /// There are too many nodes.
    #[error("the tree has {0} nodes: at most {MAX_NODES}")]
    TooManyNodes(usize),
    /// There are none, or too many classes.
    #[error("there are {0} classes: from 1 to {MAX_CLASSES}")]
    Classes(usize),
    /// A leaf has a class that is not there.
    #[error("node {node} has class {class}: below {classes}")]
    NoSuchClass {
        /// The node.
        node: usize,
        /// Its class.
        class: u8,
        /// The number of classes.
        classes: usize,
    },
    /// A split leads to a node that is not there, or back.
    #[error("node {node} leads to node {to}: a later one of {nodes}")]
    NoSuchNode {
        /// The node.
        node: usize,
        /// Where it leads.
        to: usize,
        /// The number of nodes.
        nodes: usize,
    },
    /// No split leads to a node, or two do.
    #[error("{ways} splits lead to node {node}: exactly one must")]
    Ways {
        /// The node.
        node: usize,
        /// How many lead to it.
        ways: usize,
    },
    /// A threshold is so great that no value is above it.
    #[error("node {node} splits {} at {threshold}: below {}", .feature.name(), .feature.most())]
    Threshold {
        /// The node.
        node: usize,
        /// What is compared.
        feature: Feature,
        /// The threshold.
        threshold: u32,
    },
    /// A way from the root is too long.
    #[error("node {node} is {depth} splits below the root: at most {MAX_DEPTH}")]
    TooDeep {
        /// The node.
        node: usize,
        /// Its depth.
        depth: usize,
    },
}

/// A decision tree. Every way through it ends at a leaf, whatever the vector.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    classes: usize,
    depth: usize,
}

impl Tree {
    /// The tree of these nodes, the first of which is the root.
    ///
    /// # Errors
    /// [`TreeError`].
    pub fn new(nodes: Vec<Node>, classes: usize) -> Result<Self, TreeError> {
        if nodes.is_empty() {
            return Err(TreeError::Empty);
        }
        if nodes.len() > MAX_NODES {
            return Err(TreeError::TooManyNodes(nodes.len()));
        }
        if classes == 0 || classes > MAX_CLASSES {
            return Err(TreeError::Classes(classes));
        }
        // Nodes lead to later ones only, so that one pass finds all depths.
        let mut reached = vec![(0_usize, 0_usize); nodes.len()];
        for (node, kind) in nodes.iter().enumerate() {
            let (ways, depth) = reached.get(node).copied().unwrap_or_default();
            if ways != usize::from(node > 0) {
                return Err(TreeError::Ways { node, ways });
            }
            if depth > MAX_DEPTH {
                return Err(TreeError::TooDeep { node, depth });
            }
            match *kind {
                Node::Leaf { class } if usize::from(class) >= classes => {
                    return Err(TreeError::NoSuchClass { node, class, classes });
                }
                Node::Leaf { .. } => {}
                Node::Split { feature, threshold, .. } if threshold >= feature.most() => {
                    return Err(TreeError::Threshold { node, feature, threshold });
                }
                Node::Split { below, above, .. } => {
                    for to in [below, above].map(usize::from) {
                        match reached.get_mut(to).filter(|_| to > node) {
                            Some((ways, of_it)) => (*ways, *of_it) = (*ways + 1, depth + 1),
                            None => return Err(TreeError::NoSuchNode { node, to, nodes: nodes.len() }),
                        }
                    }
                }
            }
        }
        let depth = reached.iter().map(|(_, depth)| *depth).max().unwrap_or(0);
        Ok(Self { nodes, classes, depth })
    }

    /// The class of a vector. At most [`MAX_DEPTH`] comparisons, no allocation.
    pub fn classify(&self, vector: &Vector) -> u8 {
        let mut place = 0_usize;
        // Bounded by construction: every step leads to a later node.
        while let Some(node) = self.nodes.get(place) {
            match *node {
                Node::Leaf { class } => return class,
                Node::Split { feature, threshold, below, above } => {
                    place = usize::from(if vector.get(feature) <= threshold { below } else { above });
                }
            }
        }
        0
    }

    /// The nodes; the first is the root.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The number of classes.
    pub const fn classes(&self) -> usize {
        self.classes
    }

    /// The most splits on the way to a leaf.
    pub const fn depth(&self) -> usize {
        self.depth
    }

    /// The number of leaves.
    pub fn leaves(&self) -> usize {
        self.nodes.iter().filter(|node| matches!(node, Node::Leaf { .. })).count()
    }

    /// The thresholds of a feature, ascending, each once.
    pub fn thresholds(&self, wanted: Feature) -> Vec<u32> {
        let of = |node: &Node| match *node {
            Node::Split { feature, threshold, .. } if feature == wanted => Some(threshold),
            _ => None,
        };
        let mut thresholds: Vec<u32> = self.nodes.iter().filter_map(of).collect();
        thresholds.sort_unstable();
        thresholds.dedup();
        thresholds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEATURE: Feature = Feature::DownlinkPackets;

    const fn split(threshold: u32, below: u16, above: u16) -> Node {
        Node::Split { feature: FEATURE, threshold, below, above }
    }

    const fn leaf(class: u8) -> Node {
        Node::Leaf { class }
    }

    // Input:  a tree with one split, and values on both sides of its threshold.
    // Output: the threshold itself is below.
    #[test]
    fn a_threshold_belongs_to_the_values_below() {
        let tree = Tree::new(vec![split(9, 1, 2), leaf(0), leaf(1)], 2).unwrap();
        let class = |value| tree.classify(&Vector::new([0, value, 0, 0, 0, 0]));
        assert_eq!([0, 9, 10, u32::MAX].map(class), [0, 0, 1, 1]);
        assert_eq!((tree.depth(), tree.leaves(), tree.thresholds(FEATURE)), (1, 2, vec![9]));
    }

    // Input:  nodes that are no tree, each in another way.
    // Output: the error that names it.
    #[test]
    fn what_is_no_tree_is_refused() {
        let error = |nodes: &[Node], classes| Tree::new(nodes.to_vec(), classes).unwrap_err();
        assert_eq!(error(&[], 2), TreeError::Empty);
        assert_eq!(error(&[leaf(0)], 0), TreeError::Classes(0));
        assert_eq!(error(&[leaf(0)], 17), TreeError::Classes(17));
        assert_eq!(error(&[leaf(2)], 2), TreeError::NoSuchClass { node: 0, class: 2, classes: 2 });
        assert_eq!(error(&[split(1, 0, 1), leaf(0)], 2), TreeError::NoSuchNode { node: 0, to: 0, nodes: 2 });
        assert_eq!(error(&[split(1, 1, 5), leaf(0)], 2), TreeError::NoSuchNode { node: 0, to: 5, nodes: 2 });
        assert_eq!(error(&[split(1, 1, 1), leaf(0)], 2), TreeError::Ways { node: 1, ways: 2 });
        assert_eq!(error(&[leaf(0), leaf(1)], 2), TreeError::Ways { node: 1, ways: 0 });
        let threshold = FEATURE.most();
        let expected = TreeError::Threshold { node: 0, feature: FEATURE, threshold };
        assert_eq!(error(&[split(threshold, 1, 2), leaf(0), leaf(1)], 2), expected);
        assert_eq!(error(&vec![leaf(0); MAX_NODES + 1], 2), TreeError::TooManyNodes(MAX_NODES + 1));
        let mut long = Vec::new();
        for place in 0..=MAX_DEPTH as u16 {
            long.extend([split(1, 2 * place + 1, 2 * place + 2), leaf(0)]);
        }
        long.push(leaf(1));
        assert!(matches!(error(&long, 2), TreeError::TooDeep { depth: 13, .. }));
    }
}

//! Application classes of traffic, such as cloud gaming, by the shape of its packets: counts, sizes and gaps in windows.
//!
//! A [`PairWindow`] measures the packets of a rule pair, uplink and downlink. At the end of each window a [`Tree`], or the
//! [`Tables`] made of it, gives the window a class. A [`Verdict`] changes the class of the pair when two of its last three
//! windows say so. [`Classifier`] is all of it behind one call for each packet. A [`Model`] is a tree
//! with the names of its classes.
//!
//! A packet costs no allocation and no floating point. Training uses floating point for scores only, and gives the same tree
//! for the same samples in any order.

mod classifier;
mod features;
mod model;
mod tables;
mod training;
mod tree;
mod verdict;

pub use classifier::{Classifier, PairClass};
pub use features::{Closed, FRACTION_BITS, Feature, PairWindow, Vector};
pub use model::{Model, ModelError, WINDOW_MILLIS};
pub use tables::{CodeTable, TableError, TableLimits, Tables, blocks};
pub use training::{Sample, TrainError, Training};
pub use tree::{MAX_CLASSES, MAX_DEPTH, MAX_NODES, Node, Tree, TreeError};
pub use verdict::{ClassChange, Verdict};

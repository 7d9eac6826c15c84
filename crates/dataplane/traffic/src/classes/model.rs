//! A tree with the names of its classes and the windows that it is for.

use causeway_types::Span;

use super::{Tree, TreeError};

/// The usual lengths of windows, in milliseconds.
pub const WINDOW_MILLIS: [u32; 3] = [300, 500, 1000];

/// The least and the greatest length of windows, in milliseconds.
const WINDOWS: [u32; 2] = [10, 10_000];
/// The longest name of a class, in octets.
const MOST_NAME: usize = 64;

/// Why these values are no model.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ModelError {
    /// Windows have a length that is not permitted.
    #[error("windows of {0} ms: from {least} to {most}", least = WINDOWS[0], most = WINDOWS[1])]
    Window(u32),
    /// Two classes have the same name, or one has none or a long one.
    #[error("class {0:?}: each needs a name of its own, of at most {MOST_NAME} octets")]
    ClassName(String),
    /// The tree has another number of classes.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

/// A tree with the names of its classes and the windows that it is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Model {
    classes: Vec<String>,
    window_millis: u32,
    least_packets: u16,
    tree: Tree,
}

impl Model {
    /// A model of these classes, in the order of their numbers, for windows of this length.
    ///
    /// Windows with fewer than `least_packets` in a direction are of the first class.
    ///
    /// # Errors
    /// [`ModelError`].
    pub fn new(
        classes: Vec<String>,
        window_millis: u32,
        least_packets: u16,
        tree: Tree,
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
        if !(WINDOWS[0]..=WINDOWS[1]).contains(&window_millis) {
            return Err(ModelError::Window(window_millis));
        }
        Ok(Self { classes, window_millis, least_packets, tree })
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
}

//! Applications that are classes of traffic: the shape of a session's packets decides.

use causeway_traffic::classes::{Classifier, Model, TableError, TableLimits};

use super::ApplicationId;

/// The classes of a model file. Each is an application with the name of the class as its Application ID, but for the
/// first one, which is all other traffic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrafficClasses {
    model: Model,
    classifier: Classifier,
    ids: Vec<ApplicationId>,
}

impl TrafficClasses {
    /// The classes of a model.
    ///
    /// # Errors
    /// [`TableError`] when the tree of the model exceeds the limits of tables.
    pub fn new(model: &Model) -> Result<Self, TableError> {
        let classifier = Classifier::new(model, &TableLimits::default())?;
        let ids = model.classes().iter().map(|class| ApplicationId::from(class.as_str())).collect();
        Ok(Self { model: model.clone(), classifier, ids })
    }

    /// The model.
    pub const fn model(&self) -> &Model {
        &self.model
    }

    /// Measures windows and decides.
    pub const fn classifier(&self) -> &Classifier {
        &self.classifier
    }

    /// The names of all classes, by number.
    pub fn names(&self) -> &[ApplicationId] {
        &self.ids
    }

    /// The classes that are applications, with their numbers.
    pub fn applications(&self) -> impl Iterator<Item = (&ApplicationId, u8)> {
        // A model has at most 256 classes.
        self.ids.iter().zip(0..=u8::MAX).skip(1)
    }
}

//! Any octets as a model file of application classes: what is read is written as the same model, and its tables, if it has any,
//! are equal to its tree on both sides of each threshold.

use causeway_class_model::ModelFile;
use causeway_traffic::classes::{Feature, TableLimits, Tables, Vector};

/// Handles these octets.
pub fn run(octets: &[u8]) {
    let Ok(file) = ModelFile::decode(octets) else { return };
    let written = file.encode().expect("a model that was read");
    assert_eq!(ModelFile::decode(written.as_bytes()).as_ref(), Ok(&file));
    let tree = file.model().tree();
    let Ok(tables) = Tables::new(tree, &TableLimits::default()) else { return };
    for vector in tables.corners() {
        assert_eq!(tables.classify(&vector), tree.classify(&vector));
    }
    for feature in Feature::ALL {
        for threshold in tree.thresholds(feature) {
            for value in [threshold, threshold + 1] {
                let vector = Vector::new([value; 6]);
                assert_eq!(tables.classify(&vector), tree.classify(&vector));
            }
        }
    }
}

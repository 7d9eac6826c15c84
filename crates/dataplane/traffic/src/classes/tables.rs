//! A decision tree as match-action tables: a range table for each feature, and one exact table.
//!
//! The thresholds of a feature divide its values into ranges. Each range has a code; the codes of all features stand beside each
//! other, so that no two combinations have the same number. The exact table gives the class of each number.

use super::tree::MAX_CLASSES;
use super::{Feature, Tree, Vector};

/// What tables may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableLimits {
    /// Bits of a feature's code; 1 to 16.
    pub feature_bits: u32,
    /// Bits of all codes together; 1 to 16.
    pub code_bits: u32,
    /// Classes.
    pub classes: usize,
}

impl Default for TableLimits {
    fn default() -> Self {
        Self { feature_bits: 8, code_bits: 16, classes: MAX_CLASSES }
    }
}

/// Why a tree has no tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TableError {
    /// A feature has more ranges than codes.
    #[error("{} has {ranges} ranges: at most {most}", .feature.name())]
    TooManyRanges {
        /// The feature.
        feature: Feature,
        /// Its ranges.
        ranges: usize,
        /// The codes.
        most: usize,
    },
    /// The codes of all features together are too long.
    #[error("the codes of all features have {bits} bits: at most {most}")]
    TooManyCodeBits {
        /// Their bits.
        bits: u32,
        /// The greatest permitted number.
        most: u32,
    },
    /// There are more classes than the exact table has numbers for.
    #[error("there are {classes} classes: at most {most}")]
    TooManyClasses {
        /// The classes of the tree.
        classes: usize,
        /// The greatest permitted number.
        most: usize,
    },
    /// A limit is itself out of range.
    #[error("a limit of {0} bits: from 1 to 16")]
    Limit(u32),
}

/// The range table of a feature: the place of a range is its code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeTable {
    /// The feature.
    pub feature: Feature,
    /// The greatest value of each range, ascending; the last one is [`Feature::most`].
    pub ends: Vec<u32>,
    /// How far left its code stands in the number.
    pub shift: u32,
    /// Bits of its code.
    pub bits: u32,
}

impl CodeTable {
    /// The ranges, each with its least and greatest value.
    pub fn ranges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let begins = std::iter::once(0).chain(self.ends.iter().map(|end| end.saturating_add(1)));
        begins.zip(self.ends.iter().copied())
    }

    /// The ternary rows of all ranges, for hardware without range matches.
    pub fn ternary_rows(&self) -> usize {
        self.ranges().map(|(begin, end)| blocks(begin, end).count()).sum()
    }

    fn code(&self, vector: &Vector) -> usize {
        let value = vector.get(self.feature);
        self.ends.partition_point(|end| *end < value) << self.shift
    }
}

/// The aligned blocks of a power of two that make up a range of values up to `end`, each with its first value and how many of its last bits are any:
/// the rows that a range takes in a table that compares bits.
pub fn blocks(begin: u32, end: u32) -> impl Iterator<Item = (u32, u32)> {
    let (mut begin, end) = (u64::from(begin), u64::from(end) + 1);
    std::iter::from_fn(move || {
        let fitting = end.checked_sub(begin)?.checked_ilog2()?;
        let (first, bits) = (u32::try_from(begin).ok()?, begin.trailing_zeros().min(fitting));
        begin += 1 << bits;
        Some((first, bits))
    })
}

/// A tree as tables. Equal to the tree for every vector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tables {
    codes: Vec<CodeTable>,
    /// The class of each number; codes that no range has are of class 0.
    classes: Vec<u8>,
    cells: usize,
    code_bits: u32,
}

impl Tables {
    /// The tables of a tree.
    ///
    /// # Errors
    /// [`TableError`].
    pub fn new(tree: &Tree, limits: &TableLimits) -> Result<Self, TableError> {
        for bits in [limits.feature_bits, limits.code_bits] {
            if !(1..=16).contains(&bits) {
                return Err(TableError::Limit(bits));
            }
        }
        if tree.classes() > limits.classes {
            return Err(TableError::TooManyClasses { classes: tree.classes(), most: limits.classes });
        }
        let mut codes = Vec::new();
        let mut shift = 0;
        for feature in Feature::ALL {
            let mut ends = tree.thresholds(feature);
            if ends.is_empty() {
                continue;
            }
            ends.push(feature.most());
            let most = 1 << limits.feature_bits;
            if ends.len() > most {
                return Err(TableError::TooManyRanges { feature, ranges: ends.len(), most });
            }
            let bits = (ends.len() - 1).ilog2() + 1;
            codes.push(CodeTable { feature, ends, shift, bits });
            shift += bits;
        }
        if shift > limits.code_bits {
            return Err(TableError::TooManyCodeBits { bits: shift, most: limits.code_bits });
        }
        let mut tables = Self { codes, classes: vec![0; 1 << shift], cells: 0, code_bits: shift };
        tables.cells = tables.codes.iter().map(|table| table.ends.len()).product();
        for cell in 0..tables.cells {
            let vector = tables.corner(cell);
            let number = tables.number(&vector);
            let class = tree.classify(&vector);
            tables.classes.get_mut(number).into_iter().for_each(|known| *known = class);
        }
        Ok(tables)
    }

    /// The class of a vector. No allocation.
    pub fn classify(&self, vector: &Vector) -> u8 {
        self.classes.get(self.number(vector)).copied().unwrap_or(0)
    }

    /// The codes of a vector, beside each other.
    pub fn number(&self, vector: &Vector) -> usize {
        self.codes.iter().map(|table| table.code(vector)).sum()
    }

    /// The range tables; features that the tree does not compare have none.
    pub fn codes(&self) -> &[CodeTable] {
        &self.codes
    }

    /// Bits of the number.
    pub const fn code_bits(&self) -> u32 {
        self.code_bits
    }

    /// The combinations of ranges.
    pub const fn cells(&self) -> usize {
        self.cells
    }

    /// A vector of each cell, with the greatest values of its ranges.
    pub fn corners(&self) -> impl Iterator<Item = Vector> + '_ {
        (0..self.cells).map(|cell| self.corner(cell))
    }

    /// The cells with another class than the first: the rows of an exact table whose default is the first class.
    pub fn exact_rows(&self) -> usize {
        self.corners().filter(|corner| self.classify(corner) > 0).count()
    }

    /// The rows of all range tables, with and without range matches.
    pub fn range_rows(&self) -> (usize, usize) {
        let ranges = self.codes.iter().map(|table| table.ends.len()).sum();
        (ranges, self.codes.iter().map(CodeTable::ternary_rows).sum())
    }

    fn corner(&self, cell: usize) -> Vector {
        let mut values = [0; 6];
        let mut rest = cell;
        for table in &self.codes {
            let count = table.ends.len().max(1);
            values[table.feature as usize] = table.ends.get(rest % count).copied().unwrap_or(0);
            rest /= count;
        }
        Vector::new(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::Node;

    fn chain(thresholds: &[u32], feature: Feature) -> Tree {
        let mut nodes = Vec::new();
        for (place, threshold) in (0..).zip(thresholds) {
            let (below, above) = (2 * place + 1, 2 * place + 2);
            nodes.push(Node::Split { feature, threshold: *threshold, below, above });
            nodes.push(Node::Leaf { class: (place % 2) as u8 });
        }
        nodes.push(Node::Leaf { class: 1 });
        Tree::new(nodes, 2).unwrap()
    }

    // Input:  a feature with three thresholds.
    // Output: four ranges in two bits, the ternary rows of each, a cell for each.
    #[test]
    fn ranges_have_codes() {
        let tables = Tables::new(&chain(&[7, 15, 31], Feature::UplinkSize), &TableLimits::default()).unwrap();
        let [table] = tables.codes() else { panic!("{tables:?}") };
        let ranges: Vec<_> = table.ranges().collect();
        assert_eq!(ranges, [(0, 7), (8, 15), (16, 31), (32, 65_535)]);
        // The last one is 32 to 63, 64 to 127 and so on: eleven blocks.
        assert_eq!((table.bits, tables.cells(), tables.range_rows()), (2, 4, (4, 14)));
        assert_eq!(tables.exact_rows(), 2);
        assert_eq!(blocks(1, 6).collect::<Vec<_>>(), [(1, 0), (2, 1), (4, 1), (6, 0)]);
        assert_eq!(blocks(0, u32::MAX).collect::<Vec<_>>(), [(0, 32)]);
        assert_eq!(blocks(2, 1).count(), 0);
    }

    // Input:  more ranges, code bits or classes than there are codes; a tree of one leaf.
    // Output: the error that names each; a table without ranges.
    #[test]
    fn what_does_not_fit_is_refused() {
        let tree = chain(&[1, 2, 3, 4], Feature::UplinkGap);
        let of = |limits: TableLimits| Tables::new(&tree, &limits);
        let usual = TableLimits::default;
        let feature = Feature::UplinkGap;
        let expected = TableError::TooManyRanges { feature, ranges: 5, most: 4 };
        assert_eq!(of(TableLimits { feature_bits: 2, ..usual() }), Err(expected));
        let expected = TableError::TooManyCodeBits { bits: 3, most: 2 };
        assert_eq!(of(TableLimits { code_bits: 2, ..usual() }), Err(expected));
        let expected = TableError::TooManyClasses { classes: 2, most: 1 };
        assert_eq!(of(TableLimits { classes: 1, ..usual() }), Err(expected));
        assert_eq!(of(TableLimits { code_bits: 17, ..usual() }), Err(TableError::Limit(17)));
        let leaf = Tree::new(vec![Node::Leaf { class: 1 }], 2).unwrap();
        let tables = Tables::new(&leaf, &usual()).unwrap();
        assert_eq!((tables.classify(&Vector::default()), tables.cells()), (1, 1));
    }
}

//! Placements: their properties, and how accurate they are.

mod accuracy;
mod properties;

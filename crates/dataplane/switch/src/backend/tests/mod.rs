//! Stories and properties of the backend over the model.

mod differential;
mod stories;
mod trouble;
mod world;

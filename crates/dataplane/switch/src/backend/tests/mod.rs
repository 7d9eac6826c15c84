//! Stories and properties of the backend over the model.

mod differential;
mod direct;
mod drops;
mod refusals;
mod restart;
mod retries;
mod soak;
mod stories;
mod storm;
mod trouble;
mod witness;
mod world;

//! Stories and properties of the backend over the model.

mod choices;
mod closed;
mod differential;
mod direct;
mod done;
mod drops;
mod filters;
mod firewall;
mod fixture;
mod metered;
mod order;
mod quotas;
mod refusals;
mod restart;
mod retries;
mod segments;
mod soak;
mod sources;
mod starts;
mod state;
mod stories;
mod storm;
mod succession;
mod takeover;
mod trouble;
mod witness;

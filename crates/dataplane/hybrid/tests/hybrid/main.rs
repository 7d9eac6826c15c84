//! The hybrid UPF: nothing is lost, doubled or overtaken by moves, and all usage is reported, whatever the switch's driver
//! does.

mod batches;
mod cold;
mod firewall;
mod order;
mod outages;
mod parts;
mod rates;
mod soak;
mod stories;
mod world;

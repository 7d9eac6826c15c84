//! Behaviour of drivers: the model in process and P4Runtime on loopback; and of a driver whose switch fails.

mod behaviour;
mod bmv2;
mod bmv2_tools;
mod faults;
mod frames;
mod subjects;
mod world;

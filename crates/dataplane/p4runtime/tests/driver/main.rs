//! What drivers do, by the model in process and by P4Runtime on loopback; and what becomes of a driver whose switch fails.

mod behaviour;
mod bmv2;
mod bmv2_tools;
mod faults;
mod frames;
mod subjects;
mod world;

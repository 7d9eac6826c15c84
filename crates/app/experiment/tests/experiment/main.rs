//! Every experiment at a small size.

mod accel;
mod gaming;
mod heavy;
mod hybrid;
mod quick;
mod train;
mod xplane;

//! Every experiment at a small size.

mod gaming;
mod heavy;
mod quick;
mod train;
mod xplane;

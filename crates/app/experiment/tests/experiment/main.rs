//! Every experiment at a small size.

mod heavy;
mod quick;
mod xplane;

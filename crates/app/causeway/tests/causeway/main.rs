//! The program as a shell or a service manager sees it.

mod cli;
mod common;
mod demo_external_memory;
mod demo_interrupt;
mod late_interface;
mod log;
mod memory;
mod memory_server;
mod operate;
mod packaging;
mod plan;
mod run;
mod switch_model;
mod train;

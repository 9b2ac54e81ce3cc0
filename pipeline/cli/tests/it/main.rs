//! The program as its users meet it: run as a process on real and on broken input.

// A skipped test says so, and the lab tests show their figures.
#![allow(clippy::print_stderr)]

mod align;
mod compare;
mod determinism;
mod diagnosis;
mod explain;
mod exposition;
mod hardships;
mod hostile;
mod inputs;
mod kills;
mod lab;
mod memory;
mod metrics;
mod models;
mod nights;
mod options;
mod program;
mod reference;
mod resume;

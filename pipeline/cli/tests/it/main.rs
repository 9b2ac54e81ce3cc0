//! The program as its users meet it: run as a process on real and on broken input.

mod determinism;
mod inputs;
mod lab;
mod program;
mod reference;
mod resume;

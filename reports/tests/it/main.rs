//! Tests of whole reports: what every exporter writes, and what the pictures show.

#[path = "../../examples/demo/synthetic/mod.rs"]
#[allow(dead_code, unused_imports)]
mod synthetic;

mod browser;
mod comparison;
mod determinism;
mod golden;
mod hostile;
mod picture_file;
mod pictures;
mod scale;
mod schema;
mod sparse_views;
mod written;

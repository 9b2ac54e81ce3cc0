//! Draws and writes the report of a run: PNG pictures, `index.html`, `report.md`, `report.json`
//! and `windows.csv`, from plain view data.
//!
//! Nothing is computed here that belongs to the analysis, and nothing is read: the caller fills a
//! [`view::ReportView`] and hands in a way to open files.

mod base64;
mod class_style;
pub mod colour;
pub mod comparison;
pub mod error;
pub mod escape;
pub mod explanation;
pub mod export;
mod labels;
pub mod options;
pub mod pictures;
pub mod png;
mod quantity;
mod sha256;
mod time_axis;
pub mod view;
mod write;

pub use error::ReportError;
pub use options::{Options, Palette, Theme};
pub use quantity::{bytes as bytes_in_words, span as span_in_words};
pub use write::write_report;

//! `report.schema.json`: the JSON Schema of `report.json`, so that it is at hand where the report is.

use std::io::Write;

use super::{Exporter, Material, writing};
use crate::error::ReportError;

/// JSON Schema (draft 2020-12) of `report.json`, version [`SCHEMA_VERSION`](super::SCHEMA_VERSION).
pub const REPORT_SCHEMA: &str = include_str!("../../schema/report.schema.json");

/// Writes `report.schema.json`.
#[derive(Debug, Clone, Copy)]
pub struct Schema;

impl Exporter for Schema {
    fn file(&self) -> &'static str {
        "report.schema.json"
    }

    fn export(&self, _: Material<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
        out.write_all(REPORT_SCHEMA.as_bytes()).map_err(writing(self.file()))
    }
}

//! `compare.json`: the comparison for programs.

use std::io::Write;

use serde::Serialize;

use super::Comparison;
use crate::error::ReportError;
use crate::export::visible_json;
use crate::pictures::Picture;

/// Version of the form of `compare.json`: the fields of [`Comparison`], and `pictures`.
pub const COMPARISON_SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    #[serde(flatten)]
    comparison: &'a Comparison,
    pictures: Vec<PictureRow<'a>>,
}

#[derive(Serialize)]
struct PictureRow<'a> {
    file: &'a str,
    svg: Option<String>,
    title: &'a str,
    alt: &'a str,
}

/// Writes the file.
pub(super) fn export(comparison: &Comparison, pictures: &[Picture], out: &mut dyn Write) -> Result<(), ReportError> {
    let pictures = pictures.iter().map(|p| PictureRow { file: &p.file, svg: p.svg_file(), title: &p.title, alt: &p.alt }).collect();
    visible_json(&Document { schema_version: COMPARISON_SCHEMA_VERSION, comparison, pictures }, "compare.json", out)
}

//! The files of a report other than pictures, one file an exporter. An exporter turns the view
//! into bytes; where they go is the caller's business.

mod html;
mod json;
mod markdown;
mod schema;
mod windows_csv;

use std::io::{self, Write};

pub use html::Html;
pub(crate) use html::comparison_page;
pub(crate) use json::visible_json;
pub use json::{Json, SCHEMA_VERSION};
pub use markdown::Markdown;
pub use schema::{REPORT_SCHEMA, Schema};
pub use windows_csv::WindowsCsv;

use crate::error::ReportError;
use crate::options::Options;
use crate::pictures::Picture;
use crate::view::ReportView;

/// What an exporter may use.
#[derive(Debug, Clone, Copy)]
pub struct Material<'a> {
    /// The data; consistent by [`ReportView::check`].
    pub view: &'a ReportView,
    /// The pictures drawn from it.
    pub pictures: &'a [Picture],
    /// The caller's choices.
    pub options: &'a Options,
}

/// Turns a view into one file.
pub trait Exporter {
    /// Name of the file.
    fn file(&self) -> &'static str;

    /// Writes the file.
    ///
    /// # Errors
    /// [`ReportError::Write`] where `out` fails, [`ReportError::Json`] where a value cannot be
    /// written as JSON.
    fn export(&self, material: Material<'_>, out: &mut dyn Write) -> Result<(), ReportError>;
}

/// Every exporter, in the order of writing. The page comes last: where it exists, all it links to
/// exists.
pub fn all() -> [&'static dyn Exporter; 5] {
    [&WindowsCsv, &Schema, &Json, &Markdown, &Html]
}

/// Names the file in an I/O error.
fn writing(file: &str) -> impl Fn(io::Error) -> ReportError + '_ {
    move |source| ReportError::Write { file: file.to_owned(), source }
}

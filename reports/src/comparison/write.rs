//! A whole comparison, from the data to its files: [`write_comparison`].

use std::io::{self, Write};

use super::{Comparison, json, markdown};
use crate::error::ReportError;
use crate::export::comparison_page;
use crate::options::Options;
use crate::pictures;

/// Draws and writes everything: pictures, `compare.json`, `compare.md`, `index.html`.
///
/// `open` is called once a file with its name (`[a-z0-9._-]`, no folder) and gives what to write into.
/// Gives back the names in the order written, `index.html` last.
///
/// # Errors
/// [`ReportError`] of the first file that fails.
pub fn write_comparison<'w>(
    comparison: &Comparison,
    options: &Options,
    open: &mut dyn FnMut(&str) -> io::Result<Box<dyn Write + 'w>>,
) -> Result<Vec<String>, ReportError> {
    let pictures = pictures::draw_comparison(comparison, options)?;
    let mut names = Vec::new();
    let mut write = |file: &str, bytes: &[u8]| -> Result<(), ReportError> {
        let failed = |source| ReportError::Write { file: file.to_owned(), source };
        let mut out = open(file).map_err(failed)?;
        out.write_all(bytes).and_then(|()| out.flush()).map_err(failed)?;
        names.push(file.to_owned());
        Ok(())
    };
    for picture in &pictures {
        write(&picture.file, &picture.png)?;
        if let (Some(file), Some(svg)) = (picture.svg_file(), &picture.svg) {
            write(&file, svg.as_bytes())?;
        }
    }
    let mut document = Vec::new();
    json::export(comparison, &pictures, &mut document)?;
    write("compare.json", &document)?;
    write("compare.md", markdown::text(comparison, &pictures).as_bytes())?;
    write("index.html", comparison_page(comparison, &pictures, options).as_bytes())?;
    Ok(names)
}

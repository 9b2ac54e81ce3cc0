//! A whole report, from the view to its files: [`write_report`].

use std::io::{self, Write};

use crate::error::ReportError;
use crate::export::{self, Material};
use crate::options::Options;
use crate::pictures;
use crate::view::ReportView;

/// Draws and writes everything: pictures, `windows.csv`, `report.json`, `report.md`, `index.html`.
///
/// `open` is called once a file with its name (`[a-z0-9._-]`, no folder) and gives what to write
/// into; every writer is flushed and dropped before the next is opened. Gives back the names in
/// the order written, `index.html` last.
///
/// # Errors
/// [`ReportError::Inconsistent`] before anything is opened; [`ReportError::Drawing`],
/// [`ReportError::Json`] or [`ReportError::Write`] for the first file that fails.
pub fn write_report<'w>(
    view: &ReportView,
    options: &Options,
    open: &mut dyn FnMut(&str) -> io::Result<Box<dyn Write + 'w>>,
) -> Result<Vec<String>, ReportError> {
    view.check()?;
    let pictures = pictures::draw_all(view, options)?;
    let mut names = Vec::new();
    for picture in &pictures {
        let failed = |source| ReportError::Write { file: picture.file.clone(), source };
        let mut out = open(&picture.file).map_err(failed)?;
        out.write_all(&picture.png).and_then(|()| out.flush()).map_err(failed)?;
        names.push(picture.file.clone());
        if let (Some(file), Some(svg)) = (picture.svg_file(), &picture.svg) {
            let failed = |source| ReportError::Write { file: file.clone(), source };
            let mut out = open(&file).map_err(failed)?;
            out.write_all(svg.as_bytes()).and_then(|()| out.flush()).map_err(failed)?;
            names.push(file);
        }
    }
    let material = Material { view, pictures: &pictures, options };
    for exporter in export::all() {
        let failed = |source| ReportError::Write { file: exporter.file().to_owned(), source };
        let mut out = open(exporter.file()).map_err(failed)?;
        exporter.export(material, &mut *out)?;
        out.flush().map_err(failed)?;
        names.push(exporter.file().to_owned());
    }
    Ok(names)
}

//! A report kept in memory.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;

use iotriage_reports::view::ReportView;
use iotriage_reports::{Options, ReportError, write_report};

type Shared = Rc<RefCell<BTreeMap<String, Vec<u8>>>>;

/// Puts what is written under its name.
struct Slot(Shared, String);

impl Write for Slot {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().entry(self.1.clone()).or_default().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// All files of a report by name.
pub(crate) fn written(view: &ReportView, options: &Options) -> Result<BTreeMap<String, Vec<u8>>, ReportError> {
    let files: Shared = Shared::default();
    let names = write_report(view, options, &mut |name| -> io::Result<Box<dyn Write>> {
        files.borrow_mut().insert(name.to_owned(), Vec::new());
        Ok(Box::new(Slot(files.clone(), name.to_owned())))
    })?;
    let files = files.take();
    assert_eq!(files.len(), names.len(), "every file is opened once and named");
    assert_eq!(names.last().map(String::as_str), Some("index.html"));
    Ok(files)
}

/// A text file of a report.
pub(crate) fn text(files: &BTreeMap<String, Vec<u8>>, name: &str) -> String {
    String::from_utf8(files[name].clone()).expect("text files are UTF-8")
}

/// Options that draw few pictures: for tests of texts.
pub(crate) fn few_pictures() -> Options {
    Options { device_pictures: 1, ..Options::default() }
}
